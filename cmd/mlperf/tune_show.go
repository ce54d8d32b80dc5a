package main

import (
	"cmp"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/jedib0t/go-pretty/v6/table"
	"github.com/spf13/cobra"

	"github.com/mlperf-go/mlperf/internal/loadgen"
	"github.com/mlperf-go/mlperf/internal/profile"
	"github.com/mlperf-go/mlperf/internal/report"
	"github.com/mlperf-go/mlperf/internal/tune"
)

// quiet is a bench.Observer that says nothing: many points are opened in a search.
type quiet struct{}

func (quiet) Phase(string)             {}
func (quiet) Loading(int, int)         {}
func (quiet) Traffic(loadgen.Progress) {}
func (quiet) Note(string)              {}

// A tuneProgress says a line for each measurement.
type tuneProgress struct {
	progress  *progress
	objective tune.Objective
	points    int
	done      int
}

// Begin implements tune.Observer.
func (p *tuneProgress) Begin(o tune.Objective, points, kept int) {
	p.objective, p.points = o, points
	wanted := "the more"
	if o.Least {
		wanted = "the less"
	}
	text := fmt.Sprintf("%d ways to run the model; %s %s (%s) the better", points, wanted, o.Name, o.Unit)
	if kept > 0 {
		text += fmt.Sprintf("; the search goes on after %d measurements that were made before", kept)
	}
	p.progress.Note(text)
}

// Measured implements tune.Observer.
func (p *tuneProgress) Measured(m tune.Measurement, left time.Duration) {
	p.done++
	p.progress.Note(fmt.Sprintf("stage %d, %v: %s (%v left)", m.Stage+1, m.Point, outcomeOf(m, p.objective), left.Round(time.Second)))
}

func outcomeOf(m tune.Measurement, o tune.Objective) string {
	switch {
	case m.Err != "":
		return "failed: " + m.Err
	case m.Value == 0:
		return "does not keep the bound"
	}
	return fmt.Sprintf("%.4g %s", m.Value, o.Unit)
}

// show prints the points, the best first, and the winner.
func (o *tuneOptions) show(cmd *cobra.Command, out *tune.Outcome, found *profile.Profile, path string) error {
	w := cmd.OutOrStdout()
	if o.asJSON {
		return report.JSON(w, map[string]any{"finished": out.Finished, "profile": found, "measurements": out.Done})
	}
	if len(out.Done) > 0 {
		fmt.Fprintln(w, pointTable(out))
	}
	if !out.Finished {
		fmt.Fprintln(w, "The search is not over: the same command goes on with it.")
		return nil
	}
	if found == nil {
		return nil
	}
	return showWinner(w, out, found, path)
}

func showWinner(w io.Writer, out *tune.Outcome, p *profile.Profile, path string) error {
	fmt.Fprintf(w, "Fastest: %v: %.4g %s", out.Winner.Point, p.Value, p.Objective.Unit)
	switch {
	case out.Winner.Point == out.Points[0]:
		fmt.Fprint(w, ", which is what a run chooses by itself")
	case p.Default > 0:
		fmt.Fprintf(w, "; what a run chooses by itself (%v) has %.4g", out.Points[0], p.Default)
	}
	fmt.Fprintln(w)
	if out.Bound > 0 {
		fmt.Fprintf(w, "Latency bound: %v\n", out.Bound)
	}
	if out.Winner.Variant != "" {
		fmt.Fprintln(w, "Speed decided: run --mode accuracy says whether its answers are good enough.")
	}
	if n := len(out.Points) - p.Points; n > 0 {
		fmt.Fprintf(w, "The budget did not suffice for %d of %d ways: a larger one goes on.\n", n, len(out.Points))
	}
	_, err := fmt.Fprintf(w, "Profile: %s\n", path)
	return err
}

// pointTable has a line for each point that was measured.
func pointTable(out *tune.Outcome) string {
	type line struct {
		point  tune.Point
		stages [3]*tune.Measurement
		last   tune.Measurement
	}
	var lines []*line
	for _, m := range out.Done {
		i := slices.IndexFunc(lines, func(l *line) bool { return l.point == m.Point })
		if i < 0 {
			i, lines = len(lines), append(lines, &line{point: m.Point})
		}
		lines[i].stages[m.Stage], lines[i].last = &m, m
	}
	slices.SortStableFunc(lines, func(a, b *line) int {
		if c := cmp.Compare(b.last.Stage, a.last.Stage); c != 0 {
			return c
		}
		return out.Objective.Compare(a.last.Value, b.last.Value)
	})
	t := newTable(table.Row{"model", "instances", "threads", "batch", "delay", "estimate, " + out.Objective.Unit, "short", "long", ""})
	for _, l := range lines {
		row := table.Row{l.point.Variant, l.point.Instances, l.point.Threads, l.point.MaxBatch, l.point.MaxDelay}
		for _, m := range l.stages {
			row = append(row, cell(m))
		}
		var remarks []string
		if out.Found && out.Finished && l.point == out.Winner.Point {
			remarks = append(remarks, "fastest")
		}
		if l.point == out.Points[0] {
			remarks = append(remarks, "default")
		}
		t.AppendRow(append(row, strings.Join(remarks, ", ")))
	}
	t.SuppressEmptyColumns()
	return t.Render()
}

func cell(m *tune.Measurement) string {
	switch {
	case m == nil:
		return ""
	case m.Err != "":
		return "failed"
	case m.Value == 0:
		return "over the bound"
	}
	return fmt.Sprintf("%.4g", m.Value)
}
