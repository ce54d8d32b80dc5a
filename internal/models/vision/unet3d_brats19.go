package vision

import (
	"context"
	"fmt"
	"slices"

	"github.com/mlperf-go/mlperf/internal/accuracy"
	"github.com/mlperf-go/mlperf/internal/backend"
	"github.com/mlperf-go/mlperf/internal/config"
	"github.com/mlperf-go/mlperf/internal/dataset"
	"github.com/mlperf-go/mlperf/internal/models/singlepass"
	"github.com/mlperf-go/mlperf/internal/models/workload"
	"github.com/mlperf-go/mlperf/internal/onnx/arch"
	"github.com/mlperf-go/mlperf/internal/preprocess/volume"
	"github.com/mlperf-go/mlperf/internal/tensor"
)

// unet3DBraTS19 is 3D-UNet on BraTS 2019 (rules v0.7 to v1.1), which the rounds know by the same names as the one on KiTS19.
func unet3DBraTS19() workload.Model {
	return workload.Model{
		Name:    "3d-unet-brats19",
		Title:   "3D-UNet BraTS19",
		Task:    "medical imaging: brain tumours, BraTS 2019, four images of 224×224×160",
		Dataset: "brats19",
		BuiltIn: workload.Recipe{Parts: []workload.Part{{Role: workload.Only, Network: arch.SmallUNet3DBraTS19(), Full: arch.UNet3DBraTS19()}}, Samples: 2},
		Source:  "https://zenodo.org/record/3928973/files/224_224_160.onnx",
		Papers: []string{
			"Isensee et al., No New-Net, 2018, arXiv:1809.10483",
			"Isensee et al., nnU-Net: Self-adapting Framework for U-Net-Based Medical Image Segmentation, 2018, arXiv:1809.10486",
		},

		Rules: config.Model{
			Name:    "3d-unet",
			Aliases: []string{"3d-unet-99", "3d-unet-99.9", "3d-unet-brats19", "3dunet"},
			Last:    "v1.1",
		},
		PerformanceSampleCount: 16,
		DatasetSamples:         67,
		Quality:                workload.Quality{Metric: "mean", Fraction: 0.99},
		Open:                   opening(openScans),
		Score:                  scoreScans,

		Options: []workload.Option{workload.ChooseOutput()},
		ScoreOptions: []workload.Option{
			dtype("int8", "int16", "int32", "int64", "float16", "float32", "float64"),
			{Name: labelsOption, Kind: workload.Path, Help: "folder with the labels of BraTS, NAME.nii.gz (default: labelsTr of the data set)"},
		},
	}
}

// unet3DBraTS19HighAccuracy is the same benchmark with a stricter target.
func unet3DBraTS19HighAccuracy() workload.Model {
	m := unet3DBraTS19()
	m.Name += "-99.9"
	m.Title += ", 99.9 % of the accuracy"
	m.Quality.Fraction, m.Rules.Strict = 0.999, true
	return m
}

// labelsOption is --label_data_dir of accuracy-brats.py.
const labelsOption = "label-data-dir"

// scanValues is how many numbers a prepared scan has, and how many scores its voxels have.
const scanValues = volume.Modalities * 224 * 224 * 160

