package generative

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"math"
	"path/filepath"
	"slices"

	"github.com/mlperf-go/mlperf/internal/fileio"
	"github.com/mlperf-go/mlperf/internal/models/decode"
)

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
	if missing := c.missing(); missing != "" {
		return nil, fmt.Errorf("%s is missing", missing)
	}
	if err := c.sampling().Check(); err != nil {
		return nil, fmt.Errorf("search: %w", err)
	}
	return c, c.check()
}

// missing is the first required key that is missing; empty: none.
func (c *genaiFile) missing() string {
	if c.Model.Decoder == nil {
		return "model.decoder"
	}
	for _, key := range []struct {
		name string
		ok   bool
	}{
		{"model.context_length", c.Model.ContextLength != nil},
		{"model.vocab_size", c.Model.VocabSize != nil},
		{"model.eos_token_id", len(c.Model.EOS) > 0},
		{"model.decoder.inputs", c.Model.Decoder.Inputs != nil},
		{"model.decoder.outputs", c.Model.Decoder.Outputs != nil},
	} {
		if !key.ok {
			return key.name
		}
	}
	return ""
}

// check checks ranges of values.
func (c *genaiFile) check() error {
	if n := *c.Model.ContextLength; n < 1 || n > math.MaxInt32 {
		return fmt.Errorf("model.context_length is %d, want 1 to %d tokens", n, math.MaxInt32)
	}
	if id := slices.Min(c.Model.EOS); id < 0 {
		return fmt.Errorf("model.eos_token_id has %d, want tokens", id)
	}
	if name := c.Model.Decoder.Filename; name != "" && !filepath.IsLocal(name) {
		return fmt.Errorf("model.decoder.filename is %q, want a file beside it", name)
	}
	return nil
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
	card := modelCard{from: c.path, names: map[string]string{}, context: *c.Model.ContextLength, stop: c.Model.EOS, sampling: c.sampling()}
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
