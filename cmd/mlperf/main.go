// Command mlperf runs MLPerf Inference: the load generator, the reference workloads,
// the official metrics. See mlperf --help.
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"slices"
	"strings"
	"syscall"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/mlperf-go/mlperf/internal/field"
	"github.com/mlperf-go/mlperf/internal/progress"
	"github.com/mlperf-go/mlperf/internal/session"
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
		PersistentPreRunE: func(cmd *cobra.Command, _ []string) error { return before(cmd) },
	}
	root.SetOut(stdout)
	root.SetErr(stderr)
	root.SetFlagErrorFunc(unknownFlag)
	root.PersistentFlags().String(progressFlag, string(progress.Auto), "how progress is shown: auto, plain (lines), none, json (an object a line, on standard error)")
	root.AddCommand(verbs()...)
	root.SetGlobalNormalizationFunc(officialSpelling)
	for _, cmd := range root.Commands() {
		cmd.SuggestionsMinimumDistance = root.SuggestionsMinimumDistance
		if cmd.Args == nil {
			cmd.Args = arguments(0, 0)
		}
	}
	setHelp(root)
	if err := setCompletion(root); err != nil {
		panic(err) // a flag that is not there, or completed twice
	}
	return root
}

// verbs are all commands, in the order of their names.
func verbs() []*cobra.Command {
	return []*cobra.Command{
		newAccuracy(),
		newAudit(),
		newCache(),
		newCompare(),
		newConvert(),
		newDoctor(),
		newDownload(),
		newExplain(),
		newList(),
		newMan(),
		newPlan(),
		newPreprocess(),
		newQuantize(),
		newReport(),
		newRun(),
		newSchema(),
		newSelftest(),
		newServe(),
		newShow(),
		newSubmission(),
		newSuite(),
		newSynth(),
		newSystem(),
		newTrace(),
		newTune(),
		newVerify(),
		newVersion(),
	}
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
		case slices.Contains(args, ""): // a variable of a shell that is not set
			return usage("%s: an argument is empty: want %s", cmd.CommandPath(), strings.TrimSpace(strings.TrimPrefix(cmd.Use, cmd.Name())))
		}
		return nil
	}
}

// The exit statuses. They are part of the contract: scripts rely on them.
const (
	exitDone        = 0   // done; VALID, target met
	exitError       = 1   // could not be done
	exitUsage       = 2   // wrong command line
	exitInvalid     = 3   // finished, INVALID
	exitInaccurate  = 4   // finished, accuracy below the target
	exitChanged     = 5   // compare: a change is beyond a --fail-if
	exitInterrupted = 130 // interrupted; what there was is written and marked
)

// A statusError ends the program with a status. Its text may be empty, if everything
// has been said.
type statusError struct {
	status int
	err    error
}

func (e statusError) Error() string {
	if e.err == nil {
		return ""
	}
	return e.err.Error()
}

func (e statusError) Unwrap() error { return e.err }

// usage marks an error as a wrong command line.
func usage(format string, args ...any) error {
	return statusError{exitUsage, fmt.Errorf(format, args...)}
}

// finished is the outcome of a command that has said everything.
func finished(status int) error {
	if status == exitDone {
		return nil
	}
	return statusError{status: status}
}

// execute runs a command line and returns the exit status.
func execute(args []string, stdout, stderr io.Writer) int {
	ctx, stop := interruptible(context.Background(), stderr)
	defer stop()
	root := newRoot(stdout, stderr)
	root.SetArgs(args)
	cmd, err := root.ExecuteContextC(ctx)
	if err == nil {
		return exitDone
	}
	status := statusOf(err)
	if text := textOf(cmd, err); text != "" {
		fmt.Fprintf(stderr, "mlperf: %s\n", text)
	}
	if status == exitUsage {
		fmt.Fprintf(stderr, "See %s --help.\n", cmd.CommandPath())
	}
	return status
}

// statusOf is the exit status of an error.
func statusOf(err error) int {
	var status statusError
	var of *field.Error
	switch {
	case errors.As(err, &status):
		return status.status
	case errors.Is(err, errInterrupted):
		return exitInterrupted
	case errors.As(err, &of):
		return exitUsage
	}
	return exitError
}

// textOf is the text of an error, with flags for the fields of requests.
func textOf(cmd *cobra.Command, err error) string {
	if joined, ok := err.(interface{ Unwrap() []error }); ok {
		var lines []string
		for _, e := range joined.Unwrap() {
			lines = append(lines, textOf(cmd, e))
		}
		return strings.Join(lines, "\n")
	}
	text := err.Error()
	var of *field.Error
	if errors.As(err, &of) && of.Origin == "" && cmd.Flags().Lookup(of.Flag()) != nil {
		text = strings.Replace(text, of.Error(), of.Named("--"+of.Flag()), 1)
	}
	var exists *session.ExistsError
	if errors.As(err, &exists) {
		text += " with --force"
	}
	return text
}

var errInterrupted = errors.New("interrupted")

// interruptible returns a context that SIGINT, SIGTERM and SIGHUP cancel. A second signal
// ends the program at once, for when something does not end.
func interruptible(ctx context.Context, stderr io.Writer) (context.Context, func()) {
	ctx, cancel := context.WithCancelCause(ctx)
	signals := make(chan os.Signal, 2)
	signal.Notify(signals, os.Interrupt, syscall.SIGTERM, syscall.SIGHUP)
	go func() {
		if _, ok := <-signals; !ok {
			return
		}
		fmt.Fprintln(stderr, "\nmlperf: stopping; once more to quit at once")
		cancel(errInterrupted)
		if _, ok := <-signals; ok {
			os.Exit(exitInterrupted)
		}
	}()
	return ctx, func() {
		signal.Stop(signals)
		close(signals)
		cancel(nil)
	}
}
