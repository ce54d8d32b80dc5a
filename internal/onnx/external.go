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

	"github.com/mlperf-go/mlperf/internal/regular"
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
	e, external, err := t.ExternalData()
	if err != nil || !external {
		return err
	}
	path, info, err := e.file(folder)
	if err != nil {
		return fmt.Errorf("tensor %q: %w", t.Name, err)
	}
	size, err := t.bytes()
	if err != nil {
		return err
	}
	if err := e.holds(size, info.Size()); err != nil {
		return fmt.Errorf("tensor %q: %w", t.Name, err)
	}
	t.External = nil
	t.Data = &section{path: path, at: span{e.Offset, e.Offset + size}, size: info.Size(), changed: info.ModTime()}
	return nil
}

// holds says what is wrong if a data file does not have so many bytes where they should be.
func (e External) holds(size, fileSize int64) error {
	switch {
	case e.Length >= 0 && e.Length != size:
		return fmt.Errorf("%d bytes are in %s, want %d", e.Length, e.Location, size)
	case fileSize-e.Offset < size:
		return fmt.Errorf("%s has %d bytes, want %d from byte %d on", e.Location, fileSize, size, e.Offset)
	}
	return nil
}

// file finds the file in which elements are. It must be below the model's folder, as ONNX asks.
func (e External) file(folder string) (path string, info os.FileInfo, err error) {
	local := filepath.FromSlash(e.Location)
	if !filepath.IsLocal(local) {
		return "", nil, fmt.Errorf("its data file %q is outside the model's folder", e.Location)
	}
	path = filepath.Join(folder, local)
	if info, err = regular.Stat(path); err != nil {
		return "", nil, fmt.Errorf("its data file: %w", err)
	}
	return path, info, nil
}

// Tensors iterates over the constants of a model: initializers, and those in attributes.
func (m *Model) Tensors() iter.Seq[*Tensor] {
	return slices.Values(m.Graph.tensors())
}

func (g *Graph) tensors() []*Tensor {
	list := g.constants()
	for n := range g.AllNodes() {
		for _, a := range n.Attributes {
			list = append(list, a.constants()...)
		}
		for _, sub := range n.subgraphs() {
			list = append(list, sub.constants()...)
		}
	}
	return list
}

// A Fingerprint says which model a file is.
type Fingerprint struct {
	// SHA256 is the checksum of the file in hexadecimal. If the model has data files it is that of a
	// list of checksums: the file's own first, then each data file's with its name, a line each.
	SHA256 string
	Bytes  int64    // of all files
	Data   []string // the data files, relative to the model's folder
}

// FingerprintOf reads a model file, and all data files that it names, whole. A file that is not
// ONNX has no data files.
func FingerprintOf(ctx context.Context, path string) (Fingerprint, error) {
	sum, size, err := regular.SHA256(ctx, path)
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
		sum, size, err := regular.SHA256(ctx, filepath.Join(filepath.Dir(path), filepath.FromSlash(name)))
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
		e, external, err := t.ExternalData()
		if err != nil {
			return nil, fmt.Errorf("reading %s: %w", filepath.Base(path), err)
		}
		if !external {
			continue
		}
		if _, _, err := e.file(filepath.Dir(path)); err != nil {
			return nil, fmt.Errorf("reading %s: tensor %q: %w", filepath.Base(path), t.Name, err)
		}
		names = append(names, e.Location)
	}
	slices.Sort(names)
	return slices.Compact(names), nil
}
