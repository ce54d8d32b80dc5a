package report

import (
	"cmp"
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/mlperf-go/mlperf/internal/report/tables"
	"github.com/mlperf-go/mlperf/internal/units"
	"github.com/mlperf-go/mlperf/internal/userinput"
)

// A Run is the document of a run and where it lies.
type Run struct {
	Folder  string
	Results *Results
}

// Collect reads the runs below folders, each of which may also be that of a run, with Read or
// a function like it: ErrNoRun is its answer to any other folder. Links below folders are not
// followed, so that what "latest" points to does not count twice; nor are runs that are part
// of another. What cannot be read is left out and named in problems. Runs are sorted by
// model, scenario and age.
func Collect(roots []string, read func(dir string) (*Results, error)) (runs []Run, problems []error, err error) {
	c := collector{read: read, seen: map[string]bool{}}
	for _, root := range roots {
		if real, err := filepath.EvalSymlinks(root); err == nil {
			root = real
		}
		_, err := os.Stat(root)
		if errors.Is(err, fs.ErrNotExist) {
			err = fmt.Errorf("%s: %w: nothing was run here yet, or it is elsewhere", root, fs.ErrNotExist)
		}
		if err != nil {
			return nil, nil, fmt.Errorf("looking for runs: %w", err)
		}
		if err := filepath.WalkDir(root, c.visit); err != nil {
			return nil, nil, fmt.Errorf("looking for runs: %w", err)
		}
	}
	slices.SortStableFunc(c.runs, func(a, b Run) int {
		return cmp.Or(cmp.Compare(a.Results.Model, b.Results.Model), cmp.Compare(a.Results.ScenarioName(), b.Results.ScenarioName()),
			a.Results.Created.Compare(b.Results.Created), cmp.Compare(a.Folder, b.Folder))
	})
	return c.runs, c.problems, nil
}

// A collector walks through folders.
type collector struct {
	read     func(dir string) (*Results, error)
	seen     map[string]bool // folders of runs
	runs     []Run
	problems []error
}

// visit reads the run of a folder, if there is one. What lies below it is part of it.
func (c *collector) visit(path string, entry fs.DirEntry, err error) error {
	switch {
	case err != nil:
		c.problems = append(c.problems, err)
		return nil
	case !entry.IsDir():
		return nil
	case c.seen[absolute(path)]:
		return filepath.SkipDir
	}
	r, err := c.read(path)
	if errors.Is(err, ErrNoRun) {
		return nil
	}
	c.seen[absolute(path)] = true
	if err != nil {
		c.problems = append(c.problems, err)
	} else {
		c.runs = append(c.runs, Run{path, r})
	}
	return filepath.SkipDir
}

// absolute is the path from the root, if that is known: runs and /home/me/runs are one folder.
func absolute(path string) string {
	if abs, err := filepath.Abs(path); err == nil {
		return abs
	}
	return path
}

// A Line is a run as a list of runs shows it.
type Line struct {
	Folder   string    `json:"folder"`
	Created  time.Time `json:"created"`
	Model    string    `json:"model"`
	Scenario string    `json:"scenario"`
	Mode     string    `json:"mode"`
	Result   string    `json:"result"`
	Reason   string    `json:"reason,omitempty"` // why it is not VALID, in a few words
	Page     string    `json:"-"`                // of the run, as a link; empty: it has none
	Marks    string    `json:"-"`                // the numbers of its limitations on a page of many

	Engine      string `json:"engine"`
	Device      string `json:"device"`
	Precision   string `json:"precision,omitempty"`
	Batch       int    `json:"batch"`       // largest
	Concurrency int    `json:"concurrency"` // workers that run the model at once

	SamplesPerSecond float64 `json:"samples_per_second,omitempty"`
	// LatencyP95MS is the 95th percentile, of queries in MultiStream. In Offline there is
	// none: all samples wait from the beginning.
	LatencyP95MS float64       `json:"latency_p95_ms,omitempty"`
	Metric       *Metric       `json:"metric,omitempty"` // the scenario's result
	Accuracy     *LineAccuracy `json:"accuracy,omitempty"`
	SLO          *LineSLO      `json:"slo,omitempty"` // absent: no objective was given
	PerDollar    float64       `json:"samples_per_second_per_dollar,omitempty"`

	JoulesPerSample float64 `json:"joules_per_sample,omitempty"`

	Parameters int64   `json:"parameters,omitempty"` // of the model
	MACs       int64   `json:"macs_per_sample,omitempty"`
	GFLOPS     float64 `json:"gflops,omitempty"` // achieved
}

// LineSLO is how a run kept its service level objectives.
type LineSLO struct {
	Bounds        string  `json:"bounds"`
	Met           bool    `json:"met"`
	GoodPerSecond float64 `json:"goodput_answers_per_second"`
}

// LineAccuracy is an accuracy and the run that measured it, which may be another.
type LineAccuracy struct {
	Metric  string   `json:"metric"`
	Value   float64  `json:"value"`
	Unit    string   `json:"unit,omitempty"`
	Met     bool     `json:"met"`
	Partial bool     `json:"partial,omitempty"`
	Folder  string   `json:"folder"`
	Top5    *float64 `json:"top5,omitempty"` // in percent; nil: not known
}

