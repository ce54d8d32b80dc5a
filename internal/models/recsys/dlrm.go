package recsys

import (
	"github.com/mlperf-go/mlperf/internal/config"
	"github.com/mlperf-go/mlperf/internal/dataset"
	"github.com/mlperf-go/mlperf/internal/models/workload"
	"github.com/mlperf-go/mlperf/internal/onnx/arch"
)

// Models returns the benchmarks of the family, in the order in which they are shown. To
// add one, add a file and a row.
func Models() []workload.Model {
	return []workload.Model{dlrm(), dlrmHighAccuracy(), dlrmV2(), dlrmV2HighAccuracy(), dlrmV3()}
}

// dlrm is DLRM on the Criteo Terabyte data (rules v0.7 to v3.0).
func dlrm() workload.Model {
	return workload.Model{
		Name:    "dlrm",
		Title:   "DLRM, Criteo Terabyte",
		Task:    "recommendation: the chance of a click, Criteo Terabyte, 100 to 700 pairs a sample",
		Dataset: "criteo",
		BuiltIn: workload.Recipe{Parts: []workload.Part{{Role: workload.Only, Network: arch.DLRM(), Rows: 40_000, Beside: true}}, Samples: 100},
		Source:  "https://dlrm.s3-us-west-1.amazonaws.com/models/tb00_40M.onnx.tar",
		Papers:  []string{"Naumov et al., Deep Learning Recommendation Model for Personalization and Recommendation Systems, 2019, arXiv:1906.00091"},

		Rules: config.Model{
			Name:    "dlrm",
			Aliases: []string{"dlrm-99", "dlrm-99.9"},
			// 270 pairs on average, of 13 numbers and 26 categories of the same size.
			Sample: &config.SampleSize{InValues: 270 * (dataset.CriteoNumbers + dataset.CriteoCategories)},
		},
		PerformanceSampleCount: 204800,
		DatasetSamples:         officialSamples,
		Quality:                workload.Quality{Metric: "AUC", Fraction: 0.99},
		Open:                   opening(openCriteo),
		Score:                  scoring(openCriteo),
		ScoresLogAlone:         true,

		ScoreOptions: []workload.Option{
			{Name: dtypeOption, Aliases: []string{"output_dtype"}, Choices: []string{"float32", "int32", "int64"}, Help: "type of the numbers in the log (default: the official script's)"},
			{Name: verboseOption, Kind: workload.Bool, Help: "also print every wrong sample, where the official script can"},
			{Name: predictionsOption, Kind: workload.Bool, Help: "the log has predictions only, and the labels are those of the data set"},
			{Name: dayOption, Kind: workload.Path, Help: "text of day 23, whose labels count, as the log has predictions only; it takes the place of the data set, with the trace"},
			{Name: traceOption, Kind: workload.Path, Help: "dlrm_trace_of_aggregated_samples.txt: the lines of day 23 that are a sample"},
		},
	}
}

// dlrmHighAccuracy is the same benchmark with a stricter target.
func dlrmHighAccuracy() workload.Model {
	m := dlrm()
	m.Name = "dlrm-99.9"
	m.Title += ", 99.9 % of the accuracy"
	m.Quality.Fraction, m.Rules.Strict = 0.999, true
	return m
}

// officialSamples is the number of samples of both benchmarks.
const officialSamples = 330067

// The options of the family.
const (
	dtypeOption       = "dtype"
	verboseOption     = "verbose"
	predictionsOption = "predictions-only"
	dayOption         = "day-23-file"
	traceOption       = "aggregation-trace-file"
)

// dlrmV2 is DLRM-v2 on the Criteo Terabyte data with several categories a table (rules v3.1 to
// v5.1).
func dlrmV2() workload.Model {
	m := dlrm()
	m.Name = "dlrm-v2"
	m.Title = "DLRM-v2, Criteo Terabyte, multi-hot"
	m.Task = "recommendation: the chance of a click, Criteo Terabyte with up to 100 categories a table, 100 to 700 pairs a sample"
	m.Dataset = "criteo-multihot"
	m.BuiltIn = workload.Recipe{Parts: []workload.Part{{Role: workload.Only, Network: arch.DLRMv2(), Rows: 40_000, Beside: true}}, Samples: 100}
	m.Source = "https://inference.mlcommons-storage.org/metadata/dlrm-v2-model-weights.uri"
	m.Papers = append(m.Papers,
		"Wang et al., DCN V2: Improved Deep & Cross Network and Practical Lessons for Web-scale Learning to Rank Systems, WWW 2021, arXiv:2008.13535")
	m.Rules = config.Model{
		Name:    "dlrm-v2",
		Aliases: []string{"dlrmv2", "dlrm_v2", "dlrm-v2-99", "dlrm-v2-99.9"},
		// 270 pairs on average, of 13 numbers and 26 categories of the same size
		Sample: &config.SampleSize{InValues: 270 * (dataset.CriteoNumbers + dataset.CriteoCategories)},
	}
	m.Quality = workload.Quality{Metric: "AUC", Fraction: 0.99}
	m.Open, m.Score = opening(openMultiHot), scoring(openMultiHot)
	return m
}

// dlrmV2HighAccuracy is the same benchmark with a stricter target.
func dlrmV2HighAccuracy() workload.Model {
	m := dlrmV2()
	m.Name = "dlrm-v2-99.9"
	m.Title += ", 99.9 % of the accuracy"
	m.Quality.Fraction, m.Rules.Strict = 0.999, true
	return m
}
