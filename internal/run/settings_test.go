package run

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/mlperf-go/mlperf/internal/config"
	"github.com/mlperf-go/mlperf/internal/loadgen"
)

func TestAQuickRunHasFewQueriesOfEveryScenario(t *testing.T) {
	for scenario, want := range map[string]struct {
		queries    uint64
		percentile float64
	}{
		"single-stream": {64, 0.9}, "multi-stream": {64, 0.9}, "server": {100, 0.9}, "offline": {1, 0},
	} {
		s := resolve(t, Request{Scenario: scenario, Quick: true}).Settings
		e := s.Effective(0, 0)
		if s.MinDuration != 10*time.Second || s.MinQueryCount != want.queries || want.percentile > 0 && e.TargetLatencyPercentile != want.percentile {
			t.Errorf("%s: %v, %d queries, percentile %g", scenario, s.MinDuration, s.MinQueryCount, e.TargetLatencyPercentile)
		}
		// What a quick run has must be enough for early stopping to say anything.
		if need := neededQueries(e); need > s.MinQueryCount {
			t.Errorf("%s: early stopping needs %d queries, a quick run has %d", scenario, need, s.MinQueryCount)
		}
	}
}

// TestTheLastWordIsTheUsers goes through all sources of one setting, each stronger than the one before.
func TestTheLastWordIsTheUsers(t *testing.T) {
	const offline = "offline"
	sources := []struct {
		origin string
		want   time.Duration
		add    func(*Request)
	}{
		{"rules v5.1", 10 * time.Minute, func(q *Request) { q.Rules = "v5.1" }},
		{"mine.conf:1", 20 * time.Minute, func(q *Request) { q.MLPerfConf = "mine.conf" }},
		{"user.conf:2", 3 * time.Second, func(q *Request) { q.UserConf = "user.conf" }},
		{config.QuickOrigin, 10 * time.Second, func(q *Request) { q.Quick = true }},
		{"flag --min-duration", 5 * time.Second, func(q *Request) {
			q.Settings = []config.Override{{Key: "min_duration", Value: "5s", Origin: "flag --min-duration"}}
		}},
		{"audit.config:1", 7 * time.Second, func(q *Request) { q.AuditConf = "audit.config" }},
	}
	t.Chdir(t.TempDir())
	writeFile(t, "mine.conf", "*.*.min_duration = 1200000\n")
	writeFile(t, "audit.config", "*.*.min_duration = 7000\n")
	q := Request{Scenario: offline, Model: "resnet50", Engine: Engine{Name: Simulated}}
	for _, s := range sources {
		s.add(&q)
		if s.origin == "user.conf:2" {
			writeFile(t, "user.conf", "# mine\n*.*.min_duration = 3000\n")
		}
		r, err := Resolve(q)
		if err != nil {
			t.Fatal(err)
		}
		if got := r.resolved.Origin("min_duration"); r.Settings.MinDuration != s.want || got != s.origin {
			t.Errorf("min_duration is %v of %s, want %v of %s", r.Settings.MinDuration, got, s.want, s.origin)
		}
	}
}

func TestAUserConfOfTheFolderIsTakenUnlessAnotherWasGiven(t *testing.T) {
	t.Chdir(t.TempDir())
	writeFile(t, "other.conf", "*.Offline.target_qps = 2\n")
	q := Request{Scenario: "offline", Model: "resnet50", Engine: Engine{Name: Simulated}}
	for _, c := range []struct {
		given, there, want string // files
		rate               float64
	}{
		{"", "", "", 1}, {"", "user.conf", "user.conf", 3}, {"other.conf", "user.conf", "other.conf", 2},
	} {
		if c.there != "" {
			writeFile(t, c.there, "*.Offline.target_qps = 3\n")
		}
		q.UserConf = c.given
		r, err := Resolve(q)
		if err != nil {
			t.Fatal(err)
		}
		if r.Request.UserConf != c.want || r.Settings.OfflineExpectedQPS != c.rate {
			t.Errorf("%s given, %s there: taken is %q, a rate of %g", c.given, c.there, r.Request.UserConf, r.Settings.OfflineExpectedQPS)
		}
	}
	writeFile(t, "user.conf", "*.Offline.target_qps = fast\n")
	q.UserConf = ""
	if _, err := Resolve(q); err == nil || err.Error() != `user.conf:1: *.Offline.target_qps: "fast" is not a number` {
		t.Errorf("a user.conf that is wrong: %v", err)
	}
}

func TestUnknownKeysAreLeftOutOnlyIfThatIsAskedFor(t *testing.T) {
	t.Chdir(t.TempDir())
	writeFile(t, "user.conf", "*.Offline.colour = 3\n")
	q := Request{Scenario: "offline", Model: "resnet50", Engine: Engine{Name: Simulated}}
	if _, err := Resolve(q); err == nil || !strings.HasPrefix(err.Error(), `user.conf:1: unknown key "colour"`) {
		t.Errorf("an unknown key: %v", err)
	}
	q.AllowUnknownKeys = true
	r, err := Resolve(q)
	if err != nil {
		t.Fatal(err)
	}
	if got := strings.Join(r.Warnings, "\n"); got != `user.conf:1: unknown key "colour" is left out` {
		t.Errorf("warnings %q", got)
	}
}

