package results

import (
	"fmt"
	"io"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/mlperf-go/mlperf/internal/charts"
	"github.com/mlperf-go/mlperf/internal/cli"
	"github.com/mlperf-go/mlperf/internal/compare"
	"github.com/mlperf-go/mlperf/internal/foreign"
	"github.com/mlperf-go/mlperf/internal/page"
	"github.com/mlperf-go/mlperf/internal/report"
)

// compareFormats are the values of --format.
var compareFormats = []string{"table", "json", "csv", "markdown", formatHTML}

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
	limits, err := q.check()
	if err != nil {
		return err
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
	names := map[string]string{formatHTML: "compare.html"} // other formats go to standard output
	if err := (reportRequest{output: q.output}).write(cmd, names[q.format], func(w io.Writer) error { return q.print(w, list) }); err != nil {
		return err
	}
	return q.judge(cmd, list, limits)
}

// check finds what is no comparison, and returns the limits of others.
func (q *compareRequest) check() ([]compare.Limit, error) {
	if !slices.Contains(compareFormats, q.format) {
		return nil, cli.Usage("unknown format %q, want %s", q.format, strings.Join(compareFormats, ", "))
	}
	return q.limits()
}

// limits reads the values of --fail-if.
func (q *compareRequest) limits() ([]compare.Limit, error) {
	var list []compare.Limit
	for _, text := range q.failIf {
		l, err := compare.ParseLimit(text)
		if err != nil {
			return nil, cli.Usage("--fail-if %w", err)
		}
		list = append(list, l)
	}
	return list, nil
}

func (q *compareRequest) print(w io.Writer, list []compare.Comparison) error {
	switch q.format {
	case "json":
		return cli.PrintJSON(w, "compare", list)
	case "csv":
		return compare.CSV(w, list)
	case "markdown":
		return compare.Markdown(w, list)
	case formatHTML:
		return page.Compare(w, list, cli.Program())
	}
	var b strings.Builder
	if err := compare.Text(&b, list); err != nil {
		return err
	}
	return cli.Say(w, "%s", b.String())
}

// judge says what became of each limit, and fails if one is exceeded.
func (q *compareRequest) judge(cmd *cobra.Command, list []compare.Comparison, limits []compare.Limit) error {
	exceeded := false
	for _, l := range limits {
		if !slices.ContainsFunc(list, l.Of) {
			return fmt.Errorf("--fail-if %s: none of the runs that were compared has %s, so it can never fail", l, l.Metric)
		}
		for _, c := range list {
			if keys := differing(c); len(keys) > 0 && !q.anyway {
				return fmt.Errorf("--fail-if %s: %s: the runs differ in %s; --anyway judges them all the same", l, c.Title(), strings.Join(keys, ", "))
			}
			o := l.Check(c)
			exceeded = exceeded || o.Met
			_ = cli.Say(cmd.ErrOrStderr(), "%s %s: %s: %s\n", word(o), l, c.Title(), o.Reason)
		}
	}
	if exceeded {
		return cli.Finished(cli.ExitChanged)
	}
	return nil
}

// word is what became of a limit, in short.
func word(o compare.Outcome) string {
	switch {
	case o.Met:
		return "FAIL"
	case o.Open:
		return "?" // as in the table: nobody can tell from these runs
	}
	return "ok"
}

// differing names in what runs differ that makes them unlike.
func differing(c compare.Comparison) (keys []string) {
	for _, d := range c.Unlike() {
		keys = append(keys, d.Key)
	}
	return keys
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

// foldersOf are the folders that arguments name, which need not be patterns.
func foldersOf(args []string) (folders []string) {
	for _, a := range args {
		found, err := filepath.Glob(a)
		if err != nil || len(found) == 0 {
			found = []string{a}
		}
		folders = append(folders, found...)
	}
	return folders
}

func side(cmd *cobra.Command, args []string) ([]compare.Run, error) {
	runs, problems, err := report.Collect(foldersOf(args), func(dir string) (*report.Results, error) { return foreign.Read(dir, foreign.About{}) })
	if err != nil {
		return nil, err
	}
	for _, p := range problems {
		_ = cli.Say(cmd.ErrOrStderr(), "left out: %v\n", p)
	}
	if len(runs) == 0 {
		return nil, fmt.Errorf("there are no runs below %s", strings.Join(args, ", "))
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
