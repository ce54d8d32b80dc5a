package cli

import (
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"github.com/mlperf-go/mlperf/internal/convert"
	"github.com/mlperf-go/mlperf/internal/run/catalogue"
	"github.com/mlperf-go/mlperf/internal/units"
)

func newQuantize() *cobra.Command {
	var q convert.QuantizeRequest
	var options optionFlags
	var sensitivity, asJSON bool
	cmd := &cobra.Command{
		Use:   "quantize [MODEL.onnx]",
		Short: "Make a model of lower precision: 8-bit integers, float16, or 4-bit weights",
		Long: `Make a model of lower precision, and describe how it was made, as the rules require.

To 8-bit integers (static, QDQ), the model is calibrated with samples of its data: those
of a list, one index or file name per line, or the first ones. With --method dynamic,
the default of models for text and of most with several files, nothing is calibrated: matrix
products and LSTMs find the ranges of their inputs while they convert.

With --precision int4 the weights of matrix products become 4-bit integers in blocks of 32,
which ONNX Runtime multiplies as floats: nothing is calibrated. bfloat16 is refused, since
its CPU provider does not compute with it.

The answers to up to 16 samples are compared with those of the FP32 model.

With --target, layers are left in FP32, the most sensitive first, until that fraction of the
FP32 accuracy is reached. With --sensitivity no model is made: it shows how much accuracy
each layer costs by itself.

MODEL.onnx is any model file: it is calibrated with --data, or with generated inputs.

run --precision makes its own files; it does not need this command.

Exit status 4: the target cannot be reached; the best model was written.`,
		Example: `  mlperf quantize my.onnx
  mlperf quantize --model mobilenet --output mobilenet-int8.onnx
  mlperf quantize --model resnet50 --model-path my.onnx --dataset-path imagenet --calibration cal_image_list_option_1.txt --target 0.99`,
		Args: arguments(0, 1),
		RunE: func(cmd *cobra.Command, args []string) (err error) {
			f, w := cmd.Flags(), cmd.OutOrStdout()
			if err := takeModel(f, args); err != nil {
				return err
			}
			switch {
			case q.Model == "" && q.ModelPath == "":
				return usage("quantize needs a model file, or --model")
			case sensitivity:
				err = refuseFlags(f, "is of a model that is made, and --sensitivity makes none", "output", "target", "rank", "count")
			case q.Target == 0:
				err = refuseFlags(f, "is of --target, which is not given", "count")
			}
			if err != nil {
				return err
			}
			q.Program, q.Options = program(), options.values()
			display := newDisplay(cmd)
			defer display.Done()
			if sensitivity {
				scores, err := convert.Sensitivity(cmd.Context(), q, display)
				switch {
				case err != nil:
					return err
				case asJSON:
					return printJSON(w, "sensitivity", scores)
				}
				return printTable(w, tableRow{"layer", "signal to noise if it alone is quantised"}, scores,
					func(s convert.LayerNoise) tableRow { return tableRow{s.Layer, units.Text(s.Score, "dB")} })
			}
			made, err := convert.Quantize(cmd.Context(), q, display)
			if err == nil {
				err = showQuantized(w, made, asJSON)
			}
			if err == nil && made.Missed {
				err = finished(ExitInaccurate)
			}
			return err
		},
	}
	f, o := cmd.Flags(), &q.Quantize
	f.StringVar(&q.Model, "model", "", "model of the catalogue (mlperf list models)")
	f.StringVar(&q.ModelPath, "model-path", "", "FP32 file (ONNX, .tflite, .pb) to use instead of the built-in model")
	f.StringVar(&q.DatasetPath, "dataset-path", "", "folder of the data set to use instead of the built-in one")
	f.StringVar(&q.Precision, "precision", "int8", "int8, fp16, or int4: weights of matrix products alone")
	f.StringVar(&q.Calibration, "calibration", "", "list of the samples to calibrate with")
	f.IntVar(&q.Samples, "samples", 0, "calibrate with the first N samples instead (default 64)")
	f.StringVar(&q.Method, "method", "",
		"where the ranges of activations come from: min-max, the smallest and largest value over the samples, or dynamic, each run has its "+
			"own (default min-max, of models for text and of most with several files dynamic)")
	f.StringVar(&q.Activations, "activations", "u8", "integers of activations: u8, or s8 as TensorRT wants them")
	f.BoolVar(&o.PerTensor, "per-tensor", false, "one scale for all weights of a layer instead of one per channel")
	f.BoolVar(&o.SevenBitWeights, "seven-bit-weights", convert.SevenBitWeights(),
		"weights within ±63, for processors without VNNI (default: as this processor needs)")
	f.StringArrayVar(&o.Exclude, "exclude", nil, "layer that stays in FP32 (repeatable)")
	f.StringArrayVar(&o.ExcludeOps, "exclude-op", nil, "operator that stays in FP32 (repeatable)")
	f.BoolVar(&o.SkipFirst, "skip-first", false, "the layers that read the inputs stay in FP32")
	f.BoolVar(&o.SkipLast, "skip-last", false, "the layers that make the outputs stay in FP32")
	f.Float64Var(&q.Target, "target", 0, "part of the FP32 accuracy to reach by leaving layers in FP32, e.g. 0.99")
	f.IntVar(&q.Count, "count", 0, "with --target: score the first N samples only")
	f.StringVar(&q.Rank, "rank", "score", "with --target: find the most sensitive layers by their score, or quickly by noise, which misjudges detectors")
	f.BoolVar(&sensitivity, "sensitivity", false, "show what each layer costs alone, and make nothing")
	f.IntVar(&q.Threads, "intra-threads", 0, "threads inside an operator; 0: all cores")
	f.StringVar(&q.Output, "output", "", "file to write (default <model>-<precision>.onnx); its description is beside it, as .md")
	jsonFlag(f, &asJSON)
	options.define(f, catalogue.ModelOptions())
	defineLibrary(f, &q.Library)
	for flag, words := range map[string][]string{
		"precision": {"int8", "fp16", "int4"}, "method": {"min-max", "dynamic"}, "activations": {"u8", "s8"}, "rank": {"score", "noise"},
	} {
		completeWith(cmd, flag, words...)
	}
	return cmd
}

