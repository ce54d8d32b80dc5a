package ort

import (
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"sort"
	"strings"
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

// optimized looks for the file that the options name.
//
// The optimised model depends on the processor it was made on (at the highest level), so the key
// has the processor's features too, by way of the list of devices, the level and the machine.
func (p plan) optimized(version string) (optimized, error) {
	path := p.options.OptimizedModel
	if path == "" {
		return optimized{}, nil
	}
	info, err := os.Stat(p.options.ModelPath)
	if err != nil {
		return optimized{}, &ModelError{p.options.ModelPath, fileReason(err)}
	}
	model, err := filepath.Abs(p.options.ModelPath)
	if err != nil {
		return optimized{}, err
	}
	lines := []string{
		fmt.Sprintf("model %s %d bytes of %d", model, info.Size(), info.ModTime().UnixNano()),
		"onnxruntime " + version, "level " + p.level.name, "machine " + runtime.GOARCH + " " + processor(),
	}
	for _, r := range p.requests {
		lines = append(lines, "device "+r.name)
	}
	for key, value := range p.config {
		lines = append(lines, "config "+key+" "+value)
	}
	sort.Strings(lines[4:])
	o := optimized{path: path, key: path + ".key", text: strings.Join(lines, "\n") + "\n"}
	if have, err := os.ReadFile(o.key); err == nil {
		file, err := os.Stat(path)
		o.ready = err == nil && string(have) == o.text+fileMark(file)
	}
	if !o.ready {
		// ONNX Runtime goes by the suffix, so it has to stay.
		file, err := os.CreateTemp(filepath.Dir(path), ".*"+filepath.Base(path))
		if err != nil {
			return optimized{}, fmt.Errorf("keeping the optimised model: %w", err)
		}
		o.temporary = file.Name()
		file.Close()
	}
	return o, nil
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
	file, err := os.Stat(o.temporary)
	if err == nil {
		err = os.Rename(o.temporary, o.path)
	}
	if err == nil {
		err = os.WriteFile(o.key, []byte(o.text+fileMark(file)), 0o644)
	}
	if err != nil {
		return fmt.Errorf("keeping the optimised model: %w", err)
	}
	return nil
}

func (o optimized) discard() {
	if o.temporary != "" {
		os.Remove(o.temporary)
	}
}

// processor names the processor as the system does; empty where it does not tell.
func processor() string {
	text, _ := os.ReadFile("/proc/cpuinfo")
	for line := range strings.Lines(string(text)) {
		if name, value, found := strings.Cut(line, ":"); found && strings.TrimSpace(name) == "model name" {
			return strings.TrimSpace(value)
		}
	}
	return ""
}
