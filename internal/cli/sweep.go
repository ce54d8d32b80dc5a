package cli

import (
	"context"
	"errors"
	"io"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/mlperf-go/mlperf/internal/report"
	"github.com/mlperf-go/mlperf/internal/report/page"
	"github.com/mlperf-go/mlperf/internal/report/tables"
	"github.com/mlperf-go/mlperf/internal/run"
	"github.com/mlperf-go/mlperf/internal/tune"
	"github.com/mlperf-go/mlperf/internal/units"
)

// runSweep makes runs at one load after the other and prints their table.
func runSweep(cmd *cobra.Command, s tune.Sweep, q run.Request, asJSON bool) error {
	display := newDisplay(cmd)
	defer display.Done()
	doc, err := s.Run(cmd.Context(), q, display)
	display.Done()
	if doc != nil && len(doc.Points) > 0 {
		err = errors.Join(err, showSweep(cmd.OutOrStdout(), doc, q.Output, asJSON))
	}
	switch {
	case errors.Is(context.Cause(cmd.Context()), ErrInterrupted):
		return interrupted(err)
	case err == nil && slices.ContainsFunc(doc.Points, func(p report.SweepPoint) bool { return p.Result != report.Valid }):
		return finished(ExitInvalid)
	}
	return err
}

func showSweep(w io.Writer, doc *report.Sweep, dir string, asJSON bool) error {
	if asJSON {
		return report.JSON(w, doc)
	}
	points := doc.Points
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
	rows := make([]tableRow, len(points))
	for i, p := range points {
		rows[i] = tableRow{p.Load, p.Result, p.RequestsPerSecond}
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
	return errors.Join(sayText(w, t.Text(tables.Width(w))),
		say(w, "As a page: %s, for other charts: %s and %s\n", filepath.Join(dir, page.FileName), filepath.Join(dir, tune.SweepCSV), filepath.Join(dir, tune.SweepJSON)))
}
