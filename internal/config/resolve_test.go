package config

import (
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/mlperf-go/mlperf/internal/config/limitation"
	"github.com/mlperf-go/mlperf/internal/loadgen"
	"github.com/mlperf-go/mlperf/internal/testenv"
	"github.com/mlperf-go/mlperf/internal/userinput"
)

func TestLaterSourceWins(t *testing.T) {
	rules := mustRules(t, "v5.1")
	user := mustParse(t, "user.conf", "\n*.*.min_query_count = 2\n*.Offline.min_duration = 7\nresnet50.Offline.target_qps = 30\n")
	audit := mustParse(t, "audit.config", "*.*.mode = 1\n*.*.min_query_count = 4\n")
	flag := Override{Key: "min_query_count", Value: "3", Origin: "flag --min-query-count"}
	for _, c := range []struct {
		name    string
		request Request
		want    uint64
		origin  string
	}{
		{"rules alone", Request{}, 24576, "rules v5.1"},
		{"user.conf over rules", Request{UserConf: user}, 2, "user.conf:2"},
		{"flag over user.conf", Request{UserConf: user, Options: []Override{flag}}, 3, "flag --min-query-count"},
		{"audit.config over all", Request{UserConf: user, Options: []Override{flag}, AuditConf: audit}, 4, "audit.config:2"},
	} {
		t.Run(c.name, func(t *testing.T) {
			c.request.Model, c.request.Scenario, c.request.Rules = Model{Name: "resnet50"}, loadgen.Offline, rules
			r := mustResolve(t, c.request)
			if r.Settings.MinQueryCount != c.want || r.Origin("min_query_count") != c.origin {
				t.Errorf("min_query_count = %d of %s, want %d of %s", r.Settings.MinQueryCount, r.Origin("min_query_count"), c.want, c.origin)
			}
		})
	}
}

func TestAuditConfigWithAnotherMode(t *testing.T) {
	for _, c := range []struct {
		asked, audit, want string
	}{
		{"performance", "*.*.mode = 2\n", ""},
		{"performance", "*.*.min_query_count = 2\n", ""},
		{"performance", "*.*.mode = 1\n", "audit.config:1: the mode is AccuracyOnly, in place of PerformanceOnly (flag --mode)"},
		{"accuracy", "*.*.mode = 3\n", "audit.config:1: the mode is FindPeakPerformance, in place of AccuracyOnly (flag --mode)"},
		{"", "*.*.mode = 1\n", ""},
	} {
		q := Request{Model: Model{Name: "resnet50"}, Scenario: loadgen.Server, Rules: mustRules(t, "v5.1"), AuditConf: mustParse(t, "audit.config", c.audit)}
		if c.asked != "" {
			q.Options = []Override{{Key: "mode", Value: c.asked, Origin: "flag --mode"}}
		}
		if got := strings.Join(mustResolve(t, q).Warnings, "; "); got != c.want {
			t.Errorf("asked for %q, %s: warnings %q, want %q", c.asked, c.audit, got, c.want)
		}
	}
}

func TestReplacedSettings(t *testing.T) {
	r := mustResolve(t, Request{
		Model: Model{Name: "resnet50"}, Scenario: loadgen.Server, Rules: mustRules(t, "v5.1"),
		UserConf:  mustParse(t, "user.conf", "resnet50.Server.target_qps = 0x20\n"),
		Options:   []Override{{Key: "target_qps", Value: "12.5", Origin: "flag --target-qps"}},
		AuditConf: mustParse(t, "audit.config", "*.*.mode = 2\n"),
	})
	s, ok := r.Setting("target_qps")
	if !ok || s.Key != "target_qps" || s.Value != "12.5" || s.Unit != "/s" || s.Origin != "flag --target-qps" {
		t.Errorf("Setting(target_qps) = %+v, %v", s, ok)
	}
	var chain []string
	for p := &s; p != nil; p = p.Replaces {
		chain = append(chain, p.Value+" "+p.Origin)
	}
	if diff := cmp.Diff([]string{"12.5 flag --target-qps", "0x20 user.conf:1", "1.0 rules v5.1"}, chain); diff != "" {
		t.Errorf("chain (-want +got):\n%s", diff)
	}
	if s, _ := r.Setting("mode"); s.Replaces != nil {
		t.Errorf("mode replaces %v, though only audit.config sets it", s.Replaces)
	}
	if got := r.Origin("max_query_count"); got != Default {
		t.Errorf("Origin(max_query_count) = %s, want default", got)
	}
	if _, ok := r.Setting("max_query_count"); ok {
		t.Error("Setting finds max_query_count, which nobody made")
	}
}

