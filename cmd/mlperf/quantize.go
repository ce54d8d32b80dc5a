package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"

	"github.com/jedib0t/go-pretty/v6/table"
	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/mlperf-go/mlperf/internal/builtin"
	"github.com/mlperf-go/mlperf/internal/convert"
	"github.com/mlperf-go/mlperf/internal/machine"
	"github.com/mlperf-go/mlperf/internal/models"
	"github.com/mlperf-go/mlperf/internal/quantize"
	"github.com/mlperf-go/mlperf/internal/workload"
)

// quantizeOptions are the flags of quantize.
type quantizeOptions struct {
	model, modelPath, datasetPath string
	precision                     string
	calibration                   string // file
	samples                       int
	method, activations, rank     string
	request                       convert.Request
	sensitivity                   bool
	threads                       int
	output                        string

	engine engineOptions
	bind   modelFlags
}

// The ways to rank layers.
const (
	rankByScore = "score"
	rankByNoise = "noise"
)

func newQuantize() *cobra.Command {
	o := &quantizeOptions{}
	cmd := &cobra.Command{
		Use:   "quantize",
		Short: "Make a model of lower precision: 8-bit integers or float16",
		Long: `Make a model of lower precision and a description of how, as the rules ask for.

To 8-bit integers (static, QDQ), the model is calibrated with samples of its data: those
of a list, one index or file name per line, or the first ones. With --target, layers are
left in FP32, the most sensitive first, until that part of the FP32 accuracy is
reached. With --sensitivity nothing is made: it shows what each layer costs alone.

To use what run --precision makes by itself, this command is not needed.

Exit status 4: the target cannot be reached; the best model there is was written.`,
		Example: `  mlperf quantize --model mobilenet --output mobilenet-int8.onnx
  mlperf quantize --model resnet50 --model-path my.onnx --dataset-path imagenet --calibration cal_image_list_option_1.txt --target 0.99`,
		RunE: func(cmd *cobra.Command, _ []string) error { return o.run(cmd) },
	}
	o.define(cmd.Flags())
	return cmd
}

func (o *quantizeOptions) define(f *pflag.FlagSet) {
	r := &o.request
	f.StringVar(&o.model, "model", "", "model of the catalogue (mlperf list models)")
	f.StringVar(&o.modelPath, "model-path", "", "FP32 ONNX file to use instead of the built-in model")
	f.StringVar(&o.datasetPath, "dataset-path", "", "folder of the data set to use instead of the built-in one")
	f.StringVar(&o.precision, "precision", convert.INT8, "int8 or fp16")
	f.StringVar(&o.calibration, "calibration", "", "list of the samples to calibrate with")
	f.IntVar(&o.samples, "samples", 0, "calibrate with the first N samples instead (default 64)")
	f.StringVar(&o.method, "method", string(quantize.MinMax), "how ranges follow from what was observed: min-max, entropy, percentile or percentile:99.9")
	f.StringVar(&o.activations, "activations", string(quantize.U8), "integers of activations: u8, or s8 as TensorRT wants them")
	f.BoolVar(&r.Options.PerTensor, "per-tensor", false, "one scale for all weights of a layer instead of one per channel")
	f.BoolVar(&r.Options.SevenBitWeights, "seven-bit-weights", !machine.FastInt8(), "weights within ±63, for processors without VNNI (default: what this one needs)")
	f.StringArrayVar(&r.Options.Exclude, "exclude", nil, "layer that stays in FP32 (repeatable)")
	f.StringArrayVar(&r.Options.ExcludeOps, "exclude-op", nil, "operator that stays in FP32 (repeatable)")
	f.BoolVar(&r.Options.SkipFirst, "skip-first", false, "the layers that read the inputs stay in FP32")
	f.BoolVar(&r.Options.SkipLast, "skip-last", false, "the layers that make the outputs stay in FP32")
	f.Float64Var(&r.Target, "target", 0, "part of the FP32 accuracy to reach by leaving layers in FP32, e.g. 0.99")
	f.IntVar(&r.ScoreCount, "count", 0, "with --target: score the first N samples only")
	f.StringVar(&o.rank, "rank", rankByScore, "with --target: find the most sensitive layers by their score, or quickly by noise, which misjudges detectors")
	f.BoolVar(&o.sensitivity, "sensitivity", false, "show what each layer costs alone, and make nothing")
	f.IntVar(&o.threads, "intra-threads", 0, "threads inside an operator; 0: all cores")
	f.StringVar(&o.output, "output", "", "file to write (default <model>-<precision>.onnx); its description is beside it, as .md")
	o.bind.define(f, feeding)
	o.engine.defineLibrary(f)
}

