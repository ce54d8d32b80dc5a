package cli

import (
	"context"
	"errors"
	"fmt"

	"github.com/mlperf-go/mlperf/internal/userinput"
)

// The exit statuses. They are part of the contract: scripts rely on them.
const (
	ExitDone        = 0   // done; VALID, target met
	ExitError       = 1   // could not be done
	ExitUsage       = 2   // wrong command line
	ExitInvalid     = 3   // finished, INVALID
	ExitInaccurate  = 4   // finished, accuracy below the target
	ExitChanged     = 5   // compare: a change is beyond a --fail-if
	ExitInterrupted = 130 // interrupted; what there was is written and marked
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

// Usage marks an error as a wrong command line.
func Usage(format string, args ...any) error {
	return statusError{ExitUsage, fmt.Errorf(format, args...)}
}

// Finished is the outcome of a command that has said everything.
func Finished(status int) error {
	if status == ExitDone {
		return nil
	}
	return statusError{status: status}
}

// Interrupted is the outcome of a command that a signal ended. What went wrong besides, such as that the results
// could not be written, is still to be said.
func Interrupted(err error) error { return statusError{ExitInterrupted, beside(err)} }

// Ended is the error of a command whose context may have ended by a signal: what only says that it was cancelled then says no
// more than that.
func Ended(ctx context.Context, err error) error {
	if errors.Is(context.Cause(ctx), ErrInterrupted) && errors.Is(err, context.Canceled) && StatusOf(err) == ExitError {
		return Interrupted(err)
	}
	return err
}

// beside is what is in an error besides the interruption.
func beside(err error) error {
	if joined, ok := err.(interface{ Unwrap() []error }); ok {
		var rest []error
		for _, e := range joined.Unwrap() {
			rest = append(rest, beside(e))
		}
		return errors.Join(rest...)
	}
	if errors.Is(err, ErrInterrupted) || errors.Is(err, context.Canceled) {
		return nil
	}
	return err
}

// ErrInterrupted is the cause of what a signal ended.
var ErrInterrupted = errors.New("interrupted")

// StatusOf is the exit status of an error.
func StatusOf(err error) int {
	var status statusError
	var of *userinput.Error
	switch {
	case errors.As(err, &status):
		return status.status
	case errors.Is(err, ErrInterrupted):
		return ExitInterrupted
	case errors.As(err, &of):
		return ExitUsage
	}
	return ExitError
}
