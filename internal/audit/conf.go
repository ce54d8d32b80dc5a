package audit

import (
	"fmt"
	"strings"
)

// The seed of the sampling of responses, in all tests that look at them
// (compliance/TEST01/*/audit.config).
const samplingSeed = 720381539243781796

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
	return 4096
}

// confFile is the name of the file of a test's settings.
const confFile = "audit.config"

// Conf returns the audit.config of a test.
func Conf(test, model string) (string, error) {
	test, err := lookup(test)
	if err != nil {
		return "", err
	}
	lines := []string{"# " + test + " of " + model, "*.*.mode = 2"}
	switch test {
	case Test01:
		lines = append(lines, fmt.Sprintf("*.*.accuracy_log_rng_seed = %d", samplingSeed), fmt.Sprintf("*.*.accuracy_log_sampling_target = %d", samplingTarget(model)))
	case Test04:
		lines = append(lines, "*.*.performance_issue_unique = 0", "*.*.performance_issue_same = 1", fmt.Sprintf("*.*.performance_issue_same_index = %d", sampleIndex))
	case Test05:
		lines = append(lines, "*.*.test05 = 1")
	default:
		return "", fmt.Errorf("%s is for language models, which the catalogue does not have: only logs can be verified", test)
	}
	return strings.Join(lines, "\n") + "\n", nil
}
