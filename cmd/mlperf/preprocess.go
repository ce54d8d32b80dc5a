package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"

	"github.com/spf13/cobra"

	"github.com/mlperf-go/mlperf/internal/models"
	"github.com/mlperf-go/mlperf/internal/tensor/npy"
	"github.com/mlperf-go/mlperf/internal/workload"
)

// preprocessOptions are the flags of preprocess.
type preprocessOptions struct {
	model        string
	bind         modelFlags
	root, output string
}

func newPreprocess() *cobra.Command {
	o := &preprocessOptions{}
	cmd := &cobra.Command{
		Use:   "preprocess FILE…",
		Short: "Write a model's input tensors of images as .npy files",
		Long: `Pre-process images as a run does and write what the model would get, as .npy files in
the naming of the reference's cache: NAME.npy for image NAME, in the same folders below
--root. run --preprocessed-dir reads such files.`,
		Example: "  mlperf preprocess --model resnet50 --output preprocessed --root imagenet imagenet/ILSVRC2012_val_00000001.JPEG",
		Args:    cobra.ArbitraryArgs,
		RunE: func(cmd *cobra.Command, files []string) error {
			if o.model == "" || len(files) == 0 {
				return usage("preprocess needs --model and image files")
			}
			model, err := models.Lookup(o.model)
			if err != nil {
				return usage("%w", err)
			}
			if model.NewReader == nil {
				return usage("the samples of %s are not images", model.Name)
			}
			reader, err := model.NewReader(o.bind.values())
			if err != nil {
				return optionUsage(err)
			}
			progress := newProgress(cmd.ErrOrStderr())
			defer progress.done()
			progress.Phase("pre-processing with " + reader.Name())
			return o.run(cmd.Context(), reader, files, progress.Loading)
		},
	}
	f := cmd.Flags()
	f.StringVar(&o.model, "model", "", "model of the catalogue (mlperf list models)")
	o.bind.define(f, func(m workload.Model) []workload.Option { return m.ReaderOptions })
	f.StringVar(&o.root, "root", "", "folder whose structure is kept; without it, files are named by their last part")
	f.StringVar(&o.output, "output", ".", "folder to write to")
	return cmd
}

func (o *preprocessOptions) run(ctx context.Context, reader workload.Reader, files []string, progress func(done, of int)) error {
	for i, file := range files {
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		if err := o.one(reader, file); err != nil {
			return fmt.Errorf("%s: %w", file, err)
		}
		progress(i+1, len(files))
	}
	return nil
}

func (o *preprocessOptions) one(reader workload.Reader, file string) error {
	name := filepath.Base(file)
	if o.root != "" {
		var err error
		if name, err = filepath.Rel(o.root, file); err != nil || !filepath.IsLocal(name) {
			return fmt.Errorf("it is not below %s", o.root)
		}
	}
	data, err := os.ReadFile(file)
	if err != nil {
		return err
	}
	t, err := reader.Read(data)
	if err != nil {
		return err
	}
	path := filepath.Join(o.output, name+".npy")
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return err
	}
	return npy.WriteFile(path, t)
}
