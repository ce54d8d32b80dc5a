package compliance

import (
	"cmp"
	"slices"
	"strings"
)

// olderNames are the benchmarks of the rounds to v4.1 (tools/submission/submission-checker.py
// of each).
func olderNames(version string) []string {
	if version == "v0.5" {
		return []string{"ssd-small", "ssd-large", "mobilenet", "resnet", "gnmt"}
	}
	names := []string{"resnet", "rnnt", "bert-99", "bert-99.9", "3d-unet-99", "3d-unet-99.9"}
	if version < "v2.1" {
		names = append(names, "ssd-small", "ssd-large")
	} else {
		names = append(names, "retinanet")
	}
	if version < "v3.1" {
		names = append(names, "dlrm-99", "dlrm-99.9")
	} else {
		names = append(names, "dlrm-v2-99", "dlrm-v2-99.9", "gptj-99", "gptj-99.9")
	}
	if version >= "v4.0" {
		names = append(names, "llama2-70b-99", "llama2-70b-99.9", "stable-diffusion-xl")
	}
	if version >= "v4.1" {
		names = append(names, "mixtral-8x7b")
	}
	return names
}

// olderAliases are names that the rounds to v2.0 had of what the catalogue calls otherwise.
var olderAliases = map[string]string{"ssd-mobilenet": "ssd-small", "ssd-resnet34": "ssd-large"}

// olderTable has the tests of v0.5 to v4.1, when the rule was a list with exceptions.
func olderTable(version string) *table {
	names := olderNames(version)
	return &table{version: version, names: names, of: func(name string) ([]string, bool) {
		if strings.HasPrefix(name, "resnet50") {
			name = "resnet"
		}
		if version < "v2.1" {
			name = cmp.Or(olderAliases[name], name)
			return oldestTests(version, name), slices.Contains(names, name)
		}
		return olderTests(version, name), slices.Contains(names, name)
	}}
}

// oldestTests are those of v0.5, whose audit set was for the auditor, and of v0.7 to v2.0.
func oldestTests(version, name string) []string {
	switch {
	case version == "v0.5" && name == "gnmt": // the length of its answers varies
		return []string{Test01, Test03, Test05}
	case version == "v0.5":
		return []string{Test01, Test03, test04A, test04B, Test05}
	case name == "resnet" || strings.HasPrefix(name, "ssd-"):
		return []string{Test01, test04A, test04B, Test05}
	}
	return []string{Test01, Test05}
}

func olderTests(version, name string) []string {
	switch {
	case strings.HasPrefix(name, "gptj"):
		return nil
	case strings.HasPrefix(name, "llama2") || strings.HasPrefix(name, "mixtral"):
		return []string{Test06}
	case name == "stable-diffusion-xl" && version == "v4.0":
		return nil
	case name == "stable-diffusion-xl":
		return []string{Test01, Test04}
	case name == "resnet":
		return []string{Test01, Test04, Test05}
	}
	return []string{Test01, Test05}
}
