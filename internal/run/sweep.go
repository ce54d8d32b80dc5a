package run

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
	"github.com/mlperf-go/mlperf/internal/userinput"
)

// A Sweep is a run at one load after the other, at servers: rates of Server, or numbers of
// requests under way in Offline.
type Sweep struct {
	Rates       []float64
	Concurrency []int
}

// A SweepPoint is what came of a load. Times are milliseconds, those of the first token from the
// schedule with rates and from sending else, because all samples of Offline are due at once. nil: nothing tells it, as no
// bounds tell in Offline which requests are good.
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

// check finds loads that there cannot be.
func (s Sweep) check(q *Request) error {
	switch {
	case !q.asksServers():
		return userinput.Errorf(s.field(), "is for servers of text: want the engine %s", OpenAI)
	case len(s.Rates) > 0 && len(s.Concurrency) > 0:
		return userinput.Errorf(s.field(), "rates and numbers of requests under way are two sweeps: want one of the two")
	case q.Output == "":
		return userinput.Missing("output", "the runs of a sweep have a folder of their own in it")
	}
	loads := s.loads()
	for i, x := range loads {
		switch {
		case !(x > 0) || math.IsInf(x, 1):
			return userinput.Invalid(s.field(), x, "loads above 0")
		case slices.Contains(loads[:i], x):
			return userinput.Errorf(s.field(), "%g is there twice", x)
		}
	}
	return nil
}

// resolve finds what is wrong with the run of any load before the first one takes its time.
func (s Sweep) resolve(q Request) error {
	for _, load := range s.loads() {
		at, unit := s.at(q, load)
		if _, err := Resolve(at); err != nil {
			return fmt.Errorf("%g %s: %w", load, unit, err)
		}
	}
	return nil
}

func (s Sweep) field() string {
	if len(s.Rates) > 0 {
		return "sweep_qps"
	}
	return "sweep_concurrency"
}

func (s Sweep) loads() []float64 {
	list := s.Rates
	for _, n := range s.Concurrency {
		list = append(list, float64(n))
	}
	return list
}

// Run makes the runs. A run that is INVALID is a point like any other; one that cannot be made
// ends the sweep. What was measured until then is returned, and written.
func (s Sweep) Run(ctx context.Context, q Request, o Observer) ([]SweepPoint, error) {
	if err := s.check(&q); err != nil {
		return nil, err
	}
	if err := s.resolve(q); err != nil {
		return nil, err
	}
	var points []SweepPoint
	for _, load := range s.loads() {
		at, unit := s.at(q, load)
		o.Note(fmt.Sprintf("sweep: %g %s", load, unit))
		r, err := runOnce(ctx, at, o)
		if r != nil {
			points = append(points, sweepPoint(r, load, unit, filepath.Base(at.Output), len(s.Rates) > 0))
			if err2 := writeSweep(q.Output, points); err == nil {
				err = err2
			}
		}
		if err != nil {
			return points, err
		}
	}
	return points, nil
}

// at is the request with a load.
func (s Sweep) at(q Request, load float64) (at Request, unit string) {
	text := strconv.FormatFloat(load, 'g', -1, 64)
	if q.Prompts.Artifacts != "" {
		q.Prompts.Artifacts = filepath.Join(q.Prompts.Artifacts, text)
	}
	if len(s.Rates) > 0 {
		q.Scenario = "server"
		q.Settings = append(q.Settings[:len(q.Settings):len(q.Settings)], config.Override{Key: "target_qps", Value: text, Origin: "sweep"})
		q.Output = filepath.Join(q.Output, "qps-"+text)
		return q, "queries/s"
	}
	q.Scenario, q.Engine.Remote.Concurrency = "offline", int(load)
	if q.Prompts.Stream == "" || q.Prompts.Stream == "auto" {
		q.Prompts.Stream = "on" // for the time to the first token
	}
	q.Output = filepath.Join(q.Output, "concurrency-"+text)
	return q, "requests under way"
}

// runOnce makes a run.
func runOnce(ctx context.Context, q Request, o Observer) (*report.Results, error) {
	resolved, err := Resolve(q)
	if err != nil {
		return nil, err
	}
	prepared, err := resolved.Provide(ctx, o)
	if err != nil {
		return nil, err
	}
	r, err := prepared.Run(ctx)
	if closing := prepared.Close(); err == nil {
		err = closing
	}
	return r, err
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
	point.FirstTokenP50, point.FirstTokenP99 = millis(first)
	point.PerTokenP50, point.PerTokenP99 = millis(g.PerTokenNS)
	_, point.BetweenP99 = millis(g.BetweenPiecesNS)
	point.LatencyP50, point.LatencyP99 = millis(latency)
	for _, f := range g.Failures {
		point.Failures += f.Count
	}
	return point
}

// millis are the median and the 99th percentile.
func millis(l *report.Latencies) (p50, p99 *float64) {
	if l == nil {
		return nil, nil
	}
	return new(float64(l.P50) / 1e6), new(float64(l.P99) / 1e6)
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
	return fileio.WriteAtomic(filepath.Join(dir, SweepCSV), 0o644, func(w io.Writer) error { return csv.NewWriter(w).WriteAll(rowsOf(points)) })
}

// cell is a number as a table has it; nil: nothing.
func cell(x *float64) string {
	if x == nil {
		return ""
	}
	return strconv.FormatFloat(*x, 'f', 3, 64)
}

// rowsOf are the points as a table, with a head.
func rowsOf(points []SweepPoint) [][]string {
	rows := [][]string{{"load", "unit", "result", "requests_per_second", "tokens_per_second", "goodput_requests_per_second", "first_token_p50_ms", "first_token_p99_ms",
		"per_token_p50_ms", "per_token_p99_ms", "inter_token_p99_ms", "latency_p50_ms", "latency_p99_ms", "failures", "folder"}}
	for _, p := range points {
		row := []string{strconv.FormatFloat(p.Load, 'g', -1, 64), p.Unit, p.Result}
		for _, x := range []*float64{&p.RequestsPerSecond, &p.TokensPerSecond, p.GoodPerSecond, p.FirstTokenP50, p.FirstTokenP99, p.PerTokenP50, p.PerTokenP99, p.BetweenP99, p.LatencyP50, p.LatencyP99} {
			row = append(row, cell(x))
		}
		rows = append(rows, append(row, strconv.FormatInt(p.Failures, 10), p.Folder))
	}
	return rows
}
