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

// A stopper ends runs when their context is done: ONNX Runtime looks before each node whether
// the options of the run say so. It serves one run at a time. Runs that follow each other
// usually have the same context; then nothing is to be done for the later ones.
type stopper struct {
	options *onnx.RunOptions
	pointer unsafe.Pointer // the same, as ONNX Runtime knows it
	done    <-chan struct{}
	forget  func() bool // ends the watch over done

	mu    sync.Mutex
	turn  int  // of the contexts that were watched
	ended bool // the options say that runs end
}

// newStopper makes run options with some entries of the configuration.
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

// watch has runs end when the context is done, which may be now.
func (s *stopper) watch(ctx context.Context) error {
	if done := ctx.Done(); done != s.done {
		if err := s.change(ctx, done); err != nil {
			return err
		}
	}
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	return nil
}

func (s *stopper) change(ctx context.Context, done <-chan struct{}) error {
	turn, err := s.next()
	if err != nil {
		return err
	}
	if s.done = done; done == nil {
		return nil
	}
	s.forget = context.AfterFunc(ctx, func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		if s.turn == turn {
			s.ended = s.options.Terminate() == nil
		}
	})
	return nil
}

// next turns away from the context that was watched.
func (s *stopper) next() (turn int, err error) {
	if s.forget != nil {
		s.forget()
		s.forget = nil
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.turn++
	if s.ended {
		err = s.options.UnsetTerminate()
		s.ended = false
	}
	return s.turn, err
}

// close frees the options. No run may be under way.
func (s *stopper) close() {
	s.next()
	s.options.Destroy()
}
