package cli

import (
	"context"
	"errors"
	"fmt"
	"testing"

	"github.com/mlperf-go/mlperf/internal/userinput"
)

func TestEveryOutcomeHasItsStatus(t *testing.T) {
	for _, c := range []struct {
		name string
		err  error
		want int
	}{
		{"something failed", errors.New("no"), ExitError},
		{"a wrong command line", Usage("no %s", "flag"), ExitUsage},
		{"a wrong field of a request", fmt.Errorf("run: %w", userinput.Invalid("count", -1, "a number")), ExitUsage},
		{"a signal", fmt.Errorf("run: %w", ErrInterrupted), ExitInterrupted},
		{"a finished command", Finished(ExitInvalid), ExitInvalid},
		{"a finished command that also failed to print", errors.Join(Finished(ExitChanged), errors.New("no")), ExitChanged},
	} {
		if got := StatusOf(c.err); got != c.want {
			t.Errorf("%s: status %d, want %d", c.name, got, c.want)
		}
	}
	if err := Finished(ExitDone); err != nil {
		t.Errorf("what is done is an error: %v", err)
	}
	if text := Finished(ExitInvalid).Error(); text != "" {
		t.Errorf("a command that has said everything says %q", text)
	}
}

// TestACommandThatASignalEndedSaysSo, also if it only knows that its context is over; what somebody else cancelled is an error.
func TestACommandThatASignalEndedSaysSo(t *testing.T) {
	interrupted, stop := context.WithCancelCause(t.Context())
	stop(ErrInterrupted)
	other, cancel := context.WithCancel(t.Context())
	cancel()
	asking, full := fmt.Errorf("asking: %w", context.Canceled), errors.New("the disk is full")
	for _, c := range []struct {
		name string
		ctx  context.Context
		err  error
		want int
		text string
	}{
		{"a signal, and an error that says that it was cancelled", interrupted, asking, ExitInterrupted, ""},
		{"a signal, and something beside it", interrupted, errors.Join(asking, full), ExitInterrupted, "the disk is full"},
		{"a signal, and something else", interrupted, full, ExitError, "the disk is full"},
		{"a signal, and a result that is invalid", interrupted, Finished(ExitInvalid), ExitInvalid, ""},
		{"a signal that came too late", interrupted, nil, ExitDone, ""},
		{"no signal", t.Context(), asking, ExitError, "asking: context canceled"},
		{"somebody else", other, asking, ExitError, "asking: context canceled"},
	} {
		err := Ended(c.ctx, c.err)
		status, text := ExitDone, ""
		if err != nil {
			status, text = StatusOf(err), err.Error()
		}
		if status != c.want || text != c.text {
			t.Errorf("%s: status %d, %q, want %d, %q", c.name, status, text, c.want, c.text)
		}
	}
}

// TestWhatWentWrongBesideAnInterruptionIsSaid: that results could not be written must not get lost.
func TestWhatWentWrongBesideAnInterruptionIsSaid(t *testing.T) {
	full, traffic := errors.New("the disk is full"), fmt.Errorf("traffic: %w", ErrInterrupted)
	for _, c := range []struct {
		name string
		err  error
		want string
	}{
		{"nothing", traffic, ""},
		{"no error at all", nil, ""},
		{"an error beside it", errors.Join(traffic, full), "the disk is full"},
		{"errors on both sides", errors.Join(full, errors.Join(ErrInterrupted, context.Canceled), errors.New("the page: no")), "the disk is full\nthe page: no"},
		{"what follows from it", errors.Join(ErrInterrupted, fmt.Errorf("asking: %w", context.Canceled)), ""},
	} {
		err := Interrupted(c.err)
		if StatusOf(err) != ExitInterrupted || err.Error() != c.want {
			t.Errorf("%s: status %d, %q, want %q", c.name, StatusOf(err), err, c.want)
		}
	}
}
