package generative

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strconv"

	"github.com/mlperf-go/mlperf/internal/fileio"
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

	headSize int64 // 0: unknown

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
	var card modelCard
	for _, p := range head.Metadata { // of a built-in decoder; other producers' values are not numbers
		n, err := strconv.ParseInt(p.Value, 10, 32)
		if err != nil || n < 0 {
			continue
		}
		switch p.Key {
		case "context_length":
			card.context, card.from = int(n), ofModelFile
		case "eos_token_id":
			card.stop = []int32{int32(n)}
		}
	}
	return card, nil
}

const (
	genaiConfig = "genai_config.json"
	maxConfig   = 1 << 20
)

// A genaiFile is genai_config.json of onnxruntime-genai, as far as it is used.
type genaiFile struct {
	path  string
	Model struct {
		ContextLength *int `json:"context_length"`
		VocabSize     *int `json:"vocab_size"`
		EOS           ids  `json:"eos_token_id"`
		Decoder       *struct {
			Filename string            `json:"filename"`
			HeadSize int64             `json:"head_size"`
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

// ids is a number or a list in JSON.
type ids []int32

// UnmarshalJSON implements json.Unmarshaler. Null is none.
func (i *ids) UnmarshalJSON(text []byte) error {
	if text[0] != '[' {
		text = slices.Concat([]byte{'['}, text, []byte{']'})
	}
	var list []*int32
	if err := json.Unmarshal(text, &list); err != nil {
		return err
	}
	*i = nil
	for _, id := range list {
		if id != nil {
			*i = append(*i, *id)
		}
	}
	return nil
}

// readGenAI reads genai_config.json of a folder; nil if there is none.
func readGenAI(folder string) (*genaiFile, error) {
	path := filepath.Join(folder, genaiConfig)
	text, err := fileio.ReadFile(path, maxConfig)
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

func parseGenAI(text []byte) (*genaiFile, error) {
	c := &genaiFile{}
	if err := json.Unmarshal(text, c); err != nil {
		return nil, err
	}
	m := &c.Model
	if m.Decoder == nil {
		return nil, errors.New("model.decoder is missing")
	}
	for _, key := range []struct {
		name string
		ok   bool
	}{
		{"context_length", m.ContextLength != nil}, {"vocab_size", m.VocabSize != nil}, {"eos_token_id", len(m.EOS) > 0},
		{"decoder.inputs", m.Decoder.Inputs != nil}, {"decoder.outputs", m.Decoder.Outputs != nil},
	} {
		if !key.ok {
			return nil, fmt.Errorf("model.%s is missing", key.name)
		}
	}
	if err := c.sampling().Check(); err != nil {
		return nil, fmt.Errorf("search: %w", err)
	}
	if n := *m.ContextLength; n < 1 || n > math.MaxInt32 {
		return nil, fmt.Errorf("model.context_length is %d: must be 1 to %d tokens", n, math.MaxInt32)
	}
	if id := slices.Min(m.EOS); id < 0 {
		return nil, fmt.Errorf("model.eos_token_id has %d, expected tokens", id)
	}
	if name := m.Decoder.Filename; name != "" && !filepath.IsLocal(name) {
		return nil, fmt.Errorf("model.decoder.filename is %q: must be a file beside it", name)
	}
	return c, nil
}

// sampling is what the file asks for.
func (c *genaiFile) sampling() decode.Sampling {
	if !c.Search.Sample {
		return decode.Sampling{}
	}
	return decode.Sampling{Temperature: c.Search.Temperature, TopK: c.Search.TopK, TopP: c.Search.TopP, Seed: uint64(max(0, c.Search.Seed))}
}

// genaiNames are the keys under which onnxruntime-genai has names of ports, by the usual ones.
var genaiNames = map[string]string{
	"input_ids": "input_ids", "attention_mask": "attention_mask", "position_ids": "position_ids",
	"past_key_values.%d.key": "past_key_names", "past_key_values.%d.value": "past_value_names",
	"logits": "logits", "present.%d.key": "present_key_names", "present.%d.value": "present_value_names",
	"total_sequence_length": "total_sequence_length", "seqlens_k": "past_sequence_length",
}

func (c *genaiFile) card() modelCard {
	card := modelCard{from: c.path, names: map[string]string{}, context: *c.Model.ContextLength, stop: c.Model.EOS,
		headSize: c.Model.Decoder.HeadSize, sampling: c.sampling()}
	for usual, key := range genaiNames {
		for _, names := range []map[string]string{c.Model.Decoder.Inputs, c.Model.Decoder.Outputs} {
			if own := names[key]; own != "" {
				card.names[usual] = own
			}
		}
	}
	if c.Search.Shared != nil {
		card.cache = decode.GrowingCache
		if *c.Search.Shared {
			card.cache = decode.SharedCache
		}
	}
	return card
}
