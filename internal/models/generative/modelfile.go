package generative

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"

	"github.com/mlperf-go/mlperf/internal/models/decode"
	"github.com/mlperf-go/mlperf/internal/models/workload"
	"github.com/mlperf-go/mlperf/internal/onnx"
)

const (
	defaultFile   = "model.onnx"
	tokenizerFile = "tokenizer.json"

	ofModelFile = "the model file"
)

// decoderFiles finds a decoder's file: it may be named, or its folder.
func decoderFiles(path string) ([]workload.File, error) {
	info, err := os.Stat(path)
	if err != nil || !info.IsDir() {
		return []workload.File{{Role: workload.Only, Path: path}}, nil // the engine reports a missing file
	}
	c, err := readGenAI(path)
	if err != nil {
		return nil, err
	}
	name := defaultFile
	if c != nil && c.Model.Decoder.Filename != "" {
		name = c.Model.Decoder.Filename
	}
	file := filepath.Join(path, name)
	if _, err := os.Stat(file); err != nil {
		return nil, fmt.Errorf("the folder %s has no %s: %w", path, name, err)
	}
	return []workload.File{{Role: workload.Only, Path: file}}, nil
}

// A modelCard has what a decoder's files say beside its ports.
type modelCard struct {
	from    string            // the file; empty: none
	names   map[string]string // own names of ports, by the usual ones
	cache   decode.Cache
	context int // 0: unknown
	stop    []int32

	sampling decode.Sampling // that the file asks for
}

// endsBefore are the end tokens of an export that the benchmark does not have. Built-in decoders have their own vocabulary,
// and so their own end token.
func (c modelCard) endsBefore(stop []int32) []int32 {
	if c.from == ofModelFile {
		return nil
	}
	return slices.DeleteFunc(slices.Clone(c.stop), func(id int32) bool { return slices.Contains(stop, id) })
}

// stopOr are the model's own end tokens, or those of the official model.
func (c modelCard) stopOr(official []int32) []int32 {
	if len(c.stop) > 0 {
		return c.stop
	}
	return official
}

// folderOf is the folder of a model file, or the folder itself.
func folderOf(path string) string {
	if info, err := os.Stat(path); err == nil && !info.IsDir() {
		return filepath.Dir(path)
	}
	return path
}

// readCard reads genai_config.json beside a model file, or else the metadata of the file.
func readCard(path string) (modelCard, error) {
	c, err := readGenAI(folderOf(path))
	if err != nil {
		return modelCard{}, err
	}
	if c != nil {
		return c.card(), nil
	}
	files, err := decoderFiles(path)
	if err != nil {
		return modelCard{}, err
	}
	head, err := onnx.ReadHead(files[0].Path)
	if err != nil {
		return modelCard{}, nil //nolint:nilerr // the simulated engine needs no file
	}
	return cardOf(head.Metadata), nil
}

// cardOf reads the metadata of a built-in decoder. Other producers' values are not numbers and are skipped.
func cardOf(metadata []onnx.Property) modelCard {
	var c modelCard
	for _, p := range metadata {
		n, err := strconv.ParseInt(p.Value, 10, 32)
		if err != nil || n < 0 {
			continue
		}
		switch p.Key {
		case "context_length":
			c.context, c.from = int(n), ofModelFile
		case "eos_token_id":
			c.stop = []int32{int32(n)}
		}
	}
	return c
}
