package tune

import (
	"context"
	"encoding/csv"
	"encoding/json"
	"fmt"
	"io"
	"math"
	"path/filepath"
	"slices"
	"strconv"

	"github.com/mlperf-go/mlperf/internal/config"
	"github.com/mlperf-go/mlperf/internal/fileio"
	"github.com/mlperf-go/mlperf/internal/report"
	"github.com/mlperf-go/mlperf/internal/run"
	"github.com/mlperf-go/mlperf/internal/run/engine"
	"github.com/mlperf-go/mlperf/internal/userinput"
)

// A Sweep is a run at one load after the other, at servers of text: rates of Server, or numbers of requests under way
// in Offline.
type Sweep struct {
	Rates       []float64
	Concurrency []int
}

// A SweepPoint is the result of a load. Times are milliseconds. With rates they count from the schedule; in Offline, where
// all samples are due at once, from sending. nil: not known; Offline has no bounds that tell which requests are good.
type SweepPoint struct {
	Load   float64 `json:"load"`
	Unit   string  `json:"unit"` // of the load
	Folder string  `json:"folder"`
	Result string  `json:"result"`

	RequestsPerSecond float64  `json:"requests_per_second"`
	TokensPerSecond   float64  `json:"tokens_per_second"`
	GoodPerSecond     *float64 `json:"goodput_requests_per_second,omitempty"`
	FirstTokenP50     *float64 `json:"first_token_p50_ms,omitempty"`
	FirstTokenP99     *float64 `json:"first_token_p99_ms,omitempty"`
	PerTokenP50       *float64 `json:"per_token_p50_ms,omitempty"`
	PerTokenP99       *float64 `json:"per_token_p99_ms,omitempty"`
	BetweenP99        *float64 `json:"inter_token_p99_ms,omitempty"`
	LatencyP50        *float64 `json:"latency_p50_ms,omitempty"`
	LatencyP99        *float64 `json:"latency_p99_ms,omitempty"`
	Failures          int64    `json:"failures"`
}

// The files of a sweep, in the folder that has those of its runs.
const (
	SweepJSON = "sweep.json"
	SweepCSV  = "sweep.csv"
)

// Run makes the runs. A run that is INVALID is a point like any other; an error ends the sweep. The points measured until
// then are returned, and written.
func (s Sweep) Run(ctx context.Context, q run.Request, o run.Observer) ([]SweepPoint, error) {
	requests, loads, unit, err := s.requests(q)
	if err != nil {
		return nil, err
	}
	for i, r := range requests { // an error of the last run shows before the first one takes its time
		if _, err := run.Resolve(r); err != nil {
			return nil, fmt.Errorf("%g %s: %w", loads[i], unit, err)
		}
	}
	var points []SweepPoint
	for i, r := range requests {
		o.Note(fmt.Sprintf("sweep: %g %s", loads[i], unit))
		results, err := run.Do(ctx, r, o)
		if results != nil {
			points = append(points, sweepPoint(results, loads[i], unit, filepath.Base(r.Output), len(s.Rates) > 0))
			if problem := writeSweep(q.Output, points); err == nil {
				err = problem
			}
		}
		if err != nil {
			return points, err
		}
	}
	return points, nil
}

