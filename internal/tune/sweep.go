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
	"strings"

	"github.com/mlperf-go/mlperf/internal/config"
	"github.com/mlperf-go/mlperf/internal/fileio"
	"github.com/mlperf-go/mlperf/internal/report"
	"github.com/mlperf-go/mlperf/internal/report/figures"
	"github.com/mlperf-go/mlperf/internal/report/page"
	"github.com/mlperf-go/mlperf/internal/run"
	"github.com/mlperf-go/mlperf/internal/run/engine"
	"github.com/mlperf-go/mlperf/internal/run/outdir"
	"github.com/mlperf-go/mlperf/internal/units"
	"github.com/mlperf-go/mlperf/internal/userinput"
)

// A Sweep is a run at one load after the other, at servers: rates of Server, or numbers of requests under way in Offline.
type Sweep struct {
	Rates       []float64
	Concurrency []int
}

// The files of a sweep, in the folder that has those of its runs.
const (
	SweepJSON = "sweep.json"
	SweepCSV  = "sweep.csv"
)

// Run makes the runs. A run that is INVALID is a point like any other; an error ends the sweep. The points measured until
// then are returned, and written.
func (s Sweep) Run(ctx context.Context, q run.Request, o run.Observer) (*report.Sweep, error) {
	requests, loads, unit, err := s.requests(q)
	if err != nil {
		return nil, err
	}
	for i, r := range requests { // an error of the last run shows before the first one takes its time
		if _, err := run.Resolve(r); err != nil {
			return nil, fmt.Errorf("%s: %w", units.Text(loads[i], unit), err)
		}
	}
	doc := &report.Sweep{Schema: report.SweepSchema, Program: q.Program, Command: q.Command, SLO: []string{}}
	for i, r := range requests {
		o.Note("sweep: " + units.Text(loads[i], unit))
		results, err := run.Do(ctx, r, o)
		if results != nil {
			add(doc, results, sweepPoint(results, loads[i], unit, filepath.Base(r.Output), len(s.Rates) > 0))
			if problem := writeSweep(q.Output, doc); err == nil {
				err = problem
			}
		}
		if err != nil {
			return doc, err
		}
	}
	return doc, nil
}

