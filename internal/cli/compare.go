package cli

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/mlperf-go/mlperf/internal/download"
	"github.com/mlperf-go/mlperf/internal/report"
	"github.com/mlperf-go/mlperf/internal/report/charts"
	"github.com/mlperf-go/mlperf/internal/report/compare"
	"github.com/mlperf-go/mlperf/internal/report/page"
	"github.com/mlperf-go/mlperf/internal/report/published"
	"github.com/mlperf-go/mlperf/internal/run"
	"github.com/mlperf-go/mlperf/internal/run/catalogue"
	"github.com/mlperf-go/mlperf/internal/run/outdir"
)

// compareFlags are the flags of compare.
type compareFlags struct {
	format, output string
	failIf         []string
	reproduces     bool
	anyway, asJSON bool
	repeat         int

	published, system string
	all               bool
}

func newCompare() *cobra.Command {
	o := &compareFlags{}
	formats := []string{"table", "json", "csv", "markdown", "html"}
	cmd := &cobra.Command{
		Use:   "compare [BASE… -- NEW…]",
		Short: "Compare two sets of runs: what changed, and how sure that is",
		Long: `Compare runs before and after a change, benchmark by benchmark. BASE and NEW are folders of
runs, folders that contain runs, or patterns. With exactly two, -- is not needed; flags come
before it. Without folders it compares the newest run under results with the one before it of
the same model, scenario and mode. Other differences (settings, machine, rules, limitations) are
listed first.

Each change has a 95 % interval. ~ means no change beyond noise. Queries
wait for each other, so one run is worth far fewer independent measurements than it has
queries; and one run of each says nothing about run-to-run variation. For that make five
or more of each in turns: --repeat 5 does.

--fail-if 'p99>+5%' ends with status 5 if a change is beyond that with its whole interval,
and only with five or more repeats in turns (accuracy: on the same samples). Each limit gets
FAIL, ok, or ? for not enough data. It needs runs of the same machine, rules and limitations
(--anyway goes on without), and at least one that has the metric.

--published puts one run beside results that MLCommons has published, of its benchmark and
scenario in the closed division: mlperf download dataset published-results gets those of v5.1,
--published=FILE takes others in the form of its summary_results.json. It refuses runs whose
result is another quantity: own models, easier bounds or percentiles, precisions below FP32
without their accuracy.

Metrics: mean, p50, p90, p95, p97, p99, p99.9 of latency, the same of time to first token
and per output token (ttft p99, tpot p99), samples/s, metric, accuracy (in points).

Exit status: 0 done, 1 error, 2 usage, 5 a --fail-if is met or --reproduces is not.`,
		Example: `  mlperf compare results/fp32 results/int8
  mlperf compare --repeat 5 results/fp32 results/int8
  mlperf compare --fail-if 'p99>+5%' --fail-if 'accuracy<-0.5%' base/* -- new/*
  mlperf compare --format html --output compare.html old new
  mlperf compare --published --system h100 results/resnet50/offline/performance/latest`,
		Args: arguments(0, 1000),
		RunE: func(cmd *cobra.Command, args []string) (err error) {
			if o.format, err = chosenFormat(cmd.Flags(), formats, o.format, o.asJSON); err != nil {
				return err
			}
			if o.published != "" {
				return o.beside(cmd, args)
			}
			if err := refuseFlags(cmd.Flags(), "is of --published, which is not given", "system", "all"); err != nil {
				return err
			}
			var limits []compare.Limit
			for _, text := range o.failIf {
				l, err := compare.ParseLimit(text)
				if err != nil {
					return usage("--fail-if %w", err)
				}
				limits = append(limits, l)
			}
			if len(args) == 0 {
				if args, err = lastTwo(cmd); err != nil {
					return err
				}
			}
			at := cmd.ArgsLenAtDash()
			switch {
			case at < 0 && len(args) == 2:
				at = 1
			case at < 0:
				return usage("compare: %d folders: put -- between those of the base and the new ones", len(args))
			case at == 0 || at == len(args):
				return usage("compare: give folders before and after --")
			case slices.ContainsFunc(args[at:], func(a string) bool { return strings.HasPrefix(a, "--") }):
				return usage("compare: %s: flags come before the folders and --", strings.Join(args[at:], " "))
			}
			before, after := args[:at], args[at:]
			switch {
			case o.repeat < 0:
				return usage("--repeat is %d: must be a number of runs", o.repeat)
			case o.repeat > 0 && len(args) != 2:
				return usage("--repeat repeats one run with one other: give two folders")
			case o.repeat > 0:
				if before, after, err = o.inTurns(cmd, args); err != nil {
					return err
				}
			}
			base, err := compared(cmd, before)
			if err != nil {
				return err
			}
			new, err := compared(cmd, after)
			if err != nil {
				return err
			}
			list, left, err := compare.Of(base, new)
			for _, text := range left {
				_ = say(cmd.ErrOrStderr(), "left out: %s\n", text)
			}
			if err != nil {
				return err
			}
			if err := o.print(cmd, list); err != nil {
				return err
			}
			if err := o.judge(cmd.ErrOrStderr(), list, limits); err != nil {
				return err
			}
			return o.judgeReproduction(cmd.ErrOrStderr(), list)
		},
	}
	f := cmd.Flags()
	defineFormat(cmd, &o.format, formats)
	f.StringVar(&o.output, "output", "", "file to write (default: standard output; html: compare.html)")
	f.StringArrayVar(&o.failIf, "fail-if", nil, "metric and change beyond which to end with status 5, e.g. 'p99>+5%' (repeatable)")
	f.BoolVar(&o.reproduces, "reproduces", false,
		"end with status 5 unless the new result is within 5 % of the old one, as the rules of MLPerf Mobile ask of a reproduction")
	f.BoolVar(&o.asJSON, "json", false, "print as JSON, with the id of its form")
	f.IntVar(&o.repeat, "repeat", 0, "repeat both runs so many `times` in turns, with their own command lines, and compare those")
	f.StringVar(&o.published, "published", "", "put one run beside published results: those that were downloaded, or of `file`s")
	f.Lookup("published").NoOptDefVal = run.Auto
	f.StringVar(&o.system, "system", "", "--published: only results with this `text` in submitter, system, chip, suite or round, in any case")
	f.BoolVar(&o.all, "all", false, "--published: all results, not the fastest, the slowest and some between")
	f.BoolVar(&o.anyway, "anyway", false, "judge --fail-if and --reproduces even if machine, rules or limitations differ")
	return cmd
}