// requests are the runs of the sweep, with their loads.
func (s Sweep) requests(q run.Request) (list []run.Request, loads []float64, unit string, err error) {
	field := "sweep_concurrency"
	for _, n := range s.Concurrency {
		loads = append(loads, float64(n))
	}
	if len(s.Rates) > 0 {
		field, loads = "sweep_qps", s.Rates
	}
	switch {
	case q.Engine.Name != engine.OpenAI:
		err = userinput.Errorf(field, "is for servers of text: want the engine %s", engine.OpenAI)
	case len(s.Rates) > 0 && len(s.Concurrency) > 0:
		err = userinput.Errorf(field, "rates and numbers of requests under way are two sweeps: want one of the two")
	case q.Output == "":
		err = userinput.Missing("output", "the runs of a sweep have a folder of their own in it")
	}
	for i, load := range loads {
		text := strconv.FormatFloat(load, 'g', -1, 64)
		r := q
		if q.Prompts.Artifacts != "" {
			r.Prompts.Artifacts = filepath.Join(q.Prompts.Artifacts, text)
		}
		if len(s.Rates) > 0 {
			unit, r.Scenario, r.Output = "queries/s", "server", filepath.Join(q.Output, "qps-"+text)
			r.Settings = append(slices.Clip(q.Settings), config.Override{Key: "target_qps", Value: text, Origin: "sweep"})
		} else {
			unit, r.Scenario, r.Output = "requests under way", "offline", filepath.Join(q.Output, "concurrency-"+text)
			r.Engine.Remote.Concurrency = int(load)
			if q.Prompts.Stream == "" || q.Prompts.Stream == "auto" {
				r.Prompts.Stream = "on" // for the time to the first token
			}
		}
		list = append(list, r)
		switch {
		case err != nil:
		case !(load > 0) || math.IsInf(load, 1):
			err = userinput.Invalid(field, load, "loads above 0")
		case slices.Contains(loads[:i], load):
			err = userinput.Errorf(field, "%g is given twice", load)
		}
	}
	return list, loads, unit, err
}

func sweepPoint(r *report.Results, load float64, unit, folder string, scheduled bool) SweepPoint {
	point := SweepPoint{Load: load, Unit: unit, Folder: folder, Result: r.Result}
	p, g := r.Performance, r.Generation
	if p == nil || g == nil {
		return point
	}
	first, latency := g.FirstTokenFromSendNS, g.LatencyFromSendNS
	if scheduled {
		first, latency = p.FirstTokenNS, p.LatencyNS
	}
	point.RequestsPerSecond, point.TokensPerSecond = g.RequestsPerSecond, g.TokensPerSecond
	if g.Goodput != nil {
		point.GoodPerSecond = &g.Goodput.RequestsPerSecond
	}
	milliseconds := func(l *report.Latencies) (p50, p99 *float64) {
		if l == nil {
			return nil, nil
		}
		return new(float64(l.P50) / 1e6), new(float64(l.P99) / 1e6)
	}
	point.FirstTokenP50, point.FirstTokenP99 = milliseconds(first)
	point.PerTokenP50, point.PerTokenP99 = milliseconds(g.PerTokenNS)
	_, point.BetweenP99 = milliseconds(g.BetweenPiecesNS)
	point.LatencyP50, point.LatencyP99 = milliseconds(latency)
	for _, f := range g.Failures {
		point.Failures += f.Count
	}
	return point
}

// writeSweep writes the points as JSON and as CSV.
func writeSweep(dir string, points []SweepPoint) error {
	text, err := json.MarshalIndent(points, "", "  ")
	if err != nil {
		return err
	}
	err = fileio.WriteAtomic(filepath.Join(dir, SweepJSON), 0o644, func(w io.Writer) error {
		_, err := w.Write(append(text, '\n'))
		return err
	})
	if err != nil {
		return err
	}
	rows := [][]string{{"load", "unit", "result", "requests_per_second", "tokens_per_second", "goodput_requests_per_second", "first_token_p50_ms", "first_token_p99_ms",
		"per_token_p50_ms", "per_token_p99_ms", "inter_token_p99_ms", "latency_p50_ms", "latency_p99_ms", "failures", "folder"}}
	for _, p := range points {
		row := []string{strconv.FormatFloat(p.Load, 'g', -1, 64), p.Unit, p.Result}
		for _, x := range []*float64{&p.RequestsPerSecond, &p.TokensPerSecond, p.GoodPerSecond, p.FirstTokenP50, p.FirstTokenP99, p.PerTokenP50, p.PerTokenP99, p.BetweenP99, p.LatencyP50, p.LatencyP99} {
			cell := ""
			if x != nil {
				cell = strconv.FormatFloat(*x, 'f', 3, 64)
			}
			row = append(row, cell)
		}
		rows = append(rows, append(row, strconv.FormatInt(p.Failures, 10), p.Folder))
	}
	return fileio.WriteAtomic(filepath.Join(dir, SweepCSV), 0o644, func(w io.Writer) error { return csv.NewWriter(w).WriteAll(rows) })
}
