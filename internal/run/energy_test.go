package run

import (
	"errors"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/mlperf-go/mlperf/internal/config/limitation"
	"github.com/mlperf-go/mlperf/internal/machine/power"
	"github.com/mlperf-go/mlperf/internal/report"
	"github.com/mlperf-go/mlperf/internal/testenv"
)

func TestEnergyOfTheTraffic(t *testing.T) {
	noon := time.Date(2026, 7, 8, 12, 0, 0, 0, time.UTC)
	steady := func(name string, watts float64) power.Series { // for a minute from noon
		s := power.Series{Name: name}
		for i := range 61 {
			s.Points = append(s.Points, power.Point{At: noon.Add(time.Duration(i) * time.Second), Joules: float64(i) * watts, Watts: watts})
		}
		return s
	}
	one := &power.Record{Series: []power.Series{steady("x", 1)}}
	for _, c := range []struct {
		name        string
		began       time.Duration // after noon
		length      time.Duration
		samples     uint64
		record      *power.Record
		err         error
		joules      float64
		notMeasured string
	}{
		{"one part", 10 * time.Second, 20 * time.Second, 50, &power.Record{Series: []power.Series{steady("package", 30)}}, nil, 600, ""},
		{"two parts", 10 * time.Second, 20 * time.Second, 50, &power.Record{Series: []power.Series{steady("package-0", 30), steady("package-1", 12.5)}}, nil, 850, ""},
		{"no samples", 10 * time.Second, 20 * time.Second, 0, one, nil, 20, ""},
		{"the meter failed", 0, time.Second, 1, nil, errors.New("the cable is out"), 0, "the cable is out"},
		{"nothing could be read", 0, time.Second, 1, &power.Record{Notes: []string{"no counter", "no rights"}}, nil, 0, "no counter; no rights"},
		{"the traffic was later", time.Hour, time.Second, 1, one, nil, 0, "x: the test ran from"},
		{"the traffic was longer", 0, time.Hour, 1, one, nil, 0, "x: the test ran from"},
		{"the traffic took no time", 0, 0, 1, one, nil, 0, "the test has no length"},
	} {
		began := noon.Add(c.began)
		r := &report.Results{Performance: &report.Performance{Began: &began, DurationNS: int64(c.length), Samples: c.samples}}
		testenv.Must(t, addEnergy(r, "a test", c.record, c.err, t.TempDir()))
		e := r.Energy
		if math.Abs(e.Joules-c.joules) > 1e-6 || !strings.HasPrefix(e.NotMeasured, c.notMeasured) || (c.notMeasured == "") != (e.NotMeasured == "") || e.Source != "a test" || len(r.Limitations) > 0 {
			t.Errorf("%s: %+v, want %g J", c.name, e, c.joules)
		}
		if c.joules > 0 && (len(e.Parts) != len(c.record.Series) || len(e.Parts[0].Watts) == 0 || math.Abs(e.MeanWatts-c.joules/20) > 1e-6 || math.Abs(e.JoulesPerSample*float64(c.samples)-min(float64(c.samples), 1)*c.joules) > 1e-6) {
			t.Errorf("%s: %+v, want the power of %d parts", c.name, e, len(c.record.Series))
		}
	}

	dir, r := t.TempDir(), &report.Results{Performance: &report.Performance{Began: &noon, DurationNS: int64(time.Second), Samples: 2}}
	marked := &power.Record{Series: one.Series, Offset: 3 * time.Millisecond, Marked: true, Samples: []string{"Time,1", "Time,2"}}
	testenv.Must(t, addEnergy(r, "a test", marked, nil, dir))
	if r.Energy.ClockOffsetNS != 3_000_000 || len(r.Limitations) != 1 || r.Limitations[0].ID != limitation.PowerClient {
		t.Errorf("energy %+v, limitations %v", r.Energy, r.Limitations)
	}
	if text, err := os.ReadFile(filepath.Join(dir, power.SamplesFile)); err != nil || string(text) != "Time,1\nTime,2\n" {
		t.Errorf("the samples are %q, %v", text, err)
	}
	if err := addEnergy(r, "a test", marked, nil, filepath.Join(dir, "nowhere")); err == nil || !strings.HasPrefix(err.Error(), "writing the samples of the meter: ") {
		t.Errorf("into a missing folder: %v", err)
	}
	for _, r := range []*report.Results{{}, {Performance: &report.Performance{}}} {
		if err := addEnergy(r, "a test", marked, nil, dir); err != nil || r.Energy != nil {
			t.Errorf("without traffic: %v, %+v", err, r)
		}
	}
}
