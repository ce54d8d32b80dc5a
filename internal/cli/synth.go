package cli

import (
	"fmt"

	"github.com/spf13/cobra"

	"github.com/mlperf-go/mlperf/internal/builtin"
	"github.com/mlperf-go/mlperf/internal/units"
)

func newSynth() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "synth",
		Short: "Make a built-in model or data set",
		Long: `Make a built-in model or data set and print where it is. Runs make what they need by
themselves; this command is for looking at it, or for making it beforehand.`,
		Example: "  mlperf synth model mobilenet\n  mlperf synth dataset imagenet",
	}
	cmd.AddCommand(newSynthModel(), newSynthDataset())
	return cmd
}

func newSynthModel() *cobra.Command {
	var library string
	var size builtin.Size
	asJSON := false
	cmd := &cobra.Command{
		Use:   "model NAME",
		Short: "Make a built-in model: the official architecture with random weights",
		Long: `Make a built-in model: the official architecture, layer by layer, with weights drawn
from a seed. Its last layer is computed with ONNX Runtime from the anchors of the
built-in data set, so that accuracy means something.`,
		Example: "  mlperf synth model mobilenet",
		Args:    arguments(1, 1),
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := notFile("synth model", args[0]); err != nil {
				return err
			}
			display := newDisplay(cmd)
			defer display.Done()
			path, err := builtin.MakeModel(cmd.Context(), program(), args[0], library, size, display)
			if err != nil {
				return err
			}
			if asJSON {
				return printJSON(cmd.OutOrStdout(), "synth", map[string]string{"model": args[0], "path": path})
			}
			err = say(cmd.OutOrStdout(), "%s\n", path)
			return err
		},
	}
	defineLibrary(cmd.Flags(), &library)
	jsonFlag(cmd.Flags(), &asJSON)
	cmd.Flags().BoolVar(&size.Full, "full-size", false, "all layers and rows of the real model, where the built-in one has fewer")
	cmd.Flags().Int64Var(&size.Rows, "rows", 0, rowsHelp)
	return cmd
}

func newSynthDataset() *cobra.Command {
	var library string
	noScore, asJSON := false, false
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
			display := newDisplay(cmd)
			defer display.Done()
			w, made := cmd.OutOrStdout(), []builtin.MadeDataset{}
			err := builtin.MakeDataset(cmd.Context(), program(), args[0], library, !noScore, display, func(s builtin.MadeDataset) {
				if made = append(made, s); asJSON {
					return
				}
				if n := len(made); n == 1 || made[n-2].Dir != s.Dir {
					_ = say(w, "%s\n", s.Dir)
				}
				if !noScore {
					fmt.Fprintf(w, "%s: %s %s\n", s.Model, s.Metric, units.Score(s.Score))
				}
			})
			if err != nil || !asJSON {
				return err
			}
			return printJSON(w, "synth-dataset", made)
		},
	}
	jsonFlag(cmd.Flags(), &asJSON)
	defineLibrary(cmd.Flags(), &library)
	cmd.Flags().BoolVar(&noScore, "no-score", false, "do not measure the models")
	return cmd
}
