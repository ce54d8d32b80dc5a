package convert

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/mlperf-go/mlperf/internal/convert/tfgraph"
	"github.com/mlperf-go/mlperf/internal/convert/tflite"
	"github.com/mlperf-go/mlperf/internal/fileio"
	"github.com/mlperf-go/mlperf/internal/onnx"
)

// formats are the formats of model files that become ONNX, by the extension.
var formats = map[string]func(name string, content []byte) (*onnx.Model, error){
	".tflite": tflite.Convert,
	".pb":     tfgraph.Convert,
}

func format(path string) string { return strings.ToLower(filepath.Ext(path)) }

// IsForeign reports whether a model file has to become ONNX first, by its name.
func IsForeign(path string) bool { return formats[format(path)] != nil }

// File writes the ONNX form of a model file of another format to output, with its origin.
func File(ctx context.Context, path, output string) error {
	m, err := openForeign(ctx, path)
	if err != nil {
		return err
	}
	return m.WriteFile(ctx, output)
}

// CachedFile returns the ONNX form of a model file of another format in the cache, by its content, and makes it if it is missing.
// An ONNX file stays as it is.
func CachedFile(ctx context.Context, path, cache string) (string, error) {
	if !IsForeign(path) {
		return path, nil
	}
	sum, _, err := fileio.SHA256(ctx, path)
	if err != nil {
		return "", err
	}
	name := strings.TrimSuffix(filepath.Base(path), filepath.Ext(path))
	dir := filepath.Join(cache, "converted")
	output := filepath.Join(dir, fmt.Sprintf("%s-%s-v%d-%.16s.onnx", name, format(path)[1:], version, sum))
	if _, err := os.Stat(output); err == nil {
		return output, nil
	}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return "", err
	}
	return output, File(ctx, path, output)
}

func openForeign(ctx context.Context, path string) (*onnx.Model, error) {
	content, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	m, err := formats[format(path)](filepath.Base(path), content)
	if err != nil {
		return nil, err
	}
	o := Origin{File: filepath.Base(path), By: "mlperf convert"}
	sum := sha256.Sum256(content)
	o.SHA256 = hex.EncodeToString(sum[:])
	if o.MD5, err = fileio.MD5(ctx, path); err != nil {
		return nil, err
	}
	return m, addOrigin(m, o)
}
