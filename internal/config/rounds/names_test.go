package rounds

import (
	"strings"
	"testing"
)

func TestFoldersNameScenariosInAnyCase(t *testing.T) {
	for folder, want := range map[string]string{"Offline": "Offline", "offline": "Offline", "SINGLESTREAM": "SingleStream", "multistream": "MultiStream", "server": "Server", "interactive": "Interactive", "Online": "", "": "", "offline ": ""} {
		if got := Scenario(folder); got != want {
			t.Errorf("Scenario(%q) = %q, want %q", folder, got, want)
		}
	}
}

func TestABenchmarkIsFoundByTheFirstNameThatTheRoundKnows(t *testing.T) {
	for _, c := range []struct {
		version string
		names   []string
		want    string
	}{
		{"v6.1", []string{"resnet"}, "resnet"},
		{"v6.1", []string{"resnet50"}, "resnet"},
		{"v6.1", []string{"bert"}, "bert-99"},
		{"v6.1", []string{"bert-99.9"}, "bert-99.9"},
		{"v6.1", []string{"none", "whisper"}, "whisper"},
		{"v6.1", []string{"my-resnet50-int8"}, ""},
		{"v6.1", nil, ""},
		{"v6.1", []string{""}, ""},
		{"v5.0", []string{"whisper"}, ""},
	} {
		if got := find(t, c.version).Benchmark(c.names...); got != c.want {
			t.Errorf("%s: Benchmark(%q) = %q, want %q", c.version, c.names, got, c.want)
		}
	}
}

func TestEveryRequiredScenarioIsOneAndEveryModelHasAUnit(t *testing.T) {
	for _, version := range Versions() {
		for name, m := range find(t, version).Models {
			for _, kinds := range []map[string][]string{m.Required, m.Optional} {
				for kind, list := range kinds {
					for _, s := range list {
						if Scenario(s) != s || m.UnitOf(s) == "" {
							t.Errorf("%s %s on %s: scenario %q with the unit %q", version, name, kind, s, m.UnitOf(s))
						}
					}
				}
			}
		}
	}
	m := &Model{}
	for scenario, want := range map[string]string{"Offline": "Samples/s", "Server": "Queries/s", "Interactive": "Queries/s", "SingleStream": "Latency (ms)", "MultiStream": "Latency (ms)"} {
		if got := m.UnitOf(scenario); got != want {
			t.Errorf("UnitOf(%s) = %q, want %q", scenario, got, want)
		}
	}
}

func TestAnUnknownModelHasNothing(t *testing.T) {
	m := find(t, "v6.1").Model("none")
	if _, known := m.AccuracySamplesOf("Offline"); m.Listed || m.AccuracyOf("Offline") != nil || known {
		t.Errorf("model %+v, want one without tables", m)
	}
}

func TestMetricsOfAScenarioComeBeforeThoseOfOthers(t *testing.T) {
	of := func(name string) []Metric { return []Metric{{Name: name}} }
	for _, c := range []struct {
		tables map[string][]Metric
		folder string
		want   string
	}{
		{map[string][]Metric{"": of("all"), "Offline": of("offline")}, "Offline", "all"},
		{map[string][]Metric{"Offline": of("offline"), "default": of("default")}, "offline", "offline"},
		{map[string][]Metric{"Offline": of("offline"), "default": of("default")}, "Server", "default"},
		{map[string][]Metric{"Offline": of("offline"), "Server": of("server")}, "Interactive", "offline"},
		{map[string][]Metric{"Server": of("server")}, "Interactive", "server"},
		{map[string][]Metric{"custom": of("custom"), "Server": of("server")}, "custom", "custom"},
	} {
		if got := (&Model{Accuracy: c.tables}).AccuracyOf(c.folder); len(got) != 1 || got[0].Name != c.want {
			t.Errorf("AccuracyOf(%s) of %v = %v, want %s", c.folder, c.tables, got, c.want)
		}
	}
}

func TestOtherNetworksAreKnownByName(t *testing.T) {
	for model, want := range map[string]bool{"mobilenet": true, "ssd-resnet34": true, "resnet50": false, "": false} {
		if Other(model) != want {
			t.Errorf("Other(%q) = %v, want %v", model, !want, want)
		}
	}
}

func TestRoundsBefore6HaveFoldersOfTheirOwn(t *testing.T) {
	for _, version := range Versions() {
		if got, want := find(t, version).Before6(), strings.HasPrefix(version, "v5"); got != want {
			t.Errorf("%s: Before6 = %v, want %v", version, got, want)
		}
	}
	if _, err := Find("v4.1"); err == nil || err.Error() != `rules "v4.1": want one of v5.0, v5.1, v6.0, v6.1` {
		t.Errorf("Find(v4.1): %v", err)
	}
}
