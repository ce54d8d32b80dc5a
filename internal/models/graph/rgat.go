package graph

import (
	"github.com/mlperf-go/mlperf/internal/config"
	"github.com/mlperf-go/mlperf/internal/dataset/igbh"
	"github.com/mlperf-go/mlperf/internal/models/workload"
	"github.com/mlperf-go/mlperf/internal/onnx/arch"
)

// Models returns the benchmarks of the family.
func Models() []workload.Model { return []workload.Model{rgat()} }

// rgat is R-GAT on the Illinois Graph Benchmark (rules since v5.0).
func rgat() workload.Model {
	size := workload.Option{Name: sizeOption, Choices: igbh.Sizes(), Help: "which size of IGBH, where the folder has several"}
	return workload.Model{
		Name:    "rgat",
		Title:   "R-GAT, IGBH",
		Task:    "node classification: the subject of a paper among 2983, by its neighbours in the Illinois Graph Benchmark",
		Dataset: "igbh",
		BuiltIn: workload.Recipe{Parts: []workload.Part{{Role: workload.Only, Network: arch.RGAT()}}, Samples: 100},
		Source:  "https://inference.mlcommons-storage.org/metadata/rgat-model.uri (a checkpoint of PyTorch)",

		Rules: config.Model{
			Name:    "rgat",
			Aliases: []string{"r-gat"},
			Sample:  &config.SampleSize{},
		},
		PerformanceSampleCount: 788379,
		Quality:                workload.Quality{Metric: "accuracy", Fraction: 0.99},
		Attends:                true,
		Open:                   open,
		Score:                  score,

		Options: []workload.Option{size, {Name: seedOption, Kind: workload.Integer, Help: "seed of the neighbours that are drawn (default 0)"}},
		ScoreOptions: []workload.Option{
			size,
			{Name: dtypeOption, Choices: []string{"uint8", "float32", "int32", "int64"}, Help: "type of the numbers in the log (default: the official script's)"},
			{Name: memmapOption, Kind: workload.Bool, Help: "without effect: labels are never memory-mapped"},
			{Name: verboseOption, Kind: workload.Bool, Help: "also print every wrong sample, where the official script can"},
		},
	}
}

// The options of the family.
const (
	sizeOption    = "dataset-size"
	seedOption    = "neighbor-seed"
	dtypeOption   = "dtype"
	memmapOption  = "no-memmap"
	verboseOption = "verbose"
)
