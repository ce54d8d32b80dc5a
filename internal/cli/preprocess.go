package cli

import (
	"github.com/spf13/cobra"

	"github.com/mlperf-go/mlperf/internal/convert"
	"github.com/mlperf-go/mlperf/internal/run/catalogue"
)

func newPreprocess() *cobra.Command {
	var q convert.PreprocessRequest
	var options optionFlags
	asJSON := false
	cmd := &cobra.Command{
		Use:   "preprocess FILE…",
		Short: "Write a model's input tensors of images as .npy files",
		Long: `Pre-process images as a run does and write the model's inputs as .npy files with the
names of the reference's cache: NAME.npy for image NAME, in the same folders below
--root. run --preprocessed-dir reads such files.`,
		Example: "  mlperf preprocess --model resnet50 --output preprocessed --root imagenet imagenet/ILSVRC2012_val_00000001.JPEG",
		Args:    cobra.ArbitraryArgs,
		RunE: func(cmd *cobra.Command, files []string) error {
			if q.Model == "" || len(files) == 0 {
				return usage("preprocess needs --model and image files")
			}
			q.Files, q.Options = files, options.values()
			display := newDisplay(cmd)
			defer display.Done()
			err := convert.Preprocess(cmd.Context(), q, display)
			if err == nil && asJSON {
				err = printJSON(cmd.OutOrStdout(), "preprocess", map[string]any{"model": q.Model, "folder": q.Output, "files": len(files)})
			}
			return err
		},
	}
	f := cmd.Flags()
	f.StringVar(&q.Model, "model", "", "model of the catalogue (mlperf list models)")
	options.define(f, catalogue.ReaderOptions())
	f.StringVar(&q.Root, "root", "", "folder whose structure is kept; without it, files are named by their last part")
	f.StringVar(&q.Output, "output", ".", "folder to write to")
	jsonFlag(f, &asJSON)
	return cmd
}
