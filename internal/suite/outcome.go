package suite

import (
	"cmp"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/mlperf-go/mlperf/internal/config/rounds"
	"github.com/mlperf-go/mlperf/internal/fileio"
	"github.com/mlperf-go/mlperf/internal/loadgen"
	"github.com/mlperf-go/mlperf/internal/report"
	"github.com/mlperf-go/mlperf/internal/report/page"
	"github.com/mlperf-go/mlperf/internal/report/tables"
	"github.com/mlperf-go/mlperf/internal/units"
	"github.com/mlperf-go/mlperf/internal/userinput"
)

// An Outcome has the results of a suite.
type Outcome struct {
	Schema      string                  `json:"schema"`
	Program     string                  `json:"program"`
	Suite       string                  `json:"suite"`
	Title       string                  `json:"title,omitempty"`
	Rules       string                  `json:"rules"`
	Quick       bool                    `json:"quick,omitempty"`
	Interrupted bool                    `json:"interrupted,omitempty"`
	Folder      string                  `json:"folder"`
	Scores      []Score                 `json:"scores"`
	Missing     []string                `json:"missing"` // for a submission
	Limitations report.LimitationCounts `json:"limitations"`
	Left        Estimate                `json:"left"` // steps that did not run
}

// A Score is the result of a benchmark in a scenario.
type Score struct {
	Model     string `json:"model"`
	Precision string `json:"precision,omitempty"`
	Scenario  string `json:"scenario"`
	// Batch and Concurrency are those of a point of a grid; 0: the run is none.
	Batch       int            `json:"batch,omitempty"`
	Concurrency int            `json:"concurrency,omitempty"`
	Result      string         `json:"result"` // that of the performance run, or why there is none
	Why         string         `json:"why,omitempty"`
	Metric      *report.Metric `json:"metric,omitempty"`
	// Bound is the constraint on latency, in words.
	Bound    string           `json:"latency_bound,omitempty"`
	Accuracy *report.Accuracy `json:"accuracy,omitempty"`
	// AccuracyError says why an accuracy that was planned is missing.
	AccuracyError string  `json:"accuracy_error,omitempty"`
	Seconds       float64 `json:"seconds"` // of its runs; an accuracy run that counts for several scenarios is of that in which it ran
	Folder        string  `json:"folder"`
	// AccuracyFolder is that of the accuracy run, which may be of another scenario.
	AccuracyFolder string `json:"accuracy_folder,omitempty"`
}

// The results of scores without a run.
const (
	notRun      = "NOT RUN"
	failed      = "FAILED"
	unsupported = "NOT SUPPORTED"
)

// outcome gathers the results of the steps.
func (p *Plan) outcome(interrupted bool) *Outcome {
	o := &Outcome{
		Schema: outcomeSchema, Program: p.request.Base.Program, Suite: p.Suite.Name, Title: p.Suite.Title, Rules: p.Suite.Rules,
		Quick: p.request.Base.Quick, Interrupted: interrupted, Folder: p.request.Output, Left: p.Estimate(),
		Scores: []Score{}, Missing: []string{}, Limitations: report.LimitationCounts{},
	}
	var results []*report.Results
	for _, s := range p.Steps {
		if s.Mode != modeAccuracy {
			o.Scores = append(o.Scores, p.score(s))
		}
		if s.Results == nil {
			continue
		}
		results = append(results, s.Results)
	}
	o.Limitations = append(o.Limitations, report.CountLimitations(results...)...)
	o.Missing = append(o.Missing, p.missing(o)...)
	userinput.Lines(o)
	return o
}

// score joins a performance step and the accuracy that belongs to it.
func (p *Plan) score(s *Step) Score {
	out := Score{Model: s.Model, Precision: s.Precision, Scenario: s.Scenario, Batch: s.Batch, Concurrency: s.Concurrency, Result: verdict(s),
		Why: s.Error, Folder: s.Folder, Seconds: s.Seconds}
	if s.Results != nil && s.State == Done {
		out.measured(s.Results)
	}
	a := p.accuracyOf(s)
	if a != nil {
		out.Seconds += a.Seconds
	} else {
		a = p.accuracyElsewhere(s)
	}
	switch {
	case a == nil:
	case a.Results != nil && a.Results.Accuracy != nil:
		out.Accuracy, out.AccuracyFolder = a.Results.Accuracy, a.Folder
	case a.State == Planned && a.Results == nil:
		out.AccuracyError = notRun
	default:
		out.AccuracyError = cmp.Or(a.Error, verdict(a))
	}
	return out
}

