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
	glue  string // between the tokens that the steps leave
}

// A decodeStep changes tokens. It may do so in place.
type decodeStep func(tokens []string) ([]string, error)

func (d decoder) text(tokens []string) (_ string, err error) {
	for _, step := range d.steps {
		if tokens, err = step(tokens); err != nil {
			return "", err
		}
	}
	return strings.Join(tokens, d.glue), nil
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

func decodeSteps(c *component, where string) (steps []decodeStep, err error) {
	var step decodeStep
	switch c.Type {
	case "Sequence":
		for i := range c.Decoders {
			more, err := decodeSteps(&c.Decoders[i], fmt.Sprintf("%s.decoders[%d]", where, i))
			if err != nil {
				return nil, err
			}
			steps = append(steps, more...)
		}
		return steps, nil
	case "ByteLevel":
		step = func(tokens []string) ([]string, error) {
			var data []byte
			for _, token := range tokens {
				data = fromByteCharacters(data, token)
			}
			return []string{validText(data)}, nil
		}
	case "ByteFallback":
		step = func(tokens []string) ([]string, error) { return decodeBytes(tokens), nil }
	case "Fuse":
		step = func(tokens []string) ([]string, error) { return []string{strings.Join(tokens, "")}, nil }
	case "Metaspace":
		_, err = c.metaspace(where)
		step = eachToken(func(i int, token string) (string, error) {
			blank := " "
			if i == 0 && c.PrependScheme != "never" {
				blank = ""
			}
			return strings.ReplaceAll(token, c.Replacement, blank), nil
		})
	case "Strip":
		step = eachToken(func(_ int, token string) (string, error) {
			for range min(c.Start, len(token)) {
				token = strings.TrimPrefix(token, c.Content)
			}
			for range min(c.Stop, len(token)) {
				token = strings.TrimSuffix(token, c.Content)
			}
			return token, nil
		})
	case "Replace":
		var replace func(string) (string, error)
		replace, err = newReplace(c, where)
		step = eachToken(func(_ int, token string) (string, error) { return replace(token) })
	default:
		err = fmt.Errorf("%s: type %q is not supported, expected Sequence, ByteLevel, ByteFallback, Fuse, Metaspace, Strip or Replace", where, c.Type)
	}
	return []decodeStep{step}, err
}

// eachToken is a step that changes each token by itself.
func eachToken(f func(i int, token string) (string, error)) decodeStep {
	return func(tokens []string) (_ []string, err error) {
		for i, token := range tokens {
			if tokens[i], err = f(i, token); err != nil {
				return nil, err
			}
		}
		return tokens, nil
	}
}

// decodeBytes joins tokens like <0x0A>, which stand for bytes. If such bytes are not UTF-8, each is U+FFFD.
func decodeBytes(tokens []string) (out []string) {
	var data []byte
	flush := func() {
		switch {
		case len(data) == 0:
		case utf8.Valid(data):
			out = append(out, string(data))
		default:
			out = append(out, slices.Repeat([]string{"\ufffd"}, len(data))...)
		}
		data = data[:0]
	}
	for _, token := range tokens {
		if len(token) == 6 && token[:3] == "<0x" && token[5] == '>' {
			if b, err := strconv.ParseUint(token[3:5], 16, 8); err == nil {
				data = append(data, byte(b))
				continue
			}
		}
		flush()
		out = append(out, token)
	}
	flush()
	return out
}
