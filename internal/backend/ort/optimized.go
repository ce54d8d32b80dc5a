package ort

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sys/cpu"

	"github.com/mlperf-go/mlperf/internal/fileio"
	"github.com/mlperf-go/mlperf/internal/machine/clock"
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
		keyBeginning + model.SHA256, "onnxruntime " + version, "level " + p.level.name,
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
	if o.ready, err = o.check(); err == nil && !o.ready {
		o.temporary, err = temporaryBeside(path)
	}
	if err != nil {
		return o, fmt.Errorf("keeping the optimised model: %w", err)
	}
	return o, nil
}

// maxKey is how long the key of an optimised model may be.
const maxKey = 1 << 20

// check reports whether the file is what this program wrote for the key. A file that it did not write, or that was changed
// since, is an error: it is not replaced.
func (o optimized) check() (ready bool, err error) {
	file, errFile := os.Stat(o.path)
	key, errKey := fileio.ReadFile(o.key, maxKey)
	text := string(key)
	switch {
	case errKey == nil && errFile == nil && text == o.text+fileMark(file):
		return true, nil
	case errFile != nil && !errors.Is(errFile, fs.ErrNotExist):
		return false, errFile
	case errKey != nil && !errors.Is(errKey, fs.ErrNotExist):
		return false, errKey
	case errKey == nil && !strings.HasPrefix(text, keyBeginning):
		return false, fmt.Errorf("%s was not written by this program: it is not replaced, choose another name", o.key)
	case errFile == nil && (errKey != nil || !strings.HasSuffix(text, fileMark(file))):
		return false, fmt.Errorf("%s was not written by this program, or was changed since: it is not replaced, remove it or choose another name", o.path)
	}
	return false, nil
}

// keyBeginning is how the key of an optimised model begins.
const keyBeginning = "model sha256 "

// savingName is the name of a file that ONNX Runtime writes, before that of the optimised model: it goes by the suffix.
const savingName = ".mlperf-saving-"

// temporaryBeside makes a file in the folder of another one. It removes old ones of processes that were killed.
func temporaryBeside(path string) (string, error) {
	folder, name := filepath.Dir(path), filepath.Base(path)
	ours := regexp.MustCompile(`^` + regexp.QuoteMeta(savingName) + `[0-9]+-` + regexp.QuoteMeta(name) + `$`)
	for _, old := range fileio.Glob(folder, savingName+"*") {
		info, err := os.Lstat(old)
		if err == nil && info.Mode().IsRegular() && ours.MatchString(info.Name()) && clock.Since(info.ModTime()) > time.Hour {
			_ = fileio.RemoveIn(folder, info.Name())
		}
	}
	file, err := fileio.CreateIn(folder, savingName+strconv.FormatUint(rand.Uint64(), 10)+"-"+name)
	if err != nil {
		return "", err
	}
	return file.Name(), file.Close()
}

// fileMark ties a key to its file.
func fileMark(file os.FileInfo) string {
	return fmt.Sprintf("file %d bytes of %d\n", file.Size(), file.ModTime().UnixNano())
}

// commit moves a newly written file to its place.
func (o optimized) commit() error {
	if o.temporary == "" {
		return nil
	}
	// Another program that writes both at the same time must not be first with the file and this one with the key.
	release := lockFolder(filepath.Dir(o.path))
	defer release()
	file, err := os.Stat(o.temporary)
	if err == nil {
		err = fileio.MoveIn(filepath.Dir(o.path), filepath.Base(o.temporary), filepath.Base(o.path))
	}
	if err == nil {
		err = fileio.WriteFileIn(filepath.Dir(o.key), filepath.Base(o.key), []byte(o.text+fileMark(file)))
	}
	if err != nil {
		o.discard()
		return fmt.Errorf("keeping the optimised model: %w", err)
	}
	return nil
}

// lockFolder locks a folder for a moment. A file system without locks has none.
func lockFolder(folder string) (release func()) {
	lock := fileio.FolderLock(folder, os.O_CREATE|os.O_RDWR)
	soon, cancel := context.WithTimeout(context.Background(), time.Second)
	defer cancel()
	_, _ = lock.TryLockContext(soon, time.Millisecond)
	return func() { _ = lock.Close() }
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
