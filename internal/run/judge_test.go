package run

import (
	"errors"
	"os"
	"strings"
	"testing"

	"github.com/mlperf-go/mlperf/internal/config"
	"github.com/mlperf-go/mlperf/internal/loadgen"
	"github.com/mlperf-go/mlperf/internal/models/workload"
	"github.com/mlperf-go/mlperf/internal/quantize"
	"github.com/mlperf-go/mlperf/internal/userinput"
)

// resolve resolves a request of ResNet-50, in a folder without a user.conf.
func resolve(t *testing.T, q Request) *Resolved {
	t.Helper()
	t.Chdir(t.TempDir())
	q.Model, q.Engine.Name = "resnet50", Simulated
	r, err := Resolve(q)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func TestEasierSettingsAreCaveatsAndHarderOnesNotes(t *testing.T) {
	const flag = "flag --x"
	one := func(key, value string) []config.Override {
		return []config.Override{{Key: key, Value: value, Origin: flag}}
	}
	for _, c := range []struct {
		name          string
		q             Request
		caveats, note string // empty: none
	}{
		{"the rules", Request{Scenario: "server"}, "", ""},
		{"a shorter run", Request{Scenario: "server", Settings: one("min_duration", "1s")}, "min_duration is 1s instead of the official 10m0s (flag --x)", ""},
		{"a longer run", Request{Scenario: "server", Settings: one("min_duration", "20m")}, "", "harder than the rules"},
		{"a looser bound", Request{Scenario: "server", Settings: one("target_latency", "1s")}, "the latency bound is 1s instead of the official 15ms", ""},
		{"a looser bound in the open division", Request{Scenario: "server", Division: "open", Settings: one("target_latency", "1s")}, "", "open division: the latency bound is 1s"},
		{"a shorter run in the open division", Request{Scenario: "server", Division: "open", Settings: one("min_duration", "1s")}, "min_duration is 1s", ""},
		{"a quick run", Request{Scenario: "server", Quick: true}, "quick run: ", ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			r := resolve(t, c.q)
			caveats, notes := r.judge(r.Settings, r.resolved.Origin)
			for _, got := range []struct {
				what, want string
				list       []string
			}{{"caveats", c.caveats, caveats}, {"notes", c.note, notes}} {
				if got.want == "" && len(got.list) > 0 || got.want != "" && (len(got.list) != 1 || !strings.Contains(got.list[0], got.want)) {
					t.Errorf("%s are %q, want only %q", got.what, got.list, got.want)
				}
			}
		})
	}
}

func TestADataSetOfOnesOwnHasWhatTheRulesAskFor(t *testing.T) {
	const few, part = "4 samples are in memory at once instead of the official 1024", "the data set has 4 samples instead of the official 50000"
	for _, c := range []struct {
		name        string
		q           Request
		loaded, all int
		want        string
	}{
		{"the official one", Request{Scenario: "offline", Mode: "submission"}, 1024, 50000, ""},
		{"a small one", Request{Scenario: "offline"}, 4, 4, few},
		{"few of a large one", Request{Scenario: "offline"}, 4, 50000, few},
		{"a part that is large enough for speed", Request{Scenario: "offline"}, 1024, 2000, ""},
		{"a small one, for accuracy", Request{Scenario: "offline", Mode: "accuracy"}, 4, 4, part},
		{"a small one, for both", Request{Scenario: "offline", Mode: "submission"}, 4, 4, few + "; " + part},
		{"a round that asks for no number of samples of accuracy", Request{Scenario: "offline", Mode: "accuracy", Rules: "v4.1"}, 4, 4, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			if got := strings.Join(resolve(t, c.q).judgeData(c.loaded, c.all), "; "); got != c.want {
				t.Errorf("caveats %q, want %q", got, c.want)
			}
		})
	}
	t.Chdir(t.TempDir())
	r, err := Resolve(Request{Model: "mobilenet", Scenario: "offline", Engine: Engine{Name: Simulated}})
	if err != nil {
		t.Fatal(err)
	}
	if got := r.judgeData(4, 4); got != nil {
		t.Errorf("a model that the round does not have: %q", got)
	}
}

