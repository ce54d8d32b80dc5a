package measure

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/mlperf-go/mlperf/internal/cli"
	"github.com/mlperf-go/mlperf/internal/cli/progress"
	"github.com/mlperf-go/mlperf/internal/cli/request"
	"github.com/mlperf-go/mlperf/internal/config"
	"github.com/mlperf-go/mlperf/internal/tune"
)

// tuneFlags are the flags of tune: those that it shares with run, and the axes.
type tuneFlags struct {
	request.Flags
	tune.Request
	delays []string
	asJSON bool
}

func newTune() *cobra.Command {
	o := &tuneFlags{}
	cmd := &cobra.Command{
		Use:   "tune",
		Short: "Search the fastest instances, threads, batches and delays for a model on this machine",
		Long: `Try ways to run a model, drop the slow ones early, and keep the best in a profile that
run --profile auto uses (docs/tuning.md).

What is better: in Offline more samples/s, in Server more queries/s within the latency
bound, in SingleStream and MultiStream a lower percentile of the latency.

After Ctrl-C the measurements so far are printed, and no profile is written. Values given
with --instances, --intra-threads, --max-batchsize or --max-batch-delay are the only ones
tried. --precision fp32,int8 compares precisions, and --model-path a=one.onnx --model-path
b=other.onnx files; speed decides, so check the accuracy of the winner.

Exit status: 0 a winner was found, 1 none was or an error, 2 usage, 130 interrupted.`,
		Example: `  mlperf tune --model mobilenet --scenario offline --budget 2m
  mlperf tune --model resnet50 --scenario server --target-latency auto --max-batchsize 1,2,4
  mlperf tune --model resnet50 --model-path fp32=my.onnx --model-path other=my.onnx --output my.json`,
		RunE: func(cmd *cobra.Command, _ []string) error { return o.run(cmd) },
	}
	o.define(cmd.Flags())
	return cmd
}

func (o *tuneFlags) define(f *pflag.FlagSet) {
	o.Scenario = "offline"
	o.Flags.Define(f)
	cli.DurationVar(f, &o.Budget, "budget", 5*time.Minute, "how long to search")
	f.StringArrayVar(&o.ModelFiles, "model-path", nil, "ONNX file to use instead of the built-in model, as file or label=file (repeatable: they are compared)")
	f.StringSliceVar(&o.Precisions, "precision", nil, "precisions to compare: fp32, fp16, int8 (default: as the model is)")
	f.IntSliceVar(&o.Axes.Instances, "instances", nil, "numbers of workers to try (default: chosen for the scenario)")
	f.IntSliceVar(&o.Axes.Threads, "intra-threads", nil, "numbers of threads inside an operator to try (default: that occupy the cores)")
	f.IntSliceVar(&o.Axes.Batches, "max-batchsize", nil, "largest batches to try (default: chosen for the scenario)")
	f.StringSliceVar(&o.delays, "max-batch-delay", nil, "times to wait for a batch to fill to try, in Server (default: 0 and parts of the bound)")
	f.StringVar(&o.Request.Output, "output", "", "file for the profile (default: where run --profile auto looks)")
	f.BoolVar(&o.asJSON, "json", false, "print the outcome as JSON")
}

// run carries the command out.
func (o *tuneFlags) run(cmd *cobra.Command) (err error) {
	if o.Model == "" {
		return cli.Usage("tune needs --model")
	}
	q := o.Request
	if q.Bench, err = o.Build(cmd.Flags()); err != nil {
		return err
	}
	for _, text := range o.delays {
		d, err := config.ParseDuration(text)
		if err != nil {
			return cli.Usage("--max-batch-delay: %w", err)
		}
		q.Axes.Delays = append(q.Axes.Delays, d)
	}
	display := cli.NewDisplay(cmd)
	defer display.Done()
	found, err := tune.Find(cmd.Context(), q, &tuneProgress{display: display}, display)
	display.Done()
	if found != nil {
		err = errors.Join(err, o.show(cmd.OutOrStdout(), found))
	}
	return exitTuned(err)
}

// exitTuned adds to an error what to do.
func exitTuned(err error) error {
	var none *tune.NoneError
	switch {
	case errors.Is(err, cli.ErrInterrupted):
		return cli.Interrupted(err)
	case errors.As(err, &none) && none.Bound > 0:
		return fmt.Errorf("%w: --target-latency auto chooses a bound that can be met", err)
	}
	return err
}

