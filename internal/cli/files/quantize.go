package files

import (
	"fmt"
	"io"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/mlperf-go/mlperf/internal/cli"
	"github.com/mlperf-go/mlperf/internal/cli/request"
	"github.com/mlperf-go/mlperf/internal/run"
)

// quantizeFlags are the flags of quantize.
type quantizeFlags struct {
	run.QuantizeRequest
	options     request.OptionFlags
	sensitivity bool
	asJSON      bool
}

func newQuantize() *cobra.Command {
	o := &quantizeFlags{}
	cmd := &cobra.Command{
		Use:   "quantize",
		Short: "Make a model of lower precision: 8-bit integers or float16",
		Long: `Make a model of lower precision and a description of how, as the rules ask for.

To 8-bit integers (static, QDQ), the model is calibrated with samples of its data: those
of a list, one index or file name per line, or the first ones. With --method dynamic,
the default of models for text and of several files, nothing is calibrated: matrix
products and LSTMs find the ranges of what they read while they run.

With --target, layers are left in FP32, the most sensitive first, until that part of the
FP32 accuracy is reached. With --sensitivity nothing is made: it shows what each layer
costs alone.

To use what run --precision makes by itself, this command is not needed.

Exit status 4: the target cannot be reached; the best model there is was written.`,
		Example: `  mlperf quantize --model mobilenet --output mobilenet-int8.onnx
  mlperf quantize --model resnet50 --model-path my.onnx --dataset-path imagenet --calibration cal_image_list_option_1.txt --target 0.99`,
		RunE: func(cmd *cobra.Command, _ []string) error { return o.run(cmd) },
	}
	o.define(cmd.Flags())
	for flag, words := range map[string][]string{
		"precision": {"int8", "fp16"}, "method": {"min-max", "dynamic"}, "activations": {"u8", "s8"}, "rank": {"score", "noise"},
	} {
		cli.Completes(cmd, flag, words...)
	}
	return cmd
}

func (o *quantizeFlags) define(f *pflag.FlagSet) {
	q := &o.Quantize
	f.StringVar(&o.Model, "model", "", "model of the catalogue (mlperf list models)")
	f.StringVar(&o.ModelPath, "model-path", "", "FP32 ONNX file to use instead of the built-in model")
	f.StringVar(&o.DatasetPath, "dataset-path", "", "folder of the data set to use instead of the built-in one")
	f.StringVar(&o.Precision, "precision", "int8", "int8 or fp16")
	f.StringVar(&o.Calibration, "calibration", "", "list of the samples to calibrate with")
	f.IntVar(&o.Samples, "samples", 0, "calibrate with the first N samples instead (default 64)")
	f.StringVar(&o.Method, "method", "", "where the ranges of activations come from: min-max, the smallest and largest value over the samples, or dynamic, each run has its own (default min-max, of models for text and of several files dynamic)")
	f.StringVar(&o.Activations, "activations", "u8", "integers of activations: u8, or s8 as TensorRT wants them")
	f.BoolVar(&q.PerTensor, "per-tensor", false, "one scale for all weights of a layer instead of one per channel")
	f.BoolVar(&q.SevenBitWeights, "seven-bit-weights", run.SevenBitWeights(), "weights within ±63, for processors without VNNI (default: what this one needs)")
	f.StringArrayVar(&q.Exclude, "exclude", nil, "layer that stays in FP32 (repeatable)")
	f.StringArrayVar(&q.ExcludeOps, "exclude-op", nil, "operator that stays in FP32 (repeatable)")
	f.BoolVar(&q.SkipFirst, "skip-first", false, "the layers that read the inputs stay in FP32")
	f.BoolVar(&q.SkipLast, "skip-last", false, "the layers that make the outputs stay in FP32")
	f.Float64Var(&o.Target, "target", 0, "part of the FP32 accuracy to reach by leaving layers in FP32, e.g. 0.99")
	f.IntVar(&o.Count, "count", 0, "with --target: score the first N samples only")
	f.StringVar(&o.Rank, "rank", "score", "with --target: find the most sensitive layers by their score, or quickly by noise, which misjudges detectors")
	f.BoolVar(&o.sensitivity, "sensitivity", false, "show what each layer costs alone, and make nothing")
	f.IntVar(&o.Threads, "intra-threads", 0, "threads inside an operator; 0: all cores")
	f.StringVar(&o.Output, "output", "", "file to write (default <model>-<precision>.onnx); its description is beside it, as .md")
	cli.JSONFlag(f, &o.asJSON)
	o.options.Define(f, run.ModelOptions())
	request.DefineLibrary(f, &o.Engine)
}

