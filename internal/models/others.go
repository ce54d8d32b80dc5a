package models

import (
	"slices"
	"time"

	"github.com/mlperf-go/mlperf/internal/config"
	"github.com/mlperf-go/mlperf/internal/loadgen"
)

// Rules returns what the rules know of a benchmark by any of its names; false if no round has
// it. Unlike Lookup it also knows those that the catalogue does not have.
func Rules(name string) (config.Model, bool) {
	for _, m := range slices.Concat(All(), Asked()) {
		if m.Rules.Is(name) {
			return m.Rules, true
		}
	}
	for _, m := range others() {
		if m.Is(name) {
			return m, true
		}
	}
	return config.Model{}, false
}

// RuleNames lists all names by which conf files and submissions call benchmarks.
func RuleNames() []string {
	var names []string
	add := func(m config.Model) { names = append(append(names, m.Name), m.Aliases...) }
	for _, m := range slices.Concat(All(), Asked()) {
		add(m.Rules)
	}
	for _, m := range others() {
		add(m)
	}
	return names
}

// rounds are minima that did not change from one round to another.
func rounds(first, last string, m config.Minima) []config.RoundMinima {
	return []config.RoundMinima{{First: first, Last: last, Minima: m}}
}

// others are the benchmarks of the rules that the catalogue does not have. One that is added
// to it takes its entry along.
//
// Like those of the catalogue, minima are performance-sample-count, accuracy-sample-count or
// dataset-size, OFFLINE_MIN_SPQ and latency-constraint in MODEL_CONFIG of
// mlcommons/inference, tools/submission, at the tags v2.1 (for v0.5 to v2.1), v3.0, v3.1,
// v4.0, v4.1 and at b66003e1 (for v5.0 to v6.1). Variants of different accuracy, and
// Interactive ones, have the same minima. For v0.5 and v4.1 some latency constraints are
// missing there, though the rules had them. Of qwen3-vl the Interactive accuracy run has
// 8000 samples. Samples are the table of inference_rules.adoc, appendix "Datacenter Bandwidth
// Requirements" (ingress and egress); models that are no longer in it have the last values
// that they had.
func others() []config.Model {
	const ms = time.Millisecond
	return []config.Model{
		{
			Name:    "gpt3",
			Aliases: []string{"gpt3-99", "gpt3-99.9"},
			Minima:  rounds("v3.1", "v3.1", config.Minima{PerformanceSamples: 13368, OfflineSamples: 24576, ServerLatency: 20000 * ms}),
		},
		{
			Name:    "rgat",
			Aliases: []string{"r-gat"},
			Minima:  rounds("v5.0", "v6.1", config.Minima{PerformanceSamples: 788379, AccuracySamples: 788379, OfflineSamples: 788379}),
			Sample:  &config.SampleSize{},
		},
		{
			Name:   "pointpainting",
			Minima: rounds("v5.0", "v6.0", config.Minima{PerformanceSamples: 1024, AccuracySamples: 39987, OfflineSamples: 6636}),
		},
		{
			Name:    "wan-2.2-t2v-a14b",
			Minima:  rounds("v6.0", "v6.1", config.Minima{PerformanceSamples: 50, AccuracySamples: 248, OfflineSamples: 50}),
			Queries: map[loadgen.Scenario]uint64{loadgen.SingleStream: 50},
			Sample:  &config.SampleSize{OutValues: 224_870_400}, // the product that the rules give, 81·720·1280·3, is 921600 less than their number
		},
		{
			Name:   "qwen3-vl-235b-a22b",
			Minima: rounds("v6.0", "v6.1", config.Minima{PerformanceSamples: 48289, AccuracySamples: 48289, OfflineSamples: 48289, ServerLatency: 12000 * ms}),
			Sample: &config.SampleSize{InValues: 27051, OutValues: 500},
		},
		{
			Name:    "dlrm-v3",
			Aliases: []string{"dlrmv3"},
			Minima:  rounds("v6.0", "v6.1", config.Minima{PerformanceSamples: 349823, AccuracySamples: 349823, OfflineSamples: 349823, ServerLatency: 60000 * ms}),
			Sample:  &config.SampleSize{InBytes: (2 + 6*1 + 6*2048) * 8}, // as printed: 98368
		},
		{
			Name:    "yolo",
			Aliases: []string{"yolo11l", "yolo-v11", "yolov11", "yolo-95", "yolo-99"},
			Minima:  rounds("v6.0", "v6.1", config.Minima{PerformanceSamples: 64, AccuracySamples: 1525, OfflineSamples: 1525}),
		},
		{
			Name:    "qwen3.6-27b",
			Minima:  rounds("v6.1", "v6.1", config.Minima{PerformanceSamples: 995, AccuracySamples: 995}),
			Queries: map[loadgen.Scenario]uint64{loadgen.SingleStream: 995},
		},
		{
			Name:   "e2e-rag-qna",
			Minima: rounds("v6.1", "v6.1", config.Minima{PerformanceSamples: 824, AccuracySamples: 824, OfflineSamples: 824}),
			Sample: &config.SampleSize{},
		},
		{
			Name:   "e2e-rag-db",
			Minima: rounds("v6.1", "v6.1", config.Minima{PerformanceSamples: 2515, AccuracySamples: 2515, OfflineSamples: 2515}),
			Sample: &config.SampleSize{},
		},
	}
}
