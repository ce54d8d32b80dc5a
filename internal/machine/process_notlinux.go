//go:build !linux

package machine

import (
	"errors"
	"fmt"
	"time"
)

// Processors returns the numbers of the processors that this process may use, in ascending order;
// nil where the system does not tell.
func Processors() []int { return nil }

// Pin keeps the goroutine that calls on one thread, and that on a processor, until release is
// called by the same goroutine.
func Pin(processor int) (release func(), err error) {
	return nil, fmt.Errorf("pinning a thread to processor %d: %w", processor, errors.ErrUnsupported)
}

const hasNanosleep = false

func nanosleep(time.Duration) {}