// beside puts a run beside published results.
func (o *compareFlags) beside(cmd *cobra.Command, args []string) error {
	if err := refuseFlags(cmd.Flags(), "is of runs against runs, not of --published", "fail-if", "reproduces", "repeat", "anyway"); err != nil {
		return err
	}
	files := strings.Split(o.published, ",")
	if o.published == run.Auto {
		_, item, err := lookupItem(download.Dataset, "published-results")
		if err != nil {
			return err
		}
		dir, err := item.UsualDir()
		if err != nil {
			return err
		}
		files = []string{dir}
	}
	list, err := published.Read(files...)
	if errors.Is(err, fs.ErrNotExist) && o.published == run.Auto {
		return errors.Join(errors.New("no published results are on this machine"), errors.New("Run: mlperf download dataset published-results"))
	}
	if err != nil {
		return err
	}
	if len(args) == 0 {
		folder, err := newestRun(cmd, "run of performance", "mlperf run", func(r *report.Results) bool { return r.Performance != nil })
		if err != nil {
			return err
		}
		args = []string{folder}
	}
	runs, err := readRuns(cmd, args)
	if err != nil {
		return err
	}
	if len(runs) != 1 {
		return usage("compare --published takes one run: %s has %d", strings.Join(args, " "), len(runs))
	}
	others, _, _ := report.Collect([]string{outdir.Root}, report.Read) // it need not exist
	accuracy := report.Lines(runs, others, 0)[0].Accuracy
	s, err := published.Against(runs[0], accuracy, list, func(name string) bool { return catalogue.NameOf(name) == runs[0].Results.Model })
	if err != nil {
		return err
	}
	if o.system != "" {
		if err := s.Only(o.system); err != nil {
			return fmt.Errorf("--system: %w", err)
		}
	}
	if !o.all {
		s.Shorten()
	}
	name, fill := o.output, s.Text
	switch o.format {
	case "json":
		fill = func(w io.Writer) error { return printJSON(w, "published", s) }
	case "csv":
		fill = s.CSV
	case "markdown":
		fill = s.Markdown
	case "html":
		if name, err = pageName(name, "compare.html"); err != nil {
			return err
		}
		fill = func(w io.Writer) error { return page.Published(w, s, program()) }
	}
	return writeOutput(cmd, name, fill)
}

// inTurns repeats two runs in turns, and returns the folders of the repeats.
func (o *compareFlags) inTurns(cmd *cobra.Command, args []string) (base, new []string, err error) {
	program, err := os.Executable()
	if err != nil {
		return nil, nil, err
	}
	root, err := outdir.New(filepath.Join(outdir.Root, "compare", time.Now().Format("20060102-150405")))
	if err != nil {
		return nil, nil, err
	}
	folders := [2]string{filepath.Join(root, "base"), filepath.Join(root, "new")}
	for i := range o.repeat {
		for side, folder := range args {
			r, err := report.Read(folder)
			if err != nil {
				return nil, nil, err
			}
			if len(r.Command) < 2 || r.Command[0] != "mlperf" {
				return nil, nil, fmt.Errorf("%s does not have the command line of its run", folder)
			}
			line := withFlag(withFlag(r.Command[1:], "output", filepath.Join(folders[side], strconv.Itoa(i+1))), "no-report", "")
			_ = say(cmd.ErrOrStderr(), "repeat %d of %d: mlperf %s\n", i+1, o.repeat, report.CommandLine(line))
			again := exec.CommandContext(cmd.Context(), program, line...)
			again.Stderr = cmd.ErrOrStderr()
			again.Cancel = func() error { return again.Process.Signal(os.Interrupt) }
			err = again.Run()
			var exit *exec.ExitError
			if errors.As(err, &exit) && (exit.ExitCode() == ExitInvalid || exit.ExitCode() == ExitInaccurate) { // a result all the same
				err = nil
			}
			if err != nil {
				return nil, nil, fmt.Errorf("repeating %s: %w", folder, err)
			}
		}
	}
	return folders[:1], folders[1:], nil
}

