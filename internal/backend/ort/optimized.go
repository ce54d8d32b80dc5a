package ort

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"runtime"
	"slices"
	"strings"
	"time"

	"golang.org/x/sys/cpu"

	"github.com/mlperf-go/mlperf/internal/fileio"
	format "github.com/mlperf-go/mlperf/internal/onnx"
)

// An optimized model is a file that holds what ONNX Runtime makes of a model, so that the next session loads faster. The file
// beside it, its key, says what it was made from. The zero value stands for none.
type optimized struct {
	path, key string
	text      string // of the key
	ready     bool   // the file can be loaded instead of the model
	temporary string // where ONNX Runtime writes it, if it is not ready
}

// A brokenModelError says that an optimised model cannot be loaded.
type brokenModelError struct {
	optimized
	err error
}

func (e *brokenModelError) Error() string {
	reason := e.err.Error()
	if model := new(modelError); errors.As(e.err, &model) {
		reason = model.reason
	}
	return fmt.Sprintf("the optimised model %s cannot be loaded and is made again: %s", e.path, reason)
}

// optimized looks for the file that the options name.
func (p plan) optimized(ctx context.Context, version string) (optimized, error) {
	path := p.options.OptimizedModel
	if path == "" {
		return optimized{}, nil
	}
	model, err := format.FingerprintOf(ctx, p.options.ModelPath)
	if err != nil {
		return optimized{}, fmt.Errorf("reading model %s for the key of its optimised model: %w", p.options.ModelPath, err)
	}
	// The key has the processor's features, since at the highest level the model depends on the processor, and the content of
	// all files of the model, because that may change under an old time.
	lines := []string{
		"model sha256 " + model.SHA256, "onnxruntime " + version, "level " + p.level.name,
		"machine " + runtime.GOARCH + " " + strings.Join(processorFeatures(), " "),
	}
	given := len(lines)
	for _, r := range p.requests {
		lines = append(lines, "device "+r.name)
	}
	for key, value := range p.config {
		lines = append(lines, "config "+key+" "+value)
	}
	slices.Sort(lines[given:])
	o := optimized{path: path, key: path + ".key", text: strings.Join(lines, "\n") + "\n"}
	if have, err := os.ReadFile(o.key); err == nil {
		file, err := os.Stat(path)
		o.ready = err == nil && string(have) == o.text+fileMark(file)
	}
	if !o.ready {
		o.temporary, err = temporaryBeside(path)
	}
	return o, err
}

// temporaryBeside makes a file in the folder of another one. It removes old ones of processes that were killed.
func temporaryBeside(path string) (string, error) {
	folder, name := filepath.Dir(path), filepath.Base(path) // ONNX Runtime goes by the suffix
	for _, old := range fileio.Glob(folder, ".*") {
		if info, err := os.Stat(old); err == nil && strings.HasSuffix(old, name) && time.Since(info.ModTime()) > time.Hour {
			os.Remove(old)
		}
	}
	file, err := os.CreateTemp(folder, ".*"+name)
	if err != nil {
		return "", fmt.Errorf("keeping the optimised model: %w", err)
	}
	return file.Name(), file.Close()
}

// fileMark ties a key to its file: of two programs that write both at the same time, one may be first with the file and the
// other with the key.
func fileMark(file os.FileInfo) string {
	return fmt.Sprintf("file %d bytes of %d\n", file.Size(), file.ModTime().UnixNano())
}

// commit moves a newly written file to its place.
func (o optimized) commit() error {
	if o.temporary == "" {
		return nil
	}
	file, err := os.Stat(o.temporary)
	if err == nil {
		err = os.Chmod(o.temporary, 0o644) // a temporary file is for its owner alone
	}
	if err == nil {
		err = os.Rename(o.temporary, o.path)
	}
	if err == nil {
		// A key that is only half there fits nothing, and the file is made again.
		err = os.WriteFile(o.key, []byte(o.text+fileMark(file)), 0o644)
	}
	if err != nil {
		o.discard()
		return fmt.Errorf("keeping the optimised model: %w", err)
	}
	return nil
}

// discard removes a file that is not needed.
func (o optimized) discard() {
	if o.temporary != "" {
		os.Remove(o.temporary)
	}
}

// processorFeatures names what the processor can do. Its name would not do: a virtual machine may hide AVX-512 under the same
// one.
func processorFeatures() []string {
	var features []string
	for _, set := range []any{cpu.X86, cpu.ARM64} {
		v := reflect.ValueOf(set)
		for i := range v.NumField() {
			if f := v.Field(i); f.Kind() == reflect.Bool && f.Bool() {
				features = append(features, strings.TrimPrefix(v.Type().Field(i).Name, "Has"))
			}
		}
	}
	return features
}
