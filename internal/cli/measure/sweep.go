package measure

import (
	"context"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"runtime"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/mlperf-go/mlperf/internal/cli"
	"github.com/mlperf-go/mlperf/internal/report"
	"github.com/mlperf-go/mlperf/internal/run"
)

// sweepFlags ask for runs at one load after the other.
type sweepFlags struct{ run.Sweep }

func (s *sweepFlags) define(f *pflag.FlagSet) {
	f.Float64SliceVar(&s.Rates, "sweep-qps", nil, "servers of text: a Server run at each of these `rates`, and a table of them (sweep.json, sweep.csv)")
	f.IntSliceVar(&s.Concurrency, "sweep-concurrency", nil, "servers of text: an Offline run with each of these `numbers` of requests under way, and a table of them")
}

// asked reports whether there is a sweep.
func (s *sweepFlags) asked() bool { return len(s.Rates)+len(s.Concurrency) > 0 }

// run makes the sweep and prints its table.
func (s *sweepFlags) run(cmd *cobra.Command, q run.Request, asJSON bool) error {
	display := cli.NewDisplay(cmd)
	defer display.Done()
	defer runtime.KeepAlive(cli.Ballast())
	points, err := s.Run(cmd.Context(), q, display)
	display.Done()
	if len(points) > 0 {
		err = errors.Join(err, showSweep(cmd.OutOrStdout(), points, q.Output, asJSON))
	}
	if errors.Is(context.Cause(cmd.Context()), cli.ErrInterrupted) {
		return cli.Interrupted(err)
	}
	for _, p := range points {
		if err == nil && p.Result != report.Valid {
			return cli.Finished(cli.ExitInvalid)
		}
	}
	return err
}

func showSweep(w io.Writer, points []run.SweepPoint, dir string, asJSON bool) error {
	if asJSON {
		return cli.PrintJSON(w, "sweep", points)
	}
	t := cli.NewTable(cli.Row{points[0].Unit, "result", "requests/s", "tokens/s", "good requests/s", "TTFT p50, p99", "TPOT p50, p99", "ITL p99", "latency p50, p99", "failed"})
	for _, p := range points {
		t.AppendRow(cli.Row{p.Load, p.Result, cli.Digits(p.RequestsPerSecond), cli.Digits(p.TokensPerSecond), given("", p.GoodPerSecond),
			given(" ms", p.FirstTokenP50, p.FirstTokenP99), given(" ms", p.PerTokenP50, p.PerTokenP99), given(" ms", p.BetweenP99), given(" ms", p.LatencyP50, p.LatencyP99), p.Failures})
	}
	_, err := fmt.Fprintf(w, "%s\nFor charts: %s and %s\n", t.Render(), filepath.Join(dir, run.SweepCSV), filepath.Join(dir, run.SweepJSON))
	return err
}

// given are numbers as a table shows them, and their unit; a dash where nothing tells them.
func given(unit string, numbers ...*float64) string {
	var list []string
	for _, n := range numbers {
		if n == nil {
			return "–"
		}
		list = append(list, cli.Digits(*n))
	}
	return strings.Join(list, ", ") + unit
}