// lastTwo are the folders of the newest run and of the one before it of the same benchmark, the older first.
func lastTwo(cmd *cobra.Command) ([]string, error) {
	var newest *report.Results
	same := newestRuns(func(*report.Results) bool { return true })
	if len(same) > 0 {
		newest = same[0].Results
	}
	same = slices.DeleteFunc(same, func(r report.Run) bool {
		return r.Results.Model != newest.Model || r.Results.ScenarioName() != newest.ScenarioName() || r.Results.Mode != newest.Mode
	})
	if len(same) < 2 {
		return nil, usage("compare: %s has no two runs of one benchmark: give BASE and NEW", outdir.Root)
	}
	_ = say(cmd.ErrOrStderr(), "the newest two runs: %s, %s\n", same[1].Folder, same[0].Folder)
	return []string{same[1].Folder, same[0].Folder}, nil
}

func (o *compareFlags) print(cmd *cobra.Command, list []compare.Comparison) error {
	name, err := o.output, error(nil)
	fill := func(w io.Writer) error {
		var b strings.Builder
		return errors.Join(compare.Text(&b, list), sayText(w, b.String()))
	}
	switch o.format {
	case "json":
		fill = func(w io.Writer) error { return printJSON(w, "compare", list) }
	case "csv":
		fill = func(w io.Writer) error { return compare.CSV(w, list) }
	case "markdown":
		fill = func(w io.Writer) error { return compare.Markdown(w, list) }
	case "html":
		if name, err = pageName(name, "compare.html"); err != nil {
			return err
		}
		fill = func(w io.Writer) error { return page.Compare(w, list, program()) }
	}
	return writeOutput(cmd, name, fill)
}

// judge prints the outcome of each limit, and fails if one is exceeded.
func (o *compareFlags) judge(w io.Writer, list []compare.Comparison, limits []compare.Limit) error {
	exceeded := false
	for _, l := range limits {
		if !slices.ContainsFunc(list, l.Of) {
			return fmt.Errorf("--fail-if %s: none of the compared runs has %s, so it can never fail", l, l.Metric)
		}
		for _, c := range list {
			if err := o.alike(c); err != nil {
				return fmt.Errorf("--fail-if %s: %w", l, err)
			}
			check := l.Check(c)
			word := "ok"
			switch {
			case check.Met:
				word, exceeded = "FAIL", true
			case check.Open:
				word = "?" // as in the table: not enough data
			}
			_ = say(w, "%s %s: %s: %s\n", word, l, c.Title(), check.Reason)
		}
	}
	if exceeded {
		return finished(ExitChanged)
	}
	return nil
}

// compared reads the runs of folders, which may be patterns, with their charts.
func compared(cmd *cobra.Command, args []string) (list []compare.Run, err error) {
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
	for _, r := range runs {
		c, err := charts.Read(r.Folder)
		if err != nil {
			_ = say(cmd.ErrOrStderr(), "without charts: %v\n", err)
		}
		list = append(list, compare.Run{Run: r, Charts: c})
	}
	return list, nil
}

// alike refuses runs that are not of the same machine and rules.
func (o *compareFlags) alike(c compare.Comparison) error {
	var keys []string
	for _, d := range c.Unlike() {
		keys = append(keys, d.Key)
	}
	if len(keys) > 0 && !o.anyway {
		return fmt.Errorf("%s: the runs differ in %s; --anyway judges them all the same", c.Title(), strings.Join(keys, ", "))
	}
	return nil
}

// judgeReproduction prints whether the results are reproduced, and fails if one is not.
func (o *compareFlags) judgeReproduction(w io.Writer, list []compare.Comparison) (err error) {
	if !o.reproduces {
		return nil
	}
	for _, c := range list {
		if err := o.alike(c); err != nil {
			return fmt.Errorf("--reproduces: %w", err)
		}
		yes, text, wrong := c.Reproduces()
		word := "reproduced"
		switch {
		case wrong != nil:
			return fmt.Errorf("--reproduces: %s: %w", c.Title(), wrong)
		case !yes:
			word, err = "NOT reproduced", finished(ExitChanged)
		}
		_ = say(w, "%s: %s: %s\n", word, c.Title(), text)
	}
	return err
}
