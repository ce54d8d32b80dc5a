package openai

import (
	"context"
	"errors"
	"sync"
	"testing"
	"testing/synctest"
	"time"
)

// cutOff watches a request that is answered by steps, and returns when it was cut off, and why.
func cutOff(t *testing.T, total, quiet, patience time.Duration, steps func(w *watch, r *watched)) (after time.Duration, why error) {
	t.Helper()
	w := newWatch(total, quiet)
	defer w.close()
	ctx, cancel := context.WithCancelCause(t.Context())
	defer cancel(nil)
	began := time.Now()
	r := w.begin(cancel)
	var all sync.WaitGroup
	defer all.Wait()
	all.Go(func() { steps(w, r) })
	select {
	case <-ctx.Done():
		return time.Since(began), context.Cause(ctx)
	case <-time.After(patience):
		return 0, nil
	}
}

func TestARequestIsCutOffWhenItTakesTooLong(t *testing.T) {
	nothing := func(*watch, *watched) {}
	pauses := func(list ...time.Duration) func(w *watch, r *watched) {
		return func(w *watch, r *watched) {
			w.answering(r)
			for _, d := range list {
				time.Sleep(d)
				w.heard(r, time.Now())
			}
		}
	}
	ended := func(w *watch, r *watched) {
		time.Sleep(5 * time.Second)
		w.end(r)
	}
	left := func(w *watch, r *watched) {
		time.Sleep(2 * time.Second)
		w.leave(r)
	}
	const second = time.Second
	for _, c := range []struct {
		name         string
		total, quiet time.Duration
		steps        func(w *watch, r *watched)
		after        time.Duration
		why          string
	}{
		{"no answer begins", 10 * second, 3 * second, nothing, 10 * second, "time-out: no whole answer within 10s"},
		{"an answer stops at once", 10 * second, 3 * second, pauses(), 3 * second, "time-out: the answer stopped in the middle, nothing came for 3s"},
		{"an answer stops later", 10 * second, 3 * second, pauses(2*second, 2*second), 7 * second, "time-out: the answer stopped in the middle, nothing came for 3s"},
		{"an answer goes on for ever", 10 * second, 3 * second, pauses(2*second, 2*second, 2*second, 2*second, 2*second, 2*second, 2*second), 10 * second, "time-out: no whole answer within 10s"},
		{"all may be quiet", 10 * second, 10 * second, pauses(2 * second), 10 * second, "time-out: no whole answer within 10s"},
		{"more may be quiet than all may take", 10 * second, time.Hour, pauses(), 10 * second, "time-out: no whole answer within 10s"},
		{"it has ended", 10 * second, 3 * second, ended, 0, ""},
		{"its connection does not end", 10 * second, 3 * second, left, 2*second + graceAfterEnd, "time-out: no whole answer within 10s"},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				after, why := cutOff(t, c.total, c.quiet, time.Minute, c.steps)
				if after < c.after || after > c.after+2*watchEvery || c.why == "" && why != nil || c.why != "" && (why == nil || why.Error() != c.why) {
					t.Errorf("after %v: %v, want after %v: %s", after, why, c.after, c.why)
				}
				var f *failure
				if why != nil && (!errors.As(why, &f) || f.kind != kindTimeout || f.again) {
					t.Errorf("%v is no time-out that is not tried again", why)
				}
			})
		})
	}
}

func TestOnlyWhatIsLateIsCutOff(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWatch(10*time.Second, time.Second)
		defer w.close()
		var causes [3]error
		var all [3]*watched
		for i := range all {
			all[i] = w.begin(func(cause error) { causes[i] = cause })
		}
		w.answering(all[1]) // and says nothing more
		w.end(all[2])
		time.Sleep(2 * time.Second)
		synctest.Wait()
		if causes[0] != nil || causes[1] == nil || causes[2] != nil {
			t.Errorf("cut off are %v, want the second only", causes)
		}
		w.end(all[0])
		w.end(all[1])
		w.mu.Lock()
		defer w.mu.Unlock()
		if len(w.active) != 0 {
			t.Errorf("%d requests that have ended are watched", len(w.active))
		}
	})
}
