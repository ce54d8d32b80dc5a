package report

import (
	"cmp"
	"fmt"
	"io"
	"maps"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/mlperf-go/mlperf/internal/config/rounds"
	"github.com/mlperf-go/mlperf/internal/loadgen"
	"github.com/mlperf-go/mlperf/internal/report/tables"
	"github.com/mlperf-go/mlperf/internal/units"
	"github.com/mlperf-go/mlperf/internal/userinput"
)

// Summary prints the outcome of a run: the result, whether it is valid, each constraint with the required and the observed number,
// reasons, warnings and notes, then other lines (where the results are, what to do next), and at the end the limitations.
func Summary(w io.Writer, r *Results, lines ...string) error {
	var b strings.Builder
	width := tables.Width(w)
	headline(&b, r)
	if r.Metric != nil {
		fmt.Fprintf(&b, "  %s: %s\n", r.Metric.Name, number(*r.Metric))
	}
	if r.Accuracy != nil {
		b.WriteString(indent(strings.Join(accuracyLines(r.Accuracy), "\n")))
	}
	if len(r.Constraints) > 0 {
		b.WriteString(indent(constraintTable(shownConstraints(r.Constraints), false, inner(width))))
	}
	if lines := sloLines(r.SLO); lines != nil {
		b.WriteString(indent(strings.Join(lines, "\n")))
	}
	if p := r.Performance; p != nil {
		performanceLines(&b, p, r.Metric)
	}
	if s := r.Steady; s != nil {
		fmt.Fprintf(&b, "  %s: %s", s.Window(), units.Text(s.SamplesPerSecond, "samples/s"))
		if s.TokensPerSecond > 0 {
			fmt.Fprintf(&b, ", %s", units.Text(s.TokensPerSecond, "tokens/s"))
		}
		b.WriteString("\n")
		for _, l := range []struct {
			name string
			of   *Latencies
		}{{"latency", s.LatencyNS}, {"time to first token", s.FirstTokenNS}, {"time per output token", s.TimePerOutputTokenNS}} {
			latencyLine(&b, "  "+l.name, l.of)
		}
	}
	generationLines(&b, r.Generation)
	speculationLine(&b, r.Speculation)
	for _, m := range r.ServerMetrics {
		fmt.Fprintf(&b, "  %s tells: %v\n", m.Server, m)
	}
	if r.Energy != nil {
		fmt.Fprintf(&b, "  energy: %v\n", r.Energy)
	}
	if r.Preparation != nil {
		fmt.Fprintf(&b, "  %v\n", r.Preparation)
	}
	if r.Operations != nil {
		fmt.Fprintf(&b, "  model: %v\n", r.Operations)
	}
	if len(r.Phases) > 0 {
		fmt.Fprintf(&b, "  time: %s\n", phaseTimes(r.Phases))
	}
	if r.Peak != nil {
		b.WriteString(indent(peakTable(r.Peak, inner(width)) + strings.Join(peakLines(r.Peak), "\n")))
	}
	if len(r.Runs) > 0 {
		b.WriteString(indent(runTable(r.Runs, inner(width))))
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

// String is the metric in a few words.
func (m ServerMetric) String() string {
	unit := strings.TrimSuffix(m.Unit, " of the server's")
	return fmt.Sprintf("%s %s on average, at most %s", m.Name, units.Text(m.Mean, unit), units.Text(m.Max, unit))
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

// Verdict is the result; of a VALID run BelowTarget if it misses its accuracy target, and WithoutScore if it is Unscored. A record
// that was changed after the run is marked.
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

// whyNot are the reasons for which constraints are not met, in a few words.
var whyNot = map[loadgen.ConstraintID]string{
	loadgen.ConstraintLatency:            "latency above its bound",
	loadgen.ConstraintFirstToken:         "first token too late",
	loadgen.ConstraintPerToken:           "tokens too slow",
	loadgen.ConstraintIntervals:          "intervals were missed",
	loadgen.ConstraintDuration:           "test was too short",
	loadgen.ConstraintQueries:            "too few queries",
	loadgen.ConstraintSamples:            "too few samples",
	loadgen.ConstraintEarlyStopping:      "early stopping: too few",
	loadgen.ConstraintFirstTokenStopping: "early stopping: too few",
	loadgen.ConstraintGenerator:          "load generator was late",
}

// Reason says in a few words why a run is not VALID; empty if it is.
func (r *Results) Reason() string {
	if r.Result == Interrupted {
		return "stopped before its end"
	}
	for _, c := range r.Constraints {
		if why := whyNot[c.ID]; !c.Met && !c.ReferenceOnly && why != "" {
			return why
		}
	}
	switch {
	case r.Result == Valid && r.Accuracy.Below():
		return "accuracy below its target"
	case r.Result == Valid:
		return ""
	case len(r.Problems) > 0:
		return "failed: see its page"
	}
	return ""
}

// say writes a text for people, in lines that fit into the terminal. Documents and logs may be foreign: control characters in them
// are escaped.
func say(w io.Writer, text string) error {
	_, err := io.WriteString(w, tables.Wrap(userinput.PrintableText(text), tables.Width(w)))
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
	n := func(v float64) string { return units.With(units.Score(v), a.Unit) }
	target := fmt.Sprintf("%s: %s, target %s: %s", a.Metric, n(a.Value), n(a.Target), verdict)
	if a.Reference != 0 {
		target += fmt.Sprintf(" (the FP32 reference has %s)", n(a.Reference))
	}
	switch {
	case a.NoTarget != "" && a.Partial:
		target = fmt.Sprintf("%s: %s, of an incomplete log of %s: MISSED", a.Metric, n(a.Value), units.Count(a.Samples, "sample"))
	case a.NoTarget != "":
		target = fmt.Sprintf("%s: %s, without a target: %s", a.Metric, n(a.Value), a.NoTarget)
	case a.Partial:
		target += fmt.Sprintf("; the log has only %s", units.Count(a.Samples, "sample"))
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
		fmt.Fprintf(b, "  %s, %s in %s", units.Count(p.Queries, "query"), units.Count(p.Samples, "sample"), nanoseconds(p.DurationNS))
		if p.SamplesPerSecond > 0 {
			fmt.Fprintf(b, ": %s", units.Text(p.SamplesPerSecond, "samples/s"))
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
	return fmt.Sprintf("p50 %s, p99 %s, max %s", nanoseconds(l.P50), nanoseconds(l.P99), nanoseconds(l.Max))
}

// latencyLine is the spread of latencies, if they were measured.
func latencyLine(b *strings.Builder, name string, l *Latencies) {
	if l == nil {
		return
	}
	fmt.Fprintf(b, "  %s: min %s, p50 %s, p90 %s, p99 %s, max %s\n",
		name, nanoseconds(l.Min), nanoseconds(l.P50), nanoseconds(l.P90), nanoseconds(l.P99), nanoseconds(l.Max))
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
			len(short), len(p.loads()), units.Number(highest), p.Unit)
	}
	return fmt.Sprintf("no load was confirmed: %d of %d that were tried kept the bound in a short test, the highest %s %s; "+
		"%d of %d tests at full length kept it",
		len(short), len(p.loads()), units.Number(highest), p.Unit, fullMet, full)
}

// peakLines are the result of a search for the highest load, and why it is that one.
func peakLines(p *Peak) []string {
	if p.Best == 0 {
		return []string{p.Unconfirmed()}
	}
	lines := []string{fmt.Sprintf("Of %d loads that were tried, %s %s is the highest that kept the bound at full length.", len(p.loads()),
		units.Number(p.Best), p.Unit)}
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
		lines = append(lines, fmt.Sprintf("%s %s kept it in a short test, and broke it at full length.", units.Number(brokeFull), p.Unit))
	case min(broke, brokeFull) < math.Inf(1):
		lines = append(lines, fmt.Sprintf("%s %s broke it.", units.Number(min(broke, brokeFull)), p.Unit))
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

func nanoseconds(ns int64) string { return units.Duration(time.Duration(ns)) }

// number formats a metric.
func number(m Metric) string { return units.Text(m.Value, m.Unit) }

// inner is the width that indent leaves.
func inner(width int) int { return max(width-2, 0) }

func constraintTable(constraints []Constraint, withOrigin bool, width int) string {
	header := []string{"constraint", "required", "observed", "met"}
	if withOrigin {
		header = append(header, "set by")
	}
	t := tables.New(header...)
	for _, c := range constraints {
		met := yesNo(c.Met)
		if !c.Met && c.ReferenceOnly {
			met = "not for the reference"
		}
		row := []any{c.ID.String(), c.RequiredText(), c.ObservedText(), met}
		if withOrigin {
			row = append(row, c.Origin)
		}
		t.Row(row...)
	}
	return t.Text(width)
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

// peakTable has a row for every test of a search, by load: what is bounded, and whether the bounds were kept.
func peakTable(p *Peak, width int) string {
	bounds := p.Bounds
	if len(bounds) == 0 {
		bounds = []Objective{{Of: OfLatency}}
	}
	head := []string{"load, " + p.Unit, "test"}
	for _, b := range bounds {
		text := strings.TrimSpace(b.Of + " " + b.Percentile)
		if b.BoundNS > 0 {
			text += ", bound " + nanoseconds(b.BoundNS)
		}
		head = append(head, text)
	}
	t := tables.New(append(head, "outcome", "")...)
	for _, s := range slices.SortedStableFunc(slices.Values(p.Steps), func(a, b PeakStep) int { return cmp.Compare(a.Load, b.Load) }) {
		row := []any{units.Number(s.Load), "short"}
		if s.Full {
			row[1] = "full"
		}
		for _, b := range bounds {
			cell := ""
			if ns := s.Observed(b.Of); ns > 0 {
				cell = nanoseconds(ns)
			}
			row = append(row, cell)
		}
		row = append(row, s.outcome())
		if s.Full && s.Met && s.Load == p.Best {
			row = append(row, "chosen")
		}
		t.Row(row...)
	}
	return t.Text(width)
}

// Observed is what was measured of what an objective is about; 0: nothing.
func (s PeakStep) Observed(of string) int64 {
	switch of {
	case OfFirstToken:
		return s.FirstTokenNS
	case OfPerToken:
		return s.PerTokenNS
	}
	return s.LatencyNS
}

// outcome is the verdict of a test, with the reason in a few words.
func (s PeakStep) outcome() string {
	if s.Met {
		return "kept"
	}
	reason, _, _ := strings.Cut(s.Reason, ":")
	if reason == "" {
		return "NO"
	}
	return "NO: " + reason
}

// String is the verdict of a test, with what is bounded or the reason.
func (s PeakStep) String() string {
	verdict, why := "NO", ""
	if s.Met {
		verdict = "kept"
	}
	switch {
	case s.FirstTokenNS > 0:
		why = "ttft " + nanoseconds(s.FirstTokenNS)
		if s.PerTokenNS > 0 {
			why += ", tpot " + nanoseconds(s.PerTokenNS)
		}
	case s.LatencyNS > 0:
		why = nanoseconds(s.LatencyNS)
	}
	if reason := s.Reason; reason != "" && !strings.HasPrefix(reason, loadgen.ConstraintLatency.String()) {
		why, _, _ = strings.Cut(reason, ";") // the advice is for a run by itself
	}
	return verdict + inBrackets("", why)
}

// runTable lists several runs. The lowest metric counts.
func runTable(runs []RunOutcome, width int) string {
	t := tables.New("run", "result", "metric")
	for _, r := range runs {
		value := ""
		if r.Metric != nil {
			value = number(*r.Metric)
		}
		t.Row(r.Folder, r.Result, value)
	}
	return t.Text(width)
}

// String is the energy in one line.
func (e *Energy) String() string {
	if e.NotMeasured != "" {
		return "not measured: " + e.NotMeasured
	}
	text := units.Text(e.Joules, "J")
	if e.JoulesPerSample > 0 {
		text += ", " + units.Text(e.JoulesPerSample, "J per sample")
	}
	text += fmt.Sprintf(", %s on average, %s at most", units.Text(e.MeanWatts, "W"), units.Text(e.PeakWatts, "W"))
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
		list = append(list, fmt.Sprintf("the client is near its own limit: it kept %s of %d cores busy, and its delays count as the servers' "+
			"(mlperf selftest --endpoint measures the limit)", units.Number(e.CPUCores), e.Cores))
	}
	if h := e.HandoverNS; h != nil && h.P99 > lateHandover {
		list = append(list, fmt.Sprintf("requests left the client late: %s after their issue at the 99th percentile", nanoseconds(h.P99)))
	}
	if e.Resent > 0 {
		list = append(list, fmt.Sprintf("the server closed connections that were open: %s went out again on new ones, and latencies count from the first time",
			units.Count(e.Resent, "request")))
	}
	if e.Retries > 0 {
		list = append(list, fmt.Sprintf("%s failed and went out again: latencies count from the first time", units.Count(e.Retries, "request")))
	}
	if e.Tokenized > 0 {
		list = append(list, fmt.Sprintf("the local tokenizer made the tokens of %s of their text, because the server does not send token ids",
			units.Count(e.Tokenized, "answer")))
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

// speculationLine is speculative decoding as it was declared; none: nothing.
func speculationLine(b *strings.Builder, s *rounds.Speculation) {
	if s != nil {
		fmt.Fprintf(b, "  speculative decoding, as declared: %s\n", s)
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
	const shown = 8
	for i, t := range e.Turns[:min(shown, len(e.Turns))] {
		latencyLine(b, fmt.Sprintf("turn %d (%s): time to first token", i+1, units.Count(t.Answers, "answer")), t.FirstTokenNS)
	}
	if n := len(e.Turns); n > shown {
		fmt.Fprintf(b, "  turns %d to %d: results.json has their times\n", shown+1, n)
	}
	if r := e.Replay; r != nil {
		fmt.Fprintf(b, "  inline score: %s, the agreement with the recorded answers of %s of %s; %d without an answer\n", units.Score(r.Score),
			units.Number(float64(r.Compared)), units.Count(r.Issued, "turn"), r.Missing)
	}
	if e.Inputs > 0 {
		fmt.Fprintf(b, "  %s, %s until the last answer; %s of %s\n", units.Text(e.RequestsPerSecond, "requests/s"),
			units.Text(e.InputsPerSecond, "inputs/s"), units.Count(e.PromptTokens, "token"), units.Count(e.Inputs, "input"))
	}
	if e.TokensPerSecond > 0 {
		what := "requests/s"
		if e.ConversationsPerSecond > 0 {
			what = "conversations/s"
			fmt.Fprintf(b, "  %s of", units.Text(e.ConversationsPerSecond, what))
		}
		fmt.Fprintf(b, "  %s, %s until the last answer", units.Text(e.RequestsPerSecond, "requests/s"), units.Text(e.TokensPerSecond, "tokens/s"))
		if e.TokensPerSecondIssued > 0 {
			fmt.Fprintf(b, ", %s until the answer to the last request", units.Text(e.TokensPerSecondIssued, "tokens/s"))
		}
		fmt.Fprintf(b, "\n  %s in %s, counted by %s", units.Count(e.Tokens, "token"), units.Count(e.Answers, "answer"), e.Counted)
		if e.PromptTokens > 0 {
			fmt.Fprintf(b, "; %s of prompts", units.Count(e.PromptTokens, "token"))
		}
		var ends []string
		for _, why := range slices.Sorted(maps.Keys(e.Finished)) {
			ends = append(ends, fmt.Sprintf("%s %s", orDash(why), units.Number(float64(e.Finished[why]))))
		}
		fmt.Fprintf(b, "; ended by %s\n", strings.Join(ends, ", "))
		if g := e.Goodput; g != nil {
			fmt.Fprintf(b, "  goodput: %s, %d of %d kept TTFT ≤ %s and TPOT ≤ %s\n", units.Text(g.RequestsPerSecond, what), g.Requests, g.Of,
				nanoseconds(g.FirstTokenNS), nanoseconds(g.PerTokenNS))
		}
	}
	if e.Cancelled != nil {
		fmt.Fprintf(b, "  %v\n", e.Cancelled)
	}
	limit := "no limit"
	if e.Limit > 0 {
		limit = fmt.Sprintf("a limit of %d", e.Limit)
	}
	fmt.Fprintf(b, "  at most %d requests under way at once, with %s; the client kept %s of %d cores busy", e.Most, limit,
		units.Number(e.CPUCores), e.Cores)
	if h := e.HandoverNS; h != nil {
		fmt.Fprintf(b, ", requests left it %s after their issue at p50, %s at p99", nanoseconds(h.P50), nanoseconds(h.P99))
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
