package loadgen

import (
	"fmt"
	"sync"
)

// A fault is something the SUT did that makes a run worthless.
type fault uint8

const (
	faultUnknownID fault = iota
	faultTwice
	faultAfterEnd
	faultSample
	faultToken
	faultPanic
	faultStall
	faultAccuracyLog
	faultKinds
)

// faults counts faults by kind and keeps the first message of each: a SUT that does
// wrong once usually does so for every sample.
type faults struct {
	mu     sync.Mutex
	counts [faultKinds]int
	first  [faultKinds]error
}

func (f *faults) add(kind fault, format string, args ...any) {
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
