package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/mlperf-go/mlperf/internal/report"
	"github.com/mlperf-go/mlperf/internal/report/page"
	"github.com/mlperf-go/mlperf/internal/report/tables"
	"github.com/mlperf-go/mlperf/internal/run"
	"github.com/mlperf-go/mlperf/internal/run/engine"
	"github.com/mlperf-go/mlperf/internal/run/outdir"
	"github.com/mlperf-go/mlperf/internal/tune"
	"github.com/mlperf-go/mlperf/internal/units"
)

// runSweep makes runs at one load after the other and prints their table.
func runSweep(cmd *cobra.Command, s tune.Sweep, q run.Request, asJSON bool) error {
	display := newDisplay(cmd)
	defer display.Done()
	if s.Search {
		completeSearch(&q, display)
	}
	doc, err := s.Run(cmd.Context(), q, display)
	display.Done()
	if doc != nil && len(doc.Points) > 0 {
		err = errors.Join(err, showSweep(cmd.OutOrStdout(), doc, q.Output, asJSON))
	}
	switch {
	case errors.Is(context.Cause(cmd.Context()), ErrInterrupted):
		return interrupted(err)
	case err == nil && s.Search && doc.Highest == nil:
		return finished(ExitInvalid)
	case s.Search:
		return err
	case err == nil && slices.ContainsFunc(doc.Points, func(p report.SweepPoint) bool { return p.Result != report.Valid }):
		return finished(ExitInvalid)
	}
	return err
}

// completeSearch chooses what a search for the highest rate can do without: the folder, and the prompts of a server of text.
func completeSearch(q *run.Request, o run.Observer) {
	if q.Output == "" {
		q.Output = filepath.Join(outdir.Root, "sweep", time.Now().Format("20060102-150405"))
		o.Note("the sweep is in " + q.Output + "; if it is interrupted, the same command with --output " + q.Output + " goes on")
	}
	const made = 1000
	if q.Engine.Name == engine.OpenAI && q.Model == "" && q.DatasetPath == "" && q.Prompts.Synthetic == 0 {
		q.Prompts.Synthetic = made
		o.Note(fmt.Sprintf("no --dataset-path: %s are made up (--prompt-words, --answer-tokens)", units.Count(made, "prompt")))
	}
}

func showSweep(w io.Writer, doc *report.Sweep, dir string, asJSON bool) error {
	if asJSON {
		return report.JSON(w, doc)
	}
	points := doc.Ordered()
	const unmeasured = "–"
	cell := func(unit string, numbers ...*float64) string {
		var list []string
		for _, n := range numbers {
			if n == nil {
				return unmeasured
			}
			list = append(list, units.Text(*n, unit))
		}
		return strings.Join(list, ", ")
	}
	head := tableRow{points[0].Unit, "result", "requests/s"}
	if doc.Search {
		head[0], head[1] = "load", "kept the bounds"
	}
	rows := make([]tableRow, len(points))
	for i, p := range points {
		rows[i] = tableRow{p.Load, p.Result, p.RequestsPerSecond}
		if doc.Search {
			rows[i][0], rows[i][1] = p.Name(), p.Kept
		}
	}
	for _, c := range []struct {
		title string
		text  func(p *report.SweepPoint) string
	}{
		{"tokens/s", func(p *report.SweepPoint) string { return cell("", p.TokensPerSecond) }},
		{"good requests/s", func(p *report.SweepPoint) string { return cell("", p.GoodPerSecond) }},
		{"TTFT p50, p99", func(p *report.SweepPoint) string { return cell("ms", p.FirstTokenP50, p.FirstTokenP99) }},
		{"TPOT p50, p99", func(p *report.SweepPoint) string { return cell("ms", p.PerTokenP50, p.PerTokenP99) }},
		{"ITL p99", func(p *report.SweepPoint) string { return cell("ms", p.BetweenP99) }},
		{"latency p50, p99", func(p *report.SweepPoint) string { return cell("ms", p.LatencyP50, p.LatencyP99) }},
		{"mean round trip", func(p *report.SweepPoint) string { return cell("ms", p.RoundTripMean) }},
	} {
		if !slices.ContainsFunc(points, func(p report.SweepPoint) bool { return c.text(&p) != unmeasured }) {
			continue
		}
		head = append(head, c.title)
		for i := range points {
			rows[i] = append(rows[i], c.text(&points[i]))
		}
	}
	t := newTable(append(head, "failed"))
	for i, p := range points {
		t.Row(append(rows[i], p.Failures)...)
	}
	err := sayText(w, t.Text(tables.Width(w)))
	if doc.Sentence != "" {
		err = errors.Join(err, say(w, "%s\n", doc.Sentence))
	}
	return errors.Join(err,
		say(w, "As a page: %s, for other charts: %s and %s\n", filepath.Join(dir, page.FileName), filepath.Join(dir, tune.SweepCSV),
			filepath.Join(dir, tune.SweepJSON)))
}
