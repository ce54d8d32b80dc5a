package importlog

import (
	"slices"
	"strings"
	"testing"

	"github.com/mlperf-go/mlperf/internal/config/limitation"
	"github.com/mlperf-go/mlperf/internal/report"
)

func TestModelAndRules(t *testing.T) {
	good, summary := published(t, "v5.1-offline-invalid")
	const version = `"loadgen_version", "value": "5.1.0 @ NA"`
	const seed = `"requested_qsl_rng_seed", "value": 1780908523862526354`
	other := []string{seed, `"requested_qsl_rng_seed", "value": 1`}
	as := func(v string) []string {
		return append([]string{version, `"loadgen_version", "value": "` + v + `"`}, other...)
	}
	dated := func(date string) []string {
		return append(as(".5a1"), `"loadgen_git_commit_date", "value": "NA"`, `"loadgen_git_commit_date", "value": "`+date+`"`)
	}
	for _, c := range []struct {
		name, path   string
		change       []string
		about        About
		model, rules string
		notes        []string
	}{
		{"a tree of a submission", "closed/x/results/y/resnet50/Offline/performance/run_1", nil, About{}, "resnet50", "v5.1",
			[]string{"the model is resnet50, as the path says", "closed division, as the path says", "rules v5.1, by its seeds"}},
		{"LoadGen of another round", "resnet50", []string{version, `"loadgen_version", "value": "5.0.0 @ NA"`}, About{}, "resnet50", "v5.1", []string{"rules v5.1, by its seeds"}},
		{"seeds of no round", "resnet50", other, About{}, "resnet50", "v5.1", []string{"rules v5.1, by the version of LoadGen"}},
		{"the innermost folder counts", "open/bert-99/closed/retinanet/x", nil, About{}, "retinanet", "v5.1", []string{"closed division", "the model is retinanet"}},
		{"another name of a model", "x/bert-99.9/y", nil, About{}, "bert", "v5.1", []string{"the model is bert-99.9"}},
		{"the repository of a round", "inference_results_v4.1/closed/resnet50", nil, About{}, "resnet50", "v4.1", []string{"rules v4.1, as the path says"}},
		{"a round that there is not", "inference_results_v4.7/closed/resnet50", nil, About{}, "resnet50", "v5.1", []string{"rules v5.1, by its seeds"}},
		{"a folder that is called like one", "my_inference_results_v4.1/resnet50", nil, About{}, "resnet50", "v5.1", nil},
		{"what the user says", "inference_results_v4.1/open/bert", nil, About{Model: "resnet50", Rules: "v3.1"}, "resnet50", "v3.1", []string{"open division"}},
		{"nothing that is known", "a/b", as("99.1 @ x"), About{}, report.NotKnown, report.NotKnown, []string{"not compared with rules: the model is not known"}},
		{"no round", "resnet50", as("99.1 @ x"), About{}, "resnet50", report.NotKnown, []string{"not compared with rules: the round is not known"}},
		{"a version that is none", "resnet50", as("5.12x"), About{}, "resnet50", report.NotKnown, nil},
		{"LoadGen of 2019", "resnet50", dated("2019-09-25T02:04:57-07:00"), About{}, "resnet50", "v0.5", []string{"rules v0.5, by the date of LoadGen"}},
		{"LoadGen of 2020", "resnet50", dated("2020-09-25T02:04:57-07:00"), About{}, "resnet50", "v0.7", []string{"rules v0.7, by the date of LoadGen"}},
		{"LoadGen of 2021 with the number of 2020", "resnet50", dated("2021-01-01"), About{}, "resnet50", report.NotKnown, nil},
		{"a round without the benchmark", "resnet50", nil, About{Model: "llama2-70b-99", Rules: "v3.1"}, "llama2-70b", "v3.1", []string{"rules v3.1 have no settings for the model llama2-70b"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			r, err := Read(folder(t, c.path, changed(t, good, c.change...), summary), c.about)
			if err != nil {
				t.Fatal(err)
			}
			if r.Model != c.model || r.Rules != c.rules || r.Interactive {
				t.Errorf("%s under %s, interactive %v, want %s under %s", r.Model, r.Rules, r.Interactive, c.model, c.rules)
			}
			for _, want := range c.notes {
				if !slices.ContainsFunc(r.Notes, func(n string) bool { return strings.Contains(n, want) }) {
					t.Errorf("%q is not among the notes %q", want, r.Notes)
				}
			}
		})
	}
}

func TestInteractiveFolder(t *testing.T) {
	detail, summary := published(t, "v5.1-server-tokens")
	for path, want := range map[string]bool{"llama2-70b-99/interactive/performance/run_1": true, "llama2-70b-99/Interactive/x": true, "llama2-70b-99/server/x": false} {
		if r, err := Read(folder(t, path, detail, summary), About{}); err != nil || r.Interactive != want || r.Model != "llama2-70b" {
			t.Errorf("%s: interactive %v, %v, want %v", path, r.Interactive, err, want)
		}
	}
}

// TestEasierSettingsAreLimitations has settings of a run differ from those of the rules.
func TestEasierSettingsAreLimitations(t *testing.T) {
	good, summary := published(t, "v5.1-offline-invalid")
	const path = "closed/x/results/y/resnet50/Offline/performance/run_1"
	const fewer = "min_query_count 100 24576"
	for _, c := range []struct{ name, old, with, limited, note string }{
		{"fewer queries, and the rate makes the samples", `"requested_min_query_count", "value": 24576`, `"requested_min_query_count", "value": 100`, "", ""},
		{"fewer samples", `"requested_min_query_count", "value": 24576`, `"requested_min_query_count", "value": 100`, fewer, ""},
		{"a shorter test", `"requested_min_duration_ms", "value": 600000`, `"requested_min_duration_ms", "value": 6000`, "min_duration 6s 10m0s", ""},
		{"a longer test", `"requested_min_duration_ms", "value": 600000`, `"requested_min_duration_ms", "value": 900000`, "", "min_duration is 900 s instead of the official 600 s"},
	} {
		t.Run(c.name, func(t *testing.T) {
			before, err := Read(folder(t, path, good, summary), About{})
			if err != nil {
				t.Fatal(err)
			}
			log := changed(t, good, c.old, c.with)
			if c.limited == fewer {
				log = changed(t, log, `"requested_offline_expected_qps", "value": 52.4567`, `"requested_offline_expected_qps", "value": 5`)
			}
			after, err := Read(folder(t, path, log, summary), About{})
			if err != nil {
				t.Fatal(err)
			}
			within := func(list []string, text string) bool {
				return slices.ContainsFunc(list, func(s string) bool { return strings.Contains(s, text) })
			}
			easier := func(r *report.Results) (list []string) {
				for _, l := range r.Limitations {
					if l.ID == limitation.Setting && l.Role == limitation.Log && strings.HasPrefix(l.Origin, "mlperf_log_detail.txt:") {
						list = append(list, l.Key+" "+l.Value+" "+l.Want)
					}
				}
				return list
			}
			if got := easier(after); c.limited != "" && !slices.Equal(got, []string{c.limited}) || c.limited == "" && len(got) > 0 || len(easier(before)) > 0 {
				t.Errorf("limitations %v, want %q; before %v", after.Limitations, c.limited, before.Limitations)
			}
			if c.note == "" && within(after.Notes, "min_query_count is 100") || c.note != "" && !within(after.Notes, c.note) {
				t.Errorf("notes %q, want %q", after.Notes, c.note)
			}
		})
	}
}