// measured takes the result of a performance run.
func (s *Score) measured(r *report.Results) {
	s.Metric = r.Metric
	for _, c := range r.Constraints {
		switch {
		case c.ID == loadgen.ConstraintLatency:
			s.Bound = c.RequiredText()
		case c.ID == loadgen.ConstraintIntervals && r.Test != nil:
			s.Bound = fmt.Sprintf("%s, each %s", c.RequiredText(), units.Duration(r.Test.TargetLatency))
		}
		if !c.Met && !c.ReferenceOnly && s.Why == "" {
			s.Why = c.Sentence()
		}
	}
	if s.Why == "" && len(r.Problems) > 0 {
		s.Why = r.Problems[0]
	}
}

// verdict is the outcome of a step in a word.
func verdict(s *Step) string {
	switch {
	case s.Results != nil && (s.State == Done || s.Results.Result == report.Interrupted):
		return s.Results.Verdict()
	case s.State == Failed:
		return failed
	case s.State == Unsupported:
		return unsupported
	}
	return notRun
}

// Failures counts the scores that lack a planned result, those that are not
// VALID, and those whose accuracy is below the target or could not be measured.
func (o *Outcome) Failures() (none, invalid, inaccurate int) {
	for _, s := range o.Scores {
		if s.Accuracy.Below() || s.AccuracyError != "" && s.Result != unsupported && s.Result != notRun {
			inaccurate++
		}
	}
	return o.count(failed, notRun), o.count(report.Invalid, report.Interrupted), inaccurate
}

// count is how many scores have one of the results.
func (o *Outcome) count(results ...string) (n int) {
	for _, s := range o.Scores {
		if slices.Contains(results, s.Result) {
			n++
		}
	}
	return n
}

// headline is the outcome in one line.
func (o *Outcome) headline() string {
	valid, lack := o.count(report.Valid), o.count(unsupported)
	text := fmt.Sprintf("suite %s%s, rules %s: %d of %d VALID", o.Suite, quickly(o.Quick), o.Rules, valid, len(o.Scores)-lack)
	none, invalid, inaccurate := o.Failures()
	for _, n := range []struct {
		n    int
		what string
	}{{invalid, "INVALID"}, {none, "without a result"}, {inaccurate, "with an accuracy below the target or not known"}, {lack, "not supported"}} {
		if n.n > 0 {
			text += fmt.Sprintf(", %d %s", n.n, n.what)
		}
	}
	took := 0.0
	for _, s := range o.Scores {
		took += s.Seconds
	}
	if took > 0 {
		text += "; it took " + timeCell(took)
	}
	if o.Interrupted {
		text += "; INTERRUPTED"
	}
	return text
}

// missing lists the parts that a submission of these results would lack. That they are not official is a
// limitation of each of them.
func (p *Plan) missing(o *Outcome) []string {
	var gaps gaps
	for _, s := range o.Scores {
		if s.Result == unsupported {
			continue
		}
		if s.Result != report.Valid {
			gaps.add(&s, "a VALID performance run")
		}
		switch {
		case s.Accuracy.Below():
			gaps.add(&s, "an accuracy that reaches its target")
		case s.Accuracy == nil:
			gaps.add(&s, "an accuracy run")
		}
	}
	var list []string
	for _, gap := range gaps {
		list = append(list, name(gap.model, gap.precision, strings.Join(gap.scenarios, ", "))+": "+gap.what)
	}
	shared := 0 // performance steps without an accuracy step of their own
	for _, s := range p.Steps {
		if s.Mode != modeAccuracy && s.State != Unsupported && p.accuracyOf(s) == nil && p.accuracyElsewhere(s) != nil {
			shared++
		}
	}
	if shared > 0 {
		list = append(list, fmt.Sprintf("an accuracy run in each scenario: %d have that of another one", shared))
	}
	return append(list, p.missingOfRound()...)
}

// gaps are parts that benchmarks lack, each with the scenarios that lack it.
type gaps []gap

type gap struct {
	model, precision, what string
	scenarios              []string
}

