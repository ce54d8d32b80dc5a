package cli

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/spf13/cobra"

	"github.com/mlperf-go/mlperf/internal/run/outdir"
	"github.com/mlperf-go/mlperf/internal/userinput"
)

func TestStatusOf(t *testing.T) {
	for _, c := range []struct {
		err  error
		want int
	}{
		{nil, ExitDone},
		{finished(ExitDone), ExitDone},
		{errors.New("no"), ExitError},
		{usage("no %s", "flag"), ExitUsage},
		{fmt.Errorf("run: %w", userinput.Invalid("count", -1, "a number")), ExitUsage},
		{fmt.Errorf("run: %w", ErrInterrupted), ExitInterrupted},
		{errors.Join(finished(ExitChanged), errors.New("no")), ExitChanged},
	} {
		if got := statusOf(c.err); got != c.want {
			t.Errorf("statusOf(%v) = %d, want %d", c.err, got, c.want)
		}
	}
}

// An interruption needs no words, and errors beside it are not lost.
func TestInterruptions(t *testing.T) {
	stopped, stop := context.WithCancelCause(t.Context())
	stop(ErrInterrupted)
	other, cancel := context.WithCancel(t.Context())
	cancel()
	asking, full := fmt.Errorf("asking: %w", context.Canceled), errors.New("the disk is full")
	for _, c := range []struct {
		name string
		err  error
		want int
		text string
	}{
		{"cancelled by a signal", ended(stopped, asking), ExitInterrupted, ""},
		{"and another error", ended(stopped, errors.Join(asking, full)), ExitInterrupted, "the disk is full"},
		{"another error alone", ended(stopped, full), ExitError, "the disk is full"},
		{"an INVALID result", ended(stopped, finished(ExitInvalid)), ExitInvalid, ""},
		{"cancelled without a signal", ended(other, asking), ExitError, "asking: context canceled"},
		{"errors on both sides", interrupted(errors.Join(full, errors.Join(ErrInterrupted, context.Canceled), errors.New("the page: no"))), ExitInterrupted, "the disk is full\nthe page: no"},
		{"no error", interrupted(nil), ExitInterrupted, ""},
		{"a reader that has gone", ended(other, fmt.Errorf("printing: %w", ErrReaderGone)), ExitInterrupted, ""},
		{"and another error", ended(other, errors.Join(full, ErrReaderGone)), ExitInterrupted, "the disk is full"},
	} {
		if statusOf(c.err) != c.want || c.err.Error() != c.text {
			t.Errorf("%s: status %d, %q, want %d, %q", c.name, statusOf(c.err), c.err, c.want, c.text)
		}
	}
	if err := ended(stopped, nil); err != nil {
		t.Errorf("a signal after the end: %v", err)
	}
}

func TestErrorText(t *testing.T) {
	home := t.TempDir()
	cache, data := filepath.Join(home, ".cache", "mlperf"), filepath.Join(home, "data")
	t.Setenv("MLPERF_CACHE_DIR", cache)
	t.Setenv("MLPERF_DATA_DIR", data)
	cmd := &cobra.Command{}
	cmd.Flags().Int("max-batchsize", 0, "")
	replaces := &cobra.Command{}
	replaces.Flags().Bool("force", false, "")
	exists := &outdir.ExistsError{Folder: "d"}
	count := userinput.Invalid("max_batchsize", -1, "a number")
	at := func(path string, why error) error { return &fs.PathError{Op: "mkdir", Path: path, Err: why} }
	for _, c := range []struct {
		err  error
		want string
	}{
		{fmt.Errorf("run: %w", count), "run: --max-batchsize is -1: must be a number"},
		{errors.Join(count, errors.New("b")), "--max-batchsize is -1: must be a number\nb"},
		{&userinput.Error{Field: "max_batchsize", Origin: "environment X", Err: errors.New("no")}, "environment X: no"},
		{userinput.Errorf("model", "unknown model %q", "x"), `unknown model "x"`},
		{userinput.Invalid("rows", -1, "1"), "rows is -1: must be 1"},
		{exists, exists.Error()}, // of a command without the flag
		{at(filepath.Join(cache, "models"), syscall.EACCES), "mkdir " + cache + "/models: permission denied; MLPERF_CACHE_DIR names another folder"},
		{at(filepath.Join(home, ".cache"), syscall.EROFS), "mkdir " + home + "/.cache: read-only file system; MLPERF_CACHE_DIR names another folder"},
		{&os.LinkError{Op: "rename", Old: "x", New: filepath.Join(data, "y"), Err: syscall.ENOSPC}, "rename x " + data + "/y: no space left on device; MLPERF_DATA_DIR names another folder"},
		{at(cache+"-2", syscall.EACCES), "mkdir " + cache + "-2: permission denied"},
		{at(filepath.Join(cache, "models"), syscall.ENOENT), "mkdir " + cache + "/models: no such file or directory"},
	} {
		if got := errorText(cmd, c.err); got != c.want {
			t.Errorf("got  %s\nwant %s", got, c.want)
		}
	}
	if got, want := errorText(replaces, exists), exists.Error()+" with --force"; got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
}
