package cli

import (
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/mlperf-go/mlperf/internal/report"
	"github.com/mlperf-go/mlperf/internal/run"
	"github.com/mlperf-go/mlperf/internal/run/engine"
	"github.com/mlperf-go/mlperf/internal/run/outdir"
	"github.com/mlperf-go/mlperf/internal/suite"
	"github.com/mlperf-go/mlperf/internal/units"
)

func newSuite() *cobra.Command {
	cmd := &cobra.Command{
		Use:     "suite",
		Short:   "Run a list of benchmarks under the run rules of a suite: v0.5, edge, datacenter, mobile, mlmark",
		Example: "  mlperf suite list\n  mlperf suite run mlmark --quick",
	}
	cmd.AddCommand(newSuiteList(), newSuiteShow(), newSuiteRun())
	return cmd
}

// suiteFlags are the flags of suite run and suite show.
type suiteFlags struct {
	requestFlags
	suite    suite.Request
	part     string
	cooldown time.Duration
	asJSON   bool
}

func (o *suiteFlags) define(f *pflag.FlagSet) {
	f.BoolVar(&o.Quick, "quick", false, "about ten seconds of traffic for each run, no cool-down; not rule-compliant")
	f.StringSliceVar(&o.suite.Only, "only", nil, "only these benchmarks, as MODEL or MODEL/SCENARIO, separated by commas")
	f.StringVar(&o.part, "part", "", "of several machines: run the models of one of them, as `INDEX/OF`, 0/4 to 3/4 (docs/clusters.md)")
	f.BoolVar(&o.suite.NoAccuracy, "no-accuracy", false, "leave the accuracy runs out")
	durationVar(f, &o.cooldown, "cooldown", 0, "how long the machine cools down before a performance run (default: as the suite says)")
	f.StringVar(&o.Rules, "rules", "", "rule set (default: the suite's)")
	f.StringVar(&o.Division, "division", "", "closed, open or network (default: the suite's)")
	f.StringVar(&o.UserConf, "user-conf", "", "user.conf; ./user.conf is used if it exists")
	o.defineSet(f, "a setting of conf files for all runs, as key=value (repeatable)")
	f.StringVar(&o.Precision, "precision", "", "fp32, fp16 or int8, for benchmarks to which the suite gives none")
	f.StringVar(&o.ModelPath, "model-path", "", "ONNX file, for a suite of one model")
	f.StringVar(&o.DatasetPath, "dataset-path", "", "folder of the data set, for a suite of one data set")
	f.IntVar(&o.Count, "count", 0, "use only the first N samples of the data sets")
	f.BoolVar(&o.FullSize, "full-size", false, "built-in models at their real size where the default has fewer layers or rows")
	f.IntVar(&o.Instances, "instances", 0, "workers that run the model at once; 0: chosen for the scenario")
	f.StringVar(&o.Profile, "profile", "", "auto: the profiles that mlperf tune found")
	f.StringVar(&o.Power, "power", "", "read the energy that each run takes: auto, rapl, nvml, ptd:HOST:PORT or file:CSV")
	jsonFlag(f, &o.asJSON)
	defineEngine(f, &o.Engine)
	o.defineBackend(f)
}

// plan makes the plan of a suite in a folder.
func (o *suiteFlags) plan(flags *pflag.FlagSet, s *suite.Suite, folder string) (*suite.Plan, error) {
	base, err := o.build(flags)
	if err != nil {
		return nil, err
	}
	if o.suite.Part, err = suite.ParsePart(o.part); err != nil {
		return nil, err
	}
	base.Engine.Remote.Endpoints, o.suite.Endpoints = endpointsOf(base.Engine.Remote.Endpoints)
	o.suite.Base, o.suite.Output, o.suite.Command = base, folder, stepCommand(flags)
	if flags.Changed("cooldown") {
		o.suite.Cooldown = &o.cooldown
	}
	o.suite.Earlier, _, _ = report.Collect([]string{outdir.Root}, report.Read) // they tell how fast models are; there may be none
	return suite.NewPlan(s, o.suite)
}

// modelEndpoint is the servers of one model of a suite.
var modelEndpoint = regexp.MustCompile(`^([A-Za-z0-9._-]+)=(.+)$`)

// endpointsOf takes those of single models, MODEL=URL, out of a list of endpoints.
func endpointsOf(list []string) (all []string, of map[string][]string) {
	of = map[string][]string{}
	for _, text := range list {
		if m := modelEndpoint.FindStringSubmatch(text); m != nil {
			of[m[1]] = append(of[m[1]], m[2])
		} else {
			all = append(all, text)
		}
	}
	return all, of
}

func newSuiteList() *cobra.Command {
	asJSON := false
	cmd := &cobra.Command{
		Use:     "list",
		Short:   "List the suites that are built in",
		Example: "  mlperf suite list",
		Args:    arguments(0, 0),
		RunE:    func(cmd *cobra.Command, _ []string) error { return listSuites(cmd.OutOrStdout(), asJSON) },
	}
	jsonFlag(cmd.Flags(), &asJSON)
	return cmd
}

