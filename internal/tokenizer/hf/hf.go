// Package hf reads tokenizer.json, the file of HuggingFace's tokenizers library, and converts text to the ids of tokens and
// back as that library does.
//
//	t, err := hf.Open("Llama-3.1-8B-Instruct/tokenizer.json")
//	ids, err := t.Append(nil, "Who built the castle?", hf.AddSpecial)
//	text, err := t.Decode(ids, hf.SkipSpecial)
//
// # Terms
//
// The file describes five steps. Added tokens, for example <|eot_id|>, are found first (added.go). The normalizer changes the
// text between them (normalize.go, precompiled.go). The pre-tokenizer splits it into words (pretokenize.go, regex.go, gpt.go). The model
// splits each word into tokens, by merging pairs (BPE, bpe.go) or by their scores (Unigram, unigram.go). The post-processor adds special tokens. The decoder
// (decode.go) converts tokens to text.
//
// # How equal is equal
//
// The tests compare with version 0.23 of the library over text of all scripts, for each kind of tokenizer that a
// language model or Whisper has. One thing is that of earlier versions, which the reference pins: added tokens are
// decoded as the file writes them, not in their normalized form. Letters and digits are those of Go's Unicode
// tables. An id without a token is an error, where the library skips it.
//
// # What it leaves out
//
// Models other than these and the components that only they use; patterns beyond those of known tokenizers; training,
// pairs of texts, dropout, offsets, truncation and padding. A file that needs any of these for its tokens is an error that names
// the component and its type.
package hf

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path/filepath"
	"strings"
	"unicode/utf8"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/mlperf-go/mlperf/internal/fileio"
)

// maxFile bounds tokenizer.json: the largest known have some 35 MB.
const maxFile = 256 << 20

// A component is any normalizer, pre-tokenizer, post-processor or decoder. Its type decides which fields are used.
type component struct {
	Type string `json:"type"`

	Normalizers   []component `json:"normalizers"`
	PreTokenizers []component `json:"pretokenizers"`
	Processors    []component `json:"processors"`
	Decoders      []component `json:"decoders"`

	Pattern  *pattern `json:"pattern"`
	Content  string   `json:"content"`
	Behavior string   `json:"behavior"`
	Invert   bool     `json:"invert"`

	Prepend       string `json:"prepend"`
	Replacement   string `json:"replacement"`
	PrependScheme string `json:"prepend_scheme"`
	PrefixSpace   *bool  `json:"add_prefix_space"`
	Split         *bool  `json:"split"`
	UseRegex      *bool  `json:"use_regex"`
	Individual    bool   `json:"individual_digits"`
	CharsMap      string `json:"precompiled_charsmap"`
	Start         int    `json:"start"`
	Stop          int    `json:"stop"`

	Single []struct {
		Special *struct {
			ID string `json:"id"`
		} `json:"SpecialToken"`
		Sequence *struct{} `json:"Sequence"`
	} `json:"single"`
	Special map[string]struct {
		IDs []int32 `json:"ids"`
	} `json:"special_tokens"`
}

// A Tokenizer converts text to tokens and back. Several goroutines may use it.
type Tokenizer struct {
	pieces []string // by id; empty: none
	ids    map[string]int32
	model  model
	added  addedTokens

	normalize     normalizer
	split         preTokenizer
	before, after []int32 // special tokens around a text
	decode        decoder
	cleansUp      bool // as tokenizer_config.json says
}

// Open reads a tokenizer.json, and what the tokenizer_config.json beside it says of DecodeClean.
func Open(path string) (*Tokenizer, error) {
	data, err := fileio.ReadFile(path, maxFile)
	if err != nil {
		return nil, fmt.Errorf("reading the tokenizer: %w", err)
	}
	t, err := Read(bytes.NewReader(data), path)
	if err != nil {
		return nil, err
	}
	beside := filepath.Join(filepath.Dir(path), "tokenizer_config.json")
	switch data, err = fileio.ReadFile(beside, maxFile); {
	case errors.Is(err, fs.ErrNotExist):
		return t, nil
	case err != nil:
		return nil, fmt.Errorf("reading the tokenizer: %w", err)
	}
	var config struct {
		CleansUp bool `json:"clean_up_tokenization_spaces"`
	}
	if err := json.Unmarshal(data, &config); err != nil {
		return nil, fmt.Errorf("%s: %w", beside, err)
	}
	t.cleansUp = config.CleansUp
	return t, nil
}

