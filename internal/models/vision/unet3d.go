package vision

import (
	"context"
	"fmt"
	"slices"
	"sync"

	"github.com/mlperf-go/mlperf/internal/accuracy"
	"github.com/mlperf-go/mlperf/internal/backend"
	"github.com/mlperf-go/mlperf/internal/config"
	"github.com/mlperf-go/mlperf/internal/dataset"
	"github.com/mlperf-go/mlperf/internal/models/workload"
	"github.com/mlperf-go/mlperf/internal/onnx/arch"
	"github.com/mlperf-go/mlperf/internal/tensor"
)

// unet3D is 3D-UNet on KiTS19 (rules v2.0 to v6.1).
func unet3D() workload.Model {
	return workload.Model{
		Name:    "3d-unet",
		Title:   "3D-UNet KiTS19",
		Task:    "medical imaging: kidneys and tumours, KiTS19, windows of 128×128×128",
		Dataset: "kits19",
		BuiltIn: BuiltIn{Network: arch.UNet3D(), Samples: 3},
		Source:  "https://zenodo.org/record/5597155/files/3dunet_kits19_128x128x128.onnx",
		Papers: []string{
			"Çiçek et al., 3D U-Net: Learning Dense Volumetric Segmentation from Sparse Annotation, MICCAI 2016, arXiv:1606.06650",
			"Isensee and Maier-Hein, An attempt at beating the 3D U-Net, 2019, arXiv:1908.02182",
		},

		Rules: config.Model{
			Name:    "3d-unet",
			Aliases: []string{"3d-unet-99", "3d-unet-99.9", "3d-unet-kits19", "3dunet"},
			First:   "v2.0",
			Sample:  &config.SampleSize{InValues: averageKiTS19, OutValues: averageKiTS19},
			Earlier: []config.EarlierSize{{Before: "v2.1", SampleSize: config.SampleSize{InValues: average42, OutValues: average42}}},
		},
		PerformanceSampleCount: 43,
		Quality:                workload.Quality{Metric: "mean", Fraction: 0.99},
		Open:                   opening(openUNet),
		Score:                  scoreUNet,

		Options:      []workload.Option{workload.ChooseOutput()},
		ScoreOptions: []workload.Option{dtype("uint8", "int8", "int16", "int32", "int64", "float16", "float32", "float64")},
	}
}

// The mean number of voxels of the 43 cases (mean of meta/inference_cases.json), and of the 42 of v2.0.
const (
	averageKiTS19 = 32_944_795
	average42     = 32_381_026
)

// unet3DHighAccuracy is the same benchmark with a stricter target.
func unet3DHighAccuracy() workload.Model {
	m := unet3D()
	m.Name = "3d-unet-99.9"
	m.Title += ", 99.9 % of the accuracy"
	m.Quality.Fraction, m.Rules.Strict = 0.999, true
	return m
}

