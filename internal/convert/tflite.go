package convert

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/mlperf-go/mlperf/internal/convert/tflite"
	"github.com/mlperf-go/mlperf/internal/fileio"
	"github.com/mlperf-go/mlperf/internal/onnx"
)

// IsTFLite reports whether a model file is one of TensorFlow Lite, by its name.
func IsTFLite(path string) bool { return strings.EqualFold(filepath.Ext(path), ".tflite") }

// TFLite writes the ONNX form of a TensorFlow Lite model to output, with its origin.
func TFLite(ctx context.Context, path, output string) error {
	m, err := openTFLite(ctx, path)
	if err != nil {
		return err
	}
	return m.WriteFile(ctx, output)
}

// CachedTFLite returns the ONNX form of a TensorFlow Lite model in dir, by its content, and makes it if it is missing.
func CachedTFLite(ctx context.Context, path, dir string) (string, error) {
	sum, _, err := fileio.SHA256(ctx, path)
	if err != nil {
		return "", err
	}
	name := strings.TrimSuffix(filepath.Base(path), filepath.Ext(path))
	output := filepath.Join(dir, fmt.Sprintf("%s-tflite-v%d-%.16s.onnx", name, version, sum))
	if _, err := os.Stat(output); err == nil {
		return output, nil
	}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return "", err
	}
	return output, TFLite(ctx, path, output)
}

func openTFLite(ctx context.Context, path string) (*onnx.Model, error) {
	content, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	m, err := tflite.Convert(filepath.Base(path), content)
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
