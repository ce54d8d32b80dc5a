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
