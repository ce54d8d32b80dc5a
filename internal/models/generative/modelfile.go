package generative

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"

	"github.com/mlperf-go/mlperf/internal/generate"
	"github.com/mlperf-go/mlperf/internal/onnx"
	"github.com/mlperf-go/mlperf/internal/regular"
	"github.com/mlperf-go/mlperf/internal/workload"
)

const (
	genaiConfig   = "genai_config.json"
	maxConfig     = 1 << 20
	usualFile     = "model.onnx"
	tokenizerFile = "tokenizer.json"
)

// decoderFiles finds a decoder's file: it may be named, or its folder.
func decoderFiles(path string) ([]workload.File, error) {
	info, err := os.Stat(path)
	if err != nil || !info.IsDir() {
		return []workload.File{{Role: workload.Only, Path: path}}, nil // the engine says it better if there is none
	}
	c, err := readGenAI(path)
	if err != nil {
		return nil, err
	}
	name := usualFile
	if c != nil && c.Model.Decoder.Filename != "" {
		name = c.Model.Decoder.Filename
	}
	file := filepath.Join(path, name)
	if _, err := os.Stat(file); err != nil {
		return nil, fmt.Errorf("the folder %s has no %s: %w", path, name, err)
	}
	return []workload.File{{Role: workload.Only, Path: file}}, nil
}

// A modelCard is what a decoder's files say of it beside its ports.
type modelCard struct {
	from    string            // where that is said; empty: nowhere
	names   map[string]string // own names of ports, by the usual ones
	cache   generate.Cache
	context int // 0: not known
	rows    int // 0: not known
	stop    []int32

	sampling generate.Sampling // that is asked for
}

// folderOf is where a model file is, or the folder itself.
func folderOf(path string) string {
	if info, err := os.Stat(path); err == nil && !info.IsDir() {
		return filepath.Dir(path)
	}
	return path
}

// readCard reads what lies beside a model file, or else what the file says of itself.
func readCard(path string) (modelCard, error) {
	c, err := readGenAI(folderOf(path))
	if err != nil {
		return modelCard{}, err
	}
	if c != nil {
		return c.card()
	}
	files, err := decoderFiles(path)
	if err != nil {
		return modelCard{}, err
	}
	head, err := onnx.ReadHead(files[0].Path)
	if err != nil {
		return modelCard{}, nil //nolint:nilerr // an engine that only pretends needs no file
	}
	return cardOf(head.Metadata), nil
}

// cardOf reads the metadata of a built-in decoder. What is no number there is somebody else's.
func cardOf(metadata []onnx.Property) modelCard {
	var c modelCard
	for _, p := range metadata {
		n, err := strconv.Atoi(p.Value)
		if err != nil {
			continue
		}
		switch p.Key {
		case "context_length":
			c.context, c.from = n, "the model file"
		case "vocab_size":
			c.rows = n
		case "eos_token_id":
			c.stop = []int32{int32(n)}
		}
	}
	return c
}

// A genai is what onnxruntime-genai writes beside its exports, as far as it is used.
type genai struct {
	path  string
	Model struct {
		ContextLength *int `json:"context_length"`
		VocabSize     *int `json:"vocab_size"`
		EOS           ids  `json:"eos_token_id"`
		Decoder       *struct {
			Filename string            `json:"filename"`
			Inputs   map[string]string `json:"inputs"`
			Outputs  map[string]string `json:"outputs"`
		} `json:"decoder"`
	} `json:"model"`
	Search struct {
		Shared *bool `json:"past_present_share_buffer"`

		Sample      bool    `json:"do_sample"`
		Temperature float64 `json:"temperature"`
		TopK        int     `json:"top_k"`
		TopP        float64 `json:"top_p"`
		Seed        int64   `json:"random_seed"` // below 0: any
	} `json:"search"`
}

// ids is a number, or several.
type ids []int32

// UnmarshalJSON implements json.Unmarshaler.
func (i *ids) UnmarshalJSON(text []byte) error {
	var one int32
	if err := json.Unmarshal(text, &one); err == nil {
		*i = ids{one}
		return nil
	}
	return json.Unmarshal(text, (*[]int32)(i))
}

// readGenAI reads genai_config.json of a folder; nil if there is none.
func readGenAI(folder string) (*genai, error) {
	path := filepath.Join(folder, genaiConfig)
	text, err := regular.ReadFile(path, maxConfig)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	c, err := parseGenAI(text)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	c.path = path
	return c, nil
}

func parseGenAI(text []byte) (*genai, error) {
	c := &genai{}
	if err := json.Unmarshal(text, c); err != nil {
		return nil, err
	}
	for _, key := range []struct {
		name string
		ok   bool
	}{
		{"model.decoder", c.Model.Decoder != nil},
		{"model.context_length", c.Model.ContextLength != nil},
		{"model.vocab_size", c.Model.VocabSize != nil},
		{"model.eos_token_id", len(c.Model.EOS) > 0},
		{"model.decoder.inputs", c.Model.Decoder != nil && c.Model.Decoder.Inputs != nil},
		{"model.decoder.outputs", c.Model.Decoder != nil && c.Model.Decoder.Outputs != nil},
	} {
		if !key.ok {
			return nil, fmt.Errorf("%s is missing", key.name)
		}
	}
	if err := c.sampling().Check(); err != nil {
		return nil, fmt.Errorf("search: %w", err)
	}
	if name := c.Model.Decoder.Filename; name != "" && !filepath.IsLocal(name) {
		return nil, fmt.Errorf("model.decoder.filename is %q, want a file beside it", name)
	}
	return c, nil
}

// sampling is what the file asks for.
func (c *genai) sampling() generate.Sampling {
	if !c.Search.Sample {
		return generate.Sampling{}
	}
	return generate.Sampling{Temperature: c.Search.Temperature, TopK: c.Search.TopK, TopP: c.Search.TopP, Seed: uint64(max(0, c.Search.Seed))}
}

// genaiNames are the keys under which onnxruntime-genai has names of ports, by the usual ones.
var genaiNames = map[string]string{
	"input_ids": "input_ids", "attention_mask": "attention_mask", "position_ids": "position_ids",
	"past_key_values.%d.key": "past_key_names", "past_key_values.%d.value": "past_value_names",
	"logits": "logits", "present.%d.key": "present_key_names", "present.%d.value": "present_value_names",
	"total_sequence_length": "total_sequence_length", "seqlens_k": "past_sequence_length",
}

func (c *genai) card() (modelCard, error) {
	card := modelCard{from: c.path, names: map[string]string{}, context: *c.Model.ContextLength, rows: *c.Model.VocabSize, stop: c.Model.EOS, sampling: c.sampling()}
	for usual, key := range genaiNames {
		for _, names := range []map[string]string{c.Model.Decoder.Inputs, c.Model.Decoder.Outputs} {
			if own := names[key]; own != "" {
				card.names[usual] = own
			}
		}
	}
	if c.Search.Shared != nil {
		card.cache = generate.GrowingCache
		if *c.Search.Shared {
			card.cache = generate.SharedCache
		}
	}
	return card, nil
}