// Read reads tokenizer.json. Errors begin with the name and the part of the file.
func Read(r io.Reader, name string) (*Tokenizer, error) {
	data, err := io.ReadAll(io.LimitReader(r, maxFile+1))
	if err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	if len(data) > maxFile {
		return nil, fmt.Errorf("%s: the file is longer than %d bytes", name, maxFile)
	}
	var f struct {
		AddedTokens   []addedToken `json:"added_tokens"`
		Normalizer    *component   `json:"normalizer"`
		PreTokenizer  *component   `json:"pre_tokenizer"`
		Model         modelFile    `json:"model"`
		PostProcessor *component   `json:"post_processor"`
		Decoder       *component   `json:"decoder"`
	}
	if err := json.Unmarshal(data, &f); err != nil {
		offset := int64(0)
		var syntax *jsontext.SyntacticError
		var semantic *json.SemanticError
		switch {
		case errors.As(err, &syntax):
			offset = syntax.ByteOffset
		case errors.As(err, &semantic):
			offset = semantic.ByteOffset
		}
		line := 1 + bytes.Count(data[:min(int(offset), len(data))], []byte("\n"))
		return nil, fmt.Errorf("%s: line %d: not a tokenizer.json: %w", name, line, err)
	}
	t := &Tokenizer{}
	var errs [5]error
	t.model, t.ids, t.pieces, errs[0] = f.Model.model()
	t.normalize, errs[1] = newNormalizer(f.Normalizer, "normalizer")
	t.split, errs[2] = newPreTokenizer(f.PreTokenizer, "pre_tokenizer")
	t.before, t.after, errs[3] = newProcessor(f.PostProcessor, "post_processor")
	t.decode, errs[4] = newDecoder(f.Decoder, "decoder")
	if err = errors.Join(errs[:]...); err == nil {
		err = t.addTokens(f.AddedTokens)
	}
	for _, ids := range [][]int32{t.before, t.after} {
		for _, id := range ids {
			if _, ok := t.Token(id); !ok && err == nil {
				err = fmt.Errorf("post_processor: token %d is not in the vocabulary of %d", id, t.Size())
			}
		}
	}
	if err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	return t, nil
}

// newProcessor returns the special tokens before and after a text; where is the place in the file.
func newProcessor(c *component, where string) (before, after []int32, err error) {
	if c == nil || c.Type == "ByteLevel" { // which changes offsets only
		return nil, nil, nil
	}
	switch c.Type {
	case "TemplateProcessing":
		texts := 0
		for i, part := range c.Single {
			switch {
			case part.Sequence != nil:
				texts++
				continue
			case part.Special == nil:
				return nil, nil, fmt.Errorf("%s.single[%d]: expected a SpecialToken or a Sequence", where, i)
			}
			token, ok := c.Special[part.Special.ID]
			if !ok {
				return nil, nil, fmt.Errorf("%s.single[%d]: %q is not among the special_tokens", where, i, part.Special.ID)
			}
			if texts == 0 {
				before = append(before, token.IDs...)
			} else {
				after = append(after, token.IDs...)
			}
		}
		if texts != 1 {
			return nil, nil, fmt.Errorf("%s.single: the text occurs %d times, expected once", where, texts)
		}
		return before, after, nil
	case "Sequence":
		for i := range c.Processors {
			place := fmt.Sprintf("%s.processors[%d]", where, i)
			b, a, err := newProcessor(&c.Processors[i], place)
			if err != nil {
				return nil, nil, err
			}
			if len(b)+len(a) > 0 && len(before)+len(after) > 0 { // the library would treat the first's tokens as text
				return nil, nil, fmt.Errorf("%s: a processor before it adds tokens too: expected one processor with tokens", place)
			}
			before, after = append(before, b...), append(after, a...)
		}
		return before, after, nil
	}
	return nil, nil, fmt.Errorf("%s: type %q is not supported, expected TemplateProcessing, ByteLevel or Sequence", where, c.Type)
}