func (o *quantizeFlags) run(cmd *cobra.Command) error {
	if o.Model == "" {
		return cli.Usage("quantize needs --model")
	}
	if err := o.pointless(cmd.Flags()); err != nil {
		return err
	}
	q, w := o.QuantizeRequest, cmd.OutOrStdout()
	q.Program, q.Options = cli.Program(), o.options.Values()
	display := cli.NewDisplay(cmd)
	defer display.Done()
	if o.sensitivity {
		scores, err := run.Sensitivity(cmd.Context(), q, display)
		return o.showSensitivity(w, scores, err)
	}
	made, err := run.Quantize(cmd.Context(), q, display)
	switch {
	case err != nil:
		return err
	case !o.asJSON:
		err = showQuantized(w, made)
	default:
		err = cli.PrintJSON(w, "quantize", quantized(made))
	}
	if err == nil && made.Missed {
		err = cli.Finished(cli.ExitInaccurate)
	}
	return err
}

// pointless finds flags that would be passed over without a word.
func (o *quantizeFlags) pointless(f *pflag.FlagSet) error {
	if o.sensitivity {
		return cli.Pointless(f, "is of a model that is made, and --sensitivity makes none", "output", "target", "rank", "count")
	}
	if o.Target == 0 {
		return cli.Pointless(f, "is of --target, which is not given", "count")
	}
	return nil
}

// showSensitivity prints what each layer costs alone, if that is known.
func (o *quantizeFlags) showSensitivity(w io.Writer, scores []run.LayerNoise, err error) error {
	if err != nil || o.asJSON {
		return cli.OrJSON(w, "sensitivity", scores, err)
	}
	return cli.PrintTable(w, cli.Row{"layer", "signal to noise if it alone is quantised"}, scores,
		func(s run.LayerNoise) cli.Row { return cli.Row{s.Layer, fmt.Sprintf("%.1f dB", s.Score)} })
}

// quantized is what --json says of a model that was made.
func quantized(q *run.Quantized) map[string]any {
	doc := map[string]any{"path": q.Model, "description": q.Description, "target_missed": q.Missed}
	if r := q.Report; r != nil {
		doc["quantized_layers"], doc["fp32_layers"], doc["bytes_before"], doc["bytes_after"] = len(r.Layers), r.Excluded, r.BytesBefore, r.BytesAfter
		if s := r.Search; s != nil {
			doc["score"], doc["target"] = s.Score, s.Target
		}
	}
	return doc
}

func showQuantized(w io.Writer, q *run.Quantized) error {
	if r := q.Report; r != nil {
		fmt.Fprintf(w, "%d layers with 8-bit weights, %d in FP32; weights %.1f MB instead of %.1f MB\n",
			len(r.Layers), len(r.Excluded), float64(r.BytesAfter)/1e6, float64(r.BytesBefore)/1e6)
		if s := r.Search; s != nil {
			fmt.Fprintf(w, "score %.5g, target %.5g\n", s.Score, s.Target)
		}
	}
	_, err := fmt.Fprintf(w, "%s\n%s\n", q.Model, q.Description)
	if err == nil && q.Missed {
		_, err = fmt.Fprintln(w, "the target is missed: this is the best that was found")
	}
	return err
}

func newPreprocess() *cobra.Command {
	q, asJSON := &run.PreprocessRequest{}, false
	var options request.OptionFlags
	cmd := &cobra.Command{
		Use:   "preprocess FILE…",
		Short: "Write a model's input tensors of images as .npy files",
		Long: `Pre-process images as a run does and write what the model would get, as .npy files in
the naming of the reference's cache: NAME.npy for image NAME, in the same folders below
--root. run --preprocessed-dir reads such files.`,
		Example: "  mlperf preprocess --model resnet50 --output preprocessed --root imagenet imagenet/ILSVRC2012_val_00000001.JPEG",
		Args:    cobra.ArbitraryArgs,
		RunE: func(cmd *cobra.Command, files []string) error {
			if q.Model == "" || len(files) == 0 {
				return cli.Usage("preprocess needs --model and image files")
			}
			q.Files, q.Options = files, options.Values()
			display := cli.NewDisplay(cmd)
			defer display.Done()
			err := run.Preprocess(cmd.Context(), *q, display)
			if err == nil && asJSON {
				err = cli.PrintJSON(cmd.OutOrStdout(), "preprocess", map[string]any{"model": q.Model, "folder": q.Output, "files": len(files)})
			}
			return err
		},
	}
	f := cmd.Flags()
	f.StringVar(&q.Model, "model", "", "model of the catalogue (mlperf list models)")
	options.Define(f, run.ReaderOptions())
	f.StringVar(&q.Root, "root", "", "folder whose structure is kept; without it, files are named by their last part")
	f.StringVar(&q.Output, "output", ".", "folder to write to")
	cli.JSONFlag(f, &asJSON)
	return cmd
}
