//go:build !cgo

package ort

import (
	"context"

	"github.com/mlperf-go/mlperf/internal/backend"
)

// An Engine opens models with ONNX Runtime; without cgo there is none.
type Engine struct{}

// A Pool says how many threads all sessions of a process share.
type Pool struct {
	IntraThreads, InterThreads int
	NoSpinning                 bool
	Affinity                   string
}

// New fails.
func New(Library, *Pool) (*Engine, error) { return nil, ErrNoCgo }

// Name returns onnxruntime.
func (*Engine) Name() string { return "onnxruntime" }

// Library returns nothing.
func (*Engine) Library() Library { return Library{} }

// Close does nothing.
func (*Engine) Close() error { return nil }

// Ports fails.
func (*Engine) Ports(context.Context, backend.Options) (inputs, outputs []backend.Port, err error) {
	return nil, nil, ErrNoCgo
}

// Open fails.
func (*Engine) Open(context.Context, backend.Options) (backend.Session, error) {
	return nil, ErrNoCgo
}

// Providers fails.
func (*Engine) Providers(context.Context) ([]Provider, error) { return nil, ErrNoCgo }
