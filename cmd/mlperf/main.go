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
	"strings"
	"syscall"

	"github.com/spf13/cobra"

	"github.com/mlperf-go/mlperf/internal/cli"
	"github.com/mlperf-go/mlperf/internal/run"
	"github.com/mlperf-go/mlperf/internal/userinput"
)

func main() {
	os.Exit(execute(os.Args[1:], os.Stdout, os.Stderr))
}

// execute runs a command line and returns the exit status.
func execute(args []string, stdout, stderr io.Writer) int {
	ctx, stop := interruptible(context.Background(), stderr)
	defer stop()
	root := newRoot(stdout, stderr)
	root.SetArgs(args)
	cmd, err := root.ExecuteContextC(ctx)
	if err = cli.Ended(ctx, err); err == nil {
		return cli.ExitDone
	}
	status := cli.StatusOf(err)
	if text := textOf(cmd, err); text != "" {
		fmt.Fprintf(stderr, "mlperf: %s\n", userinput.PrintableText(text))
	}
	if status == cli.ExitUsage {
		fmt.Fprintf(stderr, "See %s --help.\n", cmd.CommandPath())
	}
	return status
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
	var of *userinput.Error
	if errors.As(err, &of) && of.Origin == "" {
		text = strings.Replace(text, of.Error(), named(cmd, of), 1)
	}
	var exists *run.ExistsError
	if errors.As(err, &exists) {
		text += " with --force"
	}
	return text + cli.Elsewhere(err)
}

// named is the text of an error about a field that has no origin, with the flag for it. Where there is none, an argument is
// meant, whose kind the text says itself: unknown model "x".
func named(cmd *cobra.Command, of *userinput.Error) string {
	reason := of.Err.Error()
	switch {
	case cmd.Flags().Lookup(of.Flag()) != nil:
		return of.Named("--" + of.Flag())
	case strings.HasPrefix(reason, "unknown "):
		return reason
	}
	return of.Error()
}

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
		cancel(cli.ErrInterrupted)
		if _, ok := <-signals; ok {
			os.Exit(cli.ExitInterrupted)
		}
	}()
	return ctx, func() {
		signal.Stop(signals)
		close(signals)
		cancel(nil)
	}
}
