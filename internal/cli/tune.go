package cli

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/mlperf-go/mlperf/internal/cli/progress"
	"github.com/mlperf-go/mlperf/internal/report"
	"github.com/mlperf-go/mlperf/internal/report/tables"
	"github.com/mlperf-go/mlperf/internal/run"
	"github.com/mlperf-go/mlperf/internal/tune"
	"github.com/mlperf-go/mlperf/internal/units"
)

func newTune() *cobra.Command {
	o := &tuneFlags{}
	cmd := &cobra.Command{
		Use:   "tune [MODEL.onnx]",
		Short: "Find the fastest instances, threads, batches and delays for a model on this machine",
		Long: `Try several ways to run a model, drop the slow ones early, and keep the best in a profile that
run --profile auto uses (docs/tuning.md).

Better means: in Offline more samples/s, in Server more queries/s within the latency
bound, in SingleStream and MultiStream a lower latency percentile.

After Ctrl-C the measurements so far are printed, and no profile is written. Values given
with --instances, --intra-threads, --max-batchsize or --max-batch-delay are the only ones
tried. --precision fp32,int8 compares precisions, and --model-path a=one.onnx --model-path
b=other.onnx files; speed decides, so check the accuracy of the winner.

Exit status: 0 a winner was found, 1 none was or an error, 2 usage, 130 interrupted.`,
		Example: `  mlperf tune --model mobilenet --scenario offline --budget 2m
  mlperf tune --model resnet50 --scenario server --target-latency auto --max-batchsize 1,2,4
  mlperf tune --model resnet50 --model-path fp32=my.onnx --model-path other=my.onnx --output my.json`,
		Args: arguments(0, 1),
		RunE: func(cmd *cobra.Command, args []string) error { return o.run(cmd, args) },
	}
	f := cmd.Flags()
	o.Scenario = "offline"
	o.requestFlags.define(f)
	durationVar(f, &o.Budget, "budget", 5*time.Minute, "how long to search")
	f.StringArrayVar(&o.ModelFiles, "model-path", nil,
		"file (ONNX, .tflite, .pb) to use instead of the built-in model, as file or label=file (repeatable: they are compared)")
	f.StringSliceVar(&o.Precisions, "precision", nil, "precisions to compare: fp32, fp16, int8 (default: as the model is)")
	f.IntSliceVar(&o.Axes.Instances, "instances", nil, "numbers of workers to try (default: chosen for the scenario)")
	f.IntSliceVar(&o.Axes.Threads, "intra-threads", nil, "numbers of threads inside an operator to try (default: as many as keep all cores busy)")
	f.IntSliceVar(&o.Axes.Batches, "max-batchsize", nil, "largest batches to try (default: chosen for the scenario)")
	f.StringSliceVar(&o.delays, "max-batch-delay", nil, "times to wait for a batch to fill to try, in Server (default: 0 and parts of the bound)")
	f.StringVar(&o.Request.Output, "output", "", "file for the profile (default: where run --profile auto looks)")
	jsonFlag(f, &o.asJSON)
	return cmd
}

// tuneFlags are the flags of tune: those that it shares with run, and the axes.
type tuneFlags struct {
	requestFlags
	tune.Request
	delays []string
	asJSON bool
}

func (o *tuneFlags) run(cmd *cobra.Command, args []string) (err error) {
	if err := takeModel(cmd.Flags(), args); err != nil {
		return err
	}
	if o.Model == "" && len(o.ModelFiles) == 0 {
		return usage("tune needs a model file, or --model")
	}
	q := o.Request
	if q.Run, err = o.build(cmd.Flags()); err != nil {
		return err
	}
	for _, text := range o.delays {
		d, err := parseDuration(text)
		if err != nil {
			return usage("--max-batch-delay: %w", err)
		}
		q.Axes.Delays = append(q.Axes.Delays, d)
	}
	display := newDisplay(cmd)
	defer display.Done()
	found, err := tune.Find(cmd.Context(), q, &tuneProgress{display: display}, display)
	display.Done()
	if found != nil {
		command := os.Args[1:]
		if found.Profile != nil && o.Model == "" && len(args) == 0 { // the file came as --model-path
			command = append(slices.Clone(command), found.Profile.ModelPath)
		}
		err = errors.Join(err, showTuned(cmd.OutOrStdout(), found, tunedCommand(command, o.Scenario, q.Output), o.asJSON))
	}
	var none *tune.NoneError
	switch {
	case errors.Is(err, ErrInterrupted):
		return interrupted(err)
	case errors.As(err, &none) && none.Bound > 0:
		return fmt.Errorf("%w: --target-latency auto chooses a bound that can be met", err)
	}
	return err
}

// A tuneProgress shows a line for each measurement.
type tuneProgress struct {
	display   *progress.Display
	objective tune.Objective
}

// Begin implements tune.Observer.
func (p *tuneProgress) Begin(o tune.Objective, points int) {
	p.objective = o
	wanted := "higher"
	if o.Least {
		wanted = "lower"
	}
	p.display.Note(fmt.Sprintf("%d ways to run the model, compared by %s (%s, %s is better)", points, o.Name, o.Unit, wanted))
}

