package onnx

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"github.com/mlperf-go/mlperf/internal/whole"
)

// WriteFile writes the model to a file, which afterwards is whole and on the disk, or
// is what it was before: the content goes to a temporary file in the same folder,
// which then takes the name. So several programs may write the same file at once.
// When ctx ends, writing stops within a few milliseconds.
func (m *Model) WriteFile(ctx context.Context, path string) error {
	err := whole.WriteSynced(path, 0o644, func(w io.Writer) error {
		_, err := m.WriteTo(interruptible{ctx, w})
		return err
	})
	if err != nil {
		return fmt.Errorf("creating %s: %w", filepath.Base(path), plain(err))
	}
	return nil
}

// plain drops the temporary file's name, which tells the reader of a message
// nothing, and keeps the folder, which does.
func plain(err error) error {
	var p *os.PathError
	var l *os.LinkError // of Rename
	switch {
	case errors.As(err, &p):
		return fmt.Errorf("in folder %s: %w", filepath.Dir(p.Path), p.Err)
	case errors.As(err, &l):
		return fmt.Errorf("in folder %s: %w", filepath.Dir(l.New), l.Err)
	}
	return err
}

// interruptible is a writer that fails once its context has ended.
type interruptible struct {
	ctx context.Context
	w   io.Writer
}

func (i interruptible) Write(p []byte) (int, error) {
	if err := i.ctx.Err(); err != nil {
		return 0, context.Cause(i.ctx)
	}
	return i.w.Write(p)
}
