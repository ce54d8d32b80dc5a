package run

import (
	"math"
	"testing"
	"time"

	"github.com/mlperf-go/mlperf/internal/backend/openai/tokenserver"
)

// answerTime is how long a server takes for an answer, alone.
func answerTime(o tokenserver.Options, tokens int) time.Duration {
	return o.Prefill + time.Duration(tokens-1)*o.PerToken
}

func TestTheClientIsMeasuredUnderTheLoadThatTheNameTells(t *testing.T) {
	result := &ClientTestResult{Tokens: 6000, Seconds: 2, CPUSeconds: 0.5, PerTokenNS: 10_500_000}
	want := map[string]float64{
		"64 tokens a write, as fast as they come":      12000,
		"a write for each token, as fast as they come": 12000,
		"500 streams of 50 tokens/s":                   12000,
		"2000 streams of 50 tokens/s":                  3000,
		"time per token of a server of 10 ms":          10.5,
	}
	for _, m := range ClientMeasures() {
		if got := m.Of(result); got != want[m.Name] {
			t.Errorf("%s: %g %s, want %g", m.Name, got, m.Unit, want[m.Name])
		}
		if m.Test.Streams < 1 || m.Test.Tokens < 2 || m.Server.PerWrite < 1 {
			t.Errorf("%s: %+v at %+v", m.Name, m.Test, m.Server)
		}
		if storm := m.Test.Streams >= 500; storm && m.Test.Begin < answerTime(m.Server, m.Test.Tokens) {
			t.Errorf("%s: all streams begin within %v, and an answer takes %v: they end at once", m.Name, m.Test.Begin, answerTime(m.Server, m.Test.Tokens))
		}
		delete(want, m.Name)
	}
	if len(want) > 0 {
		t.Errorf("there is no measure %v", want)
	}
}

func TestThePaceIsThatOfTheNameAtItsServer(t *testing.T) {
	measures := PacedMeasures()
	if len(measures) != 3 {
		t.Fatalf("%d measures, want 3", len(measures))
	}
	for i, want := range []struct {
		underWay float64 // requests, if all that are due are answered at once
		slots    int
		turn     int // requests under way at most
		late     bool
	}{{500, 0, 0, true}, {2, 1, 1, false}, {2, 1, 0, false}} {
		m := measures[i]
		if got := m.Test.QPS * answerTime(m.Server, m.Test.Tokens).Seconds(); math.Abs(got/want.underWay-1) > 0.01 {
			t.Errorf("%s: %.4g requests are under way, want %g", m.Name, got, want.underWay)
		}
		if m.Server.Slots != want.slots || m.Test.Concurrency != want.turn || m.Late != want.late {
			t.Errorf("%s: %+v at %+v, judged by lateness: %t", m.Name, m.Test, m.Server, m.Late)
		}
	}
}
