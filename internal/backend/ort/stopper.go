//go:build cgo

package ort

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"unsafe"

	onnx "github.com/yalue/onnxruntime_go"
)

// A stopper ends runs when their context is done: ONNX Runtime checks the options of the run before each node. It serves one run at
// a time. Runs that follow each other usually have the same context, and then cost nothing here.
type stopper struct {
	options *onnx.RunOptions
	pointer unsafe.Pointer // the same, as ONNX Runtime knows it
	done    <-chan struct{}
	forget  func() bool // ends the watch over done

	mu     sync.Mutex
	number int  // of the context that is watched
	ended  bool // the options say that runs end
}

// newStopper makes run options with entries of the configuration.
func newStopper(n native, entries map[string]string) (*stopper, error) {
	options, err := onnx.NewRunOptions()
	if err != nil {
		return nil, errors.New(readable(err.Error()))
	}
	s := &stopper{options: options, pointer: runOptionsPointer(options)}
	for key, value := range entries {
		if err := n.setEntry(s.pointer, key, value); err != nil {
			s.close()
			return nil, fmt.Errorf("config entry %s=%s: %w", key, value, err)
		}
	}
	return s, nil
}

// watch ends runs when the context is done, which may be now.
func (s *stopper) watch(ctx context.Context) error {
	if done := ctx.Done(); done != s.done {
		number, err := s.next()
		if err != nil {
			return err
		}
		if s.done = done; done != nil {
			s.forget = context.AfterFunc(ctx, func() {
				s.mu.Lock()
				defer s.mu.Unlock()
				if s.number == number {
					s.ended = s.options.Terminate() == nil
				}
			})
		}
	}
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	return nil
}

// next ends the watch over a context, and returns the number of the next one.
func (s *stopper) next() (number int, err error) {
	if s.forget != nil {
		s.forget()
		s.forget = nil
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.number++
	if s.ended {
		err = s.options.UnsetTerminate()
		s.ended = false
	}
	return s.number, err
}

// close frees the options. It must not be called during a run.
func (s *stopper) close() {
	s.next()
	s.options.Destroy()
}

// A turn keeps sessions of a device from running at the same time: the provider for WebGPU has one recorder of commands and one set of
// buffers for all sessions of the process, without locks, and two that run at once end it (ONNX Runtime 1.30; microsoft/onnxruntime,
// issue 32561). A nil turn is always free.
type turn chan struct{}

// take waits until the turn is free. It fails with the cause of the end of the context.
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

// leave frees the turn.
func (t turn) leave() {
	if t != nil {
		<-t
	}
}
