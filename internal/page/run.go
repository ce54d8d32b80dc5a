package page

import (
	"cmp"
	"fmt"
	"io"
	"path/filepath"
	"strings"

	"github.com/mlperf-go/mlperf/internal/charts"
	"github.com/mlperf-go/mlperf/internal/figures"
	"github.com/mlperf-go/mlperf/internal/report"
	"github.com/mlperf-go/mlperf/internal/whole"
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
	R             *report.Results
	Verdict       string
	Tone, Sign    string
	Value         string // of the metric, with its unit
	Number, Score string
	Sub, What     string
	Meters        []meter
	Cards         []pair
	Constraints   []constraint
	ScoreLines    []string
	Percentiles   []pair
	System        []pair
	Runs          []pair
	Command       string
}

// WriteRun writes the page of the run in a folder beside its results.
func WriteRun(dir string) error {
	r, err := report.Read(dir)
	if err != nil {
		return err
	}
	c, err := charts.Read(dir)
	if err != nil {
		return err
	}
	return whole.Write(filepath.Join(dir, FileName), 0o644, func(w io.Writer) error { return Run(w, r, c) })
}

// Run writes the page of a run. Charts may be nil.
func Run(w io.Writer, r *report.Results, c *charts.Charts) error {
	s, err := newShell(figures.Of(r, c), r.Program)
	if err != nil {
		return err
	}
	p := runPage{shell: s, R: r, Verdict: r.Verdict(), Command: report.CommandLine(r.Command), Meters: meters(r), Constraints: constraints(r)}
	p.Tone, p.Sign = tone(p.Verdict)
	if m := r.Metric; m != nil {
		p.Number = figures.Text(m.Value, "")
		p.Value = p.Number + " " + m.Unit
	}
	if a := r.Accuracy; a != nil {
		p.Score, p.ScoreLines = figures.Text(a.Value, ""), scoreLines(a)
	}
	p.Sub, p.What = subtitle(r), what(r)
	p.Cards, p.Percentiles, p.System = cards(r), percentiles(r, c), system(r)
	for _, o := range r.Runs {
		value := o.Result
		if o.Metric != nil {
			value += ", " + figures.Text(o.Metric.Value, o.Metric.Unit)
		}
		p.Runs = append(p.Runs, pair{Name: o.Folder, Value: value})
	}
	return render(w, "run.html", p)
}

// tone is the colour of a verdict, and the sign that says the same without colours.
func tone(verdict string) (class, sign string) {
	switch verdict {
	case report.Valid:
		return "", "✓"
	case report.Interrupted, report.BelowTarget:
		return "warn", "!"
	}
	return "bad", "✕"
}

// subtitle says what was measured on what.
func subtitle(r *report.Results) string {
	parts := []string{field(r.System, "cpu", "model"), r.Backend.Engine, r.Input.Precision}
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
		long = figures.Text(float64(p.DurationNS), "ns")
	}
	return joined([]string{name, r.Mode, long}, ", ")
}

// field is a text in the description of the machine; empty if there is none.
func field(system any, path ...string) string {
	for _, name := range path {
		m, ok := system.(map[string]any)
		if !ok {
			return ""
		}
		system = m[name]
	}
	switch v := system.(type) {
	case string:
		return v
	case float64:
		return figures.Text(v, "")
	}
	return ""
}

// number is one in the description of the machine; 0 if there is none.
func number(system any, path ...string) float64 {
	for _, name := range path {
		m, _ := system.(map[string]any)
		system = m[name]
	}
	v, _ := system.(float64)
	return v
}

func scoreLines(a *report.Accuracy) []string {
	var out strings.Builder
	if err := report.Score(&out, a); err != nil {
		return a.Lines
	}
	return strings.Split(strings.TrimSpace(out.String()), "\n")
}