func (g *gaps) add(s *Score, what string) {
	at := slices.IndexFunc(*g, func(have gap) bool {
		return have.model == s.Model && have.precision == s.Precision && have.what == what
	})
	if at < 0 {
		at = len(*g)
		*g = append(*g, gap{s.Model, s.Precision, what, nil})
	}
	if of := &(*g)[at].scenarios; !slices.Contains(*of, s.Scenario) {
		*of = append(*of, s.Scenario)
	}
}

func (s *Score) name() string { return name(s.Model, s.Precision, s.scenarioName()) }

func (s *Score) scenarioName() string { return scenarioName(s.Scenario, s.Batch, s.Concurrency) }

func name(parts ...string) string {
	return strings.Join(slices.DeleteFunc(parts, func(part string) bool { return part == "" }), " ")
}

// missingOfRound lists scenarios and compliance tests that the round requires, as far as its rules
// are known.
func (p *Plan) missingOfRound() []string {
	round, err := rounds.Find(p.Suite.Rules)
	if err != nil {
		return nil
	}
	var order []string
	scenarios := map[string][]string{} // whose speed is measured, by model
	for _, s := range p.Steps {
		if s.State == Unsupported || s.Mode == modeAccuracy {
			continue
		}
		if scenarios[s.Model] == nil {
			order = append(order, s.Model)
		}
		if !slices.Contains(scenarios[s.Model], s.Scenario) { // in another precision
			scenarios[s.Model] = append(scenarios[s.Model], s.Scenario)
		}
	}
	var list []string
	for _, model := range order {
		have := scenarios[model]
		m, err := p.lookup(model)
		name, known := nameIn(round, m)
		if err != nil || !known {
			list = append(list, fmt.Sprintf("%s: round %s has no such benchmark", model, round.Version))
			continue
		}
		for _, scenario := range required(round, name, p.Suite.Category) {
			either := scenario == "Server" && round.Models[name].WantsServer(p.Suite.Category) && slices.Contains(have, "Interactive")
			if !slices.Contains(have, scenario) && !either {
				list = append(list, fmt.Sprintf("%s %s: the round requires it of %s systems", model, scenario, p.Suite.Category))
			}
		}
		if tests := round.Models[name].Tests; len(tests) > 0 {
			list = append(list, fmt.Sprintf("%s: compliance tests %s in %s", model, strings.Join(tests, ", "), strings.Join(have, ", ")))
		}
	}
	return list
}

// Write prints the result screen: the scores against their targets, their limitations,
// and the missing parts of a submission. Paint colours a verdict. Names and errors may come from foreign
// files: control characters of them are escaped.
func (o *Outcome) Write(w io.Writer, paint func(verdict string) string) error {
	var b strings.Builder
	fmt.Fprintln(&b, userinput.PrintableLine(o.headline()))
	b.WriteString(o.table(paint, tables.Width(w)))
	list(&b, "Why", o.reasons())
	list(&b, "Limitations", o.limitations())
	list(&b, "Missing for a submission", o.Missing)
	if o.Left.Steps > 0 {
		fmt.Fprintf(&b, "Not run yet: %v\n", o.Left)
	}
	_, err := io.WriteString(w, tables.Wrap(b.String(), tables.Width(w)))
	return err
}

func (o *Outcome) limitations() []string {
	return o.Limitations.Sentences(func(sentence string, n int) string { return fmt.Sprintf("%s (%s)", sentence, runs(n)) })
}