// A tuneProgress says a line for each measurement.
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
	p.display.Note(fmt.Sprintf("stage %d, %v: %s (%v left)", m.Stage+1, m.Point, outcomeOf(m, p.objective), left.Round(time.Second)))
}

func outcomeOf(m tune.Measurement, o tune.Objective) string {
	switch {
	case m.Err != "":
		return "failed: " + m.Err
	case m.Value == 0:
		return "does not keep the bound"
	}
	return fmt.Sprintf("%.4g %s", m.Value, o.Unit)
}

// show prints the points, the best first, and the winner.
func (o *tuneFlags) show(w io.Writer, out *tune.Outcome) error {
	if o.asJSON {
		return cli.PrintJSON(w, "tune", map[string]any{"finished": out.Finished, "profile": out.Profile, "measurements": out.Done})
	}
	if len(out.Done) > 0 {
		fmt.Fprintln(w, pointTable(out))
	}
	if !out.Finished {
		fmt.Fprintln(w, "The search was interrupted: no profile is written.")
		return nil
	}
	p := out.Profile
	if p == nil {
		return nil
	}
	fmt.Fprintf(w, "Fastest: %v: %.4g %s", out.Winner.Point, p.Value, p.Objective.Unit)
	if out.Winner.Stage == 0 {
		fmt.Fprint(w, " (an estimate: the budget did not suffice for the traffic of the scenario)")
	}
	switch {
	case out.Winner.Point == out.Points[0]:
		fmt.Fprint(w, ", which is what a run chooses by itself")
	case p.Default > 0:
		fmt.Fprintf(w, "; what a run chooses by itself (%v) has %.4g", out.Points[0], p.Default)
	}
	fmt.Fprintln(w)
	if out.Bound > 0 {
		fmt.Fprintf(w, "Latency bound: %v\n", out.Bound)
	}
	if out.Winner.Variant != "" {
		fmt.Fprintln(w, "Speed decided: run --mode accuracy says whether its answers are good enough.")
	}
	if n := len(out.Points) - p.Points; n > 0 {
		fmt.Fprintf(w, "The budget did not suffice for %d of %d ways: --budget gives more time.\n", n, len(out.Points))
	}
	_, err := fmt.Fprintf(w, "Profile: %s\n", out.Path)
	return err
}

// pointTable has a line for each point that was measured.
func pointTable(out *tune.Outcome) string {
	type line struct {
		point  tune.Point
		stages [3]*tune.Measurement
		last   tune.Measurement
	}
	var lines []*line
	for _, m := range out.Done {
		i := slices.IndexFunc(lines, func(l *line) bool { return l.point == m.Point })
		if i < 0 {
			i, lines = len(lines), append(lines, &line{point: m.Point})
		}
		lines[i].stages[m.Stage], lines[i].last = &m, m
	}
	slices.SortStableFunc(lines, func(a, b *line) int {
		if c := cmp.Compare(b.last.Stage, a.last.Stage); c != 0 {
			return c
		}
		return out.Objective.Compare(a.last.Value, b.last.Value)
	})
	t := cli.NewTable(cli.Row{"model", "instances", "threads", "batch", "delay", "estimate, " + out.Objective.Unit, "short", "long", ""})
	for _, l := range lines {
		row := cli.Row{l.point.Variant, l.point.Instances, l.point.Threads, l.point.MaxBatch, l.point.MaxDelay}
		for _, m := range l.stages {
			row = append(row, cell(m))
		}
		t.AppendRow(append(row, remarks(out, l.point)))
	}
	t.SuppressEmptyColumns()
	return t.Render()
}

// remarks say what a point is besides.
func remarks(out *tune.Outcome, p tune.Point) string {
	var list []string
	if out.Found && out.Finished && p == out.Winner.Point {
		list = append(list, "fastest")
	}
	if p == out.Points[0] {
		list = append(list, "default")
	}
	return strings.Join(list, ", ")
}

func cell(m *tune.Measurement) string {
	switch {
	case m == nil:
		return ""
	case m.Err != "":
		return "failed"
	case m.Value == 0:
		return "over the bound"
	}
	return fmt.Sprintf("%.4g", m.Value)
}
