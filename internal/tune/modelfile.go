package tune

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/mlperf-go/mlperf/internal/backend"
	"github.com/mlperf-go/mlperf/internal/config/profile"
	"github.com/mlperf-go/mlperf/internal/run"
	"github.com/mlperf-go/mlperf/internal/userinput"
)

// A modelFile is one of the files to compare. A label is only needed where there are several.
type modelFile struct {
	label, path string
	options     backend.Options // that run it; filled in when the request is prepared
}

// String names the file with its size, as journals have it.
func (f modelFile) String() string {
	size := int64(0)
	if info, err := os.Stat(f.path); err == nil {
		size = info.Size()
	}
	return strings.TrimSpace(fmt.Sprintf("%s %s, %d bytes", f.label, absolute(f.path), size))
}

// parseModelFiles reads FILE or LABEL=FILE of each.
func parseModelFiles(list []string) ([]modelFile, error) {
	var files []modelFile
	for _, text := range list {
		label, path, ok := strings.Cut(text, "=")
		if !ok {
			label, path = strings.TrimSuffix(filepath.Base(text), filepath.Ext(text)), text
		}
		if label == "" || path == "" {
			return nil, userinput.Errorf("model_path", "%s: want a file, or label=file", text)
		}
		if slices.ContainsFunc(files, func(f modelFile) bool { return f.label == label }) {
			return nil, userinput.Errorf("model_path", "%s: there is another %s; give them labels, as in fp32=a.onnx", text, label)
		}
		files = append(files, modelFile{label: label, path: path})
	}
	if len(files) == 1 {
		files[0].label = ""
	}
	return files, nil
}

// variants lists the files to compare: those that were given, or the model in each of the
// precisions.
func (f *finding) variants(ctx context.Context, p *run.Prepared) error {
	if len(f.Precisions) == 0 {
		if len(f.files) == 0 {
			f.files = []modelFile{{path: p.ModelPath()}}
		}
		for i := range f.files {
			f.files[i].options = p.WithModel(f.files[i].path)
		}
		return nil
	}
	f.files = nil
	for _, precision := range f.Precisions {
		options, err := p.InPrecision(ctx, precision)
		if err != nil {
			return err
		}
		f.files = append(f.files, modelFile{precision, options.ModelPath, options})
	}
	return nil
}

// labels are those of several files; none if there is one.
func labels(files []modelFile) []string {
	var list []string
	for _, f := range files {
		if f.label != "" {
			list = append(list, f.label)
		}
	}
	return list
}

// complete says in a profile which file the winner is.
func (f *finding) complete(p *profile.Profile, variant string) {
	if len(f.Precisions) > 0 {
		p.Precision = variant
	}
	files, _ := parseModelFiles(f.ModelFiles) // checked before
	for _, file := range files {
		if file.label == variant || len(files) == 1 {
			p.ModelPath = absolute(file.path)
		}
	}
}

func absolute(path string) string {
	if abs, err := filepath.Abs(path); err == nil {
		return abs
	}
	return path
}