// openScans opens BraTS and checks the ports of the model file.
func openScans(s setup) (*workload.Workload, error) {
	data, err := dataset.OpenBraTS19(s.datasetDir, s.data())
	if err != nil {
		return nil, err
	}
	if len(s.inputs) != 1 {
		return nil, fmt.Errorf("the model has %d inputs (%s), expected one: four images", len(s.inputs), portNames(s.inputs))
	}
	input, err := scanPort("input", s.inputs, "")
	if err != nil {
		return nil, err
	}
	// The official file has the scores of the whole volume as output and those of smaller ones, which training used.
	output, err := scanPort("output", s.outputs, s.binding.output)
	if err != nil {
		return nil, err
	}
	sides := volume.ScanSides()
	slot := workload.Slot{Type: input.Type, Shape: tensor.Shape{volume.Modalities, int64(sides[0]), int64(sides[1]), int64(sides[2])}}
	row := func(int) []workload.Slot { return []workload.Slot{slot} }
	return &workload.Workload{
		Samples: data.Len(), Row: row,
		Prepare: func(index int, row []tensor.Tensor) error {
			if err := fillScan(data, index, row[0]); err != nil {
				return fmt.Errorf("sample %d: %w", index, err)
			}
			return nil
		},
		CacheKey: func() string {
			return fmt.Sprintf("3d-unet-brats19 %d\ntype %v\nfiles %s", preprocessVersion, slot.Type, data.Fingerprint())
		},
		NewPredictor: func(sessions workload.Sessions, maxBatch int) (workload.Predictor, error) {
			return singlepass.New(sessions[workload.Only], row(0), maxBatch, appendHalves)
		},
		Outputs: func(string) []string { return []string{output.Name} },
		Batch:   max(0, input.Batch()),
		Notes: []string{
			data.How(),
			fmt.Sprintf("input: %v into %s; response = %s as float16", slot, input.Name, output.Name),
		},
		Exchange: &workload.Exchange{
			Inputs:   []workload.Input{{Name: input.Name, Slot: slot}},
			Complete: func([]tensor.Shape) ([]workload.Slot, error) { return row(0), nil },
		},
	}, nil
}

// fillScan prepares a scan for an input of any type of floats.
func fillScan(data *dataset.BraTS19, index int, row tensor.Tensor) error {
	if row.Type == tensor.Float32 {
		return data.Image(index, tensor.Data[float32](row))
	}
	voxels := make([]float32, scanValues)
	err := data.Image(index, voxels)
	if err == nil {
		singlepass.FromFloat32(row, voxels)
	}
	return err
}

// scanPort finds the port of a whole scan: [1 or any number, 4, 224, 224, 160].
func scanPort(what string, ports []backend.Port, name string) (backend.Port, error) {
	sides := volume.ScanSides()
	want := tensor.Shape{volume.Modalities, int64(sides[0]), int64(sides[1]), int64(sides[2])}
	isScan := func(p backend.Port) bool {
		takes := func(extent, want int64) bool { return extent == want || extent == -1 }
		return singlepass.IsFloat(p.Type) && (name == "" || p.Name == name) && len(p.Shape) == 5 && slices.EqualFunc(p.Shape[1:], want, takes)
	}
	if i := slices.IndexFunc(ports, isScan); i >= 0 {
		return ports[i], nil
	}
	return backend.Port{}, fmt.Errorf("the model has no %s that is a whole scan, float32%v; it has %s", what, append(tensor.Shape{-1}, want...),
		workload.DescribePorts(ports))
}

// appendHalves appends the scores of a scan as float16.
func appendHalves(dst []byte, outputs []tensor.Tensor, k int, _ workload.Item) ([]byte, error) {
	scores := tensor.Data[float32](outputs[0])
	if len(scores) < (k+1)*scanValues {
		return dst, fmt.Errorf("the model's output is %v, too short for %d scans of %d scores", outputs[0], k+1, scanValues)
	}
	return singlepass.AppendHalves(dst, scores[k*scanValues:][:scanValues]), nil
}

// scoreScans scores a log of scores of voxels.
func scoreScans(ctx context.Context, log accuracy.Input, s workload.Scoring) (*accuracy.Score, error) {
	o, err := parseScoring(s.Options)
	if err != nil {
		return nil, err
	}
	truth, err := dataset.ReadBraTS19Truth(s.DatasetDir, s.Options[labelsOption], s.Samples)
	if err != nil {
		return nil, err
	}
	score, err := accuracy.ScoreBraTS(log, truth, o.dtype)
	if err != nil {
		return nil, err
	}
	return ofPresent(log, score, "regions")
}
