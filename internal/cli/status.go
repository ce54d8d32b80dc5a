package cli

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"

	"github.com/spf13/cobra"

	"github.com/mlperf-go/mlperf/internal/config"
	"github.com/mlperf-go/mlperf/internal/machine/home"
	"github.com/mlperf-go/mlperf/internal/run/outdir"
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
	ExitSignal      = 128 // plus the number of a signal that ends the program at once, as SIGQUIT
	ExitInterrupted = 130 // interrupted; the results so far are written and marked
)

// A statusError ends the program with a status. Its text is empty if the command has printed everything.
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
	return statusError{ExitUsage, fmt.Errorf(format, args...)}
}

// finished ends a command that has printed everything with a status.
func finished(status int) error {
	if status == ExitDone {
		return nil
	}
	return statusError{status: status}
}

// ErrInterrupted is the cause of a context that a signal has ended.
var ErrInterrupted = errors.New("interrupted")

// ErrReaderGone is the interruption by a reader of the output that has gone (mlperf plan | head). It needs no words.
var ErrReaderGone = fmt.Errorf("%w: the reader of the output has gone", ErrInterrupted)

// interrupted ends a command that a signal has stopped. Other errors beside the interruption, for instance of writing the
// results, keep their text.
func interrupted(err error) error { return statusError{ExitInterrupted, beside(err)} }

// beside is the part of an error that is not the interruption.
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

// ended is the error of a command whose context a signal may have ended: one that says no more than "cancelled" becomes an
// interruption.
func ended(ctx context.Context, err error) error {
	if errors.Is(err, ErrReaderGone) || errors.Is(context.Cause(ctx), ErrInterrupted) && errors.Is(err, context.Canceled) && statusOf(err) == ExitError {
		return interrupted(err)
	}
	return err
}

// statusOf is the exit status of an error.
func statusOf(err error) int {
	var status statusError
	switch {
	case err == nil:
		return ExitDone
	case errors.As(err, &status):
		return status.status
	case errors.Is(err, ErrInterrupted):
		return ExitInterrupted
	case errors.As(err, new(*userinput.Error)):
		return ExitUsage
	}
	return ExitError
}

// errorText is the text of the error of a command: with flags for the fields of requests, and with what helps.
func errorText(cmd *cobra.Command, err error) string {
	if joined, ok := err.(interface{ Unwrap() []error }); ok {
		var lines []string
		for _, e := range joined.Unwrap() {
			lines = append(lines, errorText(cmd, e))
		}
		return strings.Join(lines, "\n")
	}
	text := strings.Join(userinput.ErrorLines(err), "\n")
	var field *userinput.Error
	if errors.As(err, &field) && field.Origin == "" {
		named := []string{}
		if cmd.Flags().Lookup(field.Flag()) != nil {
			named = userinput.ErrorLines(&userinput.Error{Origin: "--" + field.Flag(), Err: field.Err})
		} else if reason := userinput.ErrorLines(field.Err); strings.HasPrefix(reason[0], "unknown ") { // of an argument: unknown model "x"
			named = reason
		}
		if len(named) > 0 {
			text = strings.Replace(text, strings.Join(userinput.ErrorLines(field), "\n"), strings.Join(named, "\n"), 1)
		}
	}
	if unknown := new(config.KeyError); errors.As(err, &unknown) && unknown.LeftOut && cmd.Flags().Lookup("allow-unknown-keys") != nil {
		text += "; --allow-unknown-keys leaves it out, as LoadGen does"
	}
	if errors.As(err, new(*outdir.ExistsError)) && cmd.Flags().Lookup("force") != nil {
		text += " with --force"
	}
	if variable := folderVariable(err); variable != "" {
		text += "; " + variable + " names another folder"
	}
	return text
}

// folderVariable is the variable that moves the folder in which a file could not be written; "" for other errors.
func folderVariable(err error) string {
	if !errors.Is(err, fs.ErrPermission) && !errors.Is(err, syscall.EROFS) && !errors.Is(err, syscall.ENOSPC) {
		return ""
	}
	path := ""
	var one *fs.PathError
	var two *os.LinkError
	switch {
	case errors.As(err, &one):
		path = one.Path
	case errors.As(err, &two):
		path = two.New
	default:
		return ""
	}
	below := func(path, dir string) bool {
		rel, err := filepath.Rel(dir, path)
		return err == nil && filepath.IsLocal(rel)
	}
	for variable, folder := range map[string]func(...string) (string, error){"MLPERF_CACHE_DIR": home.CacheDir, "MLPERF_DATA_DIR": home.DataDir} {
		if dir, err := folder(); err == nil && (below(path, dir) || below(dir, path)) {
			return variable
		}
	}
	return ""
}
