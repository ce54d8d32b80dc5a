package page

import (
	"cmp"
	"io"
	"strconv"
	"strings"
	"time"

	"github.com/mlperf-go/mlperf/internal/fileio"
	"github.com/mlperf-go/mlperf/internal/report"
	"github.com/mlperf-go/mlperf/internal/report/charts"
	"github.com/mlperf-go/mlperf/internal/report/figures"
	"github.com/mlperf-go/mlperf/internal/units"
)

// FileName is the name of the page beside a run.
const FileName = "report.html"

// A Pair is a fact of a table.
type pair struct {
	Name, Value, Note string
	Key               bool // it decides
}

// A runPage is the data of run.html.
type runPage struct {
	shell
	Title         string
	R             *report.Results
	Verdict       string
	Tone, Sign    string
	Value         string // of the metric, with its unit
	Number, Score string
	Sub, What     string
	Meters        []meter
	SLO           *sloBadge
	Cards         []pair
	Constraints   []constraint
	ScoreLines    []string
	Classes       *sortable
	Percentiles   []pair
	System        []pair
	Runs          []pair
	Command       []string // quoted
}

// Mark is in the head of every page.
const Mark = `<meta name="generator" content="mlperf">`

// WriteRun writes the page of the run in a folder beside its results.
func WriteRun(dir string) error {
	r, err := report.ReadDocument(dir) // of a run that has just ended
	if err != nil {
		return err
	}
	c, err := charts.Read(dir)
	if err != nil {
		return err
	}
	return fileio.WriteIn(dir, FileName, func(w io.Writer) error { return Run(w, r, c, 0) })
}

// Run writes the page of a run. Charts may be nil. Price is what the system costs, in dollars;
// 0: not known.
func Run(w io.Writer, r *report.Results, c *charts.Charts, price float64) error {
	s, err := newShell(figures.Of(r, c), r.Program)
	if err != nil {
		return err
	}
	p := runPage{shell: s, R: r, Verdict: r.Verdict(), Meters: meters(r), Constraints: constraints(r)}
	p.Tone, p.Sign = tone(p.Verdict)
	if p.SLO = newSLOBadge(r); p.SLO != nil && !p.SLO.Met && p.Tone == "" {
		p.Tone = "warn"
	}
	if m := r.Metric; m != nil {
		p.Number = units.Text(m.Value, "")
		p.Value = p.Number + " " + m.Unit
	}
	p.Title = joined([]string{p.Verdict, p.SLO.title(), r.Model + " " + r.Scenario, p.Value}, " · ")
	for _, argument := range r.Command {
		p.Command = append(p.Command, report.CommandLine([]string{argument}))
	}
	if a := r.Accuracy; a != nil {
		p.Score, p.ScoreLines = units.Text(a.Value, ""), scoreLines(a)
		p.Classes = classes(a.Classes)
	}
	p.Sub, p.What = subtitle(r), what(r)
	p.Cards, p.Percentiles, p.System = cards(r, price), percentiles(r, c), system(r)
	for _, o := range r.Runs {
		value := o.Result
		if o.Metric != nil {
			value += ", " + units.Text(o.Metric.Value, o.Metric.Unit)
		}
		p.Runs = append(p.Runs, pair{Name: o.Folder, Value: value})
	}
	return render(w, "run.html", p)
}

// A sloBadge says beside the verdict whether the objectives were met, by what, and the goodput.
type sloBadge struct {
	Met  bool
	Text string // of each objective, and of the goodput
}

// newSLOBadge is that of a run; nil: it has no objective.
func newSLOBadge(r *report.Results) *sloBadge {
	if r.SLO == nil {
		return nil
	}
	var parts []string
	for _, o := range r.SLO.Objectives {
		observed := "not measured"
		if o.ObservedNS > 0 {
			observed = nanoseconds(o.ObservedNS)
		}
		parts = append(parts, o.String()+": "+observed)
	}
	return &sloBadge{Met: r.SLO.Met, Text: joined(append(parts, "goodput "+units.Text(r.SLO.GoodPerSecond, "/s")), " · ")}
}

// title is what the title of the page says; empty: nothing.
func (b *sloBadge) title() string {
	switch {
	case b == nil:
		return ""
	case b.Met:
		return "SLO met"
	}
	return "SLO MISSED"
}

// tone is the colour of a verdict, and the sign that says the same without colours.
func tone(verdict string) (class, sign string) {
	switch verdict {
	case report.Valid:
		return "", "✓"
	case report.Interrupted, report.BelowTarget, report.WithoutScore, report.UnderWay:
		return "warn", "!"
	}
	return "bad", "✕"
}

// subtitle says what was measured on what.
func subtitle(r *report.Results) string {
	parts := []string{field(r.System, "cpu", "model"), r.Backend.Engine, r.Input.Precision}
	if servers := r.Servers(); len(servers) > 0 { // this machine only asks
		parts = append([]string{r.ServedModel()}, servers...)
		parts = append(parts, r.Lengths())
		if bounds := r.Bounds(); len(bounds) > 0 {
			parts = append(parts, "bounds: "+strings.Join(bounds, ", "))
		}
	}
	if r.Rules != "" {
		parts = append(parts, "rules "+r.Rules)
	}
	if !r.Created.IsZero() {
		parts = append(parts, r.Created.UTC().Format("2 January 2006, 15:04 UTC"))
	}
	return joined(append(parts, r.Host), " · ")
}

