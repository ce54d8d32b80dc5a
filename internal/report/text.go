package report

import (
	"fmt"
	"io"
	"maps"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/jedib0t/go-pretty/v6/table"

	"github.com/mlperf-go/mlperf/internal/loadgen"
	"github.com/mlperf-go/mlperf/internal/userinput"
)

// Summary prints the outcome of a run: the result, whether it is valid, each constraint with the required and the observed number,
// reasons, warnings and notes, then other lines (where the results are, what to do next), and at the end the limitations.
func Summary(w io.Writer, r *Results, lines ...string) error {
	var b strings.Builder
	headline(&b, r)
	if r.Metric != nil {
		fmt.Fprintf(&b, "  %s: %s\n", r.Metric.Name, number(*r.Metric))
	}
	if r.Accuracy != nil {
		b.WriteString(indent(strings.Join(accuracyLines(r.Accuracy), "\n")))
	}
	if len(r.Constraints) > 0 {
		b.WriteString(indent(constraintTable(shownConstraints(r.Constraints), false)))
	}
	if lines := sloLines(r.SLO); lines != nil {
		b.WriteString(indent(strings.Join(lines, "\n")))
	}
	if p := r.Performance; p != nil {
		performanceLines(&b, p, r.Metric)
	}
	generationLines(&b, r.Generation)
	if r.Energy != nil {
		fmt.Fprintf(&b, "  energy: %v\n", r.Energy)
	}
	if len(r.Phases) > 0 {
		fmt.Fprintf(&b, "  time: %s\n", phaseTimes(r.Phases))
	}
	if r.Peak != nil {
		b.WriteString(indent(peakTable(r.Peak) + strings.Join(peakLines(r.Peak), "\n")))
	}
	if len(r.Runs) > 0 {
		b.WriteString(indent(runTable(r.Runs)))
	}
	remarks(&b, r)
	for _, line := range lines {
		b.WriteString(line + "\n")
	}
	list(&b, "Limitations", r.Limitations.Sentences())
	return say(w, b.String())
}

// shownConstraints leaves out the number of samples where it is that of the queries.
func shownConstraints(constraints []Constraint) []Constraint {
	queries := slices.IndexFunc(constraints, func(c Constraint) bool { return c.ID == loadgen.ConstraintQueries })
	return slices.DeleteFunc(slices.Clone(constraints), func(c Constraint) bool {
		return c.ID == loadgen.ConstraintSamples && queries >= 0 && c.Words == nil && c.Observed != nil && constraints[queries].Observed != nil &&
			c.Required.Value == constraints[queries].Required.Value && c.Observed.Value == constraints[queries].Observed.Value
	})
}

// notScored begins the warning about answers that were to be scored and are not, which older records have in this form.
const notScored = "not scored: "

// AllWarnings are the warnings of a run, and why there is no score.
func (r *Results) AllWarnings() []string {
	if r.NotScored == "" {
		return r.Warnings
	}
	return append(slices.Clone(r.Warnings), notScored+r.NotScored)
}

// remarks about the run, by weight, except its limitations.
func remarks(b *strings.Builder, r *Results) {
	list(b, "Why it is not valid", r.Problems)
	warnings := r.AllWarnings()
	if r.Accuracy != nil {
		warnings = slices.Concat(warnings, r.Accuracy.Warnings)
	}
	list(b, "Warnings", warnings)
	list(b, "Notes", r.Notes)
}

// headline is the run, its verdict, and the engine, the devices and the precision that answered.
func headline(b *strings.Builder, r *Results) {
	model := r.Model
	if model == NotKnown {
		model = "unknown model,"
	}
	system := orDash(r.Backend.Engine) + ", " + orDash(deviceNames(r))
	switch {
	case r.Backend.Simulated:
		system = "a SIMULATED engine"
	case r.Backend.Engine == NotKnown:
		system = "an unknown system"
	case r.Input.Precision != "":
		system += ", " + r.Input.Precision
	}
	fmt.Fprintf(b, "%s %s, %s: %s on %s\n", model, r.ScenarioName(), r.Mode, r.Verdict(), system)
}

