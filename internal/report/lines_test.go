package report

import (
	"strings"
	"testing"
	"time"

	"github.com/mlperf-go/mlperf/internal/loadgen"
)

func TestACommandIsWrittenAsAShellTakesIt(t *testing.T) {
	for want, args := range map[string][]string{
		"mlperf run --count 5":     {"mlperf", "run", "--count", "5"},
		"mlperf 'a b' ''":          {"mlperf", "a b", ""},
		`echo 'it'\''s' '$(rm x)'`: {"echo", "it's", "$(rm x)"},
	} {
		if got := CommandLine(args); got != want {
			t.Errorf("CommandLine(%q) = %s, want %s", args, got, want)
		}
	}
}

func TestEnergyIsSaidInALine(t *testing.T) {
	e := &Energy{Joules: 1234, MeanWatts: 61.7, PeakWatts: 80, JoulesPerSample: 0.5, Parts: []EnergyPart{{Name: "package-0"}, {Name: "dram"}}}
	if got, want := e.String(), "1234 J, 0.5 J per sample, 61.7 W on average, 80 W at most (package-0, dram)"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
	if got := (&Energy{NotMeasured: "no meter"}).String(); got != "not measured: no meter" {
		t.Errorf("nothing measured: %q", got)
	}
}

// Interactive is Server to LoadGen, and another scenario to whoever ran it.
func TestAnInteractiveRunIsCalledSo(t *testing.T) {
	r := Results{Model: "llama3.1-8b", Scenario: "Server", Mode: "PerformanceOnly", Result: Valid, Interactive: true}
	var text strings.Builder
	if headline(&text, &r); !strings.HasPrefix(text.String(), "llama3.1-8b Interactive, PerformanceOnly: VALID") {
		t.Errorf("it is headed %q", text.String())
	}
	if line := newLine(Run{Results: &r}); line.Scenario != "Interactive" {
		t.Errorf("a table calls it %q", line.Scenario)
	}
}

// TestTokensOfServersAreSummarised has two servers, of which one failed a request.
func TestTokensOfServersAreSummarised(t *testing.T) {
	g := &Generation{
		Answers: 9, Tokens: 900, PromptTokens: 450, Counted: "usage", RequestsPerSecond: 2, TokensPerSecond: 200, TokensPerSecondIssued: 210,
		Finished: map[string]int64{"length": 8, "": 1}, Most: 3, Limit: 4, CPUCores: 1.9, Cores: 2, Retries: 1, Tokenized: 2,
		FirstTokenFromSendNS: &Latencies{P50: 2e6}, HandoverNS: &Latencies{P99: 5e6},
		Servers:  []GenerationServer{{URL: "http://a", Requests: 5, Most: 2}, {URL: "http://b", Requests: 5, Most: 1}},
		Failures: []GenerationFailures{{Kind: "status 500", Count: 1, First: "overloaded"}},
		Goodput:  &Goodput{RequestsPerSecond: 1.5, Requests: 7, Of: 9, FirstTokenNS: 2e9, PerTokenNS: 2e8},
	}
	var b strings.Builder
	generationLines(&b, g)
	for _, want := range []string{
		"from send: time to first token: min 0s, p50 2ms", "2 requests/s, 200 tokens/s until the last answer, 210 tokens/s until the answer to the last request",
		"900 tokens in 9 answers, counted by usage; 450 tokens of prompts; ended by - 1, length 8", "goodput: 1.5 requests/s, 7 of 9 kept TTFT ≤ 2s and TPOT ≤ 200ms",
		"at most 3 requests under way at once, with a limit of 4; the client kept 1.90 of 2 cores busy, requests left it 0s after their issue at p50, 5ms at p99",
		"http://b: 5 requests, at most 1 at once", "1 × status 500: overloaded", "TPOT, time per output token",
	} {
		if !strings.Contains(b.String(), want) {
			t.Errorf("no %q in\n%s", want, b.String())
		}
	}
	warnings := strings.Join(g.Warnings(), "\n")
	for _, want := range []string{"near its own limit: it kept 1.90 of 2 cores", "requests left the client late: 5ms", "1 requests were sent once more", "the tokens of 2 answers"} {
		if !strings.Contains(warnings, want) {
			t.Errorf("no %q in\n%s", want, warnings)
		}
	}
	if len((*Generation)(nil).Warnings()) != 0 || len((&Generation{Cores: 2, HandoverNS: &Latencies{}}).Warnings()) != 0 {
		t.Error("nothing is warned of")
	}
}

func TestTheSameTrafficIsOfTheSameSeedsAndRate(t *testing.T) {
	a := Test{TargetQPS: 10, SamplesPerQuery: 1, PerformanceSampleCount: 5, QSLSeed: 1, SampleSeed: 2, ScheduleSeed: 3}
	if b := a; !a.SameTraffic(&b) || a.SameTraffic(nil) || (*Test)(nil).SameTraffic(&b) {
		t.Error("equal tests differ, or one is like none")
	}
	for i, change := range []func(*Test){
		func(t *Test) { t.TargetQPS++ }, func(t *Test) { t.SamplesPerQuery++ }, func(t *Test) { t.PerformanceSampleCount++ },
		func(t *Test) { t.QSLSeed++ }, func(t *Test) { t.SampleSeed++ }, func(t *Test) { t.ScheduleSeed++ },
	} {
		b := a
		if change(&b); a.SameTraffic(&b) {
			t.Errorf("change %d makes no difference", i)
		}
	}
}

func TestAConstraintOfAnOlderFileHasItsSentence(t *testing.T) {
	c := Constraint{Words: &ConstraintWords{Required: "≤ 5ms", Observed: "7ms"}}
	c.ID, c.Advice = loadgen.ConstraintLatency, "be faster"
	if got := c.Sentence(); got != "latency: 7ms, want ≤ 5ms; be faster" {
		t.Errorf("Sentence() = %q", got)
	}
}

func TestTheAccuracyOfAllDataTellsMoreThanThatOfAPart(t *testing.T) {
	of := func(partial bool, day int) *Results {
		return &Results{Created: time.Date(2026, 7, day, 0, 0, 0, 0, time.UTC), Accuracy: &Accuracy{Partial: partial}}
	}
	for _, c := range []struct {
		name string
		a, b *Results
		want bool
	}{
		{"a newer part", of(true, 2), of(false, 1), true},
		{"older, but all", of(false, 1), of(true, 2), false},
		{"both all, the older", of(false, 1), of(false, 2), true},
		{"both all, the newer", of(false, 2), of(false, 1), false},
		{"both parts, the older", of(true, 1), of(true, 2), true},
		{"of the same time", of(true, 1), of(true, 1), false},
	} {
		if got := tellsLess(c.a, c.b); got != c.want {
			t.Errorf("%s: tellsLess() = %v, want %v", c.name, got, c.want)
		}
	}
}