func newSuiteShow() *cobra.Command {
	o := &suiteFlags{}
	asYAML := false
	cmd := &cobra.Command{
		Use:   "show SUITE",
		Short: "Show the runs of a suite in their order, and how long they will take",
		Long: `Show the runs of a suite in their order, and how long they will take: as far as earlier
runs in results tell how fast the models are here.

--yaml prints the file of the suite, to make another one from it: suite run takes files too.`,
		Example: "  mlperf suite show v0.5\n  mlperf suite show mobile --yaml",
		Args:    arguments(1, 1),
		RunE: func(cmd *cobra.Command, args []string) error {
			w := cmd.OutOrStdout()
			s, err := suite.Load(args[0])
			if err != nil {
				return err
			}
			if asYAML {
				text, err := s.Format()
				if err == nil {
					_, err = w.Write(text)
				}
				return err
			}
			p, err := o.plan(cmd.Flags(), s, "")
			if err != nil {
				return err
			}
			if o.asJSON {
				return report.JSON(w, map[string]any{"schema": suite.Schema, "suite": p.Suite, "steps": p.Steps, "estimate": p.Estimate()})
			}
			title := s.Name
			if s.Title != "" {
				title += ": " + s.Title
			}
			_ = say(w, "%s, rules %s\n", title, s.Rules)
			var notRun []string
			err = printTable(w, tableRow{"model", "scenario", "run", "time"}, p.Steps, func(s *suite.Step) tableRow {
				took := units.Duration(s.Estimate.Round(time.Second))
				switch {
				case s.State == suite.Unsupported:
					took = "not run"
					notRun = append(notRun, fmt.Sprintf("%s %s: %s", s.Model, s.ScenarioName(), s.Error))
				case s.Guessed:
					took = "≥ " + took
				}
				return tableRow{strings.TrimSpace(s.Model + " " + s.Precision), s.ScenarioName(), s.Mode, took}
			})
			if err == nil {
				_, err = fmt.Fprintf(w, "%v\n", p.Estimate())
			}
			if err == nil && len(notRun) > 0 {
				err = say(w, "Not run:\n")
			}
			for _, why := range notRun {
				_ = say(w, "  %s\n", why)
			}
			return err
		},
	}
	o.define(cmd.Flags())
	cmd.Flags().BoolVar(&asYAML, "yaml", false, "print the file of the suite")
	return cmd
}

func newSuiteRun() *cobra.Command {
	o := &suiteFlags{}
	output := ""
	cmd := &cobra.Command{
		Use:   "run SUITE",
		Short: "Run a suite: v0.5, edge, datacenter, mobile, mlmark, or a YAML file",
		Long: `Run the benchmarks of a suite in their order: the accuracy of each first, then its speed,
before which the machine cools down if the suite says so. Failures are reported; the suite
continues. How long it takes is shown before, and after every run.

--endpoint MODEL=URL asks a server for one benchmark, --endpoint URL for all that only servers of
text answer (llama3.1-405b, deepseek-r1, gpt-oss-120b); the others run here. Benchmarks without
their server are shown with the command that runs them. --backend openai or oip asks servers for
all.

After Ctrl-C, or if the machine went down, --resume goes on: results of the same settings,
model, data and program are kept.

--quick runs the whole suite in minutes; Server then gets a latency bound that this machine
can keep, MultiStream of the first rounds an interval, and accuracy is measured once per model.

Exit status: 0 all VALID and accurate, 1 a run failed, 2 usage, 3 a run is INVALID,
4 an accuracy is below its target or not known, 130 interrupted.`,
		Example: "  mlperf suite run v0.5 --quick\n  mlperf suite run datacenter --endpoint gpt-oss-120b=http://gpu1:8000 --endpoint " +
			"deepseek-r1=http://gpu2:8000\n  mlperf suite run edge --only resnet50 --output night\n  mlperf suite run edge --only " +
			"resnet50 --output night --resume",
		Args: arguments(1, 1),
		RunE: func(cmd *cobra.Command, args []string) error { return o.run(cmd, args[0], output) },
	}
	o.define(cmd.Flags())
	cmd.Flags().StringVar(&output, "output", "", "folder for all runs (default results/suites/<suite>/<time>)")
	cmd.Flags().BoolVar(&o.suite.Resume, "resume", false, "go on with an interrupted suite: that in --output, or the newest")
	return cmd
}

