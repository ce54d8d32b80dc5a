package results

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/mlperf-go/mlperf/internal/cli"
	"github.com/mlperf-go/mlperf/internal/report/charts"
	"github.com/mlperf-go/mlperf/internal/report/compare"
	"github.com/mlperf-go/mlperf/internal/report/page"
)

// compareFormats are the values of --format.
var compareFormats = []string{"table", "json", "csv", "markdown", "html"}

// A compareRequest is what the command line of compare asks for.
type compareRequest struct {
	format, output string
	failIf         []string
	anyway, asJSON bool
}

func newCompare() *cobra.Command {
	q := compareRequest{format: "table"}
	cmd := &cobra.Command{
		Use:   "compare BASE… -- NEW…",
		Short: "Compare two sets of runs: what changed, and how sure that is",
		Long: `Compare runs before and after a change, benchmark by benchmark. BASE and NEW are folders of
runs, or folders with such below, or patterns; of just two, no -- is needed, and flags come
before it. What else differs (settings, machine, rules, caveats) is listed first.

Each change has a 95 % interval. ~ says that there is no change beyond noise, ? that nobody
can tell from these runs. Queries wait for each other, so one run is worth far fewer
independent measurements than it has queries; and one run each says nothing of what changes
from run to run. For that make five or more of each in turns: the command prints how.

--fail-if 'p99>+5%' ends with status 5 if a change is beyond that, wholly, interval and all,
and only with five or more repeats in turns (accuracy: on the same samples). Of each limit it
says FAIL, ok, or ? if that cannot be told from these runs. It wants runs of the same machine,
rules and caveats, which --anyway goes on without, and at least one that has the metric.

Metrics: mean, p50, p90, p95, p97, p99, p99.9 of latency, the same of time to first token
and per output token (ttft p99, tpot p99), samples/s, metric, accuracy (in points).

Exit status: 0 done, 1 error, 2 usage, 5 a --fail-if is met.`,
		Example: `  mlperf compare results/fp32 results/int8
  mlperf compare --fail-if 'p99>+5%' --fail-if 'accuracy<-0.5%' base/* -- new/*
  mlperf compare --format html --output compare.html old new`,
		Args: cli.Arguments(2, 1000),
		RunE: func(cmd *cobra.Command, args []string) error { return q.run(cmd, args) },
	}
	f := cmd.Flags()
	f.StringVar(&q.format, "format", q.format, strings.Join(compareFormats, ", "))
	f.StringVar(&q.output, "output", "", "file to write (default: standard output; html: compare.html)")
	f.StringArrayVar(&q.failIf, "fail-if", nil, "metric and change beyond which to end with status 5, e.g. 'p99>+5%' (repeatable)")
	f.BoolVar(&q.asJSON, "json", false, "print as JSON, with the id of its form")
	f.BoolVar(&q.anyway, "anyway", false, "judge --fail-if even if machine, rules or caveats differ")
	cli.Completes(cmd, "format", compareFormats...)
	return cmd
}

func (q *compareRequest) run(cmd *cobra.Command, args []string) error {
	var err error
	if q.format, err = cli.FormatOf(cmd.Flags(), q.format, q.asJSON); err != nil {
		return err
	}
	if !slices.Contains(compareFormats, q.format) {
		return cli.Usage("unknown format %q, want %s", q.format, strings.Join(compareFormats, ", "))
	}
	var limits []compare.Limit
	for _, text := range q.failIf {
		l, err := compare.ParseLimit(text)
		if err != nil {
			return cli.Usage("--fail-if %w", err)
		}
		limits = append(limits, l)
	}
	base, new, err := sides(cmd, args)
	if err != nil {
		return err
	}
	list, left, err := compare.Of(base, new)
	for _, text := range left {
		_ = cli.Say(cmd.ErrOrStderr(), "left out: %s\n", text)
	}
	if err != nil {
		return err
	}
	name, fill := "", func(w io.Writer) error {
		var b strings.Builder
		return errors.Join(compare.Text(&b, list), cli.Say(w, "%s", b.String()))
	}
	switch q.format {
	case "json":
		fill = func(w io.Writer) error { return cli.PrintJSON(w, "compare", list) }
	case "csv":
		fill = func(w io.Writer) error { return compare.CSV(w, list) }
	case "markdown":
		fill = func(w io.Writer) error { return compare.Markdown(w, list) }
	case "html":
		name, fill = "compare.html", func(w io.Writer) error { return page.Compare(w, list, cli.Program()) }
	}
	if err := write(cmd, cmp.Or(q.output, name), fill); err != nil {
		return err
	}
	return q.judge(cmd, list, limits)
}

// judge says what became of each limit, and fails if one is exceeded.
func (q *compareRequest) judge(cmd *cobra.Command, list []compare.Comparison, limits []compare.Limit) error {
	exceeded := false
	for _, l := range limits {
		if !slices.ContainsFunc(list, l.Of) {
			return fmt.Errorf("--fail-if %s: none of the runs that were compared has %s, so it can never fail", l, l.Metric)
		}
		for _, c := range list {
			var keys []string
			for _, d := range c.Unlike() {
				keys = append(keys, d.Key)
			}
			if len(keys) > 0 && !q.anyway {
				return fmt.Errorf("--fail-if %s: %s: the runs differ in %s; --anyway judges them all the same", l, c.Title(), strings.Join(keys, ", "))
			}
			o := l.Check(c)
			word := "ok"
			switch {
			case o.Met:
				word, exceeded = "FAIL", true
			case o.Open:
				word = "?" // as in the table: not enough data
			}
			_ = cli.Say(cmd.ErrOrStderr(), "%s %s: %s: %s\n", word, l, c.Title(), o.Reason)
		}
	}
	if exceeded {
		return cli.Finished(cli.ExitChanged)
	}
	return nil
}

// sides reads the runs of both.
func sides(cmd *cobra.Command, args []string) (base, new []compare.Run, err error) {
	at := cmd.ArgsLenAtDash()
	switch {
	case at < 0 && len(args) == 2:
		at = 1
	case at < 0:
		return nil, nil, cli.Usage("compare: %d folders: want -- between those of the base and the new ones", len(args))
	case at == 0 || at == len(args):
		return nil, nil, cli.Usage("compare: want folders before and after --")
	case slices.ContainsFunc(args[at:], func(a string) bool { return strings.HasPrefix(a, "--") }):
		return nil, nil, cli.Usage("compare: %s: flags come before the folders and --", strings.Join(args[at:], " "))
	}
	if base, err = side(cmd, args[:at]); err != nil {
		return nil, nil, err
	}
	new, err = side(cmd, args[at:])
	return base, new, err
}

// side reads the runs of folders, which may be patterns, with their charts.
func side(cmd *cobra.Command, args []string) ([]compare.Run, error) {
	var folders []string
	for _, a := range args {
		found, err := filepath.Glob(a)
		if err != nil || len(found) == 0 {
			found = []string{a}
		}
		folders = append(folders, found...)
	}
	runs, err := readRuns(cmd, folders)
	if err != nil {
		return nil, err
	}
	var list []compare.Run
	for _, r := range runs {
		c, err := charts.Read(r.Folder)
		if err != nil {
			_ = cli.Say(cmd.ErrOrStderr(), "without charts: %v\n", err)
		}
		list = append(list, compare.Run{Run: r, Charts: c})
	}
	return list, nil
}
