package points

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/mlperf-go/mlperf/internal/config"
	"github.com/mlperf-go/mlperf/internal/fileio"
	"github.com/mlperf-go/mlperf/internal/models/workload"
	"github.com/mlperf-go/mlperf/internal/onnx/arch"
)

// The files of the model.
const (
	segmentation = "segmentation"
	detection    = "detection"
)

// officialFiles are their names at MLCommons.
var officialFiles = map[string]string{segmentation: "deeplabv3+.onnx", detection: "pp.onnx"}

// The options of the family.
const (
	verboseOption    = "verbose"
	inverseMapOption = "use-inv-map"
)

// Models returns the benchmarks of the family.
func Models() []workload.Model { return []workload.Model{pointPainting()} }

// pointPainting is PointPainting on the Waymo Open Dataset (rules v5.0 to v6.0).
func pointPainting() workload.Model {
	return workload.Model{
		Name:    "pointpainting",
		Title:   "PointPainting, Waymo",
		Task:    "3D object detection: pedestrians, cyclists and cars in the pictures of five cameras and the points of a laser scanner",
		Dataset: "waymo",
		BuiltIn: workload.Recipe{
			Parts:   []workload.Part{{Role: segmentation, Network: arch.PaintingSegmentation()}, {Role: detection, Network: arch.PaintingDetection()}},
			Samples: 16,
		},
		Source: "https://waymo.mlcommons.org (deeplabv3+.onnx and pp.onnx, for members of MLCommons)",
		Papers: []string{
			"Vora et al., PointPainting: Sequential Fusion for 3D Object Detection, CVPR 2020, arXiv:1911.10150",
			"Lang et al., PointPillars: Fast Encoders for Object Detection from Point Clouds, CVPR 2019, arXiv:1812.05784",
			"Chen et al., Encoder-Decoder with Atrous Separable Convolution for Semantic Image Segmentation, ECCV 2018, arXiv:1802.02611",
		},

		Rules:                  config.Model{Name: "pointpainting"},
		PerformanceSampleCount: 1024,
		DatasetSamples:         39987,
		Quality:                workload.Quality{Metric: "mAP", Fraction: 0.999},
		Roles:                  []string{segmentation, detection},
		Files:                  files,
		Recorded:               4, // convolutions need ranges; a sample runs the first file five times
		Open:                   open,
		Score:                  score,
		NewReader:              newReader,

		ScoreOptions: []workload.Option{ // the script ignores the second, too
			{Name: verboseOption, Kind: workload.Bool, Help: "also print every wrong sample, where the official script can"},
			{Name: inverseMapOption, Kind: workload.Bool, Help: "labels are positions of categories, not ids (default: as the model's are, unless the log has labels that only ids can be)"},
		},
	}
}

// files finds the two files in a folder, by the names of MLCommons or by ours.
func files(folder string) ([]workload.File, error) {
	info, err := os.Stat(folder)
	if err == nil && !info.IsDir() {
		err = fmt.Errorf("%s is a file, must be a folder with %s and %s", folder, officialFiles[segmentation], officialFiles[detection])
	}
	if err != nil {
		return nil, err
	}
	var list []workload.File
	var errs []error
	for _, role := range []string{segmentation, detection} {
		path := filepath.Join(folder, officialFiles[role])
		if !fileio.Exists(path) {
			path = filepath.Join(folder, role+".onnx")
		}
		if !fileio.Exists(path) {
			errs = append(errs, fmt.Errorf("the model's %s: %s has neither %s nor %s.onnx", role, folder, officialFiles[role], role))
		}
		list = append(list, workload.File{Role: role, Path: path})
	}
	return list, errors.Join(errs...)
}