func TestOrderOfSettings(t *testing.T) {
	r := mustResolve(t, Request{Model: Model{Name: "ssd-resnet34"}, Scenario: loadgen.Server, Rules: mustRules(t, "v2.0")})
	var got []string
	for _, s := range r.Made {
		got = append(got, s.Key+"="+s.Value+s.Unit)
	}
	want := []string{
		"SingleStream.target_latency=10ms", "SingleStream.target_latency_percentile=90%",
		"MultiStream.target_latency=528ms", "MultiStream.target_latency_percentile=99%", "MultiStream.samples_per_query=8",
		"target_qps=1.0/s", "target_latency=100ms", "target_latency_percentile=99%", "Offline.target_qps=1.0/s",
		"min_duration=600000ms", "min_query_count=270336",
		"qsl_rng_seed=6655344265603136530", "sample_index_rng_seed=15863379492028895792", "schedule_rng_seed=12662793979680847247",
		"performance_sample_count_override=64",
		"test05_qsl_rng_seed=313588358309856706", "test05_sample_index_rng_seed=471397156132239067", "test05_schedule_rng_seed=413914573387865862",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("settings (-want +got):\n%s", diff)
	}
}

func TestOptions(t *testing.T) {
	r := mustResolve(t, Request{Model: Model{Name: "resnet50"}, Scenario: loadgen.Server, Options: []Override{
		{Key: "target_latency", Value: "1.5ms", Origin: "flag --target-latency"},
		{Key: "min_duration", Value: "120000", Origin: "flag --min-duration"},
		{Key: "mode", Value: "accuracy", Origin: "flag --mode"},
		{Key: "coalesce_queries", Value: "true", Origin: "flag --coalesce-queries"},
		{Key: "performance_issue_same", Value: "false", Origin: "flag --issue-same"},
		{Key: "qsl_rng_seed", Value: "0xFF", Origin: "flag --qsl-seed"},
		{Key: "num_issue_query_threads", Value: "4", Origin: "flag --issue-threads"},
		{Key: "find_peak_qps_decimals_of_precision", Value: "2", Origin: "flag --decimals"},
		{Key: "find_peak_qps_boundary_step_size", Value: "0.5", Origin: "flag --step"},
		{Key: "target_latency_percentile", Value: "97", Origin: "environment MLPERF_TARGET_LATENCY_PERCENTILE"},
	}})
	s := r.Settings
	if s.ServerTargetLatency != 1500*time.Microsecond || s.MinDuration != 2*time.Minute || s.Mode != loadgen.AccuracyOnly ||
		!s.ServerCoalesceQueries || s.PerformanceIssueSame || s.QSLRNGSeed != 255 || s.ServerNumIssueQueryThreads != 4 ||
		s.ServerFindPeakQPSDecimalsOfPrecision != 2 || s.ServerFindPeakQPSBoundaryStepSize != 0.5 || s.ServerTargetLatencyPercentile != 0.97 {
		t.Errorf("settings = %+v", s)
	}
	for key, want := range map[string]string{"target_latency": "1.5", "min_duration": "120000", "mode": "1", "coalesce_queries": "1"} {
		if got, _ := r.Setting(key); got.Value != want {
			t.Errorf("Setting(%s) = %s, want %s, as files have it", key, got.Value, want)
		}
	}
	stream := mustResolve(t, Request{Scenario: loadgen.SingleStream, Options: []Override{{Key: "target_latency", Value: "2.5ms", Origin: "flag --target-latency"}}})
	if got := stream.Settings.SingleStreamExpectedLatencyNS; got != 2.5e6 {
		t.Errorf("expected latency = %g ns, want 2.5e6", got)
	}
}