func joined(parts []string, by string) string {
	var list []string
	for _, p := range parts {
		if p != "" {
			list = append(list, p)
		}
	}
	return strings.Join(list, by)
}

func what(r *report.Results) string {
	name, long := "", ""
	if r.Metric != nil {
		name = r.Metric.Name
	} else if r.Accuracy != nil {
		name = r.Accuracy.Metric
	}
	if p := r.Performance; p != nil {
		long = units.Text(float64(p.DurationNS), "ns")
	}
	if r.Steady != nil {
		long = joined([]string{long, "the figures below " + r.Steady.Window()}, "; ")
	}
	return joined([]string{name, r.Mode, long}, ", ")
}

func scoreLines(a *report.Accuracy) []string {
	var out strings.Builder
	if err := report.Score(&out, a); err != nil {
		return a.Lines
	}
	return strings.Split(strings.TrimSpace(out.String()), "\n")
}

// cards are the numbers that are looked for first.
func cards(r *report.Results, price float64) []pair {
	p := r.Performance
	if p == nil {
		return nil
	}
	shown := p
	if s := r.Steady; s != nil { // the figures are those of what is left
		left := *p
		left.LatencyNS, left.QueryLatencyNS, left.FirstTokenNS, left.TimePerOutputTokenNS = s.LatencyNS, nil, s.FirstTokenNS, s.TimePerOutputTokenNS
		left.SamplesPerSecond, left.Samples = s.SamplesPerSecond, s.Samples
		shown = &left
	}
	list := append(latencyCards(r.Scenario, shown), rateCards(r, shown, price)...)
	list = append(list, pair{Name: "samples", Value: units.Text(float64(shown.Samples), "")})
	if r.Steady != nil {
		list = append(list, pair{Name: "left out of these figures", Value: units.Count(r.Steady.LeftOut, "sample")})
	}
	if q := r.Queue; q != nil {
		list = append(list, pair{Name: "most waiting", Value: units.Text(float64(q.Peak), "")})
	}
	if d := cmp.Or(p.GeneratorDelayNS, p.IssueDelayNS); d != nil {
		list = append(list, pair{Name: "p99 issue delay", Value: nanoseconds(d.P99)})
	}
	return append(list, energyCards(r.Energy)...)
}

// latencyCards are the latencies. Those of Offline say nothing: all samples wait from the beginning.
func latencyCards(scenario string, p *report.Performance) []pair {
	var list []pair
	if l := cmp.Or(p.QueryLatencyNS, p.LatencyNS); l != nil && scenario != "Offline" {
		list = append(list, pair{Name: "median latency", Value: nanoseconds(l.P50)}, pair{Name: "p90 latency", Value: nanoseconds(l.P90)},
			pair{Name: "p99 latency", Value: nanoseconds(l.P99)})
	}
	if l := p.FirstTokenNS; l != nil {
		list = append(list, pair{Name: "p99 time to first token", Value: nanoseconds(l.P99)})
	}
	if l := p.TimePerOutputTokenNS; l != nil {
		list = append(list, pair{Name: "p99 time per token", Value: nanoseconds(l.P99)})
	}
	return list
}

func nanoseconds(v int64) string { return units.Duration(time.Duration(v)) }

// rateCards say how fast it was, unless the result says so, and what for a dollar. The rate of the schedule of Server has its own name.
func rateCards(r *report.Results, p *report.Performance, price float64) []pair {
	if !(p.SamplesPerSecond > 0) {
		return nil
	}
	var list []pair
	if r.Metric == nil || r.Metric.Unit != "samples/s" {
		list = append(list, pair{Name: "answered samples/s", Value: units.Text(p.SamplesPerSecond, "")})
	}
	if p.ScheduledPerSecond > 0 && (r.Metric == nil || !strings.HasPrefix(r.Metric.Name, "scheduled")) {
		list = append(list, pair{Name: "scheduled samples/s", Value: units.Text(p.ScheduledPerSecond, "")})
	}
	if price > 0 {
		list = append(list, pair{Name: "samples/s per dollar", Value: units.Text(p.SamplesPerSecond/price, "")})
	}
	return list
}

// energyCards say what was taken, or that a requested measurement failed.
func energyCards(e *report.Energy) []pair {
	switch {
	case e == nil:
		return nil
	case e.NotMeasured != "":
		return []pair{{Name: "energy", Value: "not measured"}}
	case e.JoulesPerSample > 0:
		return []pair{{Name: "energy per sample", Value: units.Text(e.JoulesPerSample, "J")}, {Name: "mean power", Value: units.Text(e.MeanWatts, "W")}}
	}
	return []pair{{Name: "energy", Value: units.Text(e.Joules, "J")}, {Name: "mean power", Value: units.Text(e.MeanWatts, "W")}}
}

// classes is the table of the scores by class; nil if there are none.
func classes(c *report.Classes) *sortable {
	if c == nil {
		return nil
	}
	t := &sortable{Heads: []pair{{Name: "class"}, {Name: c.Metric, Key: true}, {Name: c.Of, Key: true}}}
	number := func(v float64, unit string) cell {
		return cell{Text: units.Text(v, unit), Sort: strconv.FormatFloat(v, 'g', -1, 64), Number: true}
	}
	for _, class := range figures.Classes(c) {
		t.Rows = append(t.Rows, []cell{{Text: class.Name}, number(class.Value, c.Unit), number(float64(class.Count), "")})
	}
	return t
}
