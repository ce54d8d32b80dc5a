package onnx

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
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
// one is there. The written model refers to them there; m stays as it is. Where the first file cannot be
// written the second is removed: a model that was there before must not find other elements in it. A program
// that is killed between the two leaves it with them, and one that fails takes them from a model that another has written
// meanwhile: who does not write alone writes to a folder that is not yet the model's.
func (m *Model) WriteFileBeside(ctx context.Context, path string) error {
	name := filepath.Base(path) + DataSuffix
	graph, written := *m.Graph, *m
	written.Graph, graph.Initializers = &graph, slices.Clone(m.Graph.Initializers)
	err := whole.WriteSynced(path+DataSuffix, 0o644, func(w io.Writer) error {
		buffered := bufio.NewWriterSize(interruptible{ctx, w}, 1<<20)
		out := &countingWriter{w: buffered}
		for i, t := range graph.Initializers {
			if t.Data == nil || t.Data.Size() < besideBytes {
				continue
			}
			var err error
			if graph.Initializers[i], err = t.writtenTo(out, name); err != nil {
				return err
			}
		}
		if _, err := encodeModel(&written); err != nil {
			return err // before anything is replaced
		}
		return buffered.Flush()
	})
	if err != nil {
		return fmt.Errorf("creating %s: %w", name, plain(err))
	}
	if err := written.WriteFile(ctx, path); err != nil {
		return errors.Join(err, os.Remove(path+DataSuffix))
	}
	return nil
}

// writtenTo writes the elements of a tensor behind what is there, and returns one that refers to them.
func (t *Tensor) writtenTo(out *countingWriter, name string) (*Tensor, error) {
	if _, err := out.Write(make([]byte, (besidePage-out.n%besidePage)%besidePage)); err != nil {
		return nil, err
	}
	begin := out.n
	if err := t.writeElements(out); err != nil {
		return nil, err
	}
	beside := *t
	beside.Data = nil
	beside.External = []Property{
		{Key: "location", Value: name}, {Key: "offset", Value: strconv.FormatInt(begin, 10)}, {Key: "length", Value: strconv.FormatInt(out.n-begin, 10)},
	}
	return &beside, nil
}
