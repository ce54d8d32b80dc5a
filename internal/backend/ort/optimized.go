package ort

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"runtime"
	"sort"
	"strings"
	"time"

	"golang.org/x/sys/cpu"

	"github.com/mlperf-go/mlperf/internal/fileio"
	format "github.com/mlperf-go/mlperf/internal/onnx"
)

// An optimized model is a file that keeps what ONNX Runtime made of a model, so that the next
// session need not do it again. Beside it lies a key: what it was made from. The zero value stands for
// none.
type optimized struct {
	path, key string
	text      string // of the key
	ready     bool   // the file can be loaded instead of the model
	temporary string // where ONNX Runtime is to write it, if it is not ready
}

// A brokenCopyError says that an optimised model cannot be loaded.
type brokenCopyError struct {
	optimized
	err error
}

func (e *brokenCopyError) Error() string {
	reason := e.err.Error()
	if model := new(modelError); errors.As(e.err, &model) {
		reason = model.Reason
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
	o := optimized{path: path, key: path + ".key", text: p.optimizedKey(model.SHA256, version)}
	if have, err := os.ReadFile(o.key); err == nil {
		file, err := os.Stat(path)
		o.ready = err == nil && string(have) == o.text+fileMark(file)
	}
	if !o.ready {
		o.temporary, err = temporaryBeside(path)
	}
	return o, err
}

// optimizedKey is the text of the key of an optimised model. It has the processor's features, since the
// model depends on the processor it was made on (at the highest level), and the content of all files
// of the model, because those may change under an old time.
func (p plan) optimizedKey(model, version string) string {
	lines := []string{
		"model sha256 " + model, "onnxruntime " + version, "level " + p.level.name,
		"machine " + runtime.GOARCH + " " + strings.Join(processorFeatures(), " "),
	}
	given := len(lines)
	for _, r := range p.requests {
		lines = append(lines, "device "+r.name)
	}
	for key, value := range p.config {
		lines = append(lines, "config "+key+" "+value)
	}
	sort.Strings(lines[given:])
	return strings.Join(lines, "\n") + "\n"
}

// temporaryBeside makes a file in the folder of another one, and removes those that were left there
// long ago by processes that were killed.
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

// fileMark ties a key to its file: of two programs that write both at the same time, one
// may be first with the file and the other with the key.
func fileMark(file os.FileInfo) string {
	return fmt.Sprintf("file %d bytes of %d\n", file.Size(), file.ModTime().UnixNano())
}

// commit moves a newly written file to its place.
func (o optimized) commit() error {
	if o.temporary == "" {
		return nil
	}
	if err := o.move(); err != nil {
		o.discard()
		return fmt.Errorf("keeping the optimised model: %w", err)
	}
	return nil
}

func (o optimized) move() error {
	file, err := os.Stat(o.temporary)
	if err != nil {
		return err
	}
	// Others may read it: it came into being as a temporary file, which only its owner may.
	if err := os.Chmod(o.temporary, 0o644); err != nil {
		return err
	}
	if err := os.Rename(o.temporary, o.path); err != nil {
		return err
	}
	// A key that is only half there fits nothing, and the file is made again.
	return os.WriteFile(o.key, []byte(o.text+fileMark(file)), 0o644)
}

func (o optimized) discard() {
	if o.temporary != "" {
		os.Remove(o.temporary)
	}
}

// processorFeatures names what the processor can do as far as programs ask for it. Its name would not
// do: a virtual machine may hide AVX-512 under the same one.
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
