package config

import (
	"slices"
	"strings"
	"time"
)

// Minima are the numbers that the submission checker of a round asks of a closed
// submission. 0: it asks nothing.
type Minima struct {
	PerformanceSamples uint64        // in memory at once, at least
	AccuracySamples    uint64        // of the accuracy run, exactly
	OfflineSamples     uint64        // of the Offline query, at least
	ServerLatency      time.Duration // target latency of Server, at most
}

// offlineSamples is how many samples an Offline query has at least, unless the data
// set has fewer (inference_rules.adoc, scenario table; OFFLINE_MIN_SPQ).
const offlineSamples = 24576

// Minima returns what the checker of the round asks of a model; false if the round
// does not have the model. An interactive variant has those of its model.
func (r *RuleSet) Minima(model string) (Minima, bool) {
	name := ConfName(model, false)
	if m, ok := r.minima(name); ok {
		return m, true
	}
	return r.minima(strings.TrimSuffix(name, interactiveSuffix))
}

func (r *RuleSet) minima(name string) (Minima, bool) {
	round := slices.Index(Versions(), r.Version)
	for _, m := range checkerMinima() {
		first, last := slices.Index(Versions(), m.first), slices.Index(Versions(), m.last)
		if m.model == name && first <= round && round <= last {
			return Minima{m.performance, m.accuracy, m.offline, time.Duration(m.serverMillis) * time.Millisecond}, true
		}
	}
	return Minima{}, false
}

type minimaRow struct {
	model                          string
	first, last                    string // rounds in which the row applies
	performance, accuracy, offline uint64
	serverMillis                   int64
}

// checkerMinima lists the minima of all rounds: performance-sample-count,
// accuracy-sample-count or dataset-size, OFFLINE_MIN_SPQ and latency-constraint in
// MODEL_CONFIG of mlcommons/inference, tools/submission, at the tags v2.1 (for v0.5 to
// v2.1), v3.0, v3.1, v4.0, v4.1 and at b66003e1 (for v5.0 to v6.1). Models are named
// as in conf files; variants of different accuracy have the same minima. For v0.5 and
// v4.1 some latency constraints are missing there, though the rules had them. Of
// qwen3-vl the Interactive accuracy run has 8000 samples.
func checkerMinima() []minimaRow {
	return []minimaRow{
		{"ssd-mobilenet", "v0.5", "v2.0", 256, 0, 24576, 0},
		{"ssd-resnet34", "v0.5", "v0.5", 64, 0, 24576, 0},
		{"ssd-resnet34", "v0.7", "v2.0", 64, 0, 24576, 100},
		{"mobilenet", "v0.5", "v0.5", 1024, 0, 24576, 0},
		{"resnet50", "v0.5", "v0.5", 1024, 0, 24576, 0},
		{"resnet50", "v0.7", "v4.1", 1024, 0, 24576, 15},
		{"resnet50", "v5.0", "v6.1", 1024, 50000, 24576, 15},
		{"gnmt", "v0.5", "v0.5", 3903900, 0, 24576, 0},
		{"rnnt", "v0.7", "v3.1", 2513, 0, 24576, 1000},
		{"rnnt", "v4.0", "v4.0", 2513, 0, 2513, 1000},
		{"bert", "v0.7", "v3.1", 10833, 0, 24576, 130},
		{"bert", "v4.0", "v4.1", 10833, 0, 10833, 130},
		{"bert", "v5.0", "v6.1", 10833, 10833, 10833, 0},
		{"dlrm", "v0.7", "v3.0", 204800, 0, 24576, 30},
		{"3d-unet", "v0.7", "v1.1", 16, 0, 24576, 0},
		{"3d-unet", "v2.0", "v2.1", 42, 0, 24576, 0},
		{"3d-unet", "v3.0", "v3.1", 43, 0, 24576, 0},
		{"3d-unet", "v4.0", "v4.1", 43, 0, 43, 0},
		{"3d-unet", "v5.0", "v6.1", 43, 43, 43, 0},
		{"retinanet", "v2.1", "v4.1", 64, 0, 24576, 100},
		{"retinanet", "v5.0", "v6.0", 64, 24781, 24576, 100},
		{"dlrm-v2", "v3.1", "v4.1", 204800, 0, 24576, 60},
		{"dlrm-v2", "v5.0", "v5.1", 204800, 330067, 24576, 60},
		{"gptj", "v3.1", "v3.1", 13368, 0, 24576, 20000},
		{"gptj", "v4.0", "v4.1", 13368, 0, 13368, 20000},
		{"gptj", "v5.0", "v5.0", 13368, 13368, 0, 20000},
		{"gpt3", "v3.1", "v3.1", 13368, 0, 24576, 20000},
		{"llama2-70b", "v4.0", "v4.1", 24576, 0, 24576, 20000},
		{"llama2-70b", "v5.0", "v6.1", 24576, 24576, 24576, 20000},
		{"stable-diffusion-xl", "v4.0", "v4.1", 5000, 0, 5000, 20000},
		{"stable-diffusion-xl", "v5.0", "v6.1", 5000, 5000, 5000, 20000},
		{"mixtral-8x7b", "v4.1", "v4.1", 15000, 0, 15000, 0},
		{"mixtral-8x7b", "v5.0", "v6.0", 15000, 15000, 15000, 20000},
		{"llama2-70b-interactive", "v5.0", "v5.0", 24576, 24576, 24576, 20000},
		{"llama3_1-405b", "v5.0", "v6.0", 8313, 8313, 8313, 60000},
		{"rgat", "v5.0", "v6.1", 788379, 788379, 788379, 0},
		{"pointpainting", "v5.0", "v6.0", 1024, 39987, 6636, 0},
		{"llama3_1-8b", "v5.1", "v6.1", 13368, 13368, 13368, 20000},
		{"llama3_1-8b-edge", "v5.1", "v6.1", 5000, 5000, 5000, 0},
		{"deepseek-r1", "v5.1", "v6.1", 4388, 4388, 4388, 60000},
		{"whisper", "v5.1", "v6.1", 1633, 1633, 1633, 0},
		{"gpt-oss-120b", "v6.0", "v6.1", 6396, 4395, 6396, 60000},
		{"wan-2.2-t2v-a14b", "v6.0", "v6.1", 50, 248, 50, 0},
		{"qwen3-vl-235b-a22b", "v6.0", "v6.1", 48289, 48289, 48289, 12000},
		{"dlrm-v3", "v6.0", "v6.1", 349823, 349823, 349823, 60000},
		{"yolo", "v6.0", "v6.1", 64, 1525, 1525, 0},
		{"qwen3.6-27b", "v6.1", "v6.1", 995, 995, 0, 0},
		{"e2e-rag-qna", "v6.1", "v6.1", 824, 824, 824, 0},
		{"e2e-rag-db", "v6.1", "v6.1", 2515, 2515, 2515, 0},
	}
}