// add adds a point, and what the sweep is of.
func add(doc *report.Sweep, r *report.Results, p report.SweepPoint) {
	doc.Points = append(doc.Points, p)
	if doc.Created.IsZero() {
		doc.Created = r.Created
	}
	doc.Servers, doc.Model = r.Servers(), r.ServedModel()
	if text := r.Lengths(); text != "" {
		doc.Lengths = text
	}
	if bounds := r.Bounds(); len(bounds) > 0 {
		doc.SLO = bounds
	}
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
	case !q.Engine.IsRemote():
		err = userinput.Errorf(field, "is for servers: the engine must be %s or %s", engine.OIP, engine.OpenAI)
	case len(s.Rates) > 0 && len(s.Concurrency) > 0:
		err = userinput.Errorf(field, "rates and numbers of requests under way are two sweeps: give one of the two")
	case q.Output == "":
		err = userinput.Missing("output", "the runs of a sweep have a folder of their own in it")
	case !q.Force:
		err = outdir.CheckNames(q.Output, SweepJSON, SweepCSV, page.FileName)
	}
	for i, load := range loads {
		text := units.Exact(load)
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
			if q.Engine.Name == engine.OpenAI && (q.Prompts.Stream == "" || q.Prompts.Stream == "auto") {
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

func sweepPoint(r *report.Results, load float64, unit, folder string, scheduled bool) report.SweepPoint {
	point := report.SweepPoint{Load: load, Unit: unit, Folder: folder, Result: r.Result}
	p, g := r.Performance, r.Generation
	milliseconds := func(l *report.Latencies) (p50, p99 *float64) {
		if l == nil {
			return nil, nil
		}
		return new(float64(l.P50) / 1e6), new(float64(l.P99) / 1e6)
	}
	switch {
	case p == nil:
		return point
	case g == nil: // of tensors
		point.RequestsPerSecond = p.SamplesPerSecond
		if scheduled {
			point.LatencyP50, point.LatencyP99 = milliseconds(p.LatencyNS)
		}
		if r.Remote != nil && r.Remote.Requests > 0 {
			point.RoundTripMean = new(float64(r.Remote.RoundTripNS) / 1e6)
		}
		return point
	}
	first, latency := g.FirstTokenFromSendNS, g.LatencyFromSendNS
	if scheduled {
		first, latency = p.FirstTokenNS, p.LatencyNS
	}
	point.RequestsPerSecond, point.TokensPerSecond = g.RequestsPerSecond, &g.TokensPerSecond
	if g.Goodput != nil {
		point.GoodPerSecond = &g.Goodput.RequestsPerSecond
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

// writeSweep writes the points as JSON, as CSV and as a page.
func writeSweep(dir string, doc *report.Sweep) error {
	userinput.Lines(doc)
	text, err := json.MarshalIndent(doc, "", "  ")
	if err != nil {
		return err
	}
	err = fileio.WriteIn(dir, SweepJSON, func(w io.Writer) error {
		_, err := w.Write(append(text, '\n'))
		return err
	})
	if err != nil {
		return err
	}
	head := []string{"load", "unit", "result"}
	for _, c := range columns {
		head = append(head, c.name)
	}
	rows := [][]string{append(head, "failures", "folder")}
	for _, p := range doc.Points {
		row := []string{units.Exact(p.Load), p.Unit, p.Result}
		for _, c := range columns {
			cell := ""
			if x := c.of(&p); x != nil {
				cell = strconv.FormatFloat(*x, 'f', 3, 64)
			}
			row = append(row, cell)
		}
		rows = append(rows, append(row, strconv.FormatInt(p.Failures, 10), p.Folder))
	}
	err = fileio.WriteIn(dir, SweepCSV, func(w io.Writer) error { return csv.NewWriter(w).WriteAll(rows) })
	if err != nil {
		return err
	}
	return fileio.WriteIn(dir, page.FileName, func(w io.Writer) error { return page.WriteSweep(w, sweepPage(doc), doc.Program) })
}

// columns are what points may have, in the order of CSV files and pages.
var columns = []struct {
	name, title string // as files and pages call it
	of          func(*report.SweepPoint) *float64
}{
	{"requests_per_second", "requests/s", func(p *report.SweepPoint) *float64 { return &p.RequestsPerSecond }},
	{"tokens_per_second", "tokens/s", func(p *report.SweepPoint) *float64 { return p.TokensPerSecond }},
	{"goodput_requests_per_second", "good requests/s", func(p *report.SweepPoint) *float64 { return p.GoodPerSecond }},
	{"first_token_p50_ms", "TTFT p50, ms", func(p *report.SweepPoint) *float64 { return p.FirstTokenP50 }},
	{"first_token_p99_ms", "TTFT p99, ms", func(p *report.SweepPoint) *float64 { return p.FirstTokenP99 }},
	{"per_token_p50_ms", "TPOT p50, ms", func(p *report.SweepPoint) *float64 { return p.PerTokenP50 }},
	{"per_token_p99_ms", "TPOT p99, ms", func(p *report.SweepPoint) *float64 { return p.PerTokenP99 }},
	{"inter_token_p99_ms", "ITL p99, ms", func(p *report.SweepPoint) *float64 { return p.BetweenP99 }},
	{"latency_p50_ms", "latency p50, ms", func(p *report.SweepPoint) *float64 { return p.LatencyP50 }},
	{"latency_p99_ms", "latency p99, ms", func(p *report.SweepPoint) *float64 { return p.LatencyP99 }},
	{"round_trip_mean_ms", "round trip mean, ms", func(p *report.SweepPoint) *float64 { return p.RoundTripMean }},
}

// sweepPage has the numbers and the curves of a sweep. A column without a number is left out.
func sweepPage(doc *report.Sweep) page.Sweep {
	points := doc.Points
	s := page.Sweep{Load: points[0].Unit, Facts: sweepFacts(doc)}
	for _, p := range points {
		s.Points = append(s.Points, page.SweepPoint{Load: p.Load, Result: p.Result, Page: p.Folder + "/" + page.FileName})
	}
	values := map[string][]float64{} // by the names of columns
	for _, c := range columns {
		known := false
		var list []float64
		for i := range points {
			v := math.NaN()
			if x := c.of(&points[i]); x != nil {
				v, known = *x, true
			}
			list = append(list, v)
		}
		if !known {
			continue
		}
		values[c.name], s.Columns = list, append(s.Columns, c.title)
		for i := range s.Points {
			s.Points[i].Cells = append(s.Points[i].Cells, list[i])
		}
	}
	s.Columns = append(s.Columns, "failed")
	var loads []float64
	for i, p := range points {
		s.Points[i].Cells, loads = append(s.Points[i].Cells, float64(p.Failures)), append(loads, p.Load)
	}
	type curve struct{ label, column string }
	for _, f := range []struct {
		id, title, label, unit string
		scale                  float64
		curves                 []curve
	}{
		{"requests", "Requests over the load", "requests/s", "/s", 1, []curve{{"answered", "requests_per_second"}, {"within the bounds", "goodput_requests_per_second"}}},
		{"tokens", "Tokens over the load", "tokens/s", "/s", 1, []curve{{"tokens/s", "tokens_per_second"}}},
		{"ttft", "Time to first token over the load", "time to first token", "ns", 1e6, []curve{{"p50", "first_token_p50_ms"}, {"p99", "first_token_p99_ms"}}},
		{"tpot", "Time per output token over the load", "time per output token", "ns", 1e6, []curve{{"p50", "per_token_p50_ms"}, {"p99", "per_token_p99_ms"}}},
		{"latency", "Latency over the load", "latency", "ns", 1e6, []curve{{"p50", "latency_p50_ms"}, {"p99", "latency_p99_ms"}, {"mean round trip", "round_trip_mean_ms"}}},
	} {
		var curves []figures.Curve
		for _, c := range f.curves {
			if values[c.column] == nil {
				continue
			}
			of := figures.Curve{Label: c.label, At: loads}
			for _, v := range values[c.column] {
				of.Y = append(of.Y, v*f.scale)
			}
			curves = append(curves, of)
		}
		if drawn, ok := figures.Curves(f.id, f.title, figures.Axis{Label: s.Load}, figures.Axis{Label: f.label, Unit: f.unit}, curves); ok {
			s.Figures = append(s.Figures, drawn)
		}
	}
	s.Figures = figures.Paired(s.Figures)
	return s
}

// sweepFacts say what was measured where, and what is bounded.
func sweepFacts(doc *report.Sweep) []string {
	facts := append([]string{doc.Model}, doc.Servers...)
	facts = append(facts, doc.Lengths, doc.Created.UTC().Format("2 January 2006, 15:04 UTC"))
	if len(doc.SLO) > 0 {
		facts = append(facts, "bounds: "+strings.Join(doc.SLO, ", "))
	}
	return facts
}