// ScenarioName is the scenario as users call it: Interactive, too.
func (r *Results) ScenarioName() string {
	if r.Interactive {
		return "Interactive"
	}
	return r.Scenario
}

// Unscored reports whether the answers of a run were to be scored and are not.
func (r *Results) Unscored() bool { return r.Accuracy == nil && r.NotScored != "" }

// Verdict is the result; of a VALID run BelowTarget if it misses its accuracy target, and WithoutScore if it is Unscored. A record that was changed after the run is
// marked.
func (r *Results) Verdict() string {
	if r.UnderWay {
		return UnderWay + r.mark()
	}
	if r.Result == Valid && r.Accuracy.Below() {
		return BelowTarget + r.mark()
	}
	if r.Result == Valid && r.Unscored() {
		return WithoutScore + r.mark()
	}
	return r.Result + r.mark()
}

// say writes a text for people. Documents and logs may be foreign: control characters in them are escaped.
func say(w io.Writer, text string) error {
	_, err := io.WriteString(w, userinput.PrintableText(text))
	return err
}

// Score prints an accuracy: the lines of the official script, and the target.
func Score(w io.Writer, a *Accuracy) error {
	return say(w, strings.Join(accuracyLines(a), "\n")+"\n")
}

func accuracyLines(a *Accuracy) []string {
	verdict := "reached"
	if reached := a.Value >= a.Target || a.Target > a.Reference && a.Value <= a.Target; !a.Met && (!reached || len(a.AlsoMissed) == 0) {
		verdict = "MISSED"
	}
	n := func(v float64) string { return strings.TrimSpace(fmt.Sprintf("%.6g %s", v, a.Unit)) }
	target := fmt.Sprintf("%s: %s, target %s: %s (the FP32 reference has %s)", a.Metric, n(a.Value), n(a.Target), verdict, n(a.Reference))
	switch {
	case a.NoTarget != "" && a.Partial:
		target = fmt.Sprintf("%s: %s, of an incomplete log of %d samples: MISSED", a.Metric, n(a.Value), a.Samples)
	case a.NoTarget != "":
		target = fmt.Sprintf("%s: %s, without a target: %s", a.Metric, n(a.Value), a.NoTarget)
	case a.Partial:
		target += fmt.Sprintf("; the log has %d samples only", a.Samples)
	}
	lines := slices.Clone(a.Lines)
	if a.Top5 != nil {
		lines = append(lines, "Top-5: "+n(*a.Top5))
	}
	lines = append(lines, target)
	for _, missed := range a.AlsoMissed {
		lines = append(lines, missed+": MISSED")
	}
	return lines
}

// performanceLines are latencies, the throughput unless it is the metric, and the delays of queries.
func performanceLines(b *strings.Builder, p *Performance, metric *Metric) {
	if p.QueryLatencyNS != nil {
		latencyLine(b, "query latency", p.QueryLatencyNS)
	} else {
		latencyLine(b, "latency", p.LatencyNS)
	}
	latencyLine(b, "time to first token", p.FirstTokenNS)
	latencyLine(b, "time per output token", p.TimePerOutputTokenNS)
	if metric == nil || metric.Unit != "samples/s" {
		queries := "queries"
		if p.Queries == 1 {
			queries = "query"
		}
		fmt.Fprintf(b, "  %d %s, %s in %v", p.Queries, queries, Counted(fmt.Sprint(p.Samples), "sample"), shorten(p.DurationNS))
		if p.SamplesPerSecond > 0 {
			fmt.Fprintf(b, ": %s samples/s", digits(p.SamplesPerSecond))
		}
		b.WriteString("\n")
	}
	if own := p.GeneratorDelayNS; own != nil {
		fmt.Fprintf(b, "  issue delay: %s%s\n", delayText(own), inBrackets("", p.IssuePriority))
		if all := p.IssueDelayNS; all != nil && all.P99 > 2*own.P99 { // the rest is the SUT's
			fmt.Fprintf(b, "  issue delay with the SUT's time inside IssueQuery: %s\n", delayText(all))
		}
	}
}

