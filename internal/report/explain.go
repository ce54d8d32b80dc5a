package report

import (
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/jedib0t/go-pretty/v6/table"
)

// Explain prints everything that a run was judged by and with: each constraint with
// the file or flag that set it and what to do, the settings, and the system.
func Explain(w io.Writer, r *Results) error {
	var b strings.Builder
	headline(&b, r)
	fmt.Fprintf(&b, "rules %s, run by %s on %s\n\n", r.Rules, r.Program, r.Created.Format(time.RFC3339))
	if r.Metric != nil {
		fmt.Fprintf(&b, "The result of this scenario is %s: %s.\n\n", number(*r.Metric), r.Metric.Name)
	}
	if len(r.Constraints) > 0 {
		b.WriteString(constraintTable(r.Constraints, true))
		b.WriteString("\n")
	}
	list(&b, "What to do next", advice(r.Constraints))
	if r.Peak != nil {
		b.WriteString(peakTable(r.Peak) + strings.Join(peakLines(r.Peak), "\n") + "\n\n")
	}
	if len(r.Runs) > 0 {
		b.WriteString(runTable(r.Runs) + "\n")
	}
	if r.Accuracy != nil {
		b.WriteString(strings.Join(accuracyLines(r.Accuracy), "\n") + "\n")
	}
	generationLines(&b, r.Generation)
	remarks(&b, r)
	if c := r.Calibration; c != nil {
		fmt.Fprintf(&b, "The target was chosen by measuring: %s = %s, because %s.\n", c.Chosen.Name, number(c.Chosen), c.Reason)
	}
	b.WriteString("\n")
	b.WriteString(settingsTable(r.Settings))
	b.WriteString("\n")
	systemLines(&b, r)
	return say(w, b.String())
}

func advice(constraints []Constraint) []string {
	var list []string
	for _, c := range constraints {
		if !c.Met && c.Advice != "" {
			list = append(list, c.ID.String()+": "+c.Advice)
		}
	}
	return list
}

func settingsTable(settings []Setting) string {
	t := newTable(table.Row{"setting", "value", "set by"})
	for _, s := range settings {
		t.AppendRow(table.Row{s.Key, s.Value, s.Origin})
	}
	return t.Render() + "\n"
}

// systemLines say what answered the queries, if that is known, and how long the parts of the run took.
func systemLines(b *strings.Builder, r *Results) {
	if r.Backend.Engine == NotKnown {
		return
	}
	line := func(name, format string, args ...any) {
		fmt.Fprintf(b, "%-9s"+format+"\n", append([]any{name}, args...)...)
	}
	line("model", "%s%s", r.Input.ModelPath, inBrackets("sha256 ", r.Input.ModelSHA256))
	for _, note := range r.Input.Binding {
		line("", "%s", note)
	}
	line("data", "%s, %s", r.Input.DatasetPath, Counted(strconv.Itoa(r.Input.Samples), "sample"))
	line("engine", "%s%s", r.Backend.Engine, inBrackets("", r.Backend.Library))
	line("device", "%s", devices(r.Backend.Devices))
	line("workers", "%d, batches of up to %d, delay %s", r.Backend.Instances, r.Backend.MaxBatch, r.Backend.MaxDelay)
	if q := r.Queue; q != nil {
		line("queue", "at most %s waited, %.3f s after the start", Counted(fmt.Sprint(q.Peak), "sample"), q.PeakSeconds)
	}
	if r.Energy != nil {
		line("energy", "%v", r.Energy)
	}
	var times []string
	for _, phase := range r.Phases {
		times = append(times, fmt.Sprintf("%s %.3f s", phase.Name, phase.Seconds))
	}
	line("time", "%s", strings.Join(times, ", "))
}

func inBrackets(label, text string) string {
	if text == "" {
		return ""
	}
	return " (" + label + text + ")"
}

// Counted writes a number of things, whatever its digits look like: 1 node, 2 nodes, 1,000 nodes.
func Counted(digits, what string) string {
	if digits == "1" {
		return "1 " + what
	}
	return digits + " " + what + "s"
}

func devices(nodes map[string]int) string {
	var list []string
	for name, n := range nodes {
		if n >= 0 {
			name = fmt.Sprintf("%s (%s)", name, Counted(strconv.Itoa(n), "node"))
		}
		list = append(list, name)
	}
	slices.Sort(list)
	return strings.Join(list, ", ")
}
