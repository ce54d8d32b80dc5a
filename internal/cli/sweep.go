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
	points, err := s.Run(cmd.Context(), q, display)
	display.Done()
	if len(points) > 0 {
		err = errors.Join(err, showSweep(cmd.OutOrStdout(), points, q.Output, asJSON))
	}
	switch {
	case errors.Is(context.Cause(cmd.Context()), ErrInterrupted):
		return interrupted(err)
	case err == nil && slices.ContainsFunc(points, func(p tune.SweepPoint) bool { return p.Result != report.Valid }):
		return finished(ExitInvalid)
	}
	return err
}

func showSweep(w io.Writer, points []tune.SweepPoint, dir string, asJSON bool) error {
	if asJSON {
		return printJSON(w, "sweep", points)
	}
	cell := func(unit string, numbers ...*float64) string {
		var list []string
		for _, n := range numbers {
			if n == nil { // not measured
				return "–"
			}
			list = append(list, units.Text(*n, unit))
		}
		return strings.Join(list, ", ")
	}
	t := newTable(tableRow{points[0].Unit, "result", "requests/s", "tokens/s", "good requests/s", "TTFT p50, p99", "TPOT p50, p99", "ITL p99", "latency p50, p99", "failed"})
	for _, p := range points {
		t.Row(p.Load, p.Result, p.RequestsPerSecond, p.TokensPerSecond, cell("", p.GoodPerSecond),
			cell("ms", p.FirstTokenP50, p.FirstTokenP99), cell("ms", p.PerTokenP50, p.PerTokenP99), cell("ms", p.BetweenP99), cell("ms", p.LatencyP50, p.LatencyP99), p.Failures)
	}
	return errors.Join(sayText(w, t.Text(tables.Width(w))),
		say(w, "As a page: %s, for other charts: %s and %s\n", filepath.Join(dir, page.FileName), filepath.Join(dir, tune.SweepCSV), filepath.Join(dir, tune.SweepJSON)))
}
