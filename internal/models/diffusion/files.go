package diffusion

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/mlperf-go/mlperf/internal/fileio"
	"github.com/mlperf-go/mlperf/internal/models/tokenizer/clip"
	"github.com/mlperf-go/mlperf/internal/models/workload"
)

// The files of the pipeline, by role. They are also the names of Optimum's folders.
const (
	textEncoder  = "text_encoder"
	textEncoder2 = "text_encoder_2"
	unet         = "unet"
	vaeDecoder   = "vae_decoder"
)

func roles() []string { return []string{textEncoder, textEncoder2, unet, vaeDecoder} }

// pipelineFiles finds the files in a folder: each in a folder of its own, as Optimum writes them
// (unet/model.onnx), or side by side (unet.onnx).
func pipelineFiles(folder string) ([]workload.File, error) {
	info, err := os.Stat(folder)
	if err == nil && !info.IsDir() {
		err = fmt.Errorf("%s is a file, want a folder with %s/model.onnx and 3 more", folder, unet)
	}
	if err != nil {
		return nil, err
	}
	var files []workload.File
	var errs []error
	for _, role := range roles() {
		path := filepath.Join(folder, role, "model.onnx")
		if _, err := os.Stat(path); err != nil {
			path = filepath.Join(folder, role+".onnx")
		}
		if _, err := os.Stat(path); err != nil {
			errs = append(errs, fmt.Errorf("the model's %s: %w, nor is there %s", role, err, filepath.Join(role, "model.onnx")))
		}
		files = append(files, workload.File{Role: role, Path: path})
	}
	return files, errors.Join(errs...)
}

// openTokenizers opens those of the two text encoders: where an option says, in the folder of the
// model, or in that of the data.
func openTokenizers(s workload.Setup) (tokenizers [2]*clip.Tokenizer, from string, err error) {
	folders := []string{s.ModelPath, s.DatasetDir}
	if own := s.Options[tokenizerOption]; own != "" {
		folders = []string{own}
	}
	for _, from = range folders {
		if from == "" {
			continue // the files are at servers
		}
		if _, err := os.Stat(filepath.Join(from, "tokenizer", clip.VocabularyFile)); err == nil {
			break
		}
	}
	for i, kind := range []clip.Kind{clip.First, clip.Second} {
		if tokenizers[i], err = clip.Open(filepath.Join(from, []string{"tokenizer", "tokenizer_2"}[i]), kind); err != nil {
			return tokenizers, from, err
		}
	}
	return tokenizers, from, nil
}

// readSchedule reads how the noise of a model falls, which lies beside it; without a file it is the
// official one.
func readSchedule(folder string) (noiseSchedule, error) {
	const maxConfig = 1 << 20
	if folder == "" { // the files are at servers
		return officialSchedule(), nil
	}
	path := filepath.Join(folder, "scheduler", "scheduler_config.json")
	text, err := fileio.ReadFile(path, maxConfig)
	if errors.Is(err, fs.ErrNotExist) {
		return officialSchedule(), nil
	}
	if err != nil {
		return noiseSchedule{}, err
	}
	s, err := parseSchedule(text)
	if err != nil {
		return s, fmt.Errorf("%s: %w", path, err)
	}
	return s, nil
}