func TestWrongOptions(t *testing.T) {
	for _, c := range []struct{ name, key, value, want string }{
		{"unknown", "target_qsp", "1", `flag --x: unknown setting "target_qsp"; did you mean "target_qps"?`},
		{"of another scenario", "target_qps", "1", "flag --x: target_qps has no effect in SingleStream, only in MultiStream, Server, Offline"},
		{"ignored by LoadGen", "target_duration", "1s", `unknown setting "target_duration"`},
		{"without its switch", "token_latency_scaling_factor", "5", "token_latency_scaling_factor has no effect: infer_token_latencies is off"},
		{"fraction of a query", "min_query_count", "1.5", "expected a whole number"},
	} {
		t.Run(c.name, func(t *testing.T) {
			_, err := Resolve(Request{Scenario: loadgen.SingleStream, Options: []Override{{Key: c.key, Value: c.value, Origin: "flag --x"}}})
			if err == nil || !strings.HasPrefix(err.Error(), "flag --x: ") || !strings.Contains(err.Error(), c.want) {
				t.Errorf("%s = %s gives %v, want %s", c.key, c.value, err, c.want)
			}
		})
	}
	_, err := Resolve(Request{Options: []Override{{Key: "a", Value: "1", Origin: "flag --a"}, {Key: "b", Value: "1", Origin: "flag --b"}}})
	if joined, ok := err.(interface{ Unwrap() []error }); !ok || len(joined.Unwrap()) != 2 {
		t.Errorf("two bad options give %v, want two errors", err)
	}
}

func TestSeedsOfAUserConf(t *testing.T) {
	user := "*.*.qsl_rng_seed = 7\n"
	old := mustResolve(t, Request{Model: Model{Name: "resnet50"}, Rules: mustRules(t, "v4.1"), UserConf: mustParse(t, "user.conf", user)})
	if old.Settings.QSLRNGSeed != 7 || len(old.Warnings) > 0 {
		t.Errorf("in v4.1 the seed is %d with warnings %q, want 7", old.Settings.QSLRNGSeed, old.Warnings)
	}
	now := mustResolve(t, Request{Model: Model{Name: "resnet50"}, Rules: mustRules(t, "v5.0"), UserConf: mustParse(t, "user.conf", user)})
	if now.Settings.QSLRNGSeed == 7 {
		t.Error("in v5.0 the seed of user.conf counts")
	}
	want := []string{"user.conf:1: qsl_rng_seed has no effect: since v5.0 LoadGen reads it from its built-in mlperf.conf only"}
	if diff := cmp.Diff(want, now.Warnings); diff != "" {
		t.Errorf("warnings (-want +got):\n%s", diff)
	}
	own := mustResolve(t, Request{Model: Model{Name: "resnet50"}, MLPerfConf: mustParse(t, "mlperf.conf", user)})
	if own.Settings.QSLRNGSeed != 7 || own.Origin("qsl_rng_seed") != "mlperf.conf:1" {
		t.Errorf("with an mlperf.conf of one's own the seed is %d of %s", own.Settings.QSLRNGSeed, own.Origin("qsl_rng_seed"))
	}
}

func TestKeysThatNeedASwitch(t *testing.T) {
	limit := "*.Server.ttft_latency = 5\n"
	off := mustResolve(t, Request{Model: Model{Name: "resnet50"}, Scenario: loadgen.Server, UserConf: mustParse(t, "user.conf", limit)})
	if off.Settings.ServerTTFTLatency != 100*time.Millisecond {
		t.Errorf("without token latencies the TTFT limit is %v, want LoadGen's default", off.Settings.ServerTTFTLatency)
	}
	if diff := cmp.Diff([]string{"user.conf:1: ttft_latency has no effect: use_token_latencies is off"}, off.Warnings); diff != "" {
		t.Errorf("warnings (-want +got):\n%s", diff)
	}
	on := mustResolve(t, Request{Model: Model{Name: "llama2-70b"}, Scenario: loadgen.Server, UserConf: mustParse(t, "user.conf", limit)})
	if on.Settings.ServerTTFTLatency != 5*time.Millisecond || on.Settings.ServerTPOTLatency != 200*time.Millisecond {
		t.Errorf("with token latencies the limits are %v and %v", on.Settings.ServerTTFTLatency, on.Settings.ServerTPOTLatency)
	}
}

