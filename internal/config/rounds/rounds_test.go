package rounds

import (
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func find(t *testing.T, version string) *Round {
	t.Helper()
	r, err := Find(version)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func TestEveryRoundKnowsWhatItsModelsNeed(t *testing.T) {
	if diff := cmp.Diff([]string{"v5.0", "v5.1", "v6.0", "v6.1"}, Versions()); diff != "" {
		t.Error(diff)
	}
	for _, version := range Versions() {
		r := find(t, version)
		if r.Seeds.QSL == 0 || r.Seeds.SampleIndex == 0 || r.Seeds.Schedule == 0 {
			t.Errorf("%s has no seeds", version)
		}
		for name, m := range r.Models {
			if m.Listed && (m.Accuracy == nil || m.PerformanceSamples == nil || m.AccuracySamples == nil || m.MinQueries == nil) {
				t.Errorf("%s %s lacks a table", version, name)
			}
		}
	}
	if _, err := Find("v4.1"); err == nil {
		t.Error("v4.1 is a round")
	}
}

func TestTheTablesAreThoseOfTheRules(t *testing.T) {
	m := find(t, "v6.1").Model("resnet")
	if a := m.AccuracyOf("Offline"); len(a) != 1 || a[0].Name != "acc" || a[0].Bound != 75.69539999999999 {
		t.Errorf("accuracy of resnet: %v, want acc ≥ 76.46 · 0.99", a)
	}
	if *m.PerformanceSamples != 1024 || *m.OfflineSamples != 24576 || !slices.Equal(m.Tests, []string{"TEST01", "TEST04"}) {
		t.Errorf("resnet: %+v", m)
	}
	q := find(t, "v6.1").Model("qwen3-vl-235b-a22b")
	if n, ok := q.AccuracySamplesOf("Interactive"); !ok || n != 8000 {
		t.Errorf("samples of Interactive: %d, want 8000", n)
	}
	if _, ok := q.AccuracySamplesOf("interactive"); ok {
		t.Error("samples of a folder in small letters, which the official checker does not find")
	}
	if u := find(t, "v6.1").Model("wan-2.2-t2v-a14b").UnitOf("SingleStream"); u != "Latency (s)" {
		t.Errorf("unit of wan: %s", u)
	}
}

func TestModelsAreNamedAsTheOfficialCheckerNamesThem(t *testing.T) {
	r := find(t, "v6.1")
	for _, c := range []struct{ name, own, want string }{
		{"resnet", "x", "resnet"}, {"resnet50", "x", "resnet"}, {"mine", "resnet50", "resnet50"}, {"mine", "", "mine"},
		{"my-mobilenet-v3", "", "resnet"}, {"bert-99.9-int8", "", "bert-99.9"}, {"bert-99-int8", "", "bert-99"}, {"llama3_1-8b", "", "llama3.1-8b"},
	} {
		if got := r.ModelName(c.name, c.own); got != c.want {
			t.Errorf("ModelName(%q, %q) = %q, want %q", c.name, c.own, got, c.want)
		}
	}
}

// What the official checker guesses comes after the table of other names.
func TestOtherNamesAreKnownOrGuessed(t *testing.T) {
	r := find(t, "v6.1")
	for alias, model := range r.Aliases {
		if got := r.ModelName(alias, "own"); got != model {
			t.Errorf("ModelName(%q) = %q, want %q, which comes before a name of the submitter's", alias, got, model)
		}
	}
	for name, want := range map[string]string{
		"efficientnet-b0": "resnet", "my-llama3_1-405b": "llama3.1-405b", "xbert-99.9": "bert-99.9", "mobilenet-bert-99": "resnet", "": "", "bert": "bert", "RESNET50": "RESNET50",
	} {
		if got := r.ModelName(name, ""); got != want {
			t.Errorf("ModelName(%q) = %q, want %q", name, got, want)
		}
	}
}

func TestEveryCallReturnsTheSameTables(t *testing.T) {
	a, b := find(t, "v6.0"), find(t, "v6.0")
	if a != b || a.Version != "v6.0" || find(t, "v6.1") == a {
		t.Errorf("%p and %p of %s, want one of v6.0", a, b, a.Version)
	}
	for range 20 { // a map has no order
		if !slices.IsSorted(Versions()) {
			t.Fatalf("versions %v, want the oldest first", Versions())
		}
	}
}

func TestKeysOfEndpointsLeadToKeysOfLoadGen(t *testing.T) {
	keys := EndpointKeys()
	if keys.Keys["duration_ns"] != "generated_query_duration" || keys.YAML["effective_scenario"] != "type" || keys.Alternatives["generated_query_count"] != "n_samples_issued" || keys.Audits["TEST04"] != "output_caching_test" {
		t.Errorf("%+v", keys)
	}
	for own := range keys.YAML {
		if keys.Keys[own] == "" {
			t.Errorf("%s has a place in config.yaml and no key of LoadGen", own)
		}
	}
	if keys.OutputTokens.Least != 1150.38 || keys.OutputTokens.Most != 1406.02 {
		t.Errorf("outputs have %v tokens, want 1150.38 to 1406.02", keys.OutputTokens)
	}
	for i, release := range PowerSources() {
		if len(release) == 0 {
			t.Errorf("release %d of the programs for power has no files", i)
		}
	}
}
