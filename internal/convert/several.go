package convert

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"

	"github.com/mlperf-go/mlperf/internal/fileio"
	"github.com/mlperf-go/mlperf/internal/models/workload"
	"github.com/mlperf-go/mlperf/internal/onnx"
	"github.com/mlperf-go/mlperf/internal/quantize"
)

// Several reports whether the model has several files. Their samples are not what each of them takes,
// so to integers they are converted without calibration.
func (c Converter) Several() bool { return c.Model.Several() }

// Descriptions are those of the files of a model.
type Descriptions []Description

// WriteMarkdown implements Description.
func (d Descriptions) WriteMarkdown(w io.Writer) error {
	for i, one := range d {
		if i > 0 {
			if _, err := io.WriteString(w, "\n"); err != nil {
				return err
			}
		}
		if err := one.WriteMarkdown(w); err != nil {
			return err
		}
	}
	return nil
}

// errSeveral is the cause of a refusal: a model of several files cannot be calibrated.
var errSeveral = errors.New("the model has several files, which are not calibrated and take no target")

// MakeFolder converts all files of a model that has several into a folder, which must exist. Each keeps
// its name, and the folder in which it lies: a pipeline has several files of one name.
func (c Converter) MakeFolder(ctx context.Context, r Request, folder string) (Descriptions, error) {
	if err := r.check(); err != nil {
		return nil, err
	}
	if r.Target > 0 || len(r.Samples) > 0 {
		return nil, errSeveral
	}
	files, err := c.Model.FilesOf(c.Source)
	if err != nil {
		return nil, err
	}
	if err := knownLayers(files, r.Options.Exclude); err != nil {
		return nil, err
	}
	c.Observer.Phase("converting to " + r.Precision)
	var all Descriptions
	for i, f := range files {
		d, err := c.intoFolder(ctx, f.Path, r, folder)
		if err != nil {
			return nil, err
		}
		all = append(all, d)
		c.Observer.Items(i+1, len(files))
	}
	return all, nil
}

// intoFolder converts one file of several.
func (c Converter) intoFolder(ctx context.Context, path string, r Request, folder string) (Description, error) {
	q, d, err := c.alone(path, r)
	if err != nil {
		return nil, err
	}
	to := filepath.Join(folder, c.nameOf(path))
	if err := os.MkdirAll(filepath.Dir(to), 0o755); err != nil {
		return nil, err
	}
	return d, q.WriteFile(ctx, to)
}

// nameOf is what a file of the model is called: its path below the source, where that is a folder.
func (c Converter) nameOf(path string) string {
	if below, err := filepath.Rel(c.Source, path); err == nil && below != "." && filepath.IsLocal(below) {
		return below
	}
	return filepath.Base(path)
}

// alone converts a file for which there are no samples.
func (c Converter) alone(path string, r Request) (*onnx.Model, Description, error) {
	m, err := onnx.ReadWhole(path)
	if err != nil {
		return nil, nil, err
	}
	if r.Precision == FP16 {
		return half(m, path)
	}
	o := r.Options
	o.Exclude = slices.DeleteFunc(slices.Clone(o.Exclude), func(layer string) bool { return !hasLayer(m, layer) }) // those of other files
	q, report, err := quantize.Dynamic(m, o)
	if err != nil {
		return nil, nil, fmt.Errorf("quantising %s: %w", path, err)
	}
	return q, report, nil
}

// knownLayers refuses names of layers that no file has.
func knownLayers(files []workload.File, names []string) error {
	missing := slices.Clone(names)
	for _, f := range files {
		if len(missing) == 0 {
			return nil
		}
		m, err := onnx.ReadFile(f.Path)
		if err != nil {
			return err
		}
		missing = slices.DeleteFunc(missing, func(layer string) bool { return hasLayer(m, layer) })
	}
	if len(missing) > 0 {
		return fmt.Errorf("no file of the model has a layer %q to exclude", missing[0])
	}
	return nil
}

// hasLayer reports whether a file has a layer of that name.
func hasLayer(m *onnx.Model, name string) bool {
	return slices.ContainsFunc(m.Graph.Nodes, func(n *onnx.Node) bool {
		return n.Name == name || n.Name == "" && slices.Contains(n.Outputs, name)
	})
}

// folderOnce makes a folder of converted files, which appears when all are complete.
func (c Converter) folderOnce(ctx context.Context, r Request, path string) error {
	return fileio.WriteDir(path, func(folder string) error {
		d, err := c.MakeFolder(ctx, r, folder)
		if err != nil {
			return err
		}
		return c.describe(ctx, path, r.Precision, d)
	})
}