func TestInteractive(t *testing.T) {
	r := mustResolve(t, Request{Model: Model{Name: "llama3_1-8b", Interactive: true}, Scenario: loadgen.Server})
	if r.ConfName != "llama3_1-8b-interactive" || r.Settings.ServerTTFTLatency != 500*time.Millisecond || r.Settings.ServerTPOTLatency != 30*time.Millisecond {
		t.Errorf("%s has limits %v and %v", r.ConfName, r.Settings.ServerTTFTLatency, r.Settings.ServerTPOTLatency)
	}
}

func TestAuditConfigForAnyModel(t *testing.T) {
	audit := mustParse(t, "audit.config", `
*.Offline.mode = 2
sdxl-like.Offline.min_query_count = 500
sdxl-like.Offline.max_query_count = 8
*.*.max_query_count = 9
`)
	r := mustResolve(t, Request{Model: Model{Name: "sdxl-like"}, Scenario: loadgen.Offline, AuditConf: audit})
	if r.Settings.MinQueryCount != 500 || r.Origin("min_query_count") != "audit.config:3" {
		t.Errorf("min_query_count = %d of %s, want the model's 500", r.Settings.MinQueryCount, r.Origin("min_query_count"))
	}
	if r.Settings.MaxQueryCount != 9 || r.Origin("max_query_count") != "audit.config:5" {
		t.Errorf("max_query_count = %d of %s, want 9: LoadGen looks for any model last", r.Settings.MaxQueryCount, r.Origin("max_query_count"))
	}
	if s, _ := r.Setting("mode"); s.Replaces != nil {
		t.Errorf("mode replaces %v: the two passes count as one", s.Replaces)
	}
}

func TestFileInTwoRoles(t *testing.T) {
	conf := mustParse(t, "same.conf", "*.*.mode = 2\n")
	_, err := Resolve(Request{UserConf: conf, AuditConf: conf})
	if !testenv.Names(err, "same.conf … user.conf … audit.config") {
		t.Errorf("Resolve = %v", err)
	}
}

func TestMultiStreamSettings(t *testing.T) {
	for _, c := range []struct {
		name    string
		request Request
		want    string
	}{
		{"a model that the rules do not have", Request{Model: Model{Name: "mobilenet"}, Rules: mustRules(t, "v5.1")},
			"rules v5.1 have no settings for the model mobilenet: those for any model apply"},
		{"no MultiStream in v1.1", Request{Model: Model{Name: "resnet50"}, Scenario: loadgen.MultiStream, Rules: mustRules(t, "v1.1")},
			"rules v1.1 have no MultiStream scenario"},
		{"an interval after v1.0", Request{Model: Model{Name: "resnet50"}, Scenario: loadgen.MultiStream, Rules: mustRules(t, "v2.0"),
			UserConf: mustParse(t, "user.conf", "*.MultiStream.target_qps = 20\n")},
			"user.conf:1: target_qps has no effect in MultiStream since v2.0"},
		{"warnings of the file", Request{Model: Model{Name: "resnet50"}, UserConf: mustParse(t, "user.conf", "*.Offline.max_async_queries = 2\n")},
			"user.conf:1: max_async_queries has no effect: LoadGen does not look it up in Offline"},
	} {
		t.Run(c.name, func(t *testing.T) {
			if diff := cmp.Diff([]string{c.want}, mustResolve(t, c.request).Warnings); diff != "" {
				t.Errorf("warnings (-want +got):\n%s", diff)
			}
		})
	}
	quiet := mustResolve(t, Request{Model: Model{Name: "resnet50"}, Scenario: loadgen.Server, UserConf: mustParse(t, "user.conf", "*.*.target_qps = 20\n")})
	if len(quiet.Warnings) > 0 || quiet.Settings.ServerTargetQPS != 20 {
		t.Errorf("a target_qps for all scenarios warns %q in Server", quiet.Warnings)
	}
}