// WritePage writes the page of the suite into its folder: the table of the screen, with links to the runs, and charts of them.
func (o *Outcome) WritePage() (file string, err error) {
	root, err := filepath.EvalSymlinks(o.Folder) // as Collect does
	if err != nil {
		return "", err
	}
	found, _, err := report.Collect([]string{root}, report.Read)
	if err != nil {
		return "", err
	}
	p := page.Suite{Title: "suite " + o.Suite, Sub: cmp.Or(o.Title, "rules "+o.Rules) + " · " + o.headline(), Missing: o.Missing}
	if o.Left.Steps > 0 {
		p.Left = o.Left.String()
	}
	link := func(folder string) string {
		if _, err := os.Stat(filepath.Join(o.Folder, folder, page.FileName)); err != nil || folder == "" {
			return ""
		}
		return filepath.ToSlash(filepath.Join(folder, page.FileName))
	}
	for _, s := range o.Scores {
		row := page.SuiteRow{
			Benchmark: name(s.Model, s.Precision), Scenario: s.scenarioName(), Result: s.Result, Score: metricCell(s.Metric), Bound: s.Bound,
			Time: timeCell(s.Seconds),
			Page: link(s.Folder), AccuracyPage: link(s.AccuracyFolder), Missed: s.Accuracy.Below(),
			Folder: below(root, s.Folder), AccuracyFolder: below(root, s.AccuracyFolder),
		}
		row.Accuracy, row.Target = accuracyCells(s)
		if s.Why != "" && s.Result != report.Valid {
			row.Reasons = append(row.Reasons, s.Why)
		}
		if s.AccuracyError != "" && s.AccuracyError != notRun {
			row.Reasons = append(row.Reasons, "accuracy: "+s.AccuracyError)
		}
		p.Rows = append(p.Rows, row)
	}
	file = filepath.Join(o.Folder, page.FileName)
	return file, fileio.WriteIn(o.Folder, page.FileName, func(w io.Writer) error {
		return page.WriteSuite(w, p, found, o.Program)
	})
}

// below is a folder of the suite as Collect finds it; empty: none.
func below(parent, folder string) string {
	if folder == "" {
		return ""
	}
	return filepath.Join(parent, folder)
}

func runs(n int) string { return units.Count(n, "run") }

func (o *Outcome) table(paint func(string) string, width int) string {
	t := tables.New("benchmark", "scenario", "result", "score", "latency bound", "accuracy", "target", "time")
	for _, s := range o.Scores {
		name := strings.TrimSpace(s.Model + " " + s.Precision)
		accuracy, target := accuracyCells(s)
		t.Row(name, s.scenarioName(), tables.Painted(paint(userinput.PrintableLine(s.Result))), metricCell(s.Metric), s.Bound, accuracy, target,
			timeCell(s.Seconds))
	}
	return "  " + strings.ReplaceAll(strings.TrimSuffix(t.Text(max(width-2, 0)), "\n"), "\n", "\n  ") + "\n"
}

func metricCell(m *report.Metric) string {
	if m == nil {
		return ""
	}
	return units.Text(m.Value, m.Unit)
}

func timeCell(seconds float64) string {
	if seconds == 0 {
		return ""
	}
	return units.Duration(time.Duration(seconds * 1e9).Round(time.Second))
}

// accuracyCells are the accuracy and its target, which says whether it is reached.
func accuracyCells(s Score) (accuracy, target string) {
	a := s.Accuracy
	switch {
	case a == nil && (s.AccuracyError == notRun || s.AccuracyError == ""):
		return s.AccuracyError, ""
	case a == nil:
		return "not known", ""
	case a.NoTarget != "" && !a.Partial:
		target = "none"
	case a.Met:
		target = units.Score(a.Target) + " reached"
	default:
		target = units.Score(a.Target) + " MISSED"
	}
	accuracy = units.With(units.Score(a.Value), a.Unit)
	if a.Top5 != nil {
		accuracy += ", Top-5 " + units.With(units.Score(*a.Top5), "%")
	}
	return accuracy, target
}

// reasons say why scores are not VALID, and why accuracies are missing.
func (o *Outcome) reasons() []string {
	var list []string
	for _, s := range o.Scores {
		if s.Why != "" && s.Result != report.Valid {
			what := s.name()
			if s.Result != unsupported {
				what += " is " + s.Result
			}
			list = append(list, what+": "+firstLine(s.Why))
		}
		if s.AccuracyError == "" || s.AccuracyError == notRun {
			continue
		}
		// Scenarios share an accuracy run.
		if text := fmt.Sprintf("%s has no accuracy: %s", name(s.Model, s.Precision), firstLine(s.AccuracyError)); !slices.Contains(list, text) {
			list = append(list, text)
		}
	}
	return list
}

func firstLine(text string) string {
	line, _, _ := strings.Cut(text, "\n")
	return line
}

func list(b *strings.Builder, title string, items []string) {
	if len(items) == 0 {
		return
	}
	fmt.Fprintf(b, "%s:\n", title)
	for _, item := range items {
		fmt.Fprintf(b, "  - %s\n", userinput.PrintableLine(item))
	}
}
