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

	"github.com/mlperf-go/mlperf/internal/field"
	"github.com/mlperf-go/mlperf/internal/session"
)

// The exit statuses. They are part of the contract: scripts rely on them.
const (
	exitDone        = 0   // done; VALID, target met
	exitError       = 1   // could not be done
	exitUsage       = 2   // wrong command line
	exitInvalid     = 3   // finished, INVALID
	exitInaccurate  = 4   // finished, accuracy below the target
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
