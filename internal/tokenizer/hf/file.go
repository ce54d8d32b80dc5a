package hf

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"

	"github.com/mlperf-go/mlperf/internal/regular"
)

// maxFile bounds tokenizer.json: the largest known have some 35 MB.
const maxFile = 256 << 20

// file is tokenizer.json.
type file struct {
	AddedTokens   []addedToken    `json:"added_tokens"`
	Normalizer    *component      `json:"normalizer"`
	PreTokenizer  *component      `json:"pre_tokenizer"`
	Model         json.RawMessage `json:"model"`
	PostProcessor *component      `json:"post_processor"`
	Decoder       *component      `json:"decoder"`
}

// A component is any normalizer, pre-tokenizer, post-processor or decoder. Which fields
// count follows from its type.
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

	Charsmap      string `json:"precompiled_charsmap"`
	Prepend       string `json:"prepend"`
	StripLeft     bool   `json:"strip_left"`
	StripRight    bool   `json:"strip_right"`
	CleanText     bool   `json:"clean_text"`
	ChineseChars  bool   `json:"handle_chinese_chars"`
	StripAccents  *bool  `json:"strip_accents"`
	Lowercase     bool   `json:"lowercase"`
	Replacement   string `json:"replacement"`
	PrependScheme string `json:"prepend_scheme"`
	PrefixSpace   *bool  `json:"add_prefix_space"`
	Split         *bool  `json:"split"`
	UseRegex      *bool  `json:"use_regex"`
	Individual    bool   `json:"individual_digits"`
	Delimiter     string `json:"delimiter"`

	Single  []templatePart           `json:"single"`
	Special map[string]templateToken `json:"special_tokens"`
	Begin   *namedToken              `json:"cls"`
	End     *namedToken              `json:"sep"`

	Prefix  string `json:"prefix"`
	Suffix  string `json:"suffix"`
	Cleanup bool   `json:"cleanup"`
	Start   int    `json:"start"`
	Stop    int    `json:"stop"`
}

// A pattern is a text or a regular expression.
type pattern struct {
	String *string `json:"String"`
	Regex  *string `json:"Regex"`
}

// Open reads a file of a tokenizer.
func Open(path string) (*Tokenizer, error) {
	data, err := regular.ReadFile(path, maxFile)
	if err != nil {
		return nil, fmt.Errorf("reading the tokenizer: %w", err)
	}
	return Read(bytes.NewReader(data), path)
}

// Read reads tokenizer.json. The name appears in errors, which say which part of the file is
// wrong.
func Read(r io.Reader, name string) (*Tokenizer, error) {
	data, err := io.ReadAll(io.LimitReader(r, maxFile+1))
	if err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	if len(data) > maxFile {
		return nil, fmt.Errorf("%s: the file is longer than %d bytes, which no tokenizer is", name, maxFile)
	}
	var f file
	if err := json.Unmarshal(data, &f); err != nil {
		return nil, fmt.Errorf("%s: %w", name, describe(err, data))
	}
	t, err := f.tokenizer()
	if err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	return t, nil
}

// describe adds the line to an error in the syntax of JSON.
func describe(err error, data []byte) error {
	var syntax *json.SyntaxError
	if errors.As(err, &syntax) {
		line := 1 + bytes.Count(data[:min(int(syntax.Offset), len(data))], []byte("\n"))
		return fmt.Errorf("line %d: this is no tokenizer.json: %w", line, err)
	}
	return fmt.Errorf("this is no tokenizer.json: %w", err)
}

func (f *file) tokenizer() (*Tokenizer, error) {
	if len(f.Model) == 0 {
		return nil, errors.New("there is no model: want BPE, Unigram, WordPiece or WordLevel")
	}
	t := &Tokenizer{}
	var errs [5]error
	t.model, t.pieces, errs[0] = readModel(f.Model)
	t.normalize, errs[1] = newNormalizer(f.Normalizer, "normalizer")
	t.split, errs[2] = newPreTokenizer(f.PreTokenizer, "pre_tokenizer")
	t.before, t.after, errs[3] = newProcessor(f.PostProcessor, "post_processor")
	t.decode, errs[4] = newDecoder(f.Decoder, "decoder")
	if err := errors.Join(errs[:]...); err != nil {
		return nil, err
	}
	if err := t.addTokens(f.AddedTokens); err != nil {
		return nil, err
	}
	return t, t.checkProcessor()
}
