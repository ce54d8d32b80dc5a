package tune

import (
	"context"
	"errors"
	"path/filepath"
	"testing"
	"time"

	"github.com/mlperf-go/mlperf/internal/loadgen"
)

// A recorder is an Observer, and may stop the search.
type recorder struct {
	kept     int
	measured []Measurement
	on       func(n int)
}

func (r *recorder) Begin(_ Objective, _, kept int) { r.kept = kept }

func (r *recorder) Measured(m Measurement, _ time.Duration) {
	r.measured = append(r.measured, m)
	if r.on != nil {
		r.on(len(r.measured))
	}
}

// searchOf is a search of batches on a fake model, which is the faster the larger they are.
func searchOf(t *testing.T, scenario loadgen.Scenario, r *recorder, opened *[]*fakeModel) Config {
	t.Helper()
	return Config{
		Settings: settingsOf(scenario), Budget: time.Hour, Axes: Axes{Batches: []int{1, 2, 4}}, Facts: Facts{Cores: 2},
		Header: Header{Subject: subject}, Journal: filepath.Join(t.TempDir(), "j.jsonl"), Observer: r,
		Open: func(_ context.Context, p Point) (Opened, error) {
			if p.Instances == 0 {
				p = Point{p.Variant, 2, 1, 1, 0}
			}
			if p.Instances == 1 {
				return nil, errors.New("no room")
			}
			m := &fakeModel{point: p, first: 10 * time.Millisecond, perSample: 2 * time.Millisecond, fixed: -1, capacity: 1e9}
			*opened = append(*opened, m)
			return m, nil
		},
	}
}

func TestRunFindsTheFastestPointAndClosesEverything(t *testing.T) {
	for _, scenario := range loadgen.Scenarios() {
		t.Run(scenario.String(), func(t *testing.T) {
			r, opened := &recorder{}, []*fakeModel{}
			out, err := Run(t.Context(), searchOf(t, scenario, r, &opened))
			if err != nil || !out.Finished || !out.Found {
				t.Fatalf("Run = %+v, %v", out, err)
			}
			if scenario == loadgen.Offline && out.Winner.Point != (Point{Instances: 2, Threads: 1, MaxBatch: 4}) {
				t.Errorf("winner = %v", out.Winner)
			}
			for _, m := range opened {
				if !m.closed {
					t.Errorf("%v is not closed", m.point)
				}
			}
			if len(r.measured) != len(out.Done) {
				t.Errorf("the observer is told %d of %d measurements", len(r.measured), len(out.Done))
			}
			p := out.Profile(subject)
			if err := p.Check(); err != nil || p.Points == 0 || p.Value != out.Winner.Value || p.Default <= 0 {
				t.Errorf("profile = %+v, %v", p, err)
			}
		})
	}
}

func TestAPointThatFailsIsAnOutcome(t *testing.T) {
	r, opened := &recorder{}, []*fakeModel{}
	out, err := Run(t.Context(), searchOf(t, loadgen.Offline, r, &opened))
	if err != nil {
		t.Fatal(err)
	}
	failed := 0
	for _, m := range out.Done {
		if m.Instances == 1 {
			failed++
			if m.Err != "no room" || m.Stage > 0 {
				t.Errorf("%+v", m)
			}
		}
	}
	if failed == 0 {
		t.Error("no point failed")
	}
}

func TestAnInterruptedRunKeepsWhatItMeasured(t *testing.T) {
	stopped := errors.New("stopped")
	ctx, stop := context.WithCancelCause(t.Context())
	r, opened := &recorder{}, []*fakeModel{}
	cfg := searchOf(t, loadgen.Offline, r, &opened)
	r.on = func(n int) {
		if n == 3 {
			stop(stopped)
		}
	}
	out, err := Run(ctx, cfg)
	if !errors.Is(err, stopped) || out == nil || out.Finished || len(out.Done) != 3 {
		t.Fatalf("Run = %+v, %v", out, err)
	}
	again := &recorder{}
	cfg.Observer = again
	out, err = Run(t.Context(), cfg)
	if err != nil || again.kept != 3 || !out.Finished || len(out.Done) != 3+len(again.measured) {
		t.Errorf("kept %d, measured %d more, %d in all, %v", again.kept, len(again.measured), len(out.Done), err)
	}
}
