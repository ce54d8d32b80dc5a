package models

import "testing"

func TestLogsOfBenchmarksThatAreNotRunCanBeScored(t *testing.T) {
	for _, name := range []string{"whisper", "Whisper-large-v3", "llama3.1-405b", "llama3_1-405b", "resnet50"} {
		m, err := LookupScored(name)
		if err != nil || m.Score == nil {
			t.Errorf("LookupScored(%q) = %s, %v", name, m.Name, err)
		}
	}
	for _, m := range Asked() {
		if _, err := Lookup(m.Name); err == nil {
			t.Errorf("%s is run, and needs no other entry", m.Name)
		}
		if rules, ok := Rules(m.Rules.Name); !ok || rules.Name != m.Rules.Name {
			t.Errorf("the rules do not know %s", m.Rules.Name)
		}
	}
	if _, err := LookupScored("nothing"); err == nil {
		t.Error("nothing can be scored")
	}
}

func TestBenchmarksOfServersAreFoundBesideTheCatalogue(t *testing.T) {
	for name, want := range map[string]string{"resnet50": "resnet50", "GPT-OSS_120B": "gpt-oss-120b", "llama3_1-405b": "llama3.1-405b", "deepseek-r1": "deepseek-r1", "llama2-70b-99": "llama2-70b"} {
		if m, err := LookupAsked(name); err != nil || m.Name != want {
			t.Errorf("LookupAsked(%q) = %s, %v, want %s", name, m.Name, err, want)
		}
	}
	if _, err := LookupAsked("gpt-oss-121"); err == nil {
		t.Error("something is found that is not there")
	}
}
