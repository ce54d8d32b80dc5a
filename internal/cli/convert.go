package cli

import (
	"cmp"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"github.com/mlperf-go/mlperf/internal/convert"
	"github.com/mlperf-go/mlperf/internal/userinput"
)

func newConvert() *cobra.Command {
	var checkpoint, output string
	asJSON := false
	cmd := &cobra.Command{
		Use:   "convert MODEL|FILE",
		Short: "Make ONNX files of models of TensorFlow (.tflite, frozen .pb), or of the official checkpoint of a model",
		Long: `Make ONNX files of models that have no official ONNX file.

FILE.tflite: a model of TensorFlow Lite, float or quantised. Names, types and shapes of inputs
and outputs stay; integers are kept between QuantizeLinear and DequantizeLinear.

FILE.pb: a frozen graph of TensorFlow. Inputs (Placeholder) and outputs (nodes that no other
one reads) have the names of its tensors, as image_tensor:0. Loops over a batch and branches,
as the Object Detection API writes them, become Loop and If.

An operator that cannot be converted is an error that names it. All verbs that take a model
file take these directly, and keep the converted one.

gnmt: the checkpoint of TensorFlow that the MLPerf reference publishes (gnmt_model.zip,
ende_gnmt_model_4_layer: translate.ckpt.index and translate.ckpt.data-00000-of-00001;
mlperf download model gnmt). It becomes a folder with encoder.onnx and decoder.onnx, which
run --model-path takes. If a variable is missing, the error names it, and nothing is written.`,
		Example: "  mlperf convert mobilenet.tflite --output mobilenet.onnx\n  mlperf convert gnmt --checkpoint ende_gnmt_model_4_layer " +
			"--output gnmt-official",
		Args: arguments(1, 1),
		RunE: func(cmd *cobra.Command, args []string) error {
			model := args[0]
			if convert.IsForeign(model) {
				if checkpoint != "" {
					return usage("--checkpoint is of gnmt")
				}
				output = cmp.Or(output, strings.TrimSuffix(filepath.Base(model), filepath.Ext(model))+".onnx")
				if err := convert.File(cmd.Context(), model, output); err != nil {
					return err
				}
				return printed(cmd, asJSON, model, output)
			}
			if model != "gnmt" {
				return userinput.Invalid("model", model, "a .tflite or .pb file, or gnmt: checkpoints of others are not converted")
			}
			if checkpoint == "" {
				return usage("convert gnmt needs --checkpoint")
			}
			output = cmp.Or(output, model+"-onnx")
			if err := convert.GNMT(cmd.Context(), checkpoint, output); err != nil {
				return err
			}
			return printed(cmd, asJSON, model, output)
		},
	}
	f := cmd.Flags()
	f.StringVar(&checkpoint, "checkpoint", "", "folder of the checkpoint, or one of its files")
	f.StringVar(&output, "output", "", "file or folder to write (default FILE.onnx, <model>-onnx)")
	jsonFlag(f, &asJSON)
	return cmd
}

// printed prints what was converted to which path.
func printed(cmd *cobra.Command, asJSON bool, model, output string) error {
	if asJSON {
		return printJSON(cmd.OutOrStdout(), "convert", map[string]string{"model": model, "path": output})
	}
	err := say(cmd.OutOrStdout(), "%s\n", output)
	return err
}
