package convert

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	"github.com/mlperf-go/mlperf/internal/onnx"
)

// version is part of the names of kept models. Raise it when conversions change.
const version = 2

// Cached returns the file of a converted model, which is made if it is not in the folder
// yet. A description is beside it, with the extension .md.
func (c Converter) Cached(ctx context.Context, r Request, dir string) (string, error) {
	key, err := c.key(r)
	if err != nil {
		return "", err
	}
	name := strings.TrimSuffix(filepath.Base(c.Source), ".onnx")
	path := filepath.Join(dir, fmt.Sprintf("%s-%s-%s.onnx", name, r.Precision, key))
	if _, err := os.Stat(path); err == nil {
		return path, nil
	}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return "", err
	}
	m, description, err := c.Make(ctx, r)
	if err != nil {
		return "", err
	}
	return path, Write(ctx, path, m, description)
}

// key names everything that a converted model follows from. A source file is known by its
// place, size, time, and beginning, and so are its data files.
func (c Converter) key(r Request) (string, error) {
	info, begin, err := identify(c.Source)
	if err != nil {
		return "", fmt.Errorf("the model file: %w", err)
	}
	source, err := filepath.Abs(c.Source)
	if err != nil {
		return "", err
	}
	data, err := filepath.Abs(c.DatasetDir)
	if err != nil {
		return "", err
	}
<<<<<<< HEAD
	text, err := json.Marshal([]any{version, source, info.Size(), info.ModTime(), begin, data, c.Options, r})
=======
	beside, err := identifyData(c.Source)
	if err != nil {
		return "", fmt.Errorf("the model file: %w", err)
	}
	text, err := json.Marshal([]any{version, source, info.Size(), info.ModTime(), begin, beside, data, c.Binding, r})
>>>>>>> 82dcd15 (onnx: one reader of model files, heads, data files, fingerprints; ort: what is kept follows from content and features)
	if err != nil {
		return "", err
	}
	sum := sha256.Sum256(text)
	return hex.EncodeToString(sum[:8]), nil
}

// identify returns what is known of a file without reading all of it. The beginning tells
// apart what was written within a tick of the clock.
func identify(path string) (os.FileInfo, []byte, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, nil, err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return nil, nil, err
	}
	h := sha256.New()
	_, err = io.CopyN(h, f, 1<<16)
	if errors.Is(err, io.EOF) {
		err = nil // a small file
	}
	return info, h.Sum(nil), err
}

// identifyData returns what is known of the data files of a model.
func identifyData(source string) ([]any, error) {
	names, err := onnx.DataFiles(source)
	var known []any
	for _, name := range names {
		info, begin, err := identify(filepath.Join(filepath.Dir(source), filepath.FromSlash(name)))
		if err != nil {
			return nil, err
		}
		known = append(known, name, info.Size(), info.ModTime(), begin)
	}
	return known, err
}

// Write writes a model and, beside it, its description.
func Write(ctx context.Context, path string, m *onnx.Model, d Description) error {
	notes, err := os.Create(DescriptionFile(path))
	if err != nil {
		return fmt.Errorf("writing the description of the model: %w", err)
	}
	if err := errors.Join(d.WriteMarkdown(notes), notes.Close()); err != nil {
		return fmt.Errorf("writing the description of the model: %w", err)
	}
	return m.WriteFile(ctx, path)
}

// DescriptionFile is where the description of a converted model is.
func DescriptionFile(path string) string { return strings.TrimSuffix(path, filepath.Ext(path)) + ".md" }
