package run

import (
	"errors"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/mlperf-go/mlperf/internal/machine/power"
	"github.com/mlperf-go/mlperf/internal/report"
)

// recorded is a meter that has measured.
type recorded struct {
	record *power.Record
	err    error
}

func (r recorded) Stop() (*power.Record, error) { return r.record, r.err }
func (r recorded) String() string               { return "a test" }

var noon = time.Date(2026, 7, 8, 12, 0, 0, 0, time.UTC)

// steady is a series of a power, once a second for a minute from noon.
func steady(name string, watts float64) power.Series {
	s := power.Series{Name: name}
	for i := range 61 {
		s.Points = append(s.Points, power.Point{At: noon.Add(time.Duration(i) * time.Second), Joules: float64(i) * watts, Watts: watts})
	}
	return s
}

func TestEnergyIsThatOfAllPartsDuringTheTraffic(t *testing.T) {
	began := noon.Add(10 * time.Second)
	p := &report.Performance{Began: &began, DurationNS: int64(20 * time.Second), Samples: 50}
	for _, c := range []struct {
		name   string
		series []power.Series
		joules float64
		parts  int
	}{
		{"one part", []power.Series{steady("package", 30)}, 600, 1},
		{"two parts", []power.Series{steady("package-0", 30), steady("package-1", 12.5)}, 850, 2},
	} {
		e := energyOf(p, &power.Record{Series: c.series}, nil)
		if math.Abs(e.Joules-c.joules) > 1e-6 || math.Abs(e.MeanWatts-c.joules/20) > 1e-6 || math.Abs(e.PeakWatts-c.joules/20) > 1e-6 ||
			math.Abs(e.JoulesPerSample-c.joules/50) > 1e-6 || len(e.Parts) != c.parts || e.NotMeasured != "" {
			t.Errorf("%s: %+v, want %g J", c.name, e, c.joules)
		}
		for i, part := range e.Parts {
			if part.Name != c.series[i].Name || len(part.Watts) == 0 {
				t.Errorf("%s: part %d is %+v", c.name, i, part)
			}
		}
	}
	p.Samples = 0
	if e := energyOf(p, &power.Record{Series: []power.Series{steady("x", 1)}}, nil); e.JoulesPerSample != 0 || e.Joules == 0 {
		t.Errorf("without samples: %+v", e)
	}
}

func TestWhyThereIsNoEnergyIsSaid(t *testing.T) {
	began, late := noon, noon.Add(time.Hour)
	for _, c := range []struct {
		name   string
		began  *time.Time
		length time.Duration
		record *power.Record
		err    error
		want   string
	}{
		{"the meter failed", &began, time.Second, nil, errors.New("the cable is out"), "the cable is out"},
		{"nothing could be read", &began, time.Second, &power.Record{Notes: []string{"no counter", "no rights"}}, nil, "no counter; no rights"},
		{"the traffic was later", &late, time.Second, &power.Record{Series: []power.Series{steady("x", 1)}}, nil, "x: the test ran from"},
		{"the traffic was longer", &began, time.Hour, &power.Record{Series: []power.Series{steady("x", 1)}}, nil, "x: the test ran from"},
		{"the traffic took no time", &began, 0, &power.Record{Series: []power.Series{steady("x", 1)}}, nil, "the test has no length"},
	} {
		e := energyOf(&report.Performance{Began: c.began, DurationNS: int64(c.length), Samples: 1}, c.record, c.err)
		if !strings.HasPrefix(e.NotMeasured, c.want) || e.Joules != 0 || e.Parts != nil {
			t.Errorf("%s: %+v, want %q", c.name, e, c.want)
		}
	}
}

// aMeter has recorded 5 W.
func aMeter() *meter {
	return &meter{recorded{record: &power.Record{Series: []power.Series{steady("x", 5)}, Offset: 3 * time.Millisecond, Marked: true, Samples: []string{"Time,1", "Time,2"}}}}
}

