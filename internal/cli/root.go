package cli

import (
	"context"
	"fmt"
	"io"
	"regexp"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/mlperf-go/mlperf/internal/run/outdir"
)

// verbs are all commands, in the groups and the order in which help lists them. A new verb needs a line here and a file of its
// own; TestVerbs says what else.
func verbs() []verbGroup {
	return []verbGroup{
		{"Measure", []*cobra.Command{newRun(), newSuite(), newTune(), newSelftest(), newServe()}},
		{"Look at results", []*cobra.Command{newExplain(), newReport(), newCompare(), newAccuracy()}},
		{"Before a run", []*cobra.Command{newList(), newShow(), newPlan(), newTrace(), newDoctor(), newSystem()}},
		{"Models and data", []*cobra.Command{newDownload(), newVerify(), newSynth(), newPreprocess(), newQuantize(), newConvert(), newCache()}},
		{"Submit", []*cobra.Command{newSubmission(), newAudit()}},
		{"Others", []*cobra.Command{newSchema(), newMan(), newVersion()}},
	}
}

type verbGroup struct {
	title string
	verbs []*cobra.Command
}

// Run carries out a command line and returns the exit status. It ends early with the context, whose cause is then
// ErrInterrupted.
func Run(ctx context.Context, args []string, stdout, stderr io.Writer) int {
	root := New(stdout, stderr)
	resolved := make([]string, len(args))
	for i, a := range args {
		resolved[i] = outdir.Latest(a)
	}
	root.SetArgs(resolved)
	cmd, err := root.ExecuteContextC(ctx)
	if err = ended(ctx, err); err == nil {
		return ExitDone
	}
	status := statusOf(err)
	if text := errorText(cmd, err); text != "" {
		fmt.Fprintf(stderr, "mlperf: %s\n", shortWords(text))
	}
	if status == ExitUsage {
		fmt.Fprintf(stderr, "See %s --help.\n", cmd.CommandPath())
	}
	return status
}

var longWords = regexp.MustCompile(`[^\s/\\]{201,}`)

// shortWords cuts long words, but for paths, which would hide what is wrong with them.
func shortWords(text string) string {
	return longWords.ReplaceAllStringFunc(text, func(word string) string {
		letters := []rune(word)
		return string(letters[:100]) + "…" + string(letters[len(letters)-50:])
	})
}

// New returns the command line.
func New(stdout, stderr io.Writer) *cobra.Command {
	root := &cobra.Command{
		Use:   "mlperf",
		Short: "Run MLPerf Inference: load generator, reference workloads, official metrics",
		Long: `mlperf measures how fast this machine answers ML queries under the four traffic
patterns of MLPerf Inference, and how accurately.

It is not an official LoadGen build: results are not official MLPerf results.
MLPerf is a trademark of MLCommons.

Every flag may also be an environment variable (MLPERF_TARGET_QPS for --target-qps) or
a line of mlperf.yaml (target-qps: 100); the flag wins, then the variable, then the
file. --config, or MLPERF_CONFIG, names another file; one that is only found in the working
folder may not set flags that load code, name files to write, or send keys. MLPERF_CACHE_DIR
and MLPERF_DATA_DIR are the folders for what can be made again and for what was downloaded.`,
		Example:       "  mlperf run my.onnx\n  mlperf run --model resnet50 --scenario server --quick --target-latency auto",
		SilenceErrors: true,
		SilenceUsage:  true,
		Version:       program(),

		SuggestionsMinimumDistance: 2,

		Args:              noVerb,
		RunE:              func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
		PersistentPreRunE: func(cmd *cobra.Command, _ []string) error { return settleFlags(cmd) },
	}
	root.SetOut(stdout)
	root.SetErr(stderr)
	root.SetFlagErrorFunc(explainFlagError)
	defineProgress(root.PersistentFlags())
	defineConfig(root.PersistentFlags())
	for _, g := range verbs() {
		root.AddGroup(&cobra.Group{ID: g.title, Title: g.title})
		for _, cmd := range g.verbs {
			cmd.GroupID = g.title
			cmd.SuggestionsMinimumDistance = root.SuggestionsMinimumDistance
			switch {
			case cmd.RunE == nil: // it only has commands below it
				cmd.Args, cmd.RunE = noVerb, root.RunE
			case cmd.Args == nil:
				cmd.Args = arguments(0, 0)
			}
			root.AddCommand(cmd)
		}
	}
	root.SetGlobalNormalizationFunc(officialSpelling)
	setHelp(root)
	completeValues(root)
	return root
}

// officialSpelling accepts underscores for hyphens, and the names that the official scripts have for flags of ours.
func officialSpelling(_ *pflag.FlagSet, name string) pflag.NormalizedName {
	name = strings.ReplaceAll(name, "_", "-")
	switch name {
	case "output-dtype":
		name = "dtype"
	case "mlperf-accuracy-file", "log-file", "path":
		name = "log"
	case "data", "coco-dir", "openimages-dir", "waymo-dir", "preprocessed-data-dir":
		name = "dataset-path"
	}
	return pflag.NormalizedName(name)
}
