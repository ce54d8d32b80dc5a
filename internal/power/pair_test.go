package power

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/mlperf-go/mlperf/internal/power/ptdtest"
)

// measure measures a run of no length.
func measure(t *testing.T, p *Pair) *Record {
	t.Helper()
	if err := p.Begin(t.Context()); err != nil {
		t.Fatal(err)
	}
	record, err := p.Stop()
	if err != nil {
		t.Fatal(err)
	}
	return record
}

func TestASecondRunIsMeasuredInTheRangesOfTheFirst(t *testing.T) {
	d := ptdtest.New()
	p, err := StartPair(t.Context(), Source{Kind: PTD, Address: d.Serve(t)})
	if err != nil {
		t.Fatal(err)
	}
	ranging, testing := measure(t, p), measure(t, p)
	if err := p.Begin(t.Context()); err == nil {
		t.Error("there is a third run")
	}
	if err := p.Close(); err != nil {
		t.Fatal(err)
	}
	label := p.label()
	want := []string{
		"Hello", "Identify", "RR", "SR,A,Auto", "SR,V,Auto", "Go,1000,0," + label + "_ranging", "Stop", "RL,*,*",
		"SR,A,0.5", "SR,V,230.1", "Go,1000,0," + label + "_testing", "Stop", "RL,*,*", "SR,A,Auto", "SR,V,300.0",
	}
	if diff := cmp.Diff(want, d.Said()); diff != "" {
		t.Error(diff)
	}
	if !strings.HasSuffix(ranging.Samples[0], label+"_ranging") || !strings.HasSuffix(testing.Samples[0], label+"_testing") || !testing.Marked {
		t.Errorf("samples %q and %q", ranging.Samples, testing.Samples)
	}
}

func TestRangesFollowFromTheHighestSamples(t *testing.T) {
	got := highest([]string{"Time,x,Watts,1,Volts,229.9,Amps,0.5", "Time,x,Watts,1,Volts,230.5,Amps,nan", "Time,x,Watts,1,Volts,-1,Amps", "Time,x,Watts,1,Volts,inf,Amps,much", "nothing"})
	if got != (ranges{"230.5", "0.5"}) || highest(nil) != (ranges{automatic, automatic}) {
		t.Errorf("%v, and of nothing %v", got, highest(nil))
	}
	for _, c := range []struct{ auto, value, want string }{{"0", "300.0", "300.0"}, {"1", "300.0", automatic}, {"0", "-1.0", automatic}, {"0", "much", automatic}} {
		if got := set(c.auto, c.value); got != c.want {
			t.Errorf("set(%s, %s) = %s, want %s", c.auto, c.value, got, c.want)
		}
	}
}

func TestAPairThatCannotBeMeasuredIsAnError(t *testing.T) {
	for _, c := range []struct {
		name   string
		answer [2]string
		want   string
	}{
		{"another server", [2]string{"Hello", "HTTP/1.1 400"}, "which is not PTDaemon"},
		{"no ranges", [2]string{"RR", "Error"}, `its ranges are "Error"`},
		{"ranges that cannot be set", [2]string{"SR", "Error: busy"}, `ranging: it answers SR,A,Auto with "Error: busy", want Range A changed`},
		{"busy", [2]string{"Go", "Error: already running"}, "it answers Go,1000,0,"},
		{"no samples", [2]string{"RL", "Last 0 samples"}, "there are no samples"},
	} {
		t.Run(c.name, func(t *testing.T) {
			d := ptdtest.New()
			d.Answers[c.answer[0]] = c.answer[1]
			p, err := StartPair(t.Context(), Source{Kind: PTD, Address: d.Serve(t)})
			if err == nil {
				if err = p.Begin(t.Context()); err == nil {
					_, err = p.Stop()
				}
				_ = p.Close()
			}
			if err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("%v, want %q", err, c.want)
			}
		})
	}
	if _, err := StartPair(t.Context(), Source{Kind: RAPL}); err == nil || !strings.Contains(err.Error(), "rapl has no ranges") {
		t.Errorf("of a counter: %v", err)
	}
	gone := errors.New("gone")
	ctx, cancel := context.WithCancelCause(t.Context())
	p, err := StartPair(ctx, Source{Kind: PTD, Address: ptdtest.New().Serve(t), Settle: time.Hour})
	if err != nil {
		t.Fatal(err)
	}
	cancel(gone)
	if err := p.Begin(ctx); !errors.Is(err, gone) {
		t.Errorf("an end while ranges settle: %v", err)
	}
	if err := p.Close(); err != nil {
		t.Error(err)
	}
}
