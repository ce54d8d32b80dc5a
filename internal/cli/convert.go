package cli

import (
	"fmt"

	"github.com/spf13/cobra"

	"github.com/mlperf-go/mlperf/internal/run"
)

func newConvert() *cobra.Command {
	var r run.ConvertRequest
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
			if r.Model = args[0]; r.Checkpoint == "" {
				return usage("convert needs --checkpoint")
			}
			if err := run.Convert(cmd.Context(), &r); err != nil {
				return err
			}
			if asJSON {
				return printJSON(cmd.OutOrStdout(), "convert", map[string]string{"model": r.Model, "path": r.Output})
			}
			_, err := fmt.Fprintln(cmd.OutOrStdout(), r.Output)
			return err
		},
	}
	f := cmd.Flags()
	f.StringVar(&r.Checkpoint, "checkpoint", "", "folder of the checkpoint, or one of its files")
	f.StringVar(&r.Output, "output", "", "folder to write to (default <model>-onnx)")
	jsonFlag(f, &asJSON)
	return cmd
}
