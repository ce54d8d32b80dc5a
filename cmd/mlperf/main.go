// Command mlperf runs MLPerf Inference: the load generator, the reference workloads,
// the official metrics. See mlperf --help.
package main

import (
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

func main() {
	os.Exit(execute(os.Args[1:], os.Stdout, os.Stderr))
}

// newRoot returns the command line. Sibling verbs share a file.
func newRoot(stdout, stderr io.Writer) *cobra.Command {
	root := &cobra.Command{
		Use:   "mlperf",
		Short: "Run MLPerf Inference: load generator, reference workloads, official metrics",
		Long: `mlperf measures how fast this machine answers ML queries under the four traffic
patterns of MLPerf Inference, and how accurately.

It is not an official LoadGen build: results are not official MLPerf results.
MLPerf is a trademark of MLCommons.

Every flag may also be an environment variable (MLPERF_TARGET_QPS for --target-qps) or
a line of mlperf.yaml (target-qps: 100); the flag wins, then the variable, then the
file. MLPERF_CONFIG names another file, MLPERF_CACHE_DIR and MLPERF_DATA_DIR the folders
for what can be made again and for what was downloaded.`,
		Example:       "  mlperf trace --scenario server --target-qps 500 --min-duration 1s --json",
		SilenceErrors: true,
		SilenceUsage:  true,

		SuggestionsMinimumDistance: 2,

		// Without a verb, and with one that does not exist.
		Args:              noVerb,
		RunE:              func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
		PersistentPreRunE: func(cmd *cobra.Command, _ []string) error { return settle(cmd) },
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
		newSubmission(),
		newSynth(),
		newTrace(),
		newTune(),
		newVerify(),
		newVersion(),
	)
	root.SetGlobalNormalizationFunc(officialSpelling)
	for _, cmd := range root.Commands() {
		if cmd.Args == nil {
			cmd.Args = arguments(0, 0)
		}
	}
	return root
}

// officialSpelling accepts underscores for hyphens, and what the official scripts call
// flags that are ours.
func officialSpelling(_ *pflag.FlagSet, name string) pflag.NormalizedName {
	name = strings.ReplaceAll(name, "_", "-")
	switch name {
	case "output-dtype":
		name = "dtype"
	case "mlperf-accuracy-file", "log-file":
		name = "log"
	case "coco-dir", "openimages-dir", "preprocessed-data-dir":
		name = "dataset-path"
	}
	return pflag.NormalizedName(name)
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