func showQuantized(w io.Writer, q *convert.Quantized, asJSON bool) error {
	if asJSON {
		doc := map[string]any{"path": q.Model, "description": q.Description, "target_missed": q.Missed, "conversion": q.Conversion}
		if r := q.Report; r != nil {
			doc["quantized_layers"], doc["fp32_layers"], doc["bytes_before"], doc["bytes_after"] = len(r.Layers), r.Excluded, r.BytesBefore, r.BytesAfter
			if s := r.Search; s != nil {
				doc["score"], doc["target"] = s.Score, s.Target
			}
		}
		return printJSON(w, "quantize", doc)
	}
	if r := q.Report; r != nil {
		fmt.Fprintf(w, "%d layers with %d-bit weights, %d in FP32; constants take %s instead of %s\n",
			len(r.Layers), r.Bits, len(r.Excluded), units.Bytes(r.BytesAfter), units.Bytes(r.BytesBefore))
		if s := r.Search; s != nil {
			fmt.Fprintf(w, "score %s, target %s\n", units.Score(s.Score), units.Score(s.Target))
		}
	}
	if a := q.Conversion.Agreement; a != nil {
		fmt.Fprintf(w, "compared with FP32: %v\n", a)
	} else {
		_ = say(w, "not compared with FP32: %s\n", q.Conversion.NotCompared)
	}
	for _, l := range q.Conversion.Limitations().Sentences() {
		_ = say(w, "limitation: %s\n", l)
	}
	err := say(w, "%s\n%s\n", q.Model, q.Description)
	if err == nil && q.Missed {
		_, err = fmt.Fprintln(w, "the target is missed: this is the best model")
	}
	return err
}
