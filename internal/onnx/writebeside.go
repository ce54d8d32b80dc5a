package onnx

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"path/filepath"
	"strconv"

	"github.com/mlperf-go/mlperf/internal/whole"
)

// Elements are kept outside a model's file from this many bytes on, each beginning with a page.
const (
	besideBytes = 4096
	besidePage  = 4096
)

// DataSuffix is what the name of a data file that WriteFileBeside makes has more than the model's.
const DataSuffix = ".data"

// WriteFileBeside is WriteFile for models whose elements are too many for one file, of which protobuf
// allows 2 GB: large tensors go into a second file beside it, which is whole before the first
// one is there. The model then refers to them there.
func (m *Model) WriteFileBeside(ctx context.Context, path string) error {
	name := filepath.Base(path) + DataSuffix
	err := whole.WriteSynced(path+DataSuffix, 0o644, func(w io.Writer) error {
		out := &countingWriter{w: bufio.NewWriterSize(interruptible{ctx, w}, 1<<20)}
		for _, t := range m.Graph.Initializers {
			if t.Data == nil || t.Data.Size() < besideBytes {
				continue
			}
			if err := t.moveTo(out, name); err != nil {
				return err
			}
		}
		return out.w.(*bufio.Writer).Flush()
	})
	if err != nil {
		return fmt.Errorf("creating %s: %w", name, plain(err))
	}
	return m.WriteFile(ctx, path)
}

// moveTo writes the elements of a tensor behind what is there, and refers to them.
func (t *Tensor) moveTo(out *countingWriter, name string) error {
	if _, err := out.Write(make([]byte, (besidePage-out.n%besidePage)%besidePage)); err != nil {
		return err
	}
	begin := out.n
	if _, err := t.Data.WriteTo(out); err != nil {
		return fmt.Errorf("tensor %q: %w", t.Name, err)
	}
	t.Data = nil
	t.External = []Property{
		{Key: "location", Value: name}, {Key: "offset", Value: strconv.FormatInt(begin, 10)}, {Key: "length", Value: strconv.FormatInt(out.n-begin, 10)},
	}
	return nil
}
