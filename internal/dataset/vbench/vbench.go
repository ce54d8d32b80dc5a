package vbench

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/go-json-experiment/json"

	"github.com/mlperf-go/mlperf/internal/dataset/captions"
	"github.com/mlperf-go/mlperf/internal/fileio"
	"github.com/mlperf-go/mlperf/internal/tensor"
	"github.com/mlperf-go/mlperf/internal/tokenizer/pytext"
)

// The places of the files. The first that exists counts.
var (
	promptFiles = []string{"vbench_prompts.txt", "data/vbench_prompts.txt", "wan22_prompts.jsonl"}
	noiseFiles  = []string{"fixed_latent.pt", "data/fixed_latent.pt", "fixed_latent.npy"}
)

const maxPrompts = 64 << 20

// A Set has the prompts of a folder.
type Set struct {
	Path     string
	Prompts  []string
	Negative string // that of all prompts, if the file has one
	Noise    string // file with the noise that all videos begin with; empty: the folder has none
}

// Read reads the prompts of a folder, only the first ones if count is not 0.
func Read(dir string, count int) (Set, error) {
	s := Set{Path: first(dir, promptFiles), Noise: first(dir, noiseFiles)}
	err := fmt.Errorf("%s has none of %s", dir, strings.Join(promptFiles, ", "))
	if s.Path != "" {
		err = s.read(count)
	}
	if err != nil {
		return s, fmt.Errorf("opening the prompts: %w", err)
	}
	return s, nil
}

// first is the first file of a folder that exists; empty: none.
func first(folder string, names []string) string {
	for _, name := range names {
		path := filepath.Join(folder, filepath.FromSlash(name))
		if _, err := os.Stat(path); !errors.Is(err, fs.ErrNotExist) {
			return path
		}
	}
	return ""
}

func (s *Set) read(count int) error {
	data, err := fileio.ReadFile(s.Path, maxPrompts)
	if err != nil {
		return err
	}
	if err := s.parse(data, strings.HasSuffix(s.Path, ".jsonl"), count); err != nil {
		return fmt.Errorf("%s: %w", s.Path, err)
	}
	return nil
}

// parse reads a prompt of each line, as text or as JSON.
func (s *Set) parse(data []byte, isJSON bool, count int) error {
	line := 0
	for text := range bytes.Lines(data) {
		line++
		if count > 0 && len(s.Prompts) == count {
			break
		}
		prompt := pytext.TrimSpace(string(text))
		if prompt == "" {
			continue
		}
		if !utf8.ValidString(prompt) {
			return fmt.Errorf("line %d: not UTF-8", line)
		}
		if isJSON {
			r, err := parseRequest(text)
			if err != nil {
				return fmt.Errorf("line %d: %w", line, err)
			}
			if prompt = r.Prompt; len(s.Prompts) == 0 {
				s.Negative = r.Negative
			} else if r.Negative != s.Negative {
				return fmt.Errorf("line %d: its negative_prompt is not that of the lines before: must be the same for all prompts", line)
			}
		}
		s.Prompts = append(s.Prompts, prompt)
	}
	if want := max(count, 1); len(s.Prompts) < want {
		return fmt.Errorf("%d prompts, expected %d", len(s.Prompts), want)
	}
	return nil
}

// A request is a line of JSON. Other fields of a request are settings of the benchmark, which are the same for all prompts.
type request struct {
	Prompt   string `json:"prompt"`
	Negative string `json:"negative_prompt"`
}

func parseRequest(line []byte) (r request, err error) {
	if err := json.Unmarshal(line, &r, json.RejectUnknownMembers(true)); err != nil {
		return r, err
	}
	if pytext.TrimSpace(r.Prompt) == "" {
		return r, errors.New("prompt is empty or missing: must be a text")
	}
	return r, nil
}

// Noise is what all videos begin with: numbers of channels, frames, rows and columns.
type Noise struct {
	Shape  tensor.Shape // without a batch axis
	Values []float32
}

// ReadNoise reads latents of shape [1 channels frames height width], of PyTorch or NumPy.
func ReadNoise(path string) (Noise, error) {
	shape, values, err := captions.ReadNoise(path, "frames", "height", "width")
	if err != nil {
		return Noise{}, err
	}
	return Noise{slices.Clone(shape[1:]), values}, nil
}
