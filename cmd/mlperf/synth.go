package main

import (
	"context"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/mlperf-go/mlperf/internal/builtin"
	"github.com/mlperf-go/mlperf/internal/home"
	"github.com/mlperf-go/mlperf/internal/models"
	"github.com/mlperf-go/mlperf/internal/workload"
)

func newSynth() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "synth",
		Short: "Make a built-in model or data set",
		Long: `Make a built-in model or data set and print where it is. Runs make what they need by
themselves; this is for looking at it, or for making it beforehand.`,
		Example: "  mlperf synth model mobilenet\n  mlperf synth dataset imagenet",
		Args:    noVerb,
		RunE:    func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	cmd.AddCommand(newSynthModel(), newSynthDataset())
	return cmd
}

func newSynthModel() *cobra.Command {
	var engine engineOptions
	cmd := &cobra.Command{
		Use:   "model NAME",
		Short: "Make a built-in model: the official architecture with random weights",
		Long: `Make a built-in model: the official architecture, layer by layer, with weights drawn
from a seed. Its last layer is computed with ONNX Runtime from the anchors of the
built-in data set, so that accuracy means something.`,
		Example: "  mlperf synth model mobilenet",
		Args:    arguments(1, 1),
		RunE: func(cmd *cobra.Command, args []string) error {
			m, err := models.Lookup(args[0])
			if err != nil {
				return usage("%w", err)
			}
			return withMaker(cmd, engine, func(ctx context.Context, maker builtin.Maker) error {
				path, err := maker.Model(ctx, m)
				if err == nil {
					_, err = fmt.Fprintln(cmd.OutOrStdout(), path)
				}
				return err
			})
		},
	}
	engine.defineLibrary(cmd.Flags())
	return cmd
}

func newSynthDataset() *cobra.Command {
	var engine engineOptions
	noScore := false
	cmd := &cobra.Command{
		Use:   "dataset NAME",
		Short: "Make a built-in data set, and measure what the built-in models reach on it",
		Long: `Make a built-in data set in the official layout, and measure the reference accuracy of
the built-in models on it: FP32, on the CPU. The scores are kept in builtin.json
beside the data. Where the ground truth follows from what a model answers, each model
has a data set of its own: NAME may also be that of a model.`,
		Example: "  mlperf synth dataset imagenet\n  mlperf synth dataset ssd-mobilenet",
		Args:    arguments(1, 1),
		RunE: func(cmd *cobra.Command, args []string) error {
			return withMaker(cmd, engine, func(ctx context.Context, maker builtin.Maker) error {
				return synthDataset(ctx, cmd.OutOrStdout(), maker, args[0], noScore)
			})
		},
	}
	engine.defineLibrary(cmd.Flags())
	cmd.Flags().BoolVar(&noScore, "no-score", false, "do not measure the models")
	return cmd
}

// synthDataset makes the built-in data set of a model, or those of all models that have a
// data set of that name.
func synthDataset(ctx context.Context, w io.Writer, maker builtin.Maker, name string, noScore bool) error {
	all, err := modelsOf(name)
	if err != nil {
		return usage("%w", err)
	}
	said := ""
	for _, m := range all {
		dir, err := maker.Dataset(ctx, m)
		if err != nil {
			return err
		}
		if dir != said {
			fmt.Fprintln(w, dir)
			said = dir
		}
		if noScore {
			continue
		}
		score, err := maker.Reference(ctx, m)
		if err != nil {
			return err
		}
		fmt.Fprintf(w, "%s: %s %.6g\n", m.Name, m.Quality.Metric, score)
	}
	return nil
}

// modelsOf returns the models that have a data set, or the one model of that name.
func modelsOf(dataset string) ([]workload.Model, error) {
	var all []workload.Model
	names := map[string]bool{}
	for _, m := range models.All() {
		names[m.Dataset] = true
		if m.Dataset == dataset {
			all = append(all, m)
		}
	}
	if len(all) > 0 {
		return all, nil
	}
	if m, err := models.Lookup(dataset); err == nil {
		return []workload.Model{m}, nil
	}
	return nil, fmt.Errorf("unknown data set %q, want one of %s, or a model", dataset, strings.Join(slices.Sorted(maps.Keys(names)), ", "))
}

// withMaker calls f with a maker that has ONNX Runtime.
func withMaker(cmd *cobra.Command, o engineOptions, f func(context.Context, builtin.Maker) error) error {
	cache, err := home.CacheDir()
	if err != nil {
		return err
	}
	engine, err := o.openORT()
	if err != nil {
		return err
	}
	defer engine.Close()
	progress := newProgress(cmd.ErrOrStderr())
	defer progress.done()
	return f(cmd.Context(), builtin.Maker{Dir: cache, Engine: engine, Observer: progress, Program: program()})
}
