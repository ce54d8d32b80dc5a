package compliance

import (
	"fmt"
	"strings"

	"github.com/mlperf-go/mlperf/internal/loadgen"
)

// The seed of the sampling of responses, in all tests that look at them
// (compliance/TEST01/*/audit.config).
const samplingSeed = 720381539243781796

// samplingSeeds05 are those of v0.5, by scenario (v0.7:compliance/audit_v0.5/nvidia/TEST01),
// where 10 % of all responses were kept.
var samplingSeeds05 = map[loadgen.Scenario]uint64{loadgen.MultiStream: 123, loadgen.Offline: 456, loadgen.SingleStream: 789, loadgen.Server: 147}

func samplingSeedOf(version string, s loadgen.Scenario) uint64 {
	if version == "v0.5" {
		return samplingSeeds05[s]
	}
	return samplingSeed
}

// sampleIndex is the sample that TEST04 asks for again and again.
const sampleIndex = 3

// samplingTargets are how many responses TEST01 keeps, of models where it is not 4096.
var samplingTargets = map[string]int{
	"retinanet": 256, "pointpainting": 256, "stable-diffusion-xl": 128, "3d-unet": 64, "yolo": 64, "wan-2.2": 50,
	"ssd-mobilenet": 1024, "ssd-resnet34": 256,
}

// samplingTarget is how many responses TEST01 keeps of a model.
func samplingTarget(model string) int {
	for name, n := range samplingTargets {
		if strings.HasPrefix(model, name) {
			return n
		}
	}
	return usualSamples
}

const usualSamples = 4096

// How many samples other tests have (compliance/TEST*/*/audit.config).
const (
	samples06     = 100
	samples07     = 990
	samplesGPTOSS = 6396 // of TEST09
	samplesRAG    = 824
)

func samples09(model string) int {
	if strings.HasPrefix(model, "e2e-rag") {
		return samplesRAG
	}
	return samplesGPTOSS
}

// confFile is the name of the file of a test's settings.
const confFile = "audit.config"

// Conf returns the audit.config of a test under the rules of a version; empty: the newest.
// Of TEST04 as two runs it is that of TEST04-B. TEST03 has none.
func Conf(test, model, rules string) (string, error) {
	test, version, err := lookup(test, rules)
	if err != nil {
		return "", err
	}
	lines := confLines(test, model, version)
	if len(lines) == 0 {
		return "", nil
	}
	return confText(test, model, lines), nil
}

func confText(test, model string, lines []string) string {
	return "# " + test + " of " + model + "\n*.*.mode = 2\n" + strings.Join(lines, "\n") + "\n"
}

// uniqueConf is the audit.config of TEST04-A.
func uniqueConf(model string) string {
	return confText(test04A, model, []string{"*.*.performance_issue_unique = 1", "*.*.performance_issue_same = 0"})
}

func confLines(test, model, version string) []string {
	sampled := []string{fmt.Sprintf("*.*.accuracy_log_rng_seed = %d", uint64(samplingSeed))}
	switch test {
	case Test01:
		if version == "v0.5" {
			return conf05()
		}
		return append(sampled, fmt.Sprintf("*.*.accuracy_log_sampling_target = %d", samplingTarget(model)))
	case Test04:
		return []string{"*.*.performance_issue_unique = 0", "*.*.performance_issue_same = 1", fmt.Sprintf("*.*.performance_issue_same_index = %d", sampleIndex)}
	case Test05:
		return []string{"*.*.test05 = 1"}
	case Test06:
		return append(sampled, lengthLines(samples06, samples06, false)...)
	case Test07:
		return append(sampled, lengthLines(samples07, samples07, true)...)
	case Test08:
		return append(sampled, fmt.Sprintf("*.*.accuracy_log_sampling_target = %d", usualSamples))
	case Test09:
		queries := samples09(model)
		return append(sampled, lengthLines(10000, queries, queries == samplesGPTOSS)...)
	}
	return nil
}

// conf05 are the seeds of v0.5.
func conf05() []string {
	var lines []string
	for _, s := range loadgen.Scenarios() {
		lines = append(lines, fmt.Sprintf("*.%v.accuracy_log_rng_seed = %d", s, samplingSeeds05[s]), fmt.Sprintf("*.%v.accuracy_log_probability = 10", s))
	}
	return lines
}

// lengthLines are what tests of language models have in common: a number of queries and no
// time, and how many responses are kept.
func lengthLines(target, queries int, unique bool) []string {
	lines := []string{
		fmt.Sprintf("*.*.accuracy_log_sampling_target = %d", target), fmt.Sprintf("*.*.min_query_count = %d", queries),
		"*.*.min_duration = 0", "*.*.sample_concatenate_permutation = 0",
	}
	if unique {
		lines = append(lines, "*.*.performance_issue_unique = 1")
	}
	return lines
}