// Lines lists runs. A run that measured only speed gets the accuracy of the newest run of
// the same model file, on the same engine and devices, if there is one among them or others.
// Price is what the system costs, in dollars; 0: not known.
func Lines(runs, others []Run, price float64) []Line {
	all := slices.Concat(runs, others)
	var lines []Line
	for _, run := range runs {
		l := newLine(run)
		if l.Accuracy == nil {
			l.Accuracy = accuracyOf(run.Results, all)
		}
		if price > 0 {
			l.PerDollar = l.SamplesPerSecond / price
		}
		lines = append(lines, l)
	}
	return lines
}

func newLine(run Run) Line {
	r := run.Results
	l := Line{
		Folder: run.Folder, Created: r.Created, Model: r.Model, Scenario: r.ScenarioName(), Mode: r.Mode, Result: r.Verdict(), Reason: r.Reason(),
		Engine: r.Backend.Engine, Device: deviceNames(r), Precision: r.Input.Precision,
		Batch: r.Backend.MaxBatch, Concurrency: r.Backend.Instances,
		Metric: r.Metric, Accuracy: lineAccuracy(run),
	}
	if r.SLO != nil {
		l.SLO = &LineSLO{strings.Join(r.Bounds(), ", "), r.SLO.Met, r.SLO.GoodPerSecond}
	}
	if r.Energy != nil {
		l.JoulesPerSample = r.Energy.JoulesPerSample
	}
	if o := r.Operations; o != nil {
		l.Parameters, l.MACs, l.GFLOPS = o.Parameters, o.MACs, o.GFLOPS
	}
	if p := r.Performance; p != nil {
		l.SamplesPerSecond = p.SamplesPerSecond
		switch {
		case p.QueryLatencyNS != nil:
			l.LatencyP95MS = float64(p.QueryLatencyNS.P95) / 1e6
		case r.Scenario != "Offline" && p.LatencyNS != nil:
			l.LatencyP95MS = float64(p.LatencyNS.P95) / 1e6
		}
	}
	return l
}

func lineAccuracy(run Run) *LineAccuracy {
	a := run.Results.Accuracy
	if a == nil {
		return nil
	}
	return &LineAccuracy{a.Metric, a.Value, a.Unit, !a.Below(), a.Partial, run.Folder, a.Top5}
}

// accuracyOf finds the accuracy of a run among others. One of the whole data set is
// preferred to one of a part of it.
func accuracyOf(r *Results, runs []Run) *LineAccuracy {
	var best *Results
	var found *LineAccuracy
	for _, other := range runs {
		o := other.Results
		if o.Accuracy == nil || o.Result == Interrupted || !sameSystem(r, o) {
			continue
		}
		if best == nil || !tellsLess(o, best) {
			best, found = o, lineAccuracy(other)
		}
	}
	return found
}

// tellsLess reports whether the accuracy of a run says less than that of another: it is of a part of the data, or older.
func tellsLess(a, b *Results) bool {
	if a.Accuracy.Partial != b.Accuracy.Partial {
		return a.Accuracy.Partial
	}
	return a.Created.Before(b.Created)
}

// sameSystem reports whether two runs should give the same answers. The same file may answer
// otherwise on another device, or if the device converts it.
func sameSystem(a, b *Results) bool {
	return a.Model == b.Model && a.Input.ModelSHA256 != "" && a.Input.ModelSHA256 == b.Input.ModelSHA256 &&
		a.Input.Precision == b.Input.Precision && engineName(a) == engineName(b) && deviceNames(a) == deviceNames(b)
}

// engineName is the engine without its version.
func engineName(r *Results) string {
	name, _, _ := strings.Cut(r.Backend.Engine, " ")
	return name
}

func deviceNames(r *Results) string {
	return strings.Join(slices.Sorted(maps.Keys(r.Backend.Devices)), "+")
}

// MLMark prints runs side by side with what EEMBC's MLMark reports of a system: throughput
// in frames per second, 95th-percentile latency, and accuracy beside them, each with
// precision, batch and concurrency. As there, numbers have three significant digits
// (github.com/eembc/mlmark, README, "Scoring"). Lines without a measurement of speed are
// left out. Those of a device stand together.
func MLMark(w io.Writer, lines []Line) error {
	lines = slices.Clone(lines)
	slices.SortStableFunc(lines, func(a, b Line) int { return cmp.Compare(a.Device, b.Device) })
	header := []string{"target", "workload", "scenario", "h/w", "prec", "batch", "conc.", "throughput, fps", "latency p95, ms", "accuracy",
		"GMAC", "GFLOP/s"}
	priced := slices.ContainsFunc(lines, func(l Line) bool { return l.PerDollar > 0 })
	if priced {
		header = append(header, "fps per $")
	}
	t := tables.New(append(header, "result")...)
	for _, l := range lines {
		if l.SamplesPerSecond == 0 {
			continue
		}
		engine, _, _ := strings.Cut(l.Engine, " ")
		row := []any{engine, l.Model, l.Scenario, l.Device, orDash(l.Precision), l.Batch, l.Concurrency,
			threeOrDash(l.SamplesPerSecond), threeOrDash(l.LatencyP95MS), l.Accuracy.three(), threeOrDash(float64(l.MACs) / 1e9), threeOrDash(l.GFLOPS)}
		if priced {
			row = append(row, threeOrDash(l.PerDollar))
		}
		t.Row(append(row, l.Result)...)
	}
	return say(w, t.Text(tables.Width(w)))
}

