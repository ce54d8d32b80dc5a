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
	// Search finds the loads itself: one request at a time, as many as it takes, and the rates in between, up to the highest that keeps
	// the bounds.
	Search bool
}

// The files of a sweep, in the folder that has those of its runs.
const (
	SweepJSON = "sweep.json"
	SweepCSV  = "sweep.csv"
)

// Run makes the runs. A run that is INVALID is a point like any other; an error ends the sweep. The points measured until
// then are returned, and written.
func (s Sweep) Run(ctx context.Context, q run.Request, o run.Observer) (*report.Sweep, error) {
	if s.Search {
		return s.search(ctx, q, o)
	}
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
	if bounds := r.Bounds(); len(bounds) > 0 && !doc.Search { // a search has chosen its own
		doc.SLO = bounds
	}
}

// requests are the runs of the sweep, with their loads.
func (s Sweep) requests(q run.Request) (list []run.Request, loads []float64, unit string, err error) {
	field := "sweep_concurrency"
	if err := s.check(q); err != nil {
		return nil, nil, "", err
	}
	for _, n := range s.Concurrency {
		loads = append(loads, float64(n))
	}
	if len(s.Rates) > 0 {
		field, loads = "sweep_qps", s.Rates
	}
	if !q.Force {
		err = outdir.CheckNames(q.Output, SweepJSON, SweepCSV, page.FileName)
	}
	for i, load := range loads {
		text := units.Exact(load)
		r := q
		if q.Prompts.Artifacts != "" {
			r.Prompts.Artifacts = filepath.Join(q.Prompts.Artifacts, text)
		}
		if len(s.Rates) > 0 {
			unit, r.Scenario, r.Output = report.PerSecond, "server", filepath.Join(q.Output, "qps-"+text)
			r.Settings = append(slices.Clip(q.Settings), config.Override{Key: "target_qps", Value: text, Origin: "sweep"})
		} else {
			unit, r.Scenario, r.Output = report.AtATime, "offline", filepath.Join(q.Output, "concurrency-"+text)
			r.Engine.Remote.Concurrency = int(load)
			streamAnswers(&r)
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

// streamAnswers has a server of texts send answers token by token, unless the request says how: for the time to the first one.
func streamAnswers(r *run.Request) {
	if r.Engine.Name == engine.OpenAI && (r.Prompts.Stream == "" || r.Prompts.Stream == "auto") {
		r.Prompts.Stream = "on"
	}
}

// check refuses what is no sweep.
func (s Sweep) check(q run.Request) error {
	field := "sweep_concurrency"
	switch {
	case s.Search:
		field = "sweep"
	case len(s.Rates) > 0:
		field = "sweep_qps"
	}
	switch {
	case !q.Engine.IsRemote():
		return userinput.Errorf(field, "is for servers: the engine must be %s or %s", engine.OIP, engine.OpenAI)
	case len(s.Rates) > 0 && len(s.Concurrency) > 0, s.Search && len(s.Rates)+len(s.Concurrency) > 0:
		return userinput.Errorf(field, "a search for the highest rate, rates, and numbers of requests under way are three sweeps: give one of them")
	case q.Output == "":
		return userinput.Missing("output", "the runs of a sweep have a folder of their own in it")
	}
	return nil
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
	points := doc.Ordered()
	s := page.Sweep{Load: points[0].Unit, Facts: sweepFacts(doc), Outcome: doc.Sentence, Search: doc.Search}
	for _, p := range points {
		s.Points = append(s.Points, page.SweepPoint{Load: p.Load, Name: p.Name(), Kept: p.Kept, Result: p.Result, Page: p.Folder + "/" + page.FileName})
	}
	for _, c := range columns {
		if !slices.ContainsFunc(points, func(p report.SweepPoint) bool { return c.of(&p) != nil }) {
			continue
		}
		s.Columns = append(s.Columns, c.title)
		for i := range s.Points {
			s.Points[i].Cells = append(s.Points[i].Cells, valueOf(c.of(&points[i])))
		}
	}
	s.Columns = append(s.Columns, "failed")
	for i, p := range points {
		s.Points[i].Cells = append(s.Points[i].Cells, float64(p.Failures))
	}
	s.Figures = sweepFigures(doc)
	return s
}

// valueOf is a number that may not be known: NaN.
func valueOf(x *float64) float64 {
	if x == nil {
		return math.NaN()
	}
	return *x
}

// sweepFigures draw latencies and rates over the load, with the bounds, and latency against what was answered. Of a search they have
// the rates; one request at a time is where latency begins, and as many as it takes the most that was answered.
func sweepFigures(doc *report.Sweep) []figures.Figure {
	points := doc.Ordered()
	if doc.Search {
		points = points[min(2, len(points)):]
	}
	load := figures.Axis{Label: "rate", Unit: "requests/s"}
	if len(points) > 0 && points[0].Unit == report.AtATime {
		load = figures.Axis{Label: report.AtATime}
	}
	type curve struct {
		label string
		scale float64
		of    func(*report.SweepPoint) *float64
	}
	curves := func(at func(*report.SweepPoint) float64, list []curve) (drawn []figures.Curve) {
		for _, c := range list {
			of := figures.Curve{Label: c.label}
			for i := range points {
				of.At, of.Y = append(of.At, at(&points[i])), append(of.Y, valueOf(c.of(&points[i]))*c.scale)
			}
			drawn = append(drawn, of)
		}
		return drawn
	}
	const ms = 1e6
	byLoad := func(p *report.SweepPoint) float64 { return p.Load }
	answered := curve{"answered", 1, func(p *report.SweepPoint) *float64 { return &p.RequestsPerSecond }}
	firstToken := curve{"p99", ms, func(p *report.SweepPoint) *float64 { return p.FirstTokenP99 }}
	latency := curve{"p99", ms, func(p *report.SweepPoint) *float64 { return p.LatencyP99 }}
	bounds := map[string][]report.Objective{}
	for _, text := range doc.SLO {
		if o, err := report.ParseObjective(text); err == nil {
			bounds[o.Of] = append(bounds[o.Of], o)
		}
	}
	against := curve{"TTFT p99", ms, firstToken.of}
	if !slices.ContainsFunc(points, func(p report.SweepPoint) bool { return p.FirstTokenP99 != nil }) {
		against = curve{"latency p99", ms, latency.of}
	}
	var list []figures.Figure
	for _, f := range []struct {
		id, title string
		x         figures.Axis
		at        func(*report.SweepPoint) float64
		y         figures.Axis
		bound     string
		curves    []curve
	}{
		{"ttft", "Time to first token over the load", load, byLoad, figures.Axis{Label: "time to first token", Unit: "ns"}, report.OfFirstToken,
			[]curve{{"p50", ms, func(p *report.SweepPoint) *float64 { return p.FirstTokenP50 }}, firstToken}},
		{"tpot", "Time per output token over the load", load, byLoad, figures.Axis{Label: "time per output token", Unit: "ns"}, report.OfPerToken,
			[]curve{{"p50", ms, func(p *report.SweepPoint) *float64 { return p.PerTokenP50 }},
				{"p99", ms, func(p *report.SweepPoint) *float64 { return p.PerTokenP99 }}}},
		{"requests", "Throughput and goodput over the load", load, byLoad, figures.Axis{Label: "requests/s", Unit: "/s"}, "",
			[]curve{answered, {"within the bounds", 1, func(p *report.SweepPoint) *float64 { return p.GoodPerSecond }}}},
		{"tokens", "Tokens over the load", load, byLoad, figures.Axis{Label: "tokens/s", Unit: "/s"}, "",
			[]curve{{"tokens/s", 1, func(p *report.SweepPoint) *float64 { return p.TokensPerSecond }}}},
		{"latency", "Latency over the load", load, byLoad, figures.Axis{Label: "latency", Unit: "ns"}, report.OfLatency,
			[]curve{{"p50", ms, func(p *report.SweepPoint) *float64 { return p.LatencyP50 }}, latency,
				{"mean round trip", ms, func(p *report.SweepPoint) *float64 { return p.RoundTripMean }}}},
		{"against", "Latency against throughput", figures.Axis{Label: "answered", Unit: "requests/s"},
			func(p *report.SweepPoint) float64 { return p.RequestsPerSecond },
			figures.Axis{Label: against.label, Unit: "ns"},
			map[bool]string{true: report.OfFirstToken, false: report.OfLatency}[against.label == "TTFT p99"], []curve{against}},
	} {
		drawn, ok := figures.Curves(f.id, f.title, f.x, f.y, curves(f.at, f.curves))
		if !ok {
			continue
		}
		if doc.Search { // its first rates are equally far apart
			drawn.X.Log, drawn.X.From, drawn.X.To = false, 0, 1.06*slices.Max(drawn.At)
		}
		for _, o := range bounds[f.bound] {
			drawn.Bound(float64(o.BoundNS), o.Percentile)
		}
		if f.id == "requests" && doc.Search && len(doc.Points) > 1 {
			drawn.Marks = append(drawn.Marks, figures.Mark{Axis: "y", Value: doc.Points[1].RequestsPerSecond, Label: "as many as it takes",
				Color: figures.Quiet, Dashed: true})
		}
		if h := doc.Highest; h != nil && f.id != "against" {
			mark := figures.Mark{Axis: "x", Value: h.Rate, Label: units.Text(units.Rounded(h.Rate, 3), "/s"), Color: figures.Good, Dashed: true}
			if f.id == "requests" { // the other mark has its label there
				mark.Label = ""
			}
			drawn.Marks = append(drawn.Marks, mark)
		}
		list = append(list, drawn)
	}
	return figures.Paired(list)
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