// cards are the numbers that are looked for first.
func cards(r *report.Results) []pair {
	p := r.Performance
	if p == nil {
		return nil
	}
	ns := func(v int64) string { return figures.Text(float64(v), "ns") }
	var list []pair
	add := func(name, value string) { list = append(list, pair{Name: name, Value: value}) }
	if l := cmp.Or(p.QueryLatencyNS, p.LatencyNS); l != nil && r.Scenario != "Offline" {
		add("median latency", ns(l.P50))
		add("p90 latency", ns(l.P90))
		add("p99 latency", ns(l.P99))
	}
	if p.FirstTokenNS != nil {
		add("p99 time to first token", ns(p.FirstTokenNS.P99))
	}
	if p.TimePerOutputTokenNS != nil {
		add("p99 time per token", ns(p.TimePerOutputTokenNS.P99))
	}
	if p.SamplesPerSecond > 0 {
		add("samples/s", figures.Text(p.SamplesPerSecond, ""))
	}
	add("samples", figures.Text(float64(p.Samples), ""))
	if q := r.Queue; q != nil {
		add("most waiting", figures.Text(float64(q.Peak), ""))
	}
	if d := cmp.Or(p.GeneratorDelayNS, p.IssueDelayNS); d != nil {
		add("p99 issue delay", ns(d.P99))
	}
	return list
}

// percentiles are those of the deciding latency, with intervals where they are known.
func percentiles(r *report.Results, c *charts.Charts) []pair {
	if r.Performance == nil || r.Scenario == "Offline" {
		return nil
	}
	l := cmp.Or(r.Performance.QueryLatencyNS, r.Performance.LatencyNS)
	if l == nil {
		return nil
	}
	intervals, target := map[string]string{}, ""
	if c != nil {
		for _, p := range c.Percentiles {
			intervals[figures.Percentile(p.Percentile)] = interval(p)
		}
	}
	if r.Test != nil {
		target = figures.Percentile(r.Test.TargetLatencyPercentile)
	}
	var list []pair
	for _, v := range []struct {
		name  string
		value int64
	}{{"min", l.Min}, {"mean", l.Mean}, {"p50", l.P50}, {"p90", l.P90}, {"p95", l.P95}, {"p97", l.P97}, {"p99", l.P99}, {"p99.9", l.P999}, {"max", l.Max}} {
		row := pair{Name: v.name, Value: figures.Text(float64(v.value), "ns"), Note: intervals[v.name], Key: v.name == target}
		if row.Key {
			row.Note = joined([]string{"decides", row.Note}, ", ")
		}
		list = append(list, row)
	}
	return list
}

func interval(p charts.Percentile) string {
	if p.UpperNS == 0 {
		return "too short a run for an interval"
	}
	return fmt.Sprintf("%s to %s", figures.Text(float64(p.LowerNS), "ns"), figures.Text(float64(p.UpperNS), "ns"))
}

// system says what answered.
func system(r *report.Results) []pair {
	s, b := r.System, r.Backend
	cpu := field(s, "cpu", "model")
	if n := number(s, "cpu", "cores"); n > 0 {
		cpu += fmt.Sprintf(", %g cores", n)
	}
	memory := ""
	if n := number(s, "memory", "total_bytes"); n > 0 {
		memory = fmt.Sprintf("%.0f GiB", n/(1<<30))
	}
	workers := ""
	if b.Instances > 0 {
		workers = fmt.Sprintf("%d × %d threads, batches of up to %d, delay %s", b.Instances, b.Threads, b.MaxBatch, b.MaxDelay)
	}
	var phases []string
	for _, p := range r.Phases {
		phases = append(phases, p.Name+" "+figures.Text(p.Seconds*1e9, "ns"))
	}
	priority := ""
	if r.Performance != nil {
		priority = r.Performance.IssuePriority
	}
	var devices []string
	for name, nodes := range b.Devices {
		if nodes >= 0 {
			name += fmt.Sprintf(" (%d nodes)", nodes)
		}
		devices = append(devices, name)
	}
	var list []pair
	for _, v := range []pair{
		{Name: "host", Value: r.Host}, {Name: "processor", Value: cpu}, {Name: "memory", Value: memory},
		{Name: "system", Value: joined([]string{field(s, "os"), field(s, "kernel")}, ", ")},
		{Name: "engine", Value: b.Engine}, {Name: "device", Value: sorted(devices)}, {Name: "workers", Value: workers},
		{Name: "model", Value: joined([]string{r.Input.ModelPath, shortSum(r.Input.ModelSHA256)}, ", ")},
		{Name: "data", Value: r.Input.DatasetPath}, {Name: "priority", Value: priority},
		{Name: "time", Value: strings.Join(phases, ", ")}, {Name: "program", Value: r.Program},
	} {
		if v.Value != "" {
			list = append(list, v)
		}
	}
	return list
}

func shortSum(sum string) string {
	if sum == "" {
		return ""
	}
	return "sha256 " + sum[:min(len(sum), 16)]
}