// openUNet opens KiTS19 and checks the ports of the model file.
func openUNet(s setup) (*workload.Workload, error) {
	data, err := dataset.OpenKiTS19(s.datasetDir, s.data())
	if err != nil {
		return nil, err
	}
	if len(s.inputs) != 1 {
		return nil, fmt.Errorf("the model has %d inputs (%s), expected one: a window of the volume", len(s.inputs), portNames(s.inputs))
	}
	w := &unet{data: data}
	if w.input, err = windowPort("input", s.inputs, "", 1); err != nil {
		return nil, err
	}
	if w.output, err = windowPort("output", s.outputs, s.binding.output, windowLabels); err != nil {
		return nil, err
	}
	for i := range data.Len() {
		n := data.Shape(i)
		w.slice = max(w.slice, n[1]*n[2])
		w.voxels = max(w.voxels, n[0]*n[1]*n[2])
	}
	weights := sync.OnceValue(windowWeights)
	return &workload.Workload{
		Samples: data.Len(), Row: w.row, Prepare: w.prepare,
		CacheKey: func() string { return fmt.Sprintf("3d-unet %d\nfiles %s", preprocessVersion, data.Fingerprint()) },
		NewPredictor: func(sessions workload.Sessions, _ int) (workload.Predictor, error) {
			return newSlidingWindow(sessions[workload.Only], weights(), w.slice, w.voxels)
		},
		Outputs: func(string) []string { return []string{w.output.Name} },
		Batch:   1, // a volume is many runs of the model
		Runs: func(index int) int {
			runs := 1
			for _, side := range data.Shape(index) {
				runs *= (side-windowSide)/windowStep + 1
			}
			return runs
		},
		Notes: []string{
			data.How(),
			fmt.Sprintf("input: windows of %d voxels into %s, %d apart; label = argmax of the weighted mean of %s",
				windowSide, w.input.Name, windowStep, w.output.Name),
		},
		Exchange: &workload.Exchange{
			Inputs:   []workload.Input{{Name: w.input.Name, Slot: workload.Slot{Type: tensor.Float32, Shape: tensor.Shape{-1, -1, -1}}}},
			Complete: w.complete,
		},
	}, nil
}

// windowPort finds the port of a window: [1 or any number, channels, 128, 128, 128].
func windowPort(what string, ports []backend.Port, name string, channels int64) (backend.Port, error) {
	want := tensor.Shape{1, channels, windowSide, windowSide, windowSide}
	isWindow := func(p backend.Port) bool {
		takes := func(extent, want int64) bool { return extent == want || extent == -1 }
		return p.Type == tensor.Float32 && (name == "" || p.Name == name) && slices.EqualFunc(p.Shape, want, takes)
	}
	if i := slices.IndexFunc(ports, isWindow); i >= 0 {
		return ports[i], nil
	}
	return backend.Port{}, fmt.Errorf("the model has no %s that is a window, float32%v; it has %s", what, append(tensor.Shape{-1}, want[1:]...),
		workload.DescribePorts(ports))
}

// unet is 3D-UNet with its data set. Volumes differ in size.
type unet struct {
	data          *dataset.KiTS19
	input, output backend.Port
	slice, voxels int // of the largest
}

func (u *unet) row(index int) []workload.Slot {
	n := u.data.Shape(index)
	return []workload.Slot{{Type: tensor.Float32, Shape: tensor.Shape{int64(n[0]), int64(n[1]), int64(n[2])}}}
}

// complete takes volumes as large as those of the data set.
func (u *unet) complete(sent []tensor.Shape) ([]workload.Slot, error) {
	n := sent[0]
	for _, side := range n {
		if side < windowSide || side%windowStep != 0 || side > int64(u.voxels) {
			return nil, fmt.Errorf("the volume has %v voxels, expected sides of %d plus a multiple of %d", n, windowSide, windowStep)
		}
	}
	if n[1]*n[2] > int64(u.slice) || n.Len() > int64(u.voxels) {
		return nil, fmt.Errorf("the volume has %v voxels, expected at most %d, and %d in a slice", n, u.voxels, u.slice)
	}
	return []workload.Slot{{Type: tensor.Float32, Shape: n}}, nil
}

func (u *unet) prepare(index int, row []tensor.Tensor) error {
	if err := u.data.Image(index, tensor.Data[float32](row[0])); err != nil {
		return fmt.Errorf("sample %d: %w", index, err)
	}
	return nil
}

// scoreUNet scores a log of label volumes.
func scoreUNet(ctx context.Context, log accuracy.Input, s workload.Scoring) (*accuracy.Score, error) {
	o, err := parseScoring(s.Options)
	if err != nil {
		return nil, err
	}
	truth, err := dataset.ReadKiTS19Truth(s.DatasetDir, s.Samples)
	if err != nil {
		return nil, err
	}
	return accuracy.ScoreKiTS(log, truth, o.dtype)
}