// Table prints runs with the metric of their scenarios.
func Table(w io.Writer, lines []Line) error { return say(w, runsTable(lines).Text(tables.Width(w))) }

// Markdown prints the same table as Markdown.
func Markdown(w io.Writer, lines []Line) error { return say(w, runsTable(lines).Markdown()) }

func runsTable(lines []Line) *tables.Table {
	t := tables.New("model", "scenario", "mode", "result", "metric", "accuracy", "device", "engine", "precision", "folder")
	for _, l := range lines {
		metric, accuracy := "-", "-"
		if l.Metric != nil {
			metric = number(*l.Metric)
		}
		if a := l.Accuracy; a != nil {
			accuracy = units.With(units.Score(a.Value), a.Unit)
		}
		t.Row(l.Model, l.Scenario, l.Mode, l.Result, metric, accuracy, l.Device, orDash(l.Engine), orDash(l.Precision), l.Folder)
	}
	return t
}

// CSV prints runs with all digits, one line each after a line of names. What was not
// measured is empty.
func CSV(w io.Writer, lines []Line) error {
	records := [][]string{{"folder", "created", "model", "scenario", "mode", "result", "engine", "device", "precision", "batch", "concurrency",
		"samples_per_second", "latency_p95_ms", "metric", "metric_value", "metric_unit",
		"accuracy_metric", "accuracy", "accuracy_unit", "accuracy_met", "accuracy_folder", "samples_per_second_per_dollar", "joules_per_sample", "top5",
		"parameters", "macs_per_sample", "gflops"}}
	for _, l := range lines {
		record := []string{l.Folder, l.Created.Format(time.RFC3339), l.Model, l.Scenario, l.Mode, l.Result, l.Engine, l.Device, l.Precision,
			strconv.Itoa(l.Batch), strconv.Itoa(l.Concurrency), exact(l.SamplesPerSecond), exact(l.LatencyP95MS)}
		if m := l.Metric; m != nil {
			record = append(record, m.Name, exact(m.Value), m.Unit)
		} else {
			record = append(record, "", "", "")
		}
		if a := l.Accuracy; a != nil {
			record = append(record, a.Metric, strconv.FormatFloat(a.Value, 'g', -1, 64), a.Unit, strconv.FormatBool(a.Met), a.Folder)
		} else {
			record = append(record, "", "", "", "", "")
		}
		top5 := ""
		if l.Accuracy != nil && l.Accuracy.Top5 != nil {
			top5 = strconv.FormatFloat(*l.Accuracy.Top5, 'g', -1, 64)
		}
		records = append(records, append(record, exact(l.PerDollar), exact(l.JoulesPerSample), top5, exact(float64(l.Parameters)),
			exact(float64(l.MACs)), exact(l.GFLOPS)))
	}
	return WriteCSV(w, records)
}

// WriteCSV writes records. Texts of other programs cannot steer a terminal that shows the file.
func WriteCSV(w io.Writer, records [][]string) error {
	c := csv.NewWriter(w)
	for _, record := range records {
		safe := make([]string, len(record))
		for i, text := range record {
			safe[i] = userinput.PrintableText(text)
		}
		if err := c.Write(safe); err != nil {
			return err
		}
	}
	c.Flush()
	return c.Error()
}

// exact writes a number with all its digits; nothing for what was not measured.
func exact(v float64) string {
	if v == 0 {
		return ""
	}
	return strconv.FormatFloat(v, 'g', -1, 64)
}

// three describes an accuracy: a missed target and a part of the data are marked.
func (a *LineAccuracy) three() string {
	if a == nil {
		return "-"
	}
	text := threeDigits(a.Value) + strings.TrimRight(" "+a.Unit, " ")
	if a.Top5 != nil {
		text += ", Top-5 " + threeDigits(*a.Top5) + " %"
	}
	if a.Partial {
		text += ", partial"
	}
	if !a.Met {
		text += ", below target"
	}
	return text
}

func threeOrDash(v float64) string {
	if v == 0 {
		return "-"
	}
	return threeDigits(v)
}

func orDash(text string) string {
	if text == "" {
		return "-"
	}
	return text
}

// threeDigits rounds to three significant digits and writes them without an exponent:
// 1230, 50.9, 12.0, 0.0234.
func threeDigits(v float64) string {
	rounded := strconv.FormatFloat(v, 'e', 2, 64) // d.dde±xx
	_, exponent, found := strings.Cut(rounded, "e")
	if !found {
		return rounded // not a number, or infinite
	}
	e, _ := strconv.Atoi(exponent)
	v, _ = strconv.ParseFloat(rounded, 64)
	return strconv.FormatFloat(v, 'f', max(2-e, 0), 64)
}
