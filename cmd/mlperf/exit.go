package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"syscall"
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
	err := root.ExecuteContext(ctx)
	if err == nil {
		return exitDone
	}
	if text := err.Error(); text != "" {
		fmt.Fprintf(stderr, "mlperf: %s\n", text)
	}
	var status statusError
	switch {
	case errors.As(err, &status):
		if status.status == exitUsage {
			fmt.Fprintln(stderr, "See mlperf --help.")
		}
		return status.status
	case errors.Is(err, errInterrupted):
		return exitInterrupted
	}
	return exitError
}

var errInterrupted = errors.New("interrupted")

// interruptible returns a context that SIGINT and SIGTERM cancel. A second signal ends
// the program at once, for when something does not end.
func interruptible(ctx context.Context, stderr io.Writer) (context.Context, func()) {
	ctx, cancel := context.WithCancelCause(ctx)
	signals := make(chan os.Signal, 2)
	signal.Notify(signals, os.Interrupt, syscall.SIGTERM)
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