func delayText(l *Latencies) string {
	return fmt.Sprintf("p50 %v, p99 %v, max %v", shorten(l.P50), shorten(l.P99), shorten(l.Max))
}

// latencyLine is the spread of latencies, if they were measured.
func latencyLine(b *strings.Builder, name string, l *Latencies) {
	if l == nil {
		return
	}
	fmt.Fprintf(b, "  %s: min %v, p50 %v, p90 %v, p99 %v, max %v\n",
		name, shorten(l.Min), shorten(l.P50), shorten(l.P90), shorten(l.P99), shorten(l.Max))
}

// Unconfirmed says how far a search came that confirmed no load at full length.
func (p *Peak) Unconfirmed() string {
	short, highest, full, fullMet := map[float64]bool{}, 0.0, 0, 0
	for _, s := range p.Steps {
		switch {
		case s.Full && s.Met:
			full, fullMet = full+1, fullMet+1
		case s.Full:
			full++
		case s.Met:
			short[s.Load], highest = true, max(highest, s.Load)
		}
	}
	switch {
	case len(short)+fullMet == 0:
		return fmt.Sprintf("no load that was tried (%d) kept the bound", len(p.loads()))
	case fullMet == 0:
		return fmt.Sprintf("no load was confirmed: %d of %d that were tried kept the bound in a short test, the highest %s %s, and none did at full length",
			len(short), len(p.loads()), digits(highest), p.Unit)
	}
	return fmt.Sprintf("no load was confirmed: %d of %d that were tried kept the bound in a short test, the highest %s %s; %d of %d tests at full length kept it",
		len(short), len(p.loads()), digits(highest), p.Unit, fullMet, full)
}

// peakLines are the result of a search for the highest load, and why it is that one.
func peakLines(p *Peak) []string {
	if p.Best == 0 {
		return []string{p.Unconfirmed()}
	}
	lines := []string{fmt.Sprintf("Of %d loads that were tried, %s %s is the highest that kept the bound at full length.", len(p.loads()), digits(p.Best), p.Unit)}
	if p.Procedure != "" {
		lines = append(lines, "Confirmed as these rules say: "+p.Procedure+".")
	}
	broke, brokeFull, kept := math.Inf(1), math.Inf(1), map[float64]bool{} // the lowest loads above it that did not
	for _, s := range p.Steps {
		switch {
		case s.Met:
			kept[s.Load] = true
		case s.Load > p.Best && s.Full:
			brokeFull = min(brokeFull, s.Load)
		case s.Load > p.Best && !kept[s.Load]:
			broke = min(broke, s.Load)
		}
	}
	switch {
	case kept[brokeFull]:
		lines = append(lines, fmt.Sprintf("%s %s kept it in a short test, and broke it at full length.", digits(brokeFull), p.Unit))
	case min(broke, brokeFull) < math.Inf(1):
		lines = append(lines, fmt.Sprintf("%s %s broke it.", digits(min(broke, brokeFull)), p.Unit))
	}
	if p.UserConf != "" {
		lines = append(lines, "For user.conf (--write-user-conf writes it there):")
		for line := range strings.SplitSeq(string(p.UserConf), "\n") {
			lines = append(lines, "  "+line)
		}
	}
	return lines
}

// loads are those that were tried, in ascending order.
func (p *Peak) loads() (list []float64) {
	for _, s := range p.Steps {
		list = append(list, s.Load)
	}
	slices.Sort(list)
	return slices.Compact(list)
}

func shorten(ns int64) time.Duration { return loadgen.Round(time.Duration(ns)) }

// number formats a metric.
func number(m Metric) string { return strings.TrimSpace(digits(m.Value) + " " + m.Unit) }

// digits writes a number with five significant digits, or all of those before the point.
func digits(v float64) string {
	if math.Abs(v) >= 99999.5 { // which five digits would write as 1e+05
		return fmt.Sprintf("%.0f", v)
	}
	return fmt.Sprintf("%.5g", v)
}

