package run

import (
	"context"
	"fmt"
	"os"
	"path/filepath"

	"github.com/mlperf-go/mlperf/internal/fileio"
	"github.com/mlperf-go/mlperf/internal/models"
	"github.com/mlperf-go/mlperf/internal/models/workload"
	"github.com/mlperf-go/mlperf/internal/tensor/npy"
	"github.com/mlperf-go/mlperf/internal/userinput"
)

// A PreprocessRequest asks for a model's inputs as files.
type PreprocessRequest struct {
	Model   string            // of the catalogue; needed
	Options map[string]string // of ReaderOptions
	Files   []string
	Root    string // folder whose structure is kept; empty: files are named by their last part
	Output  string // folder
}

// maxImage is how long the file of an image may be.
const maxImage = 1 << 30

// Preprocess writes what the model would get of each file, NAME.npy for NAME.
func Preprocess(ctx context.Context, q PreprocessRequest, o Observer) error {
	reader, err := q.reader()
	if err != nil {
		return err
	}
	if err := q.twice(); err != nil {
		return err
	}
	o.Phase("pre-processing with " + reader.Name)
	for i, file := range q.Files {
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		if err := q.one(reader, file); err != nil {
			return fmt.Errorf("%s: %w", file, err)
		}
		o.Items(i+1, len(q.Files))
	}
	return nil
}

// twice finds files that would take the place of each other's output.
func (q *PreprocessRequest) twice() error {
	of := map[string]string{}
	for _, file := range q.Files {
		path, err := q.path(file)
		if err != nil {
			return fmt.Errorf("%s: %w", file, err)
		}
		if before, taken := of[path]; taken && filepath.Clean(before) != filepath.Clean(file) {
			return userinput.Errorf("root", "%s and %s would both be written to %s: want the folder whose structure is kept", before, file, path)
		}
		of[path] = file
	}
	return nil
}

// path is where the input that is made of a file goes.
func (q *PreprocessRequest) path(file string) (string, error) {
	name := filepath.Base(file)
	if q.Root != "" {
		var err error
		if name, err = filepath.Rel(q.Root, file); err != nil || !filepath.IsLocal(name) {
			return "", fmt.Errorf("it is not below %s", q.Root)
		}
	}
	return filepath.Join(q.Output, name+".npy"), nil
}

func (q *PreprocessRequest) one(reader *workload.Reader, file string) error {
	path, err := q.path(file)
	if err != nil {
		return err
	}
	data, err := fileio.ReadFile(file, maxImage)
	if err != nil {
		return err
	}
	t, err := reader.Read(data)
	if err != nil {
		return err
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return err
	}
	return npy.WriteFile(path, t)
}

// reader is what makes inputs of images for the model.
func (q *PreprocessRequest) reader() (*workload.Reader, error) {
	if q.Model == "" {
		return nil, userinput.Missing("model", "want a model of the catalogue")
	}
	model, err := models.LookupAsked(q.Model)
	if err != nil {
		return nil, userinput.Wrap("model", err)
	}
	if model.NewReader == nil {
		return nil, userinput.Errorf("model", "the samples of %s are not images", model.Name)
	}
	if err := model.CheckReaderOptions(q.Options); err != nil {
		return nil, err
	}
	return model.NewReader(q.Options)
}
