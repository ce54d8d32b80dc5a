package recsys

import (
	"github.com/mlperf-go/mlperf/internal/config"
	"github.com/mlperf-go/mlperf/internal/dataset"
	"github.com/mlperf-go/mlperf/internal/models/workload"
)

// dlrmV2 is DLRM-v2 on the Criteo Terabyte data with several categories a table (rules v3.1 to
// v5.1).
func dlrmV2() workload.Model {
	m := dlrm()
	m.Name = "dlrm-v2"
	m.Title = "DLRM-v2, Criteo Terabyte, multi-hot"
	m.Task = "recommendation: the chance of a click, Criteo Terabyte with up to 100 categories a table, 100 to 700 pairs a sample"
	m.Dataset = "criteo-multihot"
	m.BuiltIn = workload.Recipe{Parts: []workload.Part{{Role: workload.Only, Architecture: "dlrm-v2", Rows: 40_000, Beside: true}}, Samples: 100}
	m.Source = "https://inference.mlcommons-storage.org/metadata/dlrm-v2-model-weights.uri"
	m.Rules = config.Model{
		Name:    "dlrm-v2",
		Aliases: []string{"dlrmv2", "dlrm_v2", "dlrm-v2-99", "dlrm-v2-99.9"},
		Sample:  &config.SampleSize{InValues: 270 * (dataset.CriteoNumbers + dataset.CriteoCategories)}, // 270 pairs on average, of 13 numbers and 26 categories of the same size
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
	m.Quality.Fraction = 0.999
	return m
}