// Measured implements tune.Observer.
func (p *tuneProgress) Measured(m tune.Measurement, left time.Duration) {
	outcome := "failed: " + m.Err
	if m.Err == "" {
		var values []string
		for _, v := range m.Values {
			values = append(values, tuned(v))
		}
		outcome = strings.Join(values, ", ") + " " + p.objective.Unit
	}
	p.display.Note(fmt.Sprintf("stage %d, round %d, %v: %s (%s left)", m.Stage+1, m.Round+1, m.Point, outcome, units.Duration(left.Round(time.Second))))
}

// tuned is a value of the objective.
func tuned(v float64) string {
	if v == 0 {
		return "over the bound"
	}
	return units.Number(v)
}

// resultCell is a result in a cell of the table, with its interval.
func resultCell(r tune.Result) string {
	switch {
	case r.Err != "":
		return "failed"
	case r.High == 0:
		return tuned(r.Value)
	}
	return fmt.Sprintf("%s (%s to %s)", tuned(r.Value), tuned(r.Low), tuned(r.High))
}

// showTuned prints the points, the best first, the winner, and the command that uses it.
func showTuned(w io.Writer, out *tune.Outcome, command string, asJSON bool) error {
	if asJSON {
		return printJSON(w, "tune", map[string]any{
			"finished": out.Finished, "profile": out.Profile, "tied": out.Tied, "results": out.Results, "measurements": out.Done, "load": out.Load,
			"command": command,
		})
	}
	type line struct {
		point  tune.Point
		stages [3]string
		last   tune.Result
	}
	var lines []*line
	for _, r := range out.Results {
		i := slices.IndexFunc(lines, func(l *line) bool { return l.point == r.Point })
		if i < 0 {
			i, lines = len(lines), append(lines, &line{point: r.Point})
		}
		lines[i].stages[r.Stage], lines[i].last = resultCell(r), r
	}
	slices.SortStableFunc(lines, func(a, b *line) int {
		if c := cmp.Compare(b.last.Stage, a.last.Stage); c != 0 {
			return c
		}
		return out.Objective.Compare(a.last.Value, b.last.Value)
	})
	t := newTable(tableRow{"model", "instances", "threads", "batch", "delay", "estimate, " + out.Objective.Unit, "short", "long", ""})
	for _, l := range lines {
		var marks []string
		if out.Found && out.Finished && l.point == out.Winner.Point {
			marks = append(marks, "best")
		}
		if out.Finished && slices.Contains(out.Tied, l.point) {
			marks = append(marks, "tie")
		}
		if l.point == out.Points[0] {
			marks = append(marks, "default")
		}
		t.Row(l.point.Variant, l.point.Instances, l.point.Threads, l.point.MaxBatch, l.point.MaxDelay, l.stages[0], l.stages[1], l.stages[2],
			strings.Join(marks, ", "))
	}
	if len(lines) > 0 {
		fmt.Fprint(w, t.Text(tables.Width(w)))
	}
	if !out.Finished {
		_, err := fmt.Fprintln(w, "The search was interrupted: no profile is written.")
		return err
	}
	p := out.Profile
	if p == nil {
		return nil
	}
	fmt.Fprintf(w, "Best: %v: %s %s", out.Winner.Point, resultCell(out.Winner), p.Objective.Unit)
	if out.Winner.Stage == 0 {
		fmt.Fprint(w, " (an estimate: the budget was too short for the traffic of the scenario)")
	}
	switch {
	case out.Winner.Point == out.Points[0]:
		fmt.Fprint(w, ", the default of a run")
	case p.Default > 0:
		fmt.Fprintf(w, "; the default of a run (%v) reaches %s", out.Points[0], units.Number(p.Default))
	}
	fmt.Fprintln(w)
	if len(out.Tied) > 0 {
		fmt.Fprintf(w, "A tie with %s within noise: the simplest is taken.\n", units.Count(len(out.Tied), "other way"))
	}
	if out.Bound > 0 {
		fmt.Fprintf(w, "Latency bound: %s\n", units.Duration(out.Bound))
	}
	if out.Winner.Variant != "" {
		fmt.Fprintln(w, "Speed alone decided: run --mode accuracy shows whether the answers are good enough.")
	}
	if n := len(out.Points) - p.Points; n > 0 {
		fmt.Fprintf(w, "The budget was too short for %d of %d ways: --budget gives more time.\n", n, len(out.Points))
	}
	for _, text := range out.Load {
		fmt.Fprintf(w, "This machine: %s\n", text)
	}
	return say(w, "Profile: %s\n%s\n", out.Path, command)
}

// tunedCommand is the command line of a run with the profile that a search wrote, made of that of the search.
func tunedCommand(args []string, scenario, output string) string {
	args = append([]string{"run"}, slices.DeleteFunc(slices.Clone(args), func(a string) bool { return a == "tune" })...)
	for _, name := range []string{"budget", "instances", "intra-threads", "max-batchsize", "max-batch-delay", "precision", "model-path", "output",
		"progress"} {
		args = withoutFlag(args, name, true)
	}
	args = withFlag(withoutFlag(args, "json", false), "scenario", strings.ToLower(scenario))
	return "mlperf " + report.CommandLine(withFlag(args, "profile", cmp.Or(output, run.Auto)))
}
