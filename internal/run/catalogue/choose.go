package catalogue

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/mlperf-go/mlperf/internal/models"
	"github.com/mlperf-go/mlperf/internal/models/own"
	"github.com/mlperf-go/mlperf/internal/userinput"
)

// Choose decides what a user means by a model: a name of the catalogue, else the path of a file. A file with such a name is meant
// by a path: ./resnet50. The path of a file that is missing is returned with the error.
func Choose(model string) (name, path string, err error) {
	_, unknown := models.LookupAny(model)
	if unknown == nil {
		return model, "", nil
	}
	info, err := os.Stat(model)
	switch {
	case err == nil && info.IsDir():
		return "", "", userinput.Wrap("model", noFile(model))
	case err == nil:
		return "", model, nil
	case own.IsFileName(model) || strings.ContainsAny(model, `/\`):
		return "", model, missing(model, err)
	}
	return "", "", userinput.Wrap("model", fmt.Errorf("%w, or a model file", unknown))
}

// noFile says which model files are in a folder.
func noFile(folder string) error {
	const shown = 8
	found, err := modelFiles(folder)
	switch {
	case err != nil:
		return err
	case len(found) == 0:
		return fmt.Errorf("%s is a folder without model files (.onnx, .ort, .tflite, .pb): expected a model file, or a name of the catalogue", folder)
	}
	for i := range found {
		found[i] = filepath.Join(folder, found[i])
	}
	more := ""
	if n := len(found) - shown; n > 0 {
		found, more = found[:shown], fmt.Sprintf(" and %d more", n)
	}
	return fmt.Errorf("%s is a folder: must be one of its model files: %s%s", folder, strings.Join(found, ", "), more)
}

// missing says that a file cannot be opened, and what was probably meant.
func missing(path string, err error) error {
	folder, base := filepath.Split(path)
	if !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("the model file: %w", err)
	}
	near := NameOf(strings.TrimSuffix(base, filepath.Ext(base)))
	if near != "" {
		near += ", of the catalogue"
	} else if found, err := modelFiles(filepath.Join(folder, ".")); err == nil {
		if near = userinput.Nearest(base, found); near != "" {
			near = folder + near
		}
	}
	if near != "" {
		return fmt.Errorf("the model file: %w; did you mean %s?", err, near)
	}
	return fmt.Errorf("the model file: %w", err)
}

// modelFiles are the model files of a folder and of those in it, without the folder.
func modelFiles(folder string) (found []string, err error) {
	if _, err := os.ReadDir(folder); err != nil {
		return nil, fmt.Errorf("looking for model files: %w", err)
	}
	for _, pattern := range []string{"*", "*/*"} {
		list, err := fs.Glob(os.DirFS(folder), pattern)
		if err != nil {
			return nil, err
		}
		for _, name := range list {
			if own.IsFileName(name) {
				found = append(found, filepath.FromSlash(name))
			}
		}
	}
	return found, nil
}