// ofASecond are the results of a run that took a second.
func ofASecond() *report.Results {
	began := noon
	return &report.Results{Schema: report.Schema, Result: report.Valid, Performance: &report.Performance{Began: &began, DurationNS: int64(time.Second), Samples: 2}}
}

func TestAMeterAddsToTheResultsThatThereAre(t *testing.T) {
	dir, r := t.TempDir(), ofASecond()
	if err := aMeter().stop(r, dir); err != nil {
		t.Fatal(err)
	}
	if r.Energy.Joules != 5 || r.Energy.Source != "a test" || r.Energy.ClockOffsetNS != 3_000_000 || len(r.Caveats) != 1 || r.Caveats[0] != markedMeter {
		t.Errorf("energy %+v, caveats %q", r.Energy, r.Caveats)
	}
	if text, err := os.ReadFile(filepath.Join(dir, power.SamplesFile)); err != nil || string(text) != "Time,1\nTime,2\n" {
		t.Errorf("the samples are %q, %v", text, err)
	}
	if kept, err := report.Read(dir); err != nil || kept.Energy == nil || kept.Energy.Joules != 5 {
		t.Errorf("kept is %+v, %v", kept, err)
	}
}

func TestAMeterThatFailedSaysWhy(t *testing.T) {
	dir, r := t.TempDir(), ofASecond()
	if err := (&meter{recorded{err: errors.New("gone")}}).stop(r, dir); err != nil || r.Energy.NotMeasured != "gone" || r.Energy.Source != "a test" || len(r.Caveats) > 0 {
		t.Errorf("a meter that failed: %v, %+v", err, r.Energy)
	}
	if _, err := os.Stat(filepath.Join(dir, power.SamplesFile)); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("a meter that failed left samples: %v", err)
	}
}

func TestAMeterWithoutResultsAddsNothing(t *testing.T) {
	nowhere := filepath.Join(t.TempDir(), "nowhere")
	for name, r := range map[string]*report.Results{
		"no results": nil, "no performance": {}, "no traffic": {Performance: &report.Performance{}},
	} {
		if err := aMeter().stop(r, nowhere); err != nil || r != nil && r.Energy != nil {
			t.Errorf("%s: %v, %+v", name, err, r)
		}
	}
	if err := (*meter)(nil).stop(ofASecond(), nowhere); err != nil {
		t.Errorf("without a meter: %v", err)
	}
	if err := aMeter().stop(ofASecond(), nowhere); err == nil || !strings.Contains(err.Error(), "writing the samples of the meter: ") {
		t.Errorf("into a folder that is not there: %v", err)
	}
}

func TestARangingRunIsOfPerformanceAtAnAnalyser(t *testing.T) {
	t.Chdir(t.TempDir())
	for _, c := range []struct{ mode, power, want string }{
		{"", "ptd:host:1", ""}, {"performance", "ptd:host:1", ""},
		{"", "", `power_ranging: an analyser finds its ranges: want ptd:HOST:PORT for power, not ""`},
		{"", "rapl", `power_ranging: an analyser finds its ranges: want ptd:HOST:PORT for power, not "rapl"`},
		{"accuracy", "ptd:host:1", "power_ranging: power is measured of performance, not of accuracy"},
		{"submission", "ptd:host:1", "power_ranging: power is measured of performance, not of submission"},
		{FindPeak, "ptd:host:1", "power_ranging: power is measured of performance, not of find-peak"},
	} {
		q := simulatedRequest()
		q.Scenario, q.Mode, q.Power, q.Ranging, q.Output = "server", c.mode, c.power, true, "out"
		r, err := Resolve(q)
		if (err == nil) != (c.want == "") || err != nil && err.Error() != c.want {
			t.Errorf("%s at %q: %v, want %q", c.mode, c.power, err, c.want)
		}
		if err == nil && r.Request.Output != filepath.Join("out", "run_1") {
			t.Errorf("the run that counts goes to %s", r.Request.Output)
		}
	}
}
