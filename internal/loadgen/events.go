package loadgen

import (
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/mlperf-go/mlperf/internal/machine/clock"
	"github.com/mlperf-go/mlperf/internal/units"
)

// An eventLog collects events from the goroutines of a test.
type eventLog struct {
	mu     sync.Mutex
	list   []Event
	closed bool
}

// close returns the events. Later ones, of an issue loop whose SUT was given up and has
// returned after all, are dropped.
func (l *eventLog) close() []Event {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.closed = true
	return l.list
}

// snapshot returns the events so far.
func (l *eventLog) snapshot() []Event {
	l.mu.Lock()
	defer l.mu.Unlock()
	return slices.Clone(l.list)
}

func (l *eventLog) add(e Event) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.closed {
		return
	}
	e.Time = clock.Now()
	l.list = append(l.list, e)
}

func (l *eventLog) message(text string) { l.add(Event{Key: "generic_message", Value: text}) }

func (l *eventLog) warn(format string, args ...any) {
	l.add(Event{Key: "warning_generic_message", Value: fmt.Sprintf(format, args...), IsWarning: true})
}

func (l *eventLog) fail(format string, args ...any) {
	l.add(Event{Key: "error_runtime", Value: fmt.Sprintf(format, args...), IsError: true})
}

// checkClocks compares how long a phase lasted by the monotonic and by the wall clock, as
// the reference does: more than 1 % apart is an error, more than 0.1 % a warning. Phases
// below a second are not checked, because a clock adjustment of a millisecond would decide.
func (l *eventLog) checkClocks(monotonic, wall time.Duration) {
	if monotonic < time.Second {
		return
	}
	switch ratio := float64(monotonic) / float64(wall); {
	case ratio < 0.99 || ratio > 1.01:
		l.fail("the monotonic and the system clock differ by more than 1 %%: their ratio is %s", units.Number(ratio))
	case ratio < 0.999 || ratio > 1.001:
		l.warn("the monotonic and the system clock differ by more than 0.1 %%: their ratio is %s", units.Number(ratio))
	}
}

// A faultKind is a kind of mistake of the SUT, the QSL or the accuracy log that makes a run worthless.
type faultKind uint8

const (
	faultUnknownID faultKind = iota
	faultTwice
	faultAfterEnd
	faultSample
	faultToken
	faultPanic
	faultStall
	faultDropped
	faultAccuracyLog
	faultKinds
)

// faults counts faults by kind and keeps the first message of each: a SUT that makes
// a mistake once usually makes it for every sample.
type faults struct {
	mu     sync.Mutex
	counts [faultKinds]int
	first  [faultKinds]error
}

func (f *faults) add(kind faultKind, format string, args ...any) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.counts[kind]++
	if f.counts[kind] == 1 {
		f.first[kind] = fmt.Errorf(format, args...)
	}
}

// list returns one error for each kind of fault that occurred.
func (f *faults) list() []error {
	f.mu.Lock()
	defer f.mu.Unlock()
	var errs []error
	for kind, err := range f.first {
		switch n := f.counts[kind]; {
		case n == 1:
			errs = append(errs, err)
		case n > 1:
			errs = append(errs, fmt.Errorf("%w (and %d more of this kind)", err, n-1))
		}
	}
	return errs
}
