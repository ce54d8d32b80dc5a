package hf

import (
	"fmt"
	"strings"

	"golang.org/x/text/unicode/norm"

	"github.com/mlperf-go/mlperf/internal/tokenizer/pytext"
)

// A normalizer changes a text before it is cut.
type normalizer func(text string) (string, error)

var unicodeForms = map[string]norm.Form{"NFC": norm.NFC, "NFD": norm.NFD, "NFKC": norm.NFKC, "NFKD": norm.NFKD}

// newNormalizer makes one; where is the place in the file. A nil component changes nothing.
func newNormalizer(c *component, where string) (normalizer, error) {
	if c == nil {
		return func(text string) (string, error) { return text, nil }, nil
	}
	if form, ok := unicodeForms[c.Type]; ok {
		return func(text string) (string, error) { return pytext.Normalize(form, text), nil }, nil
	}
	switch c.Type {
	case "Sequence":
		var steps []normalizer
		for i := range c.Normalizers {
			step, err := newNormalizer(&c.Normalizers[i], fmt.Sprintf("%s.normalizers[%d]", where, i))
			if err != nil {
				return nil, err
			}
			steps = append(steps, step)
		}
		return func(text string) (_ string, err error) {
			for _, step := range steps {
				if text, err = step(text); err != nil {
					return "", err
				}
			}
			return text, nil
		}, nil
	case "Precompiled":
		return newPrecompiled(c, where)
	case "Replace":
		return newReplace(c, where)
	case "Prepend":
		return func(text string) (string, error) {
			if text == "" {
				return "", nil
			}
			return c.Prepend + text, nil
		}, nil
	}
	return nil, fmt.Errorf("%s: type %q is not supported, expected Sequence, NFC, NFD, NFKC, NFKD, Precompiled, Prepend or Replace", where, c.Type)
}

// newReplace makes what puts the content of a component in the place of what its pattern matches.
func newReplace(c *component, where string) (func(text string) (string, error), error) {
	m, err := newMatcher(c.Pattern, where)
	return func(text string) (string, error) {
		var b strings.Builder
		err := m.divide(text, func(part string, matched bool) {
			if matched {
				part = c.Content
			}
			b.WriteString(part)
		})
		return b.String(), err
	}, err
}