func (o *suiteFlags) run(cmd *cobra.Command, name, folder string) error {
	s, err := suite.Load(name)
	if err != nil {
		return err
	}
	if folder == "" {
		unfinished, err := suite.UnfinishedFolder(s.Name, o.Quick)
		switch {
		case o.suite.Resume && err != nil:
			return err
		case o.suite.Resume:
			folder = unfinished
		default:
			folder = suite.NewFolder(s.Name, o.Quick)
			if err == nil {
				fmt.Fprintf(cmd.ErrOrStderr(), "an unfinished run of this suite is in %s: --resume goes on with it; this is a new one\n", unfinished)
			}
		}
	}
	plan, err := o.plan(cmd.Flags(), s, folder)
	if err != nil {
		return explainExists(err)
	}
	display := newDisplay(cmd)
	defer display.Done()
	display.Note(fmt.Sprintf("suite %s: %v", s.Name, plan.Estimate()))
	out, err := plan.Run(cmd.Context(), display)
	display.Done()
	if out != nil {
		err = errors.Join(err, o.show(cmd.OutOrStdout(), out))
	}
	if errors.Is(err, ErrInterrupted) {
		return interrupted(err)
	}
	if err != nil {
		return explainExists(err)
	}
	return finished(exitOfSuite(out))
}

func exitOfSuite(out *suite.Outcome) int {
	switch failed, invalid, inaccurate := out.Failures(); {
	case failed > 0:
		return ExitError
	case invalid > 0:
		return ExitInvalid
	case inaccurate > 0:
		return ExitInaccurate
	}
	return ExitDone
}

// explainExists names the flag that goes on with a suite.
func explainExists(err error) error {
	if errors.As(err, new(*suite.ExistsError)) {
		return fmt.Errorf("%w: --resume goes on with it, --output chooses another folder", err)
	}
	return err
}

// show prints the outcome of a suite, and writes its page.
func (o *suiteFlags) show(w io.Writer, out *suite.Outcome) error {
	file, err := out.WritePage()
	if o.asJSON {
		return errors.Join(report.JSON(w, out), err)
	}
	err = errors.Join(out.Write(w, func(verdict string) string { return colour(w, verdict) }), err)
	_ = say(w, "Logs and results: %s, as a page: %s\n", out.Folder, file)
	if out.Interrupted {
		_ = say(w, "To go on: mlperf %s\n", report.CommandLine(withFlag(withFlag(os.Args[1:], "output", out.Folder), "resume", "")))
	}
	return err
}

// stepCommand says what makes a run of a suite alone: the flags that the suite was given, and those that follow from the step.
func stepCommand(flags *pflag.FlagSet) func(run.Request) []string {
	// which differ, or are the suite's
	ofSteps := []string{"rules", "division", "precision", "model-path", "dataset-path", "count", "set", "output", "json", "backend", "endpoint"}
	same := givenFlags(flags, newRun().Flags(), ofSteps...)
	atServers := givenFlags(flags, newRun().Flags(), append(ofSteps, "ort-lib", "device")...)
	return func(q run.Request) []string {
		list := []string{"mlperf", "run", "--model", q.Model, "--scenario", q.Scenario}
		count := ""
		if q.Count > 0 {
			count = strconv.Itoa(q.Count)
		}
		for _, a := range [][2]string{
			{"mode", q.Mode}, {"rules", q.Rules}, {"division", q.Division}, {"precision", q.Precision},
			{"model-path", q.ModelPath}, {"dataset-path", q.DatasetPath}, {"count", count},
		} {
			if a[1] != "" {
				list = append(list, "--"+a[0], a[1])
			}
		}
		if q.AutoLatency {
			list = append(list, "--target-latency", autoLatency)
		}
		for _, key := range slices.Sorted(maps.Keys(q.Options)) {
			list = append(list, "--"+strings.ReplaceAll(key, "_", "-")+"="+q.Options[key])
		}
		for _, s := range q.Settings {
			list = append(list, "--set", s.Key+"="+s.Value)
		}
		if q.Engine.Name != engine.ONNXRuntime && q.Engine.Name != "" {
			list = append(list, "--backend", q.Engine.Name)
		}
		if q.Engine.IsRemote() {
			for _, url := range q.Engine.Remote.Endpoints {
				list = append(list, "--endpoint", url)
			}
			return append(list, atServers...)
		}
		return append(list, same...)
	}
}

// givenFlags are the arguments for a verb with known flags that repeat those that another verb was given.
func givenFlags(flags, known *pflag.FlagSet, except ...string) (list []string) {
	flags.VisitAll(func(f *pflag.Flag) {
		if !f.Changed || known.Lookup(f.Name) == nil || slices.Contains(except, f.Name) {
			return
		}
		name := "--" + f.Name
		switch v := f.Value.(type) {
		case *mapFlag:
			for _, key := range slices.Sorted(maps.Keys(*v)) {
				list = append(list, name, key+"="+(*v)[key])
			}
		case pflag.SliceValue:
			for _, one := range v.GetSlice() {
				list = append(list, name, one)
			}
		default:
			switch {
			case v.Type() != "bool":
				list = append(list, name, v.String())
			case v.String() == "true":
				list = append(list, name)
			default:
				list = append(list, name+"=false")
			}
		}
	})
	return list
}