func constraintTable(constraints []Constraint, withOrigin bool) string {
	header := table.Row{"constraint", "required", "observed", "met"}
	if withOrigin {
		header = append(header, "set by")
	}
	t := newTable(header)
	for _, c := range constraints {
		met := yesNo(c.Met)
		if !c.Met && c.ReferenceOnly {
			met = "not for the reference"
		}
		row := table.Row{c.ID.String(), c.RequiredText(), c.ObservedText(), met}
		if withOrigin {
			row = append(row, c.Origin)
		}
		t.AppendRow(row)
	}
	return t.Render() + "\n"
}

func newTable(header table.Row) table.Writer {
	t := table.NewWriter()
	t.SetStyle(table.StyleLight)
	t.Style().Options.DrawBorder = false
	t.AppendHeader(header)
	return t
}

func yesNo(b bool) string {
	if b {
		return "yes"
	}
	return "NO"
}

func indent(text string) string {
	return "  " + strings.ReplaceAll(strings.TrimRight(text, "\n"), "\n", "\n  ") + "\n"
}

func list(b *strings.Builder, title string, items []string) {
	if len(items) == 0 {
		return
	}
	fmt.Fprintf(b, "%s:\n", title)
	for _, item := range items {
		fmt.Fprintf(b, "  - %s\n", item)
	}
}

// peakTable has a row for every load of a search, in ascending order, with the verdicts of its tests.
func peakTable(p *Peak) string {
	t := newTable(table.Row{"load, " + p.Unit, "short tests", "full length", ""})
	for _, load := range p.loads() {
		var tests [2][]string
		for _, s := range p.Steps {
			if full := 0; s.Load == load {
				if s.Full {
					full = 1
				}
				tests[full] = append(tests[full], s.String())
			}
		}
		mark := ""
		if load == p.Best {
			mark = "chosen"
		}
		t.AppendRow(table.Row{digits(load), strings.Join(tests[0], ", "), strings.Join(tests[1], ", "), mark})
	}
	return t.Render() + "\n"
}

// String is the verdict of a test, with the latency or the reason.
func (s PeakStep) String() string {
	verdict, why := "NO", ""
	if s.Met {
		verdict = "kept"
	}
	if s.LatencyNS > 0 {
		why = shorten(s.LatencyNS).String()
	}
	if reason := s.Reason; reason != "" && !strings.HasPrefix(reason, loadgen.ConstraintLatency.String()) {
		why, _, _ = strings.Cut(reason, ";") // the advice is for a run by itself
	}
	return verdict + inBrackets("", why)
}

// runTable lists several runs. The lowest metric counts.
func runTable(runs []RunOutcome) string {
	t := newTable(table.Row{"run", "result", "metric"})
	for _, r := range runs {
		value := ""
		if r.Metric != nil {
			value = number(*r.Metric)
		}
		t.AppendRow(table.Row{r.Folder, r.Result, value})
	}
	return t.Render() + "\n"
}

// String is the energy in one line.
func (e *Energy) String() string {
	if e.NotMeasured != "" {
		return "not measured: " + e.NotMeasured
	}
	text := fmt.Sprintf("%s J", digits(e.Joules))
	if e.JoulesPerSample > 0 {
		text += fmt.Sprintf(", %s J per sample", digits(e.JoulesPerSample))
	}
	text += fmt.Sprintf(", %s W on average, %s W at most", digits(e.MeanWatts), digits(e.PeakWatts))
	var names []string
	for _, p := range e.Parts {
		names = append(names, p.Name)
	}
	return text + " (" + strings.Join(names, ", ") + ")"
}

const (
	// nearLimit is the share of busy cores from which on the client is near its own limit.
	nearLimit = 0.7
	// lateHandover is how many nanoseconds a request may take to leave at the 99th percentile.
	lateHandover = 1_000_000
)

