package main

import (
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"
)

// newRoot returns the command line. Each verb has a file of its own.
func newRoot(stdout, stderr io.Writer) *cobra.Command {
	root := &cobra.Command{
		Use:   "mlperf",
		Short: "Run MLPerf Inference: load generator, reference workloads, official metrics",
		Long: `mlperf measures how fast this machine answers ML queries under the four traffic
patterns of MLPerf Inference, and how accurately.

It is not an official LoadGen build: results are not official MLPerf results.
MLPerf is a trademark of MLCommons.`,
		Example:       "  mlperf trace --scenario server --target-qps 500 --min-duration 1s --json",
		SilenceErrors: true,
		SilenceUsage:  true,

		SuggestionsMinimumDistance: 2,

		// Without a verb, and with one that does not exist.
		Args: noVerb,
		RunE: func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	root.SetOut(stdout)
	root.SetErr(stderr)
	root.SetFlagErrorFunc(func(_ *cobra.Command, err error) error { return usage("%w", err) })
	root.AddCommand(
		newAccuracy(),
		newDoctor(),
		newDownload(),
		newExplain(),
		newList(),
		newPlan(),
		newPreprocess(),
		newQuantize(),
		newReport(),
		newRun(),
		newSelftest(),
		newShow(),
		newSynth(),
		newTrace(),
		newTune(),
		newVerify(),
		newVersion(),
	)
	for _, cmd := range root.Commands() {
		if cmd.Args == nil {
			cmd.Args = arguments(0, 0)
		}
	}
	return root
}

func noVerb(cmd *cobra.Command, args []string) error {
	if len(args) == 0 {
		return nil
	}
	text := fmt.Sprintf("unknown command %q", args[0])
	if close := cmd.SuggestionsFor(args[0]); len(close) > 0 {
		text += fmt.Sprintf(", did you mean %s?", strings.Join(close, " or "))
	}
	return usage("%s", text)
}

// arguments accepts between least and most arguments.
func arguments(least, most int) cobra.PositionalArgs {
	return func(cmd *cobra.Command, args []string) error {
		switch {
		case len(args) > most:
			return usage("%s: unexpected argument %q", cmd.CommandPath(), args[most])
		case len(args) < least:
			return usage("%s: want %s", cmd.CommandPath(), strings.TrimSpace(strings.TrimPrefix(cmd.Use, cmd.Name())))
		}
		return nil
	}
}
