package checker

import (
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/mlperf-go/mlperf/internal/submission/python"
)

func (g *judgement) powerFolder() string { return g.folder + "/performance/power" }

func (g *judgement) hasPower() bool { return g.tree.Exists(g.powerFolder()) }

// checkPower judges a result with power.
func (g *judgement) checkPower() {
	if !g.hasPower() {
		return
	}
	logs := []string{"mlperf_log_summary.txt", "mlperf_log_detail.txt", "spl.txt"}
	for folder, want := range map[string][]string{
		"run_1": logs, "ranging": logs,
		"power": {"client.json", "client.log", "ptd_logs.txt", "server.json", "server.log"},
	} {
		path := g.folder + "/performance/" + folder
		files, err := g.tree.Files(path)
		if err != nil {
			g.fail("power-files", problem{path: path, message: "cannot be listed: " + err.Error(), wanted: strings.Join(want, ", ")})
			continue
		}
		optional := []string{"mlperf_log_accuracy.json"}
		if folder == "power" {
			optional = nil
		}
		g.sameFiles("power-files", path, files, want, optional)
	}
	g.checkPowerSession()
	g.measurePower()
	if g.round.Version >= "v6.1" {
		var err error
		if g.watts, err = g.designWatts(); err != nil {
			g.fail("system-nameplate", problem{path: strings.TrimSuffix(g.description.path, ".json") + "_power.yaml", message: err.Error(), wanted: "parts with PSUs and Min PSUs Needed"})
		}
	}
}

// measurePower computes what the result needs: watts, or millijoules of a query.
func (g *judgement) measurePower() {
	path := g.folder + "/performance/run_1/spl.txt"
	begin, end, ok := g.powerWindow()
	if !ok {
		return
	}
	samples, err := g.readSamples(path, begin, end)
	if err != nil {
		g.fail("power-metric", problem{path: path, line: lineOf(err), message: "cannot be read: " + plain(err), wanted: "Time,<stamp>,Watts,<number>,…"})
		return
	}
	watts, n := meanPower(samples)
	if n == 0 {
		g.fail("power-metric", problem{path: path, message: "no sample lies in the run", wanted: fmt.Sprintf("samples from %v to %v", begin.Format(time.StampMilli), end.Format(time.StampMilli))})
		return
	}
	g.powerMetric(watts, end.Sub(begin))
}

func (g *judgement) powerMetric(watts float64, duration time.Duration) {
	log := g.performance
	scenario := strings.ToLower(g.scenarioFolder())
	switch scenario {
	case "offline", "server", "interactive":
		g.power = watts
		return
	case "singlestream", "multistream":
	default:
		return // which is found elsewhere
	}
	e := log.values["result_query_count"]
	queries, err := python.Int(e.value)
	if err != nil || queries.Sign() == 0 {
		g.fail("power-metric", problem{path: log.path, line: e.line, message: "result_query_count is not a count", found: log.show("result_query_count"), wanted: "a whole number above 0"})
		return
	}
	count, _ := queries.Float64()
	measured, _ := log.text("effective_scenario")
	energy := watts * (float64(duration.Microseconds()) / 1e6)
	if scenario == "multistream" && strings.ToLower(measured) == "singlestream" {
		energy *= multiStreamSample
	}
	g.power = energy * 1000 / count
}

func (g *judgement) powerWindow() (begin, end time.Time, ok bool) {
	stamps := [2]time.Time{}
	for i, key := range []string{"power_begin", "power_end"} {
		text, _ := g.performance.text(key)
		t, err := python.ParseStamp(text)
		if err != nil {
			g.fail("power-metric", problem{path: g.performance.path, line: g.performance.line(key), message: key + ": " + err.Error(), found: g.performance.show(key), wanted: "a time"})
			return begin, end, false
		}
		stamps[i] = t
	}
	return stamps[0], stamps[1], true
}

// A powerSample is a line of spl.txt.
type powerSample struct{ watts, factor float64 } // factor: of the power, which must be a number

// readSamples reads the samples of a time from a file that the power daemon wrote.
func (g *judgement) readSamples(path string, begin, end time.Time) ([]powerSample, error) {
	var samples []powerSample
	var bad error
	err := g.eachLine(path, func(n int, line string) bool {
		if !strings.HasPrefix(line, "Time") {
			return true
		}
		s, inside, err := parseSample(line, begin, end)
		if err != nil {
			bad = lineError{n, err}
		} else if inside {
			samples = append(samples, s)
		}
		return err == nil
	})
	return samples, errors.Join(err, bad)
}

// parseSample reads a sample. Only its time matters if it is not inside.
func parseSample(line string, begin, end time.Time) (s powerSample, inside bool, err error) {
	fields := strings.SplitN(line, ",", 11)
	if len(fields) < 2 {
		return s, false, errors.New("no time")
	}
	at, err := python.ParseStamp(fields[1])
	if err != nil || !at.After(begin) || !at.Before(end) {
		return s, false, err
	}
	if len(fields) < 10 {
		return s, false, fmt.Errorf("%d fields, want 10 or more", len(fields))
	}
	if s.watts, err = python.ParseFloat(fields[3]); err != nil {
		return s, false, err
	}
	s.factor, err = python.ParseFloat(fields[9])
	return s, true, err
}

// meanPower returns the mean of the samples above 0, and how many there are.
func meanPower(samples []powerSample) (watts float64, n int) {
	for _, s := range samples {
		if s.watts > 0 {
			watts += s.watts
			n++
		}
	}
	return watts / max(float64(n), 1), n
}