// Warnings name effects of the client itself on the measurements.
func (e *Generation) Warnings() []string {
	if e == nil {
		return nil
	}
	var list []string
	if e.CPUCores > nearLimit*float64(e.Cores) {
		list = append(list, fmt.Sprintf("the client is near its own limit: it kept %.2f of %d cores busy, and its delays count as the servers' "+
			"(mlperf selftest --endpoint measures the limit)", e.CPUCores, e.Cores))
	}
	if h := e.HandoverNS; h != nil && h.P99 > lateHandover {
		list = append(list, fmt.Sprintf("requests left the client late: %v after their issue at the 99th percentile", shorten(h.P99)))
	}
	if e.Retries > 0 {
		list = append(list, fmt.Sprintf("%d requests failed and were sent again: their latencies count from the first time", e.Retries))
	}
	if e.Tokenized > 0 {
		list = append(list, fmt.Sprintf("the local tokenizer made the tokens of %d answers of their text, because the server does not send token ids", e.Tokenized))
	}
	return list
}

// Definitions of the terms of the results.
func (e *Generation) Definitions() []string {
	return []string{
		"TTFT, time to first token: from the instant at which the request was scheduled (Server) or issued (SingleStream) to the first piece of text",
		"TPOT, time per output token: from the first piece to the end of the answer, by the number of tokens less one",
		"ITL, inter-token latency: from a piece of an answer to the next, over the pieces of all answers; pieces that arrive together have 0 between them",
		"latency, end to end: from the scheduled instant to the end of the answer; from send: from when the request went out",
		"tokens/s: tokens of all answers, by the time until the last answer; or, as LoadGen, until the answer to the request that was issued last",
		"goodput: requests/s that kept both bounds, each request by itself",
	}
}

// generationLines are the measurements of servers that continue prompts.
func generationLines(b *strings.Builder, e *Generation) {
	if e == nil {
		return
	}
	latencyLine(b, "from send: time to first token", e.FirstTokenFromSendNS)
	latencyLine(b, "from send: latency", e.LatencyFromSendNS)
	latencyLine(b, "inter-token latency", e.BetweenPiecesNS)
	if e.TokensPerSecond > 0 {
		fmt.Fprintf(b, "  %s requests/s, %s tokens/s until the last answer", digits(e.RequestsPerSecond), digits(e.TokensPerSecond))
		if e.TokensPerSecondIssued > 0 {
			fmt.Fprintf(b, ", %s tokens/s until the answer to the last request", digits(e.TokensPerSecondIssued))
		}
		fmt.Fprintf(b, "\n  %d tokens in %d answers, counted by %s", e.Tokens, e.Answers, e.Counted)
		if e.PromptTokens > 0 {
			fmt.Fprintf(b, "; %d tokens of prompts", e.PromptTokens)
		}
		var ends []string
		for _, why := range slices.Sorted(maps.Keys(e.Finished)) {
			ends = append(ends, fmt.Sprintf("%s %d", orDash(why), e.Finished[why]))
		}
		fmt.Fprintf(b, "; ended by %s\n", strings.Join(ends, ", "))
		if g := e.Goodput; g != nil {
			fmt.Fprintf(b, "  goodput: %s requests/s, %d of %d kept TTFT ≤ %v and TPOT ≤ %v\n", digits(g.RequestsPerSecond), g.Requests, g.Of, shorten(g.FirstTokenNS), shorten(g.PerTokenNS))
		}
	}
	limit := "no limit"
	if e.Limit > 0 {
		limit = fmt.Sprintf("a limit of %d", e.Limit)
	}
	fmt.Fprintf(b, "  at most %d requests under way at once, with %s; the client kept %.2f of %d cores busy", e.Most, limit, e.CPUCores, e.Cores)
	if h := e.HandoverNS; h != nil {
		fmt.Fprintf(b, ", requests left it %v after their issue at p50, %v at p99", shorten(h.P50), shorten(h.P99))
	}
	b.WriteString("\n")
	if len(e.Servers) > 1 {
		for _, s := range e.Servers {
			fmt.Fprintf(b, "  %s: %d requests, at most %d at once\n", s.URL, s.Requests, s.Most)
		}
	}
	var failures []string
	for _, f := range e.Failures {
		failures = append(failures, fmt.Sprintf("%d × %s: %s", f.Count, f.Kind, f.First))
	}
	list(b, "Requests that failed", failures)
}
