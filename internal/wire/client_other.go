//go:build !(linux && (amd64 || arm64 || riscv64 || loong64))

package wire

import (
	"context"
	"errors"
	"time"
)

// A Client sends requests.
type Client struct{}

// Open is for Linux.
func Open(time.Duration) (*Client, error) { return nil, errors.ErrUnsupported }

// Warm does nothing.
func (*Client) Warm(context.Context, string, int) {}

// Do is for Linux.
func (*Client) Do(context.Context, string, []byte, Receiver) error { return errors.ErrUnsupported }

// Close does nothing.
func (*Client) Close() error { return nil }