func (o *quantizeOptions) run(cmd *cobra.Command) error {
	if o.model == "" {
		return usage("quantize needs --model")
	}
	model, err := models.Lookup(o.model)
	if err != nil {
		return usage("%w", err)
	}
	if err := o.parse(); err != nil {
		return err
	}
	return withMaker(cmd, o.engine, func(ctx context.Context, maker builtin.Maker) error {
		c, err := o.converter(ctx, model, maker)
		if err != nil {
			return err
		}
		if o.request.Samples, err = o.indices(c); err != nil {
			return err
		}
		if o.sensitivity {
			return showSensitivity(ctx, cmd.OutOrStdout(), c, o.request)
		}
		return o.make(ctx, cmd.OutOrStdout(), c)
	})
}

// parse checks the flags that are words or numbers within bounds.
func (o *quantizeOptions) parse() error {
	var err error
	r := &o.request
	r.Precision, r.Options.Activations = o.precision, quantize.Activations(o.activations)
	if r.Precision != convert.INT8 && r.Precision != convert.FP16 {
		return usage("--precision is %q, want %s or %s", o.precision, convert.INT8, convert.FP16)
	}
	if r.Options.Activations != quantize.U8 && r.Options.Activations != quantize.S8 {
		return usage("--activations is %q, want %s or %s", o.activations, quantize.U8, quantize.S8)
	}
	if r.Method, err = quantize.ParseMethod(o.method); err != nil {
		return usage("--method: %w", err)
	}
	if o.rank != rankByScore && o.rank != rankByNoise {
		return usage("--rank is %q, want %s or %s", o.rank, rankByScore, rankByNoise)
	}
	r.RankByNoise = o.rank == rankByNoise
	if r.Target < 0 || r.Target > 1 {
		return usage("--target is %v, want a part of the FP32 accuracy, 0 to 1", r.Target)
	}
	if o.samples < 0 || r.ScoreCount < 0 {
		return usage("--samples and --count must not be negative")
	}
	if o.samples > 0 && o.calibration != "" {
		return usage("--samples and --calibration exclude each other")
	}
	if o.output == "" {
		o.output = fmt.Sprintf("%s-%s.onnx", o.model, o.precision)
	}
	return nil
}

func (o *quantizeOptions) converter(ctx context.Context, model workload.Model, maker builtin.Maker) (convert.Converter, error) {
	c := convert.Converter{
		Model: model, Source: o.modelPath, DatasetDir: o.datasetPath,
		Engine: maker.Engine, Threads: o.threads, Program: maker.Program, Observer: maker.Observer,
	}
	c.Options = o.bind.values()
	if err := optionUsage(model.CheckOptions(c.Options)); err != nil {
		return c, err
	}
	var err error
	if c.DatasetDir == "" {
		if c.DatasetDir, err = maker.Dataset(ctx, model); err != nil {
			return c, err
		}
	}
	if c.Source == "" {
		c.Source, err = maker.Model(ctx, model)
	}
	return c, err
}

func (o *quantizeOptions) indices(c convert.Converter) ([]int, error) {
	if o.calibration == "" {
		var first []int
		for i := range o.samples {
			first = append(first, i)
		}
		return first, nil
	}
	f, err := os.Open(o.calibration)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return c.Indices(f, o.calibration)
}

func (o *quantizeOptions) make(ctx context.Context, w io.Writer, c convert.Converter) error {
	m, description, err := c.Make(ctx, o.request)
	missed := errors.Is(err, quantize.ErrTargetMissed)
	if err != nil && !missed {
		return err
	}
	if err := convert.Write(ctx, o.output, m, description); err != nil {
		return err
	}
	if r, ok := description.(quantize.Report); ok {
		fmt.Fprintf(w, "%d layers with 8-bit weights, %d in FP32; weights %.1f MB instead of %.1f MB\n",
			len(r.Layers), len(r.Excluded), float64(r.BytesAfter)/1e6, float64(r.BytesBefore)/1e6)
		if s := r.Search; s != nil {
			fmt.Fprintf(w, "score %.5g, target %.5g\n", s.Score, s.Target)
		}
	}
	fmt.Fprintf(w, "%s\n%s\n", o.output, convert.DescriptionFile(o.output))
	if missed {
		fmt.Fprintln(w, "the target is missed: this is the best that was found")
		return finished(exitInaccurate)
	}
	return nil
}

func showSensitivity(ctx context.Context, w io.Writer, c convert.Converter, r convert.Request) error {
	scores, err := c.Sensitivity(ctx, r)
	if err != nil {
		return err
	}
	return printTable(w, table.Row{"layer", "signal to noise if it alone is quantised"}, scores,
		func(s quantize.LayerScore) table.Row { return table.Row{s.Layer, fmt.Sprintf("%.1f dB", s.Score)} })
}
