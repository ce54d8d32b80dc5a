package run_test

import (
	"crypto/sha1"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/mlperf-go/mlperf/internal/machine/power/ptdtest"
	"github.com/mlperf-go/mlperf/internal/report"
	"github.com/mlperf-go/mlperf/internal/run"
)

func TestPowerIsMeasuredInTwoRuns(t *testing.T) {
	q, daemon := request(t), ptdtest.New()
	q.Power, q.Ranging, q.Output = "ptd:"+daemon.Serve(t)+"?settle=0s", true, "out"
	if _, err := runLive(t.Context(), q, quiet{}); err != nil {
		t.Fatal(err)
	}
	r, err := report.Read(filepath.Join("out", "run_1"))
	if err != nil || r.Energy == nil || r.Energy.NotMeasured != "" || r.Energy.MeanWatts < 99 || r.Energy.MeanWatts > 101 {
		t.Fatalf("%+v, %v", r, err)
	}
	if !strings.Contains(fmt.Sprint(r.Caveats), "another client of PTDaemon") {
		t.Errorf("caveats %q", r.Caveats)
	}
	var about struct {
		Sources map[string]string
		Results map[string]string
		Phases  map[string][][2]float64
		Daemon  []struct{ Cmd, Reply string } `json:"ptd_messages"`
	}
	text, err := os.ReadFile("out/power/server.json")
	if err == nil {
		err = json.Unmarshal(text, &about)
	}
	if err != nil || len(about.Sources) != 0 || len(about.Phases["ranging"]) != 4 || len(about.Phases["testing"]) != 4 || len(about.Daemon) != len(daemon.Said()) {
		t.Errorf("%+v, %v", about, err)
	}
	for name, want := range about.Results {
		data, err := os.ReadFile(filepath.Join("out", name))
		if sum := sha1.Sum(data); err != nil || hex.EncodeToString(sum[:]) != want {
			t.Errorf("%s: %x, %v, want %s", name, sum, err, want)
		}
	}
	if len(about.Results) != 9 {
		t.Errorf("checksums of %d files, want 9", len(about.Results))
	}
	if said := daemon.Said(); said[len(said)-1] != "SR,V,300.0" {
		t.Errorf("the analyser has other ranges at the end: %q", said)
	}
}

func TestARangingRunWantsAnAnalyserAndPerformance(t *testing.T) {
	for _, c := range []struct {
		power, mode, want string
	}{
		{"", "", `want ptd:HOST:PORT for power, not ""`},
		{"rapl", "", `not "rapl"`},
		{"ptd:127.0.0.1:1", "accuracy", "power is measured of performance, not of accuracy"},
		{"ptd:127.0.0.1:1", run.FindPeak, "not of find-peak"},
	} {
		q := request(t)
		q.Power, q.Mode, q.Ranging = c.power, c.mode, true
		if _, err := run.Resolve(q); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s, %s: %v, want %q", c.power, c.mode, err, c.want)
		}
	}
	q := request(t)
	q.Power, q.Ranging, q.Output = "ptd:127.0.0.1:1", true, "out"
	if _, err := runLive(t.Context(), q, quiet{}); err == nil || !strings.Contains(err.Error(), "reading the energy: PTDaemon") {
		t.Errorf("nobody listens: %v", err)
	}
}
