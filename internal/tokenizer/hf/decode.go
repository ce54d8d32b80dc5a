package hf

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"
)

// A decoder is the steps from tokens to text.
type decoder struct {
	steps []decodeStep
	glue  string // between what the steps leave
}

// A decodeStep changes tokens. It may do so in place.
type decodeStep func(tokens []string) ([]string, error)

func (d decoder) text(tokens []string) (string, error) {
	limit := maxGrowth * (size(tokens) + 256)
	for _, step := range d.steps {
		var err error
		if tokens, err = step(tokens); err != nil {
			return "", err
		}
		if size(tokens) > limit {
			return "", fmt.Errorf("decoder: a text became more than %d times as long", maxGrowth)
		}
	}
	return strings.Join(tokens, d.glue), nil
}

// size is how many bytes tokens have.
func size(tokens []string) (n int) {
	for _, token := range tokens {
		n += len(token)
	}
	return n
}

// newDecoder makes one; where is the place in the file. Without one there are blanks between
// tokens.
func newDecoder(c *component, where string) (decoder, error) {
	if c == nil {
		return decoder{glue: " "}, nil
	}
	steps, err := decodeSteps(c, where)
	return decoder{steps: steps}, err
}

func decodeSteps(c *component, where string) ([]decodeStep, error) {
	if c.Type != "Sequence" {
		step, err := newDecodeStep(c, where)
		return []decodeStep{step}, err
	}
	var steps []decodeStep
	for i := range c.Decoders {
		more, err := decodeSteps(&c.Decoders[i], fmt.Sprintf("%s.decoders[%d]", where, i))
		if err != nil {
			return nil, err
		}
		steps = append(steps, more...)
	}
	return steps, nil
}

// decodeStepKinds make steps, by the type of their component; where is the place in the file.
var decodeStepKinds = map[string]func(c *component, where string) (decodeStep, error){
	"ByteLevel":    func(*component, string) (decodeStep, error) { return decodeByteLevel, nil },
	"ByteFallback": func(*component, string) (decodeStep, error) { return decodeBytes, nil },
	"Fuse":         func(*component, string) (decodeStep, error) { return fuse, nil },
	"Metaspace":    newUnmark,
	"WordPiece":    func(c *component, _ string) (decodeStep, error) { return eachToken(c.joinPiece), nil },
	"BPEDecoder":   func(c *component, _ string) (decodeStep, error) { return c.joinBPE, nil },
	"Strip":        func(c *component, _ string) (decodeStep, error) { return eachToken(c.stripContent), nil },
	"Replace":      newReplaceTokens,
}

func newDecodeStep(c *component, where string) (decodeStep, error) {
	if made, ok := decodeStepKinds[c.Type]; ok {
		return made(c, where)
	}
	return nil, fmt.Errorf("%s: type %q is not known, want Sequence, ByteLevel, ByteFallback, Fuse, Metaspace, WordPiece, BPEDecoder, Strip or Replace", where, c.Type)
}

func fuse(tokens []string) ([]string, error) { return []string{strings.Join(tokens, "")}, nil }

func newUnmark(c *component, where string) (decodeStep, error) {
	if _, err := c.mark(where); err != nil {
		return nil, err
	}
	_, err := c.scheme(where)
	return eachToken(c.unmark), err
}

func newReplaceTokens(c *component, where string) (decodeStep, error) {
	replace, err := newReplace(c, where)
	if err != nil {
		return nil, err
	}
	return func(tokens []string) ([]string, error) {
		for i, token := range tokens {
			var err error
			if tokens[i], err = replace.text(token); err != nil {
				return nil, err
			}
		}
		return tokens, nil
	}, nil
}

// eachToken is a step that changes each token by itself.
func eachToken(f func(i int, token string) string) decodeStep {
	return func(tokens []string) ([]string, error) {
		for i, token := range tokens {
			tokens[i] = f(i, token)
		}
		return tokens, nil
	}
}

func decodeByteLevel(tokens []string) ([]string, error) {
	var data []byte
	for _, token := range tokens {
		data = fromByteCharacters(data, token)
	}
	return []string{validText(data)}, nil
}

// decodeBytes joins tokens that stand for bytes. If they are no UTF-8, each is U+FFFD.
func decodeBytes(tokens []string) ([]string, error) {
	var out []string
	var data []byte
	for _, token := range tokens {
		if b, ok := parseByte(token); ok {
			data = append(data, b)
			continue
		}
		out = append(appendBytesText(out, data), token)
		data = data[:0]
	}
	return appendBytesText(out, data), nil
}

// appendBytesText appends the text of bytes, if there are any.
func appendBytesText(out []string, data []byte) []string {
	switch {
	case len(data) == 0:
		return out
	case utf8.Valid(data):
		return append(out, string(data))
	}
	return append(out, slices.Repeat([]string{"\ufffd"}, len(data))...)
}

// parseByte returns the byte that a token like <0x0A> stands for.
func parseByte(token string) (byte, bool) {
	if len(token) != 6 || token[:3] != "<0x" || token[5] != '>' {
		return 0, false
	}
	v, err := strconv.ParseUint(token[3:5], 16, 8)
	return byte(v), err == nil
}

// unmark makes blanks of marks, but for those of the first token.
func (c *component) unmark(i int, token string) string {
	if i == 0 && c.PrependScheme != "never" {
		return strings.ReplaceAll(token, c.Replacement, "")
	}
	return strings.ReplaceAll(token, c.Replacement, " ")
}

// joinPiece drops the mark of a piece that goes on with a word, or sets a blank before it.
func (c *component) joinPiece(i int, token string) string {
	if i > 0 {
		rest, ok := strings.CutPrefix(token, c.Prefix)
		if !ok {
			rest = " " + token
		}
		token = rest
	}
	if c.Cleanup {
		token = strings.ReplaceAll(cleanUp(token), " do not", " don't")
	}
	return token
}

// joinBPE makes blanks of the ends of words, but for the last one.
func (c *component) joinBPE(tokens []string) ([]string, error) {
	for i, token := range tokens {
		blank := " "
		if i == len(tokens)-1 {
			blank = ""
		}
		tokens[i] = strings.ReplaceAll(token, c.Suffix, blank)
	}
	return tokens, nil
}

// stripContent drops a character from both ends, at most so often as the file says.
func (c *component) stripContent(_ int, token string) string {
	for range min(c.Start, len(token)) {
		token = strings.TrimPrefix(token, c.Content)
	}
	for range min(c.Stop, len(token)) {
		token = strings.TrimSuffix(token, c.Content)
	}
	return token
}

// cleanUp drops blanks before marks and short forms. The library transformers does so with
// decoded text where clean_up_tokenization_spaces is set in tokenizer_config.json, which it
// was by default before version 5.
func cleanUp(text string) string {
	for _, r := range [...][2]string{{" .", "."}, {" ?", "?"}, {" !", "!"}, {" ,", ","}, {" ' ", "'"}, {" n't", "n't"}, {" 'm", "'m"}, {" 's", "'s"}, {" 've", "'ve"}, {" 're", "'re"}} {
		text = strings.ReplaceAll(text, r[0], r[1])
	}
	return text
}
