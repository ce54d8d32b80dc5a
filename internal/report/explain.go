package report

import (
	"cmp"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/mlperf-go/mlperf/internal/loadgen"
	"github.com/mlperf-go/mlperf/internal/report/tables"
	"github.com/mlperf-go/mlperf/internal/units"
)

// Explain prints everything that a run was judged by and with: each constraint with
// the file or flag that set it, why the run is not VALID and the commands that help, the settings, and the system.
func Explain(w io.Writer, r *Results, commands ...string) error {
	var b strings.Builder
	width := tables.Width(w)
	headline(&b, r)
	fmt.Fprintf(&b, "rules %s, run by %s on %s\n\n", r.Rules, r.Program, r.Created.Format(time.RFC3339))
	if r.Metric != nil {
		fmt.Fprintf(&b, "The result of this scenario is %s: %s.\n\n", number(*r.Metric), r.Metric.Name)
	}
	if len(r.Constraints) > 0 {
		b.WriteString(constraintTable(shownConstraints(r.Constraints), true, width))
		b.WriteString("\n")
	}
	if lines := sloLines(r.SLO); lines != nil {
		b.WriteString(strings.Join(lines, "\n") + "\n\n")
	}
	if r.Peak != nil {
		b.WriteString(peakTable(r.Peak, width) + strings.Join(peakLines(r.Peak), "\n") + "\n\n")
	}
	if len(r.Runs) > 0 {
		b.WriteString(runTable(r.Runs, width) + "\n")
	}
	if r.Accuracy != nil {
		b.WriteString(strings.Join(accuracyLines(r.Accuracy), "\n") + "\n")
	}
	if g := r.Generation; g != nil {
		generationLines(&b, g)
		list(&b, "Terms", g.Definitions())
	}
	speculationLine(&b, r.Speculation)
	short := *r
	short.Problems = r.withoutNumbers()
	remarks(&b, &short)
	if len(commands) > 0 {
		b.WriteString("What to do:\n" + indent(strings.Join(commands, "\n")))
	}
	list(&b, "Limitations", r.Limitations.Sentences())
	var reference []string // rules of the reference alone, which are no problem
	for _, c := range r.Constraints {
		if !c.Met && c.ReferenceOnly {
			reference = append(reference, c.Sentence())
		}
	}
	list(&b, "Why the reference LoadGen would refuse it", reference)
	if c := r.Calibration; c != nil {
		fmt.Fprintf(&b, "The target was chosen by measuring: %s = %s, because %s.\n", c.Chosen.Name, number(c.Chosen), c.Reason)
	}
	b.WriteString("\n")
	t := tables.New("setting", "value", "set by")
	for _, s := range r.Settings {
		if !inScenario(s.Key, r.Scenario) {
			continue
		}
		if n, err := strconv.Atoi(s.Value); err == nil && s.Key == "mode" { // conf files have a number
			s.Value = loadgen.Mode(n).String()
		}
		t.Row(s.Key, durationIn(s.Value), s.Origin)
	}
	b.WriteString(t.Text(width) + "\n")
	if r.Backend.Engine != NotKnown {
		systemLines(&b, r)
	}
	return say(w, b.String())
}

// inScenario reports whether a scenario has a setting, by its key in conf files or in logs. What is not in the table of settings is
// of all.
func inScenario(key, scenario string) bool {
	if of, _, qualified := strings.Cut(key, "."); qualified { // as files write it
		return of == scenario
	}
	known, has := false, false
	for _, row := range loadgen.Settings() {
		if row.Key == key || row.RequestedKey == key {
			known, has = true, has || row.Scenario == "" || row.Scenario == scenario
		}
	}
	return has || !known
}

// withoutNumbers are the problems of a run, without the numbers that the table of constraints has.
func (r *Results) withoutNumbers() (list []string) {
	for _, problem := range r.Problems {
		for _, c := range r.Constraints {
			if problem == c.Sentence() {
				problem = strings.TrimSuffix(c.ID.String()+": "+c.Advice, ": ")
			}
		}
		list = append(list, problem)
	}
	return list
}

// systemLines are the model, the data and the engine, and the time of each part of the run.
func systemLines(b *strings.Builder, r *Results) {
	line := func(name, format string, args ...any) {
		fmt.Fprintf(b, "%-9s"+format+"\n", append([]any{name}, args...)...)
	}
	line("model", "%s%s", r.Input.ModelPath, inBrackets("sha256 ", r.Input.ModelSHA256))
	for _, note := range r.Input.Binding {
		line("", "%s", note)
	}
	line("data", "%s, %s", cmp.Or(r.Input.DatasetPath, "made"), units.Count(r.Input.Samples, "sample"))
	line("engine", "%s%s", r.Backend.Engine, inBrackets("", r.Backend.Library))
	var devices []string
	for name, nodes := range r.Backend.Devices {
		if nodes >= 0 {
			name = fmt.Sprintf("%s (%s)", name, units.Count(nodes, "node"))
		}
		devices = append(devices, name)
	}
	slices.Sort(devices)
	line("device", "%s", strings.Join(devices, ", "))
	line("workers", "%d, batches of up to %d, delay %s", r.Backend.Instances, r.Backend.MaxBatch, r.Backend.Delay())
	if q := r.Queue; q != nil {
		line("queue", "at most %s waited, %s after the start", units.Count(q.Peak, "sample"), units.Text(q.PeakSeconds, "s"))
	}
	if r.Energy != nil {
		line("energy", "%v", r.Energy)
	}
	if p := r.Performance; p != nil {
		line("memory", "%s, %s paused", units.Count(p.GCCycles, "garbage collection"), nanoseconds(p.GCPauseNS))
	}
	line("time", "%s", phaseTimes(r.Phases))
}

// phaseTimes are the parts of a run in their order, with the sum of those of one name.
func phaseTimes(phases []PhaseTime) string {
	sums := map[string]float64{}
	var names []string
	for _, p := range phases {
		if _, known := sums[p.Name]; !known {
			names = append(names, p.Name)
		}
		sums[p.Name] += p.Seconds
	}
	var times []string
	for _, name := range names {
		times = append(times, name+" "+units.Text(sums[name], "s"))
	}
	return strings.Join(times, ", ")
}

func inBrackets(label, text string) string {
	if text == "" {
		return ""
	}
	return " (" + label + text + ")"
}
