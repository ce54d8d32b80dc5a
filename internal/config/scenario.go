package config

import (
	"fmt"
	"strings"

	"github.com/mlperf-go/mlperf/internal/loadgen"
)

const (
	interactive       = "Interactive"
	interactiveSuffix = "-interactive"
)

// ParseScenario returns the scenario of a name; case, hyphens and underscores do not
// matter. Interactive is Server with the stricter limits of the model's interactive
// variant (ConfName).
func ParseScenario(name string) (s loadgen.Scenario, isInteractive bool, err error) {
	if strings.EqualFold(strings.NewReplacer("-", "", "_", "").Replace(name), interactive) {
		return loadgen.Server, true, nil
	}
	s, err = loadgen.ParseScenario(name)
	if err != nil {
		err = fmt.Errorf("unknown scenario %q, want SingleStream, MultiStream, Server, Offline or Interactive", name)
	}
	return s, false, err
}

// ConfName returns the name under which conf files have the settings of a model.
// It knows the catalogue's names and those of submissions (resnet, bert-99.9,
// ssd-small); any other is its own.
func ConfName(model string, isInteractive bool) string {
	name := strings.ToLower(model)
	for _, accuracy := range []string{"-99.9", "-99", "-95"} {
		name = strings.TrimSuffix(name, accuracy)
	}
	name = strings.Replace(name, "llama3.1-", "llama3_1-", 1)
	name = strings.TrimSuffix(name, "-instruct")
	if alias, ok := confAlias(name); ok {
		name = alias
	} else if name == strings.ToLower(model) {
		name = model // an unknown model keeps its spelling
	}
	if isInteractive && !strings.HasSuffix(name, interactiveSuffix) {
		name += interactiveSuffix
	}
	return name
}

// confAlias knows the names that other parts of MLPerf give to the models of conf
// files: the catalogue, submissions (tools/submission), the mobile and older rounds.
func confAlias(name string) (string, bool) {
	alias, ok := map[string]string{
		"resnet": "resnet50", "resnet50-v1.5": "resnet50", "resnet50_v1.5": "resnet50",
		"mobilenet-v1":     "mobilenet",
		"ssd-small":        "ssd-mobilenet",
		"ssd-mobilenet-v1": "ssd-mobilenet",
		"ssd-large":        "ssd-resnet34",
		"3d-unet-kits19":   "3d-unet", "3d-unet-brats19": "3d-unet", "3dunet": "3d-unet",
		"bert-large": "bert",
		"rnn-t":      "rnnt",
		"dlrmv2":     "dlrm-v2", "dlrm_v2": "dlrm-v2", "dlrmv3": "dlrm-v3",
		"gpt-j": "gptj", "gptj-6b": "gptj",
		"sdxl":    "stable-diffusion-xl",
		"r-gat":   "rgat",
		"yolo11l": "yolo", "yolo-v11": "yolo", "yolov11": "yolo",
		"whisper-large-v3": "whisper",
		"llama2-70b-chat":  "llama2-70b",
	}[name]
	return alias, ok
}
