package onnx

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"iter"
	"os"
	"path/filepath"
	"slices"
	"strconv"

	"github.com/mlperf-go/mlperf/internal/fileio"
)

// ReadWhole reads a model as ReadFile does, and takes what it keeps in data files beside it as its own:
// written again, the model is one file. The elements stay where they are until they are wanted.
func ReadWhole(path string) (*Model, error) {
	m, err := ReadFile(path)
	if err != nil {
		return nil, err
	}
	for t := range m.Tensors() {
		if err := t.adopt(filepath.Dir(path)); err != nil {
			return nil, fmt.Errorf("reading %s: %w", filepath.Base(path), err)
		}
	}
	return m, nil
}

// adopt makes the elements that are in another file the tensor's own.
func (t *Tensor) adopt(folder string) error {
	e, err := t.external(folder)
	if err != nil || e == nil {
		return err
	}
	size, err := t.bytes()
	switch {
	case err != nil:
		return err
	case e.length >= 0 && e.length != size:
		return fmt.Errorf("tensor %q: %d bytes are in %s, want %d", t.Name, e.length, e.location, size)
	case e.info.Size()-e.offset < size:
		return fmt.Errorf("tensor %q: %s has %d bytes, want %d from byte %d on", t.Name, e.location, e.info.Size(), size, e.offset)
	}
	t.External = nil
	t.Data = &section{path: e.path, at: span{e.offset, e.offset + size}, size: e.info.Size(), changed: e.info.ModTime()}
	return nil
}

// An external says where the elements of a tensor are that is kept outside the model's own file.
type external struct {
	location string // slash-separated path, relative to the folder of the model
	offset   int64
	length   int64 // -1: to the end of the file
	path     string
	info     os.FileInfo
}

// external finds the file in which the tensor's elements are, nil if they are in no other. It must be below the
// model's folder, as ONNX asks.
func (t *Tensor) external(folder string) (*external, error) {
	if t.External == nil {
		return nil, nil
	}
	e := external{length: -1}
	for _, p := range t.External {
		var number *int64
		switch p.Key {
		case "location":
			e.location = p.Value
			continue
		case "offset":
			number = &e.offset
		case "length":
			number = &e.length
		default:
			continue
		}
		n, err := strconv.ParseUint(p.Value, 10, 63)
		if err != nil {
			return nil, fmt.Errorf("tensor %q: external data: %s %q is not a number of bytes", t.Name, p.Key, p.Value)
		}
		*number = int64(n)
	}
	if e.location == "" {
		return nil, fmt.Errorf("tensor %q: external data without a location", t.Name)
	}
	local := filepath.FromSlash(e.location)
	if !filepath.IsLocal(local) {
		return nil, fmt.Errorf("tensor %q: its data file %q is outside the model's folder", t.Name, e.location)
	}
	e.path = filepath.Join(folder, local)
	var err error
	if e.info, err = fileio.Stat(e.path); err != nil {
		return nil, fmt.Errorf("tensor %q: its data file: %w", t.Name, err)
	}
	return &e, nil
}

// Tensors iterates over the constants of a model: initializers, and those in attributes.
func (m *Model) Tensors() iter.Seq[*Tensor] {
	list := slices.Clone(m.Graph.Initializers)
	for n := range m.Graph.AllNodes() {
		for _, a := range n.Attributes {
			list = append(list, a.tensors()...)
		}
		for _, sub := range n.Subgraphs() {
			list = append(list, sub.Initializers...)
		}
	}
	return slices.Values(list)
}

// A Fingerprint says which model a file is.
type Fingerprint struct {
	// SHA256 is the checksum of the file in hexadecimal. If the model has data files it is that of a
	// list of checksums: the file's own first, then each data file's with its name, a line each.
	SHA256 string
	Bytes  int64    // of all files
	Data   []string // the data files, relative to the model's folder
}

// FingerprintOf reads a model file, and all data files that it names, fileio. A file that is not
// ONNX has no data files.
func FingerprintOf(ctx context.Context, path string) (Fingerprint, error) {
	sum, size, err := fileio.SHA256(ctx, path)
	if err != nil {
		return Fingerprint{}, err
	}
	f := Fingerprint{SHA256: sum, Bytes: size}
	if f.Data, err = dataFiles(path); err != nil || len(f.Data) == 0 {
		return f, err
	}
	list := sha256.New()
	fmt.Fprintf(list, "%s\n", sum)
	for _, name := range f.Data {
		sum, size, err := fileio.SHA256(ctx, filepath.Join(filepath.Dir(path), filepath.FromSlash(name)))
		if err != nil {
			return Fingerprint{}, err
		}
		fmt.Fprintf(list, "%s %s\n", sum, name)
		f.Bytes += size
	}
	f.SHA256 = hex.EncodeToString(list.Sum(nil))
	return f, nil
}

// dataFiles names the files beside a model that hold elements of its tensors, in order, relative to
// the model's folder and with slashes. A file that is not ONNX has none.
func dataFiles(path string) ([]string, error) {
	m, err := ReadFile(path)
	if errors.Is(err, errNoModel) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	var names []string
	for t := range m.Tensors() {
		e, err := t.external(filepath.Dir(path))
		if err != nil {
			return nil, fmt.Errorf("reading %s: %w", filepath.Base(path), err)
		}
		if e != nil {
			names = append(names, e.location)
		}
	}
	slices.Sort(names)
	return slices.Compact(names), nil
}