func TestSettingsOfAnUnknownModel(t *testing.T) {
	conf := mustParse(t, "user.conf", "resnet5.Server.target_qps = 123\nbert-99.Server.target_qps = 7\n")
	r := mustResolve(t, Request{Model: Model{Name: "resnet50"}, Known: []string{"bert-99"}, Scenario: loadgen.Server, UserConf: conf})
	want := []string{`user.conf has settings of the model "resnet5", which no rules know: they do not apply to resnet50; did you mean "resnet50"?`}
	if diff := cmp.Diff(want, r.Warnings); diff != "" {
		t.Errorf("warnings (-want +got):\n%s", diff)
	}
}

func TestByteOrderMark(t *testing.T) {
	conf := mustParse(t, "user.conf", "\uFEFFresnet50.Server.target_qps = 123\n")
	r := mustResolve(t, Request{Model: Model{Name: "resnet50"}, Scenario: loadgen.Server, UserConf: conf})
	if r.Settings.ServerTargetQPS != 123 || len(r.Warnings) != 1 || !strings.Contains(r.Warnings[0], "user.conf:1: the byte order mark") {
		t.Errorf("target_qps = %g, warnings %q", r.Settings.ServerTargetQPS, r.Warnings)
	}
}

func TestInteractiveWithoutRules(t *testing.T) {
	_, err := Resolve(Request{Model: Model{Name: "resnet50", Interactive: true}, Scenario: loadgen.Server})
	var of *userinput.Error
	if !errors.As(err, &of) || of.Field != "scenario" || !testenv.Names(err, "Interactive … resnet50") {
		t.Errorf("Resolve = %v", err)
	}
	mustResolve(t, Request{Model: Model{Name: "llama2-70b", Interactive: true}, Scenario: loadgen.Server})
	own := mustParse(t, "user.conf", "resnet50-interactive.Server.target_latency = 5\n")
	mustResolve(t, Request{Model: Model{Name: "resnet50", Interactive: true}, Scenario: loadgen.Server, UserConf: own})
}

// The conf of v6.1 has no Interactive of Qwen3-VL, but its checker has: a bound, and a data set of its own.
func TestInteractiveOfTheChecker(t *testing.T) {
	m := Model{Name: "qwen3-vl-235b-a22b", Interactive: true}
	conf := mustParse(t, "user.conf", "qwen3-vl-235b-a22b.Server.target_qps = 3\nqwen3-vl-235b-a22b-interactive.Server.target_qps = 4\n")
	r := mustResolve(t, Request{Model: m, Scenario: loadgen.Server, UserConf: conf})
	if s := r.Settings; s.ServerTargetLatency != 1500*time.Millisecond || s.UseTokenLatencies || s.PerformanceSampleCountOverride != 8000 ||
		s.MinDuration != 10*time.Minute || s.ServerTargetQPS != 4 || r.Origin("target_latency") != "rules v6.1" || len(r.Warnings) != 0 {
		t.Errorf("latency %v of %s, %d samples, %v, %g/s, warnings %q", s.ServerTargetLatency, r.Origin("target_latency"), s.PerformanceSampleCountOverride,
			s.MinDuration, s.ServerTargetQPS, r.Warnings)
	}
	if list, err := r.Differences(r.Settings, Closed); err != nil || len(list) != 0 {
		t.Errorf("the official settings differ from themselves: %+v, %v", list, err)
	}
	s := r.Settings
	s.ServerTargetLatency = 12 * time.Second // which is that of Server
	if list, err := r.Differences(s, Closed); err != nil || len(list) != 1 || !list[0].Easier || list[0].Want != "1.5s" {
		t.Errorf("the bound of Server: %+v, %v", list, err)
	}
	old, err := Rules("v6.0")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := Resolve(Request{Model: m, Scenario: loadgen.Server, Rules: old}); !testenv.Names(err, "v6.0 … Interactive … qwen3-vl-235b-a22b") {
		t.Errorf("v6.0: %v", err)
	}
}

