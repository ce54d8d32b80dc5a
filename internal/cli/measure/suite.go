package measure

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/mlperf-go/mlperf/internal/cli"
	"github.com/mlperf-go/mlperf/internal/cli/progress"
	"github.com/mlperf-go/mlperf/internal/cli/request"
	"github.com/mlperf-go/mlperf/internal/fileio"
	"github.com/mlperf-go/mlperf/internal/report"
	"github.com/mlperf-go/mlperf/internal/report/page"
	"github.com/mlperf-go/mlperf/internal/run"
	"github.com/mlperf-go/mlperf/internal/suite"
)

func newSuite() *cobra.Command {
	cmd := &cobra.Command{
		Use:     "suite",
		Short:   "Run a list of benchmarks under the run rules of a suite: v0.5, edge, datacenter, mobile, mlmark",
		Example: "  mlperf suite list\n  mlperf suite run mlmark --quick",
		Args:    cli.NoVerb,
		RunE:    func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	cmd.AddCommand(newSuiteList(), newSuiteShow(), newSuiteRun())
	return cmd
}

// suiteFlags are the flags of suite run.
type suiteFlags struct {
	request.Flags
	suite    suite.Request
	cooldown time.Duration
	asJSON   bool
}

func newSuiteRun() *cobra.Command {
	o := &suiteFlags{}
	output, resume := "", false
	cmd := &cobra.Command{
		Use:   "run SUITE",
		Short: "Run a suite: v0.5, edge, datacenter, mobile, mlmark, or a YAML file",
		Long: `Run the benchmarks of a suite in their order: of each the accuracy first, then the speed,
before which the machine cools down if the suite says so. A run that fails is said, and the
next one follows. How long it takes is said before, and after every run.

After Ctrl-C, or if the machine went down, --resume goes on: what has results of the same
settings, model, data and program is kept.

--quick runs the whole suite in minutes; Server gets a latency bound then that this machine
can keep, MultiStream of the first rounds an interval, and accuracy is measured once per model.

Exit status: 0 all VALID and accurate, 1 a run failed, 2 usage, 3 a run is INVALID,
4 an accuracy is below its target or not known, 130 interrupted.`,
		Example: "  mlperf suite run v0.5 --quick\n  mlperf suite run edge --only resnet50 --output night\n  mlperf suite run edge --only resnet50 --output night --resume",
		Args:    cli.Arguments(1, 1),
		RunE: func(cmd *cobra.Command, args []string) error {
			o.suite.Resume = resume
			return o.run(cmd, args[0], output)
		},
	}
	o.define(cmd.Flags())
	f := cmd.Flags()
	f.StringVar(&output, "output", "", "folder for all runs (default results/suites/<suite>/<time>)")
	f.BoolVar(&resume, "resume", false, "go on with an interrupted suite: that in --output, or the newest")
	return cmd
}

func (o *suiteFlags) define(f *pflag.FlagSet) {
	f.BoolVar(&o.Quick, "quick", false, "about ten seconds of traffic for each run, no cool-down; not a result under the rules")
	f.StringSliceVar(&o.suite.Only, "only", nil, "only these benchmarks, as MODEL or MODEL/SCENARIO, separated by commas")
	f.BoolVar(&o.suite.NoAccuracy, "no-accuracy", false, "leave the accuracy runs out")
	cli.DurationVar(f, &o.cooldown, "cooldown", 0, "how long the machine cools down before a performance run (default: as the suite says)")
	f.StringVar(&o.Rules, "rules", "", "rule set (default: the suite's)")
	f.StringVar(&o.Division, "division", "", "closed, open or network (default: the suite's)")
	f.StringVar(&o.UserConf, "user-conf", "", "user.conf; ./user.conf is used if it exists")
	o.DefineSet(f, "a setting of conf files for all runs, as key=value (repeatable)")
	f.StringVar(&o.Precision, "precision", "", "fp32, fp16 or int8, for benchmarks of which the suite does not say it")
	f.StringVar(&o.ModelPath, "model-path", "", "ONNX file, for a suite of one model")
	f.StringVar(&o.DatasetPath, "dataset-path", "", "folder of the data set, for a suite of one data set")
	f.IntVar(&o.Count, "count", 0, "use only the first N samples of the data sets")
	f.BoolVar(&o.FullSize, "full-size", false, "built-in models at their real size where the default has fewer layers or rows")
	f.IntVar(&o.Instances, "instances", 0, "workers that run the model at once; 0: chosen for the scenario")
	f.StringVar(&o.Profile, "profile", "", "auto: the profiles that mlperf tune found")
	f.StringVar(&o.Power, "power", "", "read the energy that each run takes: auto, rapl, nvml, ptd:HOST:PORT or file:CSV")
	cli.JSONFlag(f, &o.asJSON)
	request.DefineEngine(f, &o.Engine)
	o.DefineBackend(f)
}

// plan makes the plan of a suite in a folder.
func (o *suiteFlags) plan(flags *pflag.FlagSet, s *suite.Suite, folder string) (*suite.Plan, error) {
	base, err := o.Build(flags)
	if err != nil {
		return nil, err
	}
	o.suite.Base, o.suite.Output, o.suite.Command = base, folder, commandOf(flags)
	if flags.Changed("cooldown") {
		o.suite.Cooldown = &o.cooldown
	}
	// There need not be any results yet.
	o.suite.Earlier, _, _ = report.Collect([]string{run.KeptRuns}, report.Read)
	return suite.NewPlan(s, o.suite)
}

func (o *suiteFlags) run(cmd *cobra.Command, name, folder string) error {
	s, err := suite.Load(name)
	if err != nil {
		return err
	}
	if folder == "" {
		if folder, err = o.folder(cmd.ErrOrStderr(), s); err != nil {
			return err
		}
	}
	plan, err := o.plan(cmd.Flags(), s, folder)
	if err != nil {
		return resumable(err)
	}
	display := cli.NewDisplay(cmd)
	defer display.Done()
	display.Note(fmt.Sprintf("suite %s: %v", s.Name, plan.Estimate()))
	outcome, err := plan.Run(cmd.Context(), display)
	display.Done()
	if outcome != nil {
		err = errors.Join(err, o.show(cmd.OutOrStdout(), outcome), writePage(outcome.Folder))
	}
	return exitOfSuite(outcome, resumable(err))
}

// folder chooses the folder of a suite, and says if there is one to go on with.
func (o *suiteFlags) folder(w io.Writer, s *suite.Suite) (string, error) {
	unfinished, err := suite.UnfinishedFolder(s.Name, o.Quick)
	if o.suite.Resume {
		return unfinished, err
	}
	if err == nil {
		fmt.Fprintf(w, "an unfinished run of this suite is in %s: --resume goes on with it; this is a new one\n", unfinished)
	}
	return suite.NewFolder(s.Name, o.Quick), nil
}

// resumable names the flag that goes on with a suite.
func resumable(err error) error {
	var exists *suite.ExistsError
	if errors.As(err, &exists) {
		return fmt.Errorf("%w: --resume goes on with it, --output chooses another folder", err)
	}
	return err
}

func (o *suiteFlags) show(w io.Writer, out *suite.Outcome) error {
	if o.asJSON {
		return report.JSON(w, out)
	}
	paint := func(verdict string) string { return verdict }
	if f, ok := w.(*os.File); ok {
		paint = func(verdict string) string { return progress.Verdict(f, verdict) }
	}
	if err := out.Write(w, paint); err != nil {
		return err
	}
	fmt.Fprintf(w, "Logs and results: %s, as a page: %s\n", out.Folder, filepath.Join(out.Folder, pageFile))
	if out.Interrupted {
		goOn := withFlag(withFlag(os.Args[1:], "output", out.Folder), "resume", "")
		fmt.Fprintf(w, "To go on: mlperf %s\n", report.CommandLine(goOn))
	}
	return nil
}

// pageFile is the page about all runs of a suite, in its folder.
const pageFile = "report.html"

// writePage writes the page about all runs below a folder.
func writePage(dir string) error {
	runs, _, err := report.Collect([]string{dir}, report.Read)
	if err != nil || len(runs) == 0 {
		return err
	}
	return fileio.WriteAtomic(filepath.Join(dir, pageFile), 0o644, func(w io.Writer) error {
		return page.Runs(w, report.Lines(runs, nil, 0), runs, cli.Program())
	})
}

// exitOfSuite turns the outcome of a suite into the exit status.
func exitOfSuite(o *suite.Outcome, err error) error {
	if errors.Is(err, cli.ErrInterrupted) {
		return cli.Interrupted(err)
	}
	if err != nil {
		return err
	}
	none, invalid, inaccurate := o.Failures()
	switch {
	case none > 0:
		return cli.Finished(cli.ExitError)
	case invalid > 0:
		return cli.Finished(cli.ExitInvalid)
	case inaccurate > 0:
		return cli.Finished(cli.ExitInaccurate)
	}
	return nil
}
