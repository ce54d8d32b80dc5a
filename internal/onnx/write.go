package onnx

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strconv"

	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/proto"

	"github.com/mlperf-go/mlperf/internal/fileio"
	"github.com/mlperf-go/mlperf/internal/onnx/onnxpb"
)

// WriteTo writes the model as the content of an ONNX file, elements of tensors always as raw bytes. Equal
// models give equal bytes. Initializers pass through a small buffer on the way from their sources. It fails
// before the first byte if the file would exceed the 2 GiB that ONNX allows.
func (m *Model) WriteTo(w io.Writer) (int64, error) {
	parts, err := m.encode()
	if err != nil {
		return 0, err
	}
	out := &countingWriter{w: w}
	buffered := bufio.NewWriterSize(out, 64<<10)
	for _, p := range parts {
		if _, err = buffered.Write(p.bytes); err == nil && p.tensor != nil {
			err = p.tensor.writeElements(buffered)
		}
		if err != nil {
			return out.n, fmt.Errorf("writing ONNX model: %w", err)
		}
	}
	if err := buffered.Flush(); err != nil {
		return out.n, fmt.Errorf("writing ONNX model: %w", err)
	}
	return out.n, nil
}

// maxFileSize is the limit of protocol buffers, and so of ONNX Runtime, for one file.
const maxFileSize = math.MaxInt32

// A part of a file is bytes, or the elements of a tensor.
type part struct {
	bytes  []byte
	tensor *Tensor
}

// parts are the parts of a message, and the errors of encoding it.
type parts struct {
	list []part
	size int64
	err  error
}

func (p *parts) bytes(b []byte) {
	p.list = append(p.list, part{bytes: b})
	p.size += int64(len(b))
}

// fields adds the fields of a message.
func (p *parts) fields(m proto.Message) {
	b, err := proto.MarshalOptions{Deterministic: true}.Marshal(m)
	p.bytes(b)
	p.err = errors.Join(p.err, err)
}

// head adds the beginning of a field of so many bytes.
func (p *parts) head(num protowire.Number, size int64) {
	p.bytes(protowire.AppendVarint(protowire.AppendTag(nil, num, protowire.BytesType), uint64(size)))
}

// message adds a field that is a message.
func (p *parts) message(num protowire.Number, m parts) {
	p.head(num, m.size)
	p.list = append(p.list, m.list...)
	p.size += m.size
	p.err = errors.Join(p.err, m.err)
}

// encode returns the parts of the file. It puts the messages around the elements of initializers together
// by itself: the official codec would need all of them in memory.
func (m *Model) encode() ([]part, error) {
	rest := m.proto()
	first := &onnxpb.ModelProto{IrVersion: rest.IrVersion, ProducerName: rest.ProducerName, DocString: rest.DocString}
	rest.IrVersion, rest.ProducerName, rest.DocString = nil, nil, nil

	var file parts
	file.fields(first)
	if m.Graph != nil {
		file.message(modelGraph, m.Graph.encode())
	}
	file.fields(rest)
	if file.err != nil {
		return nil, fmt.Errorf("encoding ONNX model: %w", file.err)
	}
	if file.size > maxFileSize {
		return nil, fmt.Errorf("encoding ONNX model: %d bytes exceed the 2 GiB that one file may have", file.size)
	}
	return file.list, nil
}

func (g *Graph) encode() parts {
	rest, err := g.protoWithout()
	if err != nil {
		return parts{err: err}
	}
	first := &onnxpb.GraphProto{Node: rest.Node, Name: rest.Name}
	rest.Node, rest.Name = nil, nil

	var graph parts
	graph.fields(first)
	for _, t := range g.Initializers {
		var tensor parts
		tensor.fields(t.protoWithout())
		if t.Data != nil {
			tensor.head(tensorRawData, t.Data.Size())
			tensor.list = append(tensor.list, part{tensor: t})
			tensor.size += t.Data.Size()
		}
		graph.message(graphInitializer, tensor)
	}
	graph.fields(rest)
	return graph
}

// writeElements writes the elements, which must be as many bytes as their source says.
func (t *Tensor) writeElements(w io.Writer) error {
	n, err := t.Data.WriteTo(w)
	if err != nil {
		return err // as likely of the disk as of the source
	}
	if want := t.Data.Size(); n != want {
		return fmt.Errorf("tensor %q: its source wrote %d bytes, not %d", t.Name, n, want)
	}
	return nil
}

type countingWriter struct {
	w io.Writer
	n int64
}

func (c *countingWriter) Write(p []byte) (int, error) {
	n, err := c.w.Write(p)
	c.n += int64(n)
	return n, err
}

// WriteFile writes the model to a file atomically: if it fails, the old file stays. Several programs may
// write the same file at once. When ctx ends, writing stops within a few milliseconds.
func (m *Model) WriteFile(ctx context.Context, path string) error {
	err := fileio.WriteSynced(path, 0o644, func(w io.Writer) error {
		_, err := m.WriteTo(interruptible{ctx, w})
		return err
	})
	if err != nil {
		return fmt.Errorf("creating %s: %w", filepath.Base(path), plain(err))
	}
	return nil
}

// plain drops the temporary file's name from an error, which means nothing to users, and keeps the folder.
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

// WriteFileBeside keeps elements outside the model's file from this many bytes on, each aligned to a page.
const (
	besideBytes = 4096
	besidePage  = 4096
)

// DataSuffix follows the model's name in that of the data file of WriteFileBeside.
const DataSuffix = ".data"

// WriteFileBeside is WriteFile for models beyond the 2 GiB of one file: large tensors go into a second file
// beside it, which is complete before the first one appears. m does not change. If the first file cannot be
// written, the second is removed, since a model that was there before must not find other elements in it. A
// program that is killed between the two leaves an old model with new elements: write to a new folder where
// that matters.
func (m *Model) WriteFileBeside(ctx context.Context, path string) error {
	name := filepath.Base(path) + DataSuffix
	graph, written := *m.Graph, *m
	written.Graph, graph.Initializers = &graph, slices.Clone(m.Graph.Initializers)
	err := fileio.WriteSynced(path+DataSuffix, 0o644, func(w io.Writer) error {
		buffered := bufio.NewWriterSize(interruptible{ctx, w}, 1<<20)
		out := &countingWriter{w: buffered}
		for i, t := range graph.Initializers {
			if t.Data == nil || t.Data.Size() < besideBytes {
				continue
			}
			if _, err := out.Write(make([]byte, (besidePage-out.n%besidePage)%besidePage)); err != nil {
				return err
			}
			begin := out.n
			if err := t.writeElements(out); err != nil {
				return err
			}
			beside := *t
			beside.Data = nil
			beside.External = []Property{
				{Key: "location", Value: name}, {Key: "offset", Value: strconv.FormatInt(begin, 10)}, {Key: "length", Value: strconv.FormatInt(out.n-begin, 10)},
			}
			graph.Initializers[i] = &beside
		}
		if _, err := written.encode(); err != nil {
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