// A switch and what needs it may be given in any order.
func TestOptionsBeforeTheirSwitch(t *testing.T) {
	options := []Override{
		{Key: "ttft_latency", Value: "7ms", Origin: "flag --ttft-latency"}, {Key: "use_token_latencies", Value: "true", Origin: "flag --use-token-latencies"}, {Key: "tpot_latency", Value: "3ms", Origin: "flag --tpot-latency"},
		{Key: "token_latency_scaling_factor", Value: "5", Origin: "flag --scaling"}, {Key: "infer_token_latencies", Value: "true", Origin: "flag --infer"},
	}
	slices.Reverse(options)
	for range 2 {
		given := slices.Clone(options)
		r := mustResolve(t, Request{Model: Model{Name: "resnet50"}, Scenario: loadgen.Server, Options: options})
		s := r.Settings
		if !s.UseTokenLatencies || s.ServerTTFTLatency != 7*time.Millisecond || s.ServerTPOTLatency != 3*time.Millisecond || s.TokenLatencyScalingFactor != 5 {
			t.Errorf("in the order %v: %+v", options, s)
		}
		if !slices.Equal(options, given) {
			t.Errorf("the options of the request are %v now", options)
		}
		slices.Reverse(options)
	}
	// Of two values of one setting the later counts, wherever the switch stands.
	twice := []Override{{Key: "min_query_count", Value: "5", Origin: "quick run"}, {Key: "use_token_latencies", Value: "true", Origin: "flag"}, {Key: "min_query_count", Value: "9", Origin: "flag --min-query-count"}}
	r := mustResolve(t, Request{Model: Model{Name: "resnet50"}, Scenario: loadgen.Server, Options: twice})
	if s, _ := r.Setting("min_query_count"); r.Settings.MinQueryCount != 9 || s.Replaces == nil || s.Replaces.Origin != "quick run" {
		t.Errorf("min_query_count is %d, made by %+v", r.Settings.MinQueryCount, s)
	}
}

// A model may have several names in conf files. For each pattern of LoadGen's order they are tried one after the other.
func TestLookupBySeveralNames(t *testing.T) {
	for _, c := range []struct {
		name, text string
		want       string // the value for Server; empty: there is none
	}{
		{"the first name", "a.Server.min_query_count = 1\nb.Server.min_query_count = 2\n", "1"},
		{"the second name", "b.Server.min_query_count = 2\nc.Server.min_query_count = 3\n", "2"},
		{"an exact scenario goes before a name", "a.*.min_query_count = 1\nb.Server.min_query_count = 2\n", "2"},
		{"any model goes before any scenario", "a.*.min_query_count = 1\n*.Server.min_query_count = 4\n", "4"},
		{"any scenario goes before anything", "b.*.min_query_count = 2\n*.*.min_query_count = 5\n", "2"},
		{"anything", "c.Server.min_query_count = 3\n*.*.min_query_count = 5\n", "5"},
		{"nothing", "c.Server.min_query_count = 3\n*.Offline.min_query_count = 6\n", ""},
	} {
		conf := mustParse(t, "user.conf", c.text)
		if e, ok := conf.Lookup("Server", "min_query_count", "a", "b"); ok != (c.want != "") || e.Value != c.want {
			t.Errorf("%s: %+v, %t, want %q", c.name, e, ok, c.want)
		}
	}
}

// The role of a file follows from what it is used for, not from its name.
func TestRoles(t *testing.T) {
	conf := func(name, key string) *Conf {
		c, err := ParseConf(name, []byte("*.*."+key+" = 7\n"), ParseOptions{})
		if err != nil {
			t.Fatal(err)
		}
		return c
	}
	r := mustResolve(t, Request{
		Scenario: loadgen.Server, Rules: mustRules(t, "v4.1"), UserConf: conf("audit.config", "min_query_count"), AuditConf: conf("my-test04.conf", "accuracy_log_rng_seed"),
		Options: []Override{{Key: "target_qps", Value: "5", Origin: "environment MLPERF_TARGET_QPS", Role: limitation.Environment}},
	})
	for key, want := range map[string]limitation.Role{
		"min_query_count": limitation.UserConf, "accuracy_log_rng_seed": limitation.AuditConf, "target_qps": limitation.Environment, "min_duration": limitation.RuleSet,
	} {
		if s, _ := r.Setting(key); s.Role != want {
			t.Errorf("%s (%s) has the role %q, want %q", key, s.Origin, s.Role, want)
		}
	}
}