// Special selects the use of special tokens.
type Special bool

// The values.
const (
	AddSpecial  Special = true  // Append adds the post-processor's tokens
	NoSpecial   Special = false // Append adds none
	SkipSpecial Special = true  // Decode leaves special tokens out
	KeepSpecial Special = false // Decode writes them
)

// Append appends the ids of the tokens of a text. Special tokens in the text are found in any case. U+FFFD replaces invalid
// UTF-8.
func (t *Tokenizer) Append(dst []int32, text string, special Special) (_ []int32, err error) {
	if special {
		dst = append(dst, t.before...)
	}
	if !utf8.ValidString(text) {
		text = validText([]byte(text))
	}
	for _, raw := range t.added.raw.find(piece{text, true}) {
		if raw.id >= 0 {
			dst = append(dst, raw.id)
			continue
		}
		if raw.piece.text, err = t.normalize(raw.piece.text); err != nil {
			return nil, err
		}
		for _, s := range t.added.normalized.find(raw.piece) {
			if s.id >= 0 {
				dst = append(dst, s.id)
				continue
			}
			words, err := t.split([]piece{s.piece})
			if err != nil {
				return nil, err
			}
			for _, word := range words {
				dst = t.model.append(dst, word.text)
			}
		}
	}
	if special {
		dst = append(dst, t.after...)
	}
	return dst, nil
}

// Decode returns the text of tokens. An id without a token is an error.
func (t *Tokenizer) Decode(ids []int32, special Special) (string, error) {
	tokens := make([]string, 0, len(ids))
	for i, id := range ids {
		token, ok := t.Token(id)
		if !ok {
			return "", fmt.Errorf("token %d is %d: not in the vocabulary of %d", i, id, t.Size())
		}
		if !bool(special) || !t.added.special[id] {
			tokens = append(tokens, token)
		}
	}
	return t.decode.text(tokens)
}

// cleanUp is clean_up_tokenization of transformers (tokenization_utils_base.py), which replaces these one after the other.
var cleanUp = [][2]string{
	{" .", "."}, {" ?", "?"}, {" !", "!"}, {" ,", ","}, {" ' ", "'"}, {" n't", "n't"}, {" 'm", "'m"}, {" 's", "'s"}, {" 've", "'ve"}, {" 're", "'re"},
}

// DecodeClean is Decode as the scripts of the reference call it, through transformers: where tokenizer_config.json says
// clean_up_tokenization_spaces, blanks before punctuation go.
func (t *Tokenizer) DecodeClean(ids []int32, special Special) (string, error) {
	text, err := t.Decode(ids, special)
	if t.cleansUp {
		for _, r := range cleanUp {
			text = strings.ReplaceAll(text, r[0], r[1])
		}
	}
	return text, err
}

// Size is the largest id plus one: the least size of a model's vocabulary.
func (t *Tokenizer) Size() int { return len(t.pieces) }

// ID returns the id of a token as the file writes it, and whether it exists.
func (t *Tokenizer) ID(token string) (int32, bool) {
	if id, ok := t.added.ids[token]; ok {
		return id, true
	}
	id, ok := t.ids[token]
	return id, ok
}

// Token returns the token of an id as the file writes it, and whether it exists.
func (t *Tokenizer) Token(id int32) (string, bool) {
	if id < 0 || int(id) >= len(t.pieces) || t.pieces[id] == "" {
		return "", false
	}
	return t.pieces[id], true
}

// Fits returns an error unless all tokens are in a model's vocabulary of a size.
func (t *Tokenizer) Fits(vocabulary int) error {
	if t.Size() > vocabulary {
		return fmt.Errorf("the tokenizer has tokens up to %d, the model a vocabulary of %d: they do not belong together", t.Size()-1, vocabulary)
	}
	return nil
}
