package models

import (
	"slices"
	"strings"
	"testing"
)

func TestLookupKnowsModelsByTheirNamesAndAliases(t *testing.T) {
	tests := []struct{ name, want string }{
		{"resnet50", "resnet50"},
		{"ResNet-50", "resnet50"},
		{"resnet_50", "resnet50"},
		{"RESNET 50", "resnet50"},
		{"resnet", "resnet50"},
		{"resnet50-v1.5", "resnet50"},
		{"mobilenet", "mobilenet"},
		{"MobileNet-v1", "mobilenet"},
	}
	for _, m := range All() {
		tests = append(tests, struct{ name, want string }{m.Name, m.Name})
	}
	for _, test := range tests {
		if m, err := Lookup(test.name); err != nil || m.Name != test.want {
			t.Errorf("Lookup(%q) = %q, %v; want %q", test.name, m.Name, err, test.want)
		}
	}
}

func TestLookupOfAnUnknownNameListsTheChoices(t *testing.T) {
	for _, name := range []string{"", "resnet51", "alexnet"} {
		_, err := Lookup(name)
		if err == nil {
			t.Fatalf("Lookup(%q) finds something", name)
		}
		for _, m := range All() {
			if !strings.Contains(err.Error(), m.Name) {
				t.Errorf("Lookup(%q): %v; it does not name %s", name, err, m.Name)
			}
		}
	}
}

func TestLookupOfAMisspeltNameSaysWhatMayBeMeant(t *testing.T) {
	for name, want := range map[string]string{"resnet51": "; did you mean resnet50?", "retinanett": "; did you mean retinanet?", "whispr": "; did you mean whisper?", "something else entirely": ""} {
		_, err := Lookup(name)
		if err == nil {
			t.Fatalf("Lookup(%q) finds something", name)
		}
		if _, meant, found := strings.Cut(err.Error(), "; did"); found != (want != "") || found && "; did"+meant != want {
			t.Errorf("Lookup(%q): %v, want %q", name, err, want)
		}
		list, _, _ := strings.Cut(strings.SplitAfter(err.Error(), "want one of ")[1], ";")
		if choices := strings.Split(list, ", "); !slices.IsSorted(choices) || len(choices) != len(All()) {
			t.Errorf("Lookup(%q): the choices are %v", name, choices)
		}
	}
}

func TestEveryNameOfAModelLeadsToIt(t *testing.T) {
	for _, m := range All() {
		for _, alias := range append(append([]string{}, m.Aliases...), m.Rules.Aliases...) {
			if got, err := Lookup(alias); err != nil || got.Rules.Name != m.Rules.Name {
				t.Errorf("alias %q: %q, %v; want %q", alias, got.Name, err, m.Name)
			}
		}
	}
	for alias, want := range map[string]string{
		"resnet50-v1.5": "resnet50", "ssd-small": "ssd-mobilenet", "SSD-large": "ssd-resnet34", "3d-unet-99": "3d-unet",
		"3d-unet-99.9": "3d-unet-99.9", "3d-unet-kits19": "3d-unet", "deeplab": "deeplab-v3plus", "ssd-mobilenet-v1": "ssd-mobilenet",
	} {
		if got, err := Lookup(alias); err != nil || got.Name != want {
			t.Errorf("Lookup(%q) = %q, %v; want %q", alias, got.Name, err, want)
		}
	}
}

func TestLogsOfBenchmarksThatAreNotRunCanBeScored(t *testing.T) {
	for _, name := range []string{"whisper", "Whisper-large-v3", "llama3.1-405b", "llama3_1-405b", "resnet50"} {
		m, err := LookupAsked(name)
		if err != nil || m.Score == nil {
			t.Errorf("LookupAsked(%q) = %s, %v", name, m.Name, err)
		}
	}
	for _, m := range RemoteModels() {
		if _, err := Lookup(m.Name); err == nil {
			t.Errorf("%s is run, and needs no other entry", m.Name)
		}
		if rules, ok := Rules(m.Rules.Name); !ok || rules.Name != m.Rules.Name {
			t.Errorf("the rules do not know %s", m.Rules.Name)
		}
	}
	if _, err := LookupAsked("nothing"); err == nil {
		t.Error("nothing can be scored")
	}
}

func TestBenchmarksOfServersAreFoundBesideTheCatalogue(t *testing.T) {
	for name, want := range map[string]string{"resnet50": "resnet50", "GPT-OSS_120B": "gpt-oss-120b", "llama3_1-405b": "llama3.1-405b", "deepseek-r1": "deepseek-r1", "llama2-70b-99": "llama2-70b"} {
		if m, err := LookupAsked(name); err != nil || m.Name != want {
			t.Errorf("LookupAsked(%q) = %s, %v, want %s", name, m.Name, err, want)
		}
	}
	_, err := LookupAsked("gpt-oss-121b")
	if err == nil || !strings.Contains(err.Error(), "did you mean gpt-oss-120b?") || !strings.Contains(err.Error(), "resnet50, ") {
		t.Errorf("a misspelt name: %v", err)
	}
}
