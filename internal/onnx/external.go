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

// ReadWhole is ReadFile for models with data files beside them: written again, the model is one file. The
// elements stay in the files until they are read.
func ReadWhole(path string) (*Model, error) {
	m, err := ReadFile(path)
	if err != nil {
		return nil, err
	}
	for t := range m.Tensors() {
		e, err := t.external(filepath.Dir(path))
		if err == nil && e == nil {
			continue
		}
		var size int64
		if err == nil {
			size, err = t.bytes()
		}
		switch {
		case err != nil:
		case e.length >= 0 && e.length != size:
			err = fmt.Errorf("tensor %q: %d bytes are in %s: must be %d", t.Name, e.length, e.location, size)
		case e.info.Size()-e.offset < size:
			err = fmt.Errorf("tensor %q: %s has %d bytes, expected %d from byte %d on", t.Name, e.location, e.info.Size(), size, e.offset)
		}
		if err != nil {
			return nil, fmt.Errorf("reading %s: %w", filepath.Base(path), err)
		}
		t.External = nil
		t.Data = &section{path: e.path, at: span{e.offset, e.offset + size}, size: e.info.Size(), changed: e.info.ModTime()}
	}
	return m, nil
}

// An external is the place of a tensor's elements in a data file.
type external struct {
	location string // slash-separated path, relative to the folder of the model
	offset   int64
	length   int64 // -1: to the end of the file
	path     string
	info     os.FileInfo
}

// external finds the data file of the tensor's elements, nil if they are in the model itself. It must be
// below the model's folder, as ONNX asks.
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

// A Fingerprint identifies the content of a model.
type Fingerprint struct {
	// SHA256 is the checksum of the file in hexadecimal. If the model has data files, it is the checksum of
	// a list: of the file's own checksum, then each data file's with its name, a line each.
	SHA256 string
	Bytes  int64    // of all files
	Data   []string // the data files, relative to the model's folder
}

// FingerprintOf reads a model file, and all data files that it names. A file that is not ONNX has no data
// files.
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

// dataFiles returns the sorted names of a model's data files, relative to its folder and with slashes.
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
