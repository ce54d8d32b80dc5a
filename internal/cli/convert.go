package cli

import (
	"cmp"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/mlperf-go/mlperf/internal/convert"
	"github.com/mlperf-go/mlperf/internal/userinput"
)

func newConvert() *cobra.Command {
	var checkpoint, output string
	asJSON := false
	cmd := &cobra.Command{
		Use:   "convert MODEL",
		Short: "Make ONNX files of the official checkpoint of a model",
		Long: `Make ONNX files of a checkpoint, for models without an official ONNX file.

gnmt: the checkpoint of TensorFlow that the MLPerf reference publishes (gnmt_model.zip,
ende_gnmt_model_4_layer: translate.ckpt.index and translate.ckpt.data-00000-of-00001;
mlperf download model gnmt). It becomes a folder with encoder.onnx and decoder.onnx, which
run --model-path takes. If a variable is missing, the error names it, and nothing is written.`,
		Example: "  mlperf convert gnmt --checkpoint ende_gnmt_model_4_layer --output gnmt-official",
		Args:    arguments(1, 1),
		RunE: func(cmd *cobra.Command, args []string) error {
			model := args[0]
			if checkpoint == "" {
				return usage("convert needs --checkpoint")
			}
			if model != "gnmt" {
				return userinput.Invalid("model", model, "gnmt: checkpoints of others are not converted")
			}
			output = cmp.Or(output, model+"-onnx")
			if err := convert.GNMT(cmd.Context(), checkpoint, output); err != nil {
				return err
			}
			if asJSON {
				return printJSON(cmd.OutOrStdout(), "convert", map[string]string{"model": model, "path": output})
			}
			_, err := fmt.Fprintln(cmd.OutOrStdout(), output)
			return err
		},
	}
	f := cmd.Flags()
	f.StringVar(&checkpoint, "checkpoint", "", "folder of the checkpoint, or one of its files")
	f.StringVar(&output, "output", "", "folder to write to (default <model>-onnx)")
	jsonFlag(f, &asJSON)
	return cmd
}
