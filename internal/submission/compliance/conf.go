package compliance

import (
	"fmt"
	"strings"

	"github.com/mlperf-go/mlperf/internal/loadgen"
)

// confFile is the name of the file with the settings of a test.
const confFile = "audit.config"

// The numbers of the reference's compliance/TEST*/*/audit.config.
const (
	samplingSeed = 720381539243781796 // of the responses that are kept, in all tests that look at them
	usualSamples = 4096               // that TEST01 and TEST08 keep
	sampleIndex  = 3                  // of the one sample of TEST04
	samples06    = 100
	samples07    = 990
)

// samplingSeeds05 are those of v0.5 (v0.7:compliance/audit_v0.5/nvidia/TEST01), which kept 10 % of all responses.
var samplingSeeds05 = map[loadgen.Scenario]uint64{loadgen.MultiStream: 123, loadgen.Offline: 456, loadgen.SingleStream: 789, loadgen.Server: 147}

// samplingTarget returns how many responses TEST01 keeps of a model.
func samplingTarget(model string) int {
	for name, n := range map[string]int{
		"retinanet": 256, "pointpainting": 256, "stable-diffusion-xl": 128, "3d-unet": 64, "yolo": 64, "wan-2.2": 50,
		"ssd-mobilenet": 1024, "ssd-resnet34": 256,
	} {
		if strings.HasPrefix(model, name) {
			return n
		}
	}
	return usualSamples
}

// samples09 returns how many samples TEST09 has.
func samples09(model string) int {
	if strings.HasPrefix(model, "e2e-rag") {
		return 824
	}
	return 6396 // of gpt-oss-120b
}

// Conf returns the audit.config of a test under the rules of a version; empty: the newest. Of TEST04 as two runs it is that
// of TEST04-B. TEST03 has none.
func Conf(test, model, rules string) (string, error) {
	test, version, err := lookup(test, rules)
	if err != nil {
		return "", err
	}
	seed := fmt.Sprintf("accuracy_log_rng_seed = %d", uint64(samplingSeed))
	keep := func(n int) string { return fmt.Sprintf("accuracy_log_sampling_target = %d", n) }
	queries := func(n int) string {
		return fmt.Sprintf("min_query_count = %d\n*.*.min_duration = 0\n*.*.sample_concatenate_permutation = 0", n)
	}
	const unique = "performance_issue_unique = 1"
	switch test {
	case test01:
		if version == "v0.5" {
			text := confText(test, model)
			for _, s := range loadgen.Scenarios() {
				text += fmt.Sprintf("*.%v.accuracy_log_rng_seed = %d\n*.%[1]v.accuracy_log_probability = 10\n", s, samplingSeeds05[s])
			}
			return text, nil
		}
		return confText(test, model, seed, keep(samplingTarget(model))), nil
	case test04:
		return confText(test, model, "performance_issue_unique = 0", "performance_issue_same = 1",
			fmt.Sprintf("performance_issue_same_index = %d", sampleIndex)), nil
	case test05:
		return confText(test, model, "test05 = 1"), nil
	case test06:
		return confText(test, model, seed, keep(samples06), queries(samples06)), nil
	case test07:
		return confText(test, model, seed, keep(samples07), queries(samples07), unique), nil
	case test08:
		return confText(test, model, seed, keep(usualSamples)), nil
	case test09:
		settings := []string{seed, keep(10000), queries(samples09(model))}
		if !strings.HasPrefix(model, "e2e-rag") {
			settings = append(settings, unique)
		}
		return confText(test, model, settings...), nil
	}
	return "", nil
}

func confText(test, model string, settings ...string) string {
	text := "# " + test + " of " + model + "\n*.*.mode = 2\n"
	for _, s := range settings {
		text += "*.*." + s + "\n"
	}
	return text
}
