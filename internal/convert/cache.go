package convert

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/mlperf-go/mlperf/internal/fileio"
	"github.com/mlperf-go/mlperf/internal/onnx"
)

// version is part of the names of kept models. Raise it when conversions change.
const version = 11

// Cached returns the file of a converted model in dir, or the folder of its files, and makes it if it is
// missing. The description is beside it, with the extension .md.
func (c Converter) Cached(ctx context.Context, r Request, dir string) (string, error) {
	key, err := c.key(ctx, r)
	if err != nil {
		return "", err
	}
	several := c.Model.Several()
	name := strings.TrimSuffix(filepath.Base(c.Source), ".onnx")
	path := filepath.Join(dir, fmt.Sprintf("%s-%s-%s.onnx", name, r.Precision, key))
	if several {
		path = filepath.Join(dir, fmt.Sprintf("%s-%s-%s", c.Model.Name, r.Precision, key))
	}
	if _, err := os.Stat(path); err == nil {
		return path, nil
	}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return "", err
	}
	if several {
		return path, fileio.WriteDir(path, func(folder string) error {
			d, err := c.MakeFolder(ctx, r, folder)
			if err != nil {
				return err
			}
			return c.describe(ctx, path, r.Precision, d.WriteMarkdown)
		})
	}
	m, made, err := c.Make(ctx, r)
	if err != nil {
		return "", err
	}
	return path, c.Write(ctx, path, m, made)
}

// key is a checksum of everything that decides on a converted model, with the content of all files of
// the source.
func (c Converter) key(ctx context.Context, r Request) (string, error) {
	files, err := c.Model.FilesOf(c.Source)
	if err != nil {
		return "", err
	}
	source := ""
	for _, f := range files {
		print, err := onnx.FingerprintOf(ctx, f.Path)
		if err != nil {
			return "", fmt.Errorf("the model file: %w", err)
		}
		source += print.SHA256
	}
	data, err := filepath.Abs(c.DatasetDir)
	if err != nil {
		return "", err
	}
	text, err := json.Marshal([]any{version, source, data, c.Data, c.Options, r})
	if err != nil {
		return "", err
	}
	sum := sha256.Sum256(text)
	return hex.EncodeToString(sum[:8]), nil
}

// Write writes a model and, beside it, its description. Both name the file that the model was made of.
func (c Converter) Write(ctx context.Context, path string, m *onnx.Model, made *Made) error {
	if err := c.describe(ctx, path, made.Precision, made.WriteMarkdown); err != nil {
		return fmt.Errorf("writing the description of the model: %w", err)
	}
	if err := c.addOrigin(ctx, m, c.Source, made.Conversion); err != nil {
		return err
	}
	return m.WriteFile(ctx, path)
}

// WriteFolder converts all files of a model that has several into a new folder, with a description
// beside it.
func (c Converter) WriteFolder(ctx context.Context, r Request, path string) (Descriptions, error) {
	if _, err := os.Lstat(path); err == nil {
		return nil, &fs.PathError{Op: "mkdir", Path: path, Err: fs.ErrExist}
	}
	var d Descriptions
	err := fileio.WriteDir(path, func(folder string) (err error) {
		if d, err = c.MakeFolder(ctx, r, folder); err == nil {
			err = c.describe(ctx, path, r.Precision, d.WriteMarkdown)
		}
		return err
	})
	return d, err
}

func (c Converter) describe(ctx context.Context, path, precision string, write func(io.Writer) error) error {
	files, err := c.Model.FilesOf(c.Source)
	if err != nil {
		return err
	}
	origin := strings.TrimSuffix(originOfModel, startingWeights)
	for _, f := range files {
		source, err := onnx.FingerprintOf(ctx, f.Path)
		if err != nil {
			return err
		}
		origin += fmt.Sprintf(startingWeights+"%q, SHA-256 %s; made into %s.\n", c.nameOf(f.Path), source.SHA256, precision)
	}
	about := DescriptionFile(path)
	return fileio.WriteIn(filepath.Dir(about), filepath.Base(about), func(notes io.Writer) error {
		if err := write(notes); err != nil {
			return err
		}
		_, err := io.WriteString(notes, origin)
		return err
	})
}

// originOfModel is how the last part of every description begins, and maxDescription how long one may be.
const (
	startingWeights = "Starting weights: "
	originOfModel   = "\n## Origin\n\n" + startingWeights
	maxDescription  = 16 << 20
)

// DescriptionFile is the path of a converted model's description.
func DescriptionFile(path string) string { return strings.TrimSuffix(path, ".onnx") + ".md" }