func TestABenchmarkThatTheRoundDoesNotHaveIsMarked(t *testing.T) {
	t.Chdir(t.TempDir())
	for _, c := range []struct{ model, rules, scenario, want string }{
		{"resnet50", "v0.5", "offline", ""}, {"mobilenet", "v0.5", "multistream", ""}, {"gnmt", "v0.5", "server", ""},
		{"resnet50", "v6.1", "offline", ""}, {"bert-99.9", "v6.1", "server", ""}, {"llama2-70b", "v6.1", "interactive", ""}, {"llama3.1-8b-edge", "v6.1", "offline", ""},
		{"mobilenet", "v6.1", "offline", "rules v6.1 have no benchmark mobilenet"}, {"retinanet", "v6.1", "server", "rules v6.1 have no benchmark retinanet"},
		{"llama2-70b", "v0.5", "offline", "rules v0.5 have no benchmark llama2-70b"},
		{"resnet50", "v1.1", "multistream", "rules v1.1 have no MultiStream scenario"}, {"resnet50", "v1.1", "singlestream", ""}, {"resnet50", "v1.0", "multistream", ""},
	} {
		r, err := Resolve(Request{Model: c.model, Rules: c.rules, Scenario: c.scenario})
		if err != nil {
			t.Errorf("%+v: %v", c, err)
			continue
		}
		if got := strings.Join(r.caveats(), "; "); (c.want == "") != (got == "") || !strings.HasPrefix(got, c.want) {
			t.Errorf("%s %s under %s: caveats %q, want %q", c.model, c.scenario, c.rules, got, c.want)
		}
	}
}

func TestOldRulesWantTheLowestOfFiveServerRuns(t *testing.T) {
	for _, c := range []struct {
		name   string
		q      Request
		runs   int
		caveat bool
	}{
		{"Server under v0.5", Request{Scenario: "server", Rules: "v0.5"}, 5, false},
		{"a quick one", Request{Scenario: "server", Rules: "v0.5", Quick: true}, 1, true},
		{"a search", Request{Scenario: "server", Rules: "v0.5", Mode: FindPeak}, 1, true},
		{"one for a submission, which is measured once", Request{Scenario: "server", Rules: "v0.5", Mode: "submission"}, 1, true},
		{"one of accuracy", Request{Scenario: "server", Rules: "v0.5", Mode: "accuracy"}, 1, false},
		{"Offline under v0.5", Request{Scenario: "offline", Rules: "v0.5"}, 1, false},
		{"Server under the newest", Request{Scenario: "server"}, 1, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			r := resolve(t, c.q)
			if got := r.runs(); got != c.runs {
				t.Errorf("%d runs, want %d", got, c.runs)
			}
			if got := strings.Contains(strings.Join(r.caveats(), "\n"), "one Server run"); got != c.caveat {
				t.Errorf("caveats %q, want one of the number of runs: %t", r.caveats(), c.caveat)
			}
		})
	}
}

func TestATargetIsLookedForUnlessSomebodyGaveIt(t *testing.T) {
	for _, c := range []struct {
		scenario, key string
		given, want   bool
	}{
		{"server", "target_qps", false, true}, {"server", "target_qps", true, false},
		{"server", "target_latency", true, true}, // the bound is not the load
		{"single-stream", "target_latency", true, false}, {"single-stream", "target_latency", false, true},
	} {
		q := Request{Scenario: c.scenario}
		if c.given {
			q.Settings = []config.Override{{Key: c.key, Value: map[string]string{"target_qps": "7", "target_latency": "9ms"}[c.key], Origin: "flag"}}
		}
		if got := resolve(t, q).needsTarget(); got != c.want {
			t.Errorf("%s with %s given %t: needs a target %t, want %t", c.scenario, c.key, c.given, got, c.want)
		}
	}
}

func TestASlowModelMayHaveLessOnlyWhereTheQuickRunChose(t *testing.T) {
	q := Request{Scenario: "server", Quick: true}
	if !resolve(t, q).fewQueries() {
		t.Error("a quick run wants all its queries")
	}
	q.Settings = []config.Override{{Key: "min_query_count", Value: "200", Origin: "flag"}}
	if r := resolve(t, q); r.fewQueries() || r.Settings.MinQueryCount != 200 {
		t.Errorf("200 queries that somebody asked for may be fewer: %d", r.Settings.MinQueryCount)
	}
}

