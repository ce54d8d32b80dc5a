package run_test

import (
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/mlperf-go/mlperf/internal/report"
	"github.com/mlperf-go/mlperf/internal/run"
)

// meterFile is the file of a meter that saw 50 W, from some time on for some time.
func meterFile(t *testing.T, from time.Time, d time.Duration) {
	t.Helper()
	text := "time,watts\n"
	for at := from; at.Before(from.Add(d)); at = at.Add(time.Second) {
		text += at.UTC().Format(time.RFC3339Nano) + ",50\n"
	}
	if err := os.WriteFile("meter.csv", []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
}

func TestTheEnergyOfARunIsThatOfItsTraffic(t *testing.T) {
	q := request(t)
	meterFile(t, time.Now().Add(-time.Minute), 10*time.Minute)
	q.Power, q.Output = "file:meter.csv", "out"
	if _, err := runLive(t.Context(), q, quiet{}); err != nil {
		t.Fatal(err)
	}
	r, err := report.Read("out")
	if err != nil || r.Energy == nil {
		t.Fatalf("%+v, %v", r, err)
	}
	e, p := r.Energy, r.Performance
	joules := 50 * time.Duration(p.DurationNS).Seconds()
	if d := e.Joules - joules; d > 1e-6 || d < -1e-6 || e.NotMeasured != "" || e.JoulesPerSample*float64(p.Samples) < 0.999*joules || e.MeanWatts < 49.9 || e.Source != "file meter.csv" {
		t.Errorf("%+v, want %v J", e, joules)
	}
	var text strings.Builder
	if err := report.Summary(&text, r); err != nil || !strings.Contains(text.String(), "J per sample, 50 W on average") {
		t.Errorf("%v, the summary is\n%s", err, text.String())
	}
}

func TestEnergyThatWasNotMeasuredIsSaidAndNotZero(t *testing.T) {
	for name, c := range map[string]struct {
		from time.Time
		want string
	}{
		"another hour":   {time.Now().Add(-time.Hour), "power was measured from"},
		"no file at all": {time.Time{}, "no such file"},
	} {
		q := request(t)
		if !c.from.IsZero() {
			meterFile(t, c.from, time.Minute)
		}
		q.Power, q.Output = "file:meter.csv", "out"
		r, err := runLive(t.Context(), q, quiet{})
		if err != nil || r.Energy == nil || !strings.Contains(r.Energy.NotMeasured, c.want) || r.Energy.Joules != 0 {
			t.Errorf("%s: %v, %+v", name, err, r)
		}
		var text strings.Builder
		if err := report.Summary(&text, r); err != nil || !strings.Contains(text.String(), "energy: not measured: ") {
			t.Errorf("%s: %v, the summary is\n%s", name, err, text.String())
		}
	}
}

func TestAWrongSourceOfPowerIsSaidBeforeAnythingRuns(t *testing.T) {
	q := request(t)
	for _, source := range []string{"battery", "ptd:nowhere", "file:"} {
		q.Power = source
		if _, err := run.Resolve(q); err == nil || !strings.Contains(err.Error(), "power: ") {
			t.Errorf("%s: %v", source, err)
		}
	}
	q.Power = "ptd:127.0.0.1:1"
	if _, err := runLive(t.Context(), q, quiet{}); err == nil || !strings.Contains(fmt.Sprint(err), "reading the energy: PTDaemon") {
		t.Errorf("nobody listens: %v", err)
	}
}
