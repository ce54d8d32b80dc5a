package builtin

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/mlperf-go/mlperf/internal/builtin/arch"
	"github.com/mlperf-go/mlperf/internal/builtin/synth"
	"github.com/mlperf-go/mlperf/internal/onnx"
)

// IsModel reports whether a file is a model with random weights that was made here, wherever it lies and in
// whatever precision it is by now. A file that cannot be read is none: who opens it says why.
func IsModel(path string) bool {
	head, err := onnx.ReadHead(path)
	return err == nil && arch.Untrained(head.Metadata)
}

// IsDataset reports whether a folder, or that of a file, is a data set that was made here. One whose manifest
// cannot be read is one as well.
func IsDataset(path string) bool {
	info, err := os.Stat(path)
	if err != nil {
		return false
	}
	if !info.IsDir() {
		path = filepath.Dir(path)
	}
	_, err = synth.ReadManifest(path)
	return !errors.Is(err, fs.ErrNotExist)
}