func TestModesAreThoseOfLoadGenAndTheSearch(t *testing.T) {
	for _, c := range []struct {
		mode, scenario, rules string
		want                  loadgen.Mode
		err                   string // empty: none
	}{
		{"", "server", "", loadgen.PerformanceOnly, ""},
		{"performance", "server", "", loadgen.PerformanceOnly, ""},
		{"accuracy", "offline", "", loadgen.AccuracyOnly, ""},
		{"submission", "offline", "", loadgen.SubmissionRun, ""},
		{FindPeak, "server", "", loadgen.PerformanceOnly, ""},
		{FindPeak, "multi-stream", "v0.5", loadgen.PerformanceOnly, ""},
		{FindPeak, "multi-stream", "v2.0", 0, "MultiStream has none, so measure it in performance mode"},
		{FindPeak, "single-stream", "", 0, "SingleStream has none"},
		{FindPeak, "offline", "", 0, "Offline has none"},
		{"fast", "server", "", 0, `mode: unknown mode "fast", want performance, accuracy or submission, or find-peak`},
		{"Find-Peak", "server", "", 0, "or find-peak"},
	} {
		t.Chdir(t.TempDir())
		r, err := Resolve(Request{Model: "resnet50", Engine: Engine{Name: Simulated}, Scenario: c.scenario, Rules: c.rules, Mode: c.mode})
		switch {
		case c.err == "" && (err != nil || r.Settings.Mode != c.want):
			t.Errorf("%q in %s: %+v, %v", c.mode, c.scenario, r, err)
		case c.err != "" && (fieldOf(err) != "mode" || !strings.Contains(err.Error(), c.err)):
			t.Errorf("%q in %s: %v, want an error of the field mode: %s", c.mode, c.scenario, err, c.err)
		}
	}
}

func TestAChosenBoundNeedsAScenarioWithOne(t *testing.T) {
	for _, c := range []struct {
		scenario, rules string
		ok              bool
	}{
		{"server", "", true}, {"multi-stream", "v0.5", true}, {"multi-stream", "v1.0", true}, {"multi-stream", "v2.0", false},
		{"single-stream", "v0.5", false}, {"offline", "", false},
	} {
		t.Chdir(t.TempDir())
		_, err := Resolve(Request{Model: "resnet50", Engine: Engine{Name: Simulated}, Scenario: c.scenario, Rules: c.rules, AutoLatency: true})
		if c.ok != (err == nil) || !c.ok && fieldOf(err) != "target_latency" {
			t.Errorf("%s of %s: %v", c.scenario, c.rules, err)
		}
	}
}

// The numbers of runs are those of inference_policies of the rounds: five of Server before v0.7.
func TestHowManyRunsMakeAResult(t *testing.T) {
	for _, version := range config.Versions() {
		rules, err := config.Rules(version)
		if err != nil {
			t.Fatal(err)
		}
		for _, c := range []struct {
			q    Request
			want int
		}{
			{Request{Scenario: "server"}, rules.ServerRuns},
			{Request{Scenario: "server", Mode: "accuracy"}, 1},
			{Request{Scenario: "server", Mode: FindPeak}, 1},
			{Request{Scenario: "server", Quick: true}, 1},
			{Request{Scenario: "offline"}, 1},
			{Request{Scenario: "single-stream"}, 1},
		} {
			c.q.Rules = version
			r := resolve(t, c.q)
			if got := r.runs(); got != c.want {
				t.Errorf("%s, %+v: %d runs, want %d", version, c.q, got, c.want)
			}
			if few := c.q.Scenario == "server" && c.q.Mode != "accuracy" && c.want < rules.ServerRuns; r.tooFewRuns() != few {
				t.Errorf("%s, %+v: too few runs is %t", version, c.q, r.tooFewRuns())
			}
		}
	}
}

func TestOnlyAQuickRunAtIntervalsMayHaveFewerStreams(t *testing.T) {
	for _, c := range []struct {
		name string
		q    Request
		want bool
	}{
		{"the quick run chose", Request{Scenario: "multi-stream", Rules: "v0.5", Quick: true}, true},
		{"somebody said how many", Request{Scenario: "multi-stream", Rules: "v0.5", Quick: true, Settings: []config.Override{{Key: "samples_per_query", Value: "2", Origin: "flag"}}}, false},
		{"a search finds them", Request{Scenario: "multi-stream", Rules: "v0.5", Quick: true, Mode: FindPeak}, false},
		{"a run under the rules", Request{Scenario: "multi-stream", Rules: "v0.5"}, false},
		{"without intervals", Request{Scenario: "multi-stream", Rules: "v3.0", Quick: true}, false},
		{"another scenario", Request{Scenario: "server", Rules: "v0.5", Quick: true}, false},
	} {
		if got := resolve(t, c.q).fitStreams(); got != c.want {
			t.Errorf("%s: %t, want %t", c.name, got, c.want)
		}
	}
}

// TestTheScenarioIsCalledAsUsersCallIt: Interactive is Server with bounds of its own.
func TestTheScenarioIsCalledAsUsersCallIt(t *testing.T) {
	for given, want := range map[string]string{
		"server": "Server", "Server": "Server", "SERVER": "Server", "single-stream": "SingleStream", "singlestream": "SingleStream", "single_stream": "SingleStream",
		"multistream": "MultiStream", "offline": "Offline", "interactive": "Interactive",
	} {
		t.Chdir(t.TempDir())
		q := atServers()
		q.Model, q.Prompts, q.DatasetPath, q.Scenario = "llama2-70b", Prompts{}, ".", given
		r, err := Resolve(q)
		if err != nil {
			t.Errorf("%s: %v", given, err)
			continue
		}
		if got := r.ScenarioName(); got != want {
			t.Errorf("%s is called %s, want %s", given, got, want)
		}
		if folder := fmt.Sprintf("results/llama2-70b/%s/performance/", strings.ToLower(want)); !strings.HasPrefix(strings.ReplaceAll(r.Request.Output, `\`, "/"), folder) {
			t.Errorf("%s: results go to %s, want %s", given, r.Request.Output, folder)
		}
	}
}
