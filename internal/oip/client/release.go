package client

import (
	"sync/atomic"
	"time"

	"google.golang.org/grpc/mem"
)

// patience is how long the memory of a request that failed may be in use before its connection
// is closed.
const patience = 200 * time.Millisecond

// A release knows when the buffers of a request are no longer used.
type release struct {
	used  atomic.Int64
	freed chan struct{}
}

func newRelease() *release { return &release{freed: make(chan struct{}, 1)} }

// buffer makes a buffer over memory. Package mem does not tell when small ones are freed, so
// these are copies.
func (r *release) buffer(data []byte) mem.Buffer {
	if mem.IsBelowBufferPoolingThreshold(len(data)) {
		return mem.SliceBuffer(append([]byte(nil), data...))
	}
	r.used.Add(1)
	return mem.NewBuffer(&data, r)
}

// Get implements mem.BufferPool, which nobody asks for memory.
func (*release) Get(n int) *[]byte { b := make([]byte, n); return &b }

// Put implements mem.BufferPool: a buffer is no longer used.
func (r *release) Put(*[]byte) {
	if r.used.Add(-1) == 0 {
		select {
		case r.freed <- struct{}{}:
		default:
		}
	}
}

// within waits until nothing is used, and returns false if that takes too long.
func (r *release) within(d time.Duration) bool {
	late := time.NewTimer(d)
	defer late.Stop()
	for r.used.Load() != 0 {
		select {
		case <-r.freed:
		case <-late.C:
			return r.used.Load() == 0
		}
	}
	return true
}
