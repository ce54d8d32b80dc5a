package convert

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/mlperf-go/mlperf/internal/onnx"
)

// version is part of the names of kept models. Raise it when conversions change.
const version = 3

// Cached returns the file of a converted model, which is made if it is not in the folder
// yet. A description is beside it, with the extension .md.
func (c Converter) Cached(ctx context.Context, r Request, dir string) (string, error) {
	key, err := c.key(ctx, r)
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
	return path, c.Write(ctx, path, r.Precision, m, description)
}

// key names everything that a converted model follows from. A source is known by the content of
// all its files.
func (c Converter) key(ctx context.Context, r Request) (string, error) {
	source, err := onnx.FingerprintOf(ctx, c.Source)
	if err != nil {
		return "", fmt.Errorf("the model file: %w", err)
	}
	data, err := filepath.Abs(c.DatasetDir)
	if err != nil {
		return "", err
	}
	text, err := json.Marshal([]any{version, source.SHA256, data, c.Data, c.Options, r})
	if err != nil {
		return "", err
	}
	sum := sha256.Sum256(text)
	return hex.EncodeToString(sum[:8]), nil
}

// Write writes a model and, beside it, its description, at the end of which is what it was
// made from.
func (c Converter) Write(ctx context.Context, path, precision string, m *onnx.Model, d Description) error {
	if err := c.describe(ctx, path, precision, d); err != nil {
		return fmt.Errorf("writing the description of the model: %w", err)
	}
	return m.WriteFile(ctx, path)
}

func (c Converter) describe(ctx context.Context, path, precision string, d Description) error {
	source, err := onnx.FingerprintOf(ctx, c.Source)
	if err != nil {
		return err
	}
	notes, err := os.Create(DescriptionFile(path))
	if err != nil {
		return err
	}
	err = d.WriteMarkdown(notes)
	_, errOrigin := fmt.Fprintf(notes, "\n## Origin\n\nStarting weights: %q, SHA-256 %s; made into %s.\n", filepath.Base(c.Source), source.SHA256, precision)
	return errors.Join(err, errOrigin, notes.Close())
}

// DescriptionFile is where the description of a converted model is.
func DescriptionFile(path string) string { return strings.TrimSuffix(path, filepath.Ext(path)) + ".md" }
