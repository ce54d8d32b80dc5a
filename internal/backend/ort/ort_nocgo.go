//go:build !cgo

package ort

import (
	"context"
	"errors"

	"github.com/mlperf-go/mlperf/internal/backend"
)

// errNoCgo is the error of New in a program that was built without cgo.
var errNoCgo = errors.New("this program was built without cgo and cannot load ONNX Runtime: " +
	"build it with CGO_ENABLED=1 and a C compiler (e.g. apt-get install gcc libc6-dev)")

// An Engine opens models with ONNX Runtime; without cgo New returns none.
type Engine struct{}

// A Pool has the threads that all sessions of a process share.
type Pool struct {
	IntraThreads, InterThreads int
	NoSpinning                 bool
	Affinity                   string
}

// New fails.
func New(Library, *Pool) (*Engine, error) { return nil, errNoCgo }

// Name returns onnxruntime.
func (*Engine) Name() string { return "onnxruntime" }

// Library returns nothing.
func (*Engine) Library() Library { return Library{} }

// Close does nothing.
func (*Engine) Close() error { return nil }

// Ports fails.
func (*Engine) Ports(context.Context, backend.Options) (inputs, outputs []backend.Port, err error) {
	return nil, nil, errNoCgo
}

// Open fails.
func (*Engine) Open(context.Context, backend.Options) (backend.Session, error) {
	return nil, errNoCgo
}

// Try fails.
func (*Engine) Try(context.Context, backend.Options) error { return errNoCgo }

// Providers fails.
func (*Engine) Providers(context.Context) ([]Provider, error) { return nil, errNoCgo }