func TestOriginsSayWhereSettingsWereMade(t *testing.T) {
	t.Chdir(t.TempDir())
	writeFile(t, "user.conf", "resnet50.Server.target_qps = 12\n")
	r, err := Resolve(Request{
		Model: "resnet50", Scenario: "server", Engine: Engine{Name: Simulated}, Mode: "accuracy", Given: map[string]string{"mode": "environment MLPERF_MODE"},
		Settings: []config.Override{{Key: "min_duration", Value: "3s", Origin: "flag --min-duration"}},
	})
	if err != nil {
		t.Fatal(err)
	}
	origins := map[string]string{}
	for _, s := range r.Made {
		origins[s.Key] = s.Origin
	}
	for key, want := range map[string]string{"target_qps": "user.conf", "min_duration": "flag --min-duration", "mode": "environment MLPERF_MODE"} {
		if !strings.Contains(origins[key], want) {
			t.Errorf("%s was made by %q, want %q", key, origins[key], want)
		}
	}
	if r.Settings.Mode != loadgen.AccuracyOnly || r.Settings.ServerTargetQPS != 12 {
		t.Errorf("settings %+v", r.Settings)
	}
}

func TestPreparedQuantisationsAreCheckedBeforeAnythingIsOpened(t *testing.T) {
	for _, c := range []struct {
		field string
		q     QuantizeRequest
	}{
		{"precision", QuantizeRequest{Precision: "int4"}}, {"method", QuantizeRequest{Method: "guess"}},
		{"activations", QuantizeRequest{Activations: "u4"}}, {"rank", QuantizeRequest{Rank: "age"}},
		{"samples", QuantizeRequest{Samples: -1}}, {"samples", QuantizeRequest{Samples: 3, Calibration: "list"}},
		{"count", QuantizeRequest{Count: -1}}, {"intra_threads", QuantizeRequest{Threads: -1}},
		{"target", QuantizeRequest{Target: 1.5}}, {"calibration", QuantizeRequest{Calibration: "nowhere.txt"}},
	} {
		c.q.Model = "resnet50"
		if _, err := Quantize(t.Context(), c.q, silent{}); fieldOf(err) != c.field {
			t.Errorf("Quantize(%+v) = %v, want an error of the field %s", c.q, err, c.field)
		}
	}
	for _, name := range []string{"", "alexnet"} {
		if _, err := Sensitivity(t.Context(), QuantizeRequest{Model: name}, silent{}); fieldOf(err) != "model" {
			t.Errorf("Sensitivity of %q = %v, want an error of the field model", name, err)
		}
	}
	for _, q := range []Request{
		{Model: "resnet50", Rows: 5000}, {Model: "gnmt", Rows: 5000}, {Model: "dlrm", Rows: 10}, {Model: "dlrm", Rows: -1}, {Model: "dlrm", Rows: 5000, ModelPath: "x.onnx"},
	} {
		q.Scenario = "Offline"
		if _, err := Resolve(q); fieldOf(err) != "rows" {
			t.Errorf("Resolve(%+v) = %v, want an error of the field rows", q, err)
		}
	}
	q := QuantizeRequest{Model: "resnet50"}
	r, err := q.request(workload.Model{})
	if err != nil || r.Precision != "int8" || q.Output != "resnet50-int8.onnx" || r.RankByNoise {
		t.Errorf("the defaults are %+v, %+v, %v", q, r, err)
	}
	q = QuantizeRequest{Model: "gnmt"}
	r, err = q.request(workload.Model{Files: workload.Roles("a", "b")})
	if err != nil || r.Method != quantize.AtRunTime || q.Output != "gnmt-int8" {
		t.Errorf("the defaults for several files are %+v, %+v, %v", q, r, err)
	}
	for _, c := range []struct {
		field string
		q     QuantizeRequest
	}{
		{"calibration", QuantizeRequest{Calibration: "list"}}, {"samples", QuantizeRequest{Samples: 3}}, {"target", QuantizeRequest{Target: 0.9}},
		{"method", QuantizeRequest{Method: "min-max"}},
	} {
		c.q.Model = "gnmt"
		if _, err := Quantize(t.Context(), c.q, silent{}); fieldOf(err) != c.field {
			t.Errorf("Quantize(%+v) of several files = %v, want an error of the field %s", c.q, err, c.field)
		}
	}
}

func writeFile(t *testing.T, path, text string) {
	t.Helper()
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
}

// fieldOf is the field that an error is of.
func fieldOf(err error) string {
	var of *userinput.Error
	if errors.As(err, &of) {
		return of.Field
	}
	return ""
}
