//go:build cgo

package ort

import "context"

// A turn is taken by what must not happen beside other work on the same device: the provider for
// WebGPU keeps one queue and one set of buffers for all sessions of the process, and two sessions that
// run at once damage the heap (seen with ONNX Runtime 1.30 on an NVIDIA H100). The nil turn lets all
// go at once.
type turn chan struct{}

func newTurn() turn { return make(turn, 1) }

// take waits until nobody has the turn, or until ctx ends, whose cause it returns then.
func (t turn) take(ctx context.Context) error {
	if t == nil {
		return nil
	}
	select {
	case t <- struct{}{}:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// leave gives the turn to who waits for it.
func (t turn) leave() {
	if t != nil {
		<-t
	}
}
