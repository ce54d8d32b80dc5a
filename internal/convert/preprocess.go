package convert

import (
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"github.com/mlperf-go/mlperf/internal/fileio"
	"github.com/mlperf-go/mlperf/internal/harness"
	"github.com/mlperf-go/mlperf/internal/models"
	"github.com/mlperf-go/mlperf/internal/tensor"
	"github.com/mlperf-go/mlperf/internal/tensor/npy"
	"github.com/mlperf-go/mlperf/internal/userinput"
)

// A PreprocessRequest asks for a model's inputs as files.
type PreprocessRequest struct {
	Model   string            // of the catalogue; needed
	Options map[string]string // by the names of workload.Model.ReaderOptions
	Files   []string
	Root    string // folder whose structure is kept; empty: outputs are named by the last part of a file's path
	Output  string // folder
}

// Preprocess writes the input that the model would get of each file, NAME.npy for NAME.
func Preprocess(ctx context.Context, q PreprocessRequest, o harness.Observer) error {
	if q.Model == "" {
		return userinput.Missing("model", "give a model of the catalogue")
	}
	model, err := models.LookupAny(q.Model)
	if err != nil {
		return userinput.Wrap("model", err)
	}
	if model.NewReader == nil {
		return userinput.Errorf("model", "the samples of %s are not images", model.Name)
	}
	if err := model.CheckReaderOptions(q.Options); err != nil {
		return err
	}
	reader, err := model.NewReader(q.Options)
	if err != nil {
		return err
	}
	outputs, sources := make([]string, len(q.Files)), map[string]string{}
	for i, file := range q.Files {
		name := filepath.Base(file)
		if q.Root != "" {
			if name, err = filepath.Rel(q.Root, file); err != nil || !filepath.IsLocal(name) {
				return fmt.Errorf("%s: it is not below %s", file, q.Root)
			}
		}
		path := filepath.Join(q.Output, name+".npy")
		if before, taken := sources[path]; taken && filepath.Clean(before) != filepath.Clean(file) {
			return userinput.Errorf("root", "%s and %s would both be written to %s: give the folder whose structure is kept", before, file, path)
		}
		outputs[i], sources[path] = filepath.ToSlash(name)+".npy", file
	}
	o.Phase("pre-processing with " + reader.Name)
	for i, file := range q.Files {
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		if err := preprocess(reader.Read, file, q.Output, outputs[i]); err != nil {
			return fmt.Errorf("%s: %w", file, err)
		}
		o.Items(i+1, len(q.Files))
	}
	return nil
}

func preprocess(read func([]byte) (tensor.Tensor, error), from, folder, name string) error {
	const maxImage = 1 << 30
	data, err := fileio.ReadFile(from, maxImage)
	if err != nil {
		return err
	}
	t, err := read(data)
	if err != nil {
		return err
	}
	if err := os.MkdirAll(folder, 0o755); err != nil {
		return err
	}
	return fileio.WriteIn(folder, name, func(w io.Writer) error { return npy.Write(w, t) })
}
