package hf

import (
	"fmt"
	"strings"
)

// newReplace makes what puts a text in the place of what a pattern matches, as a normalizer or a step of a decoder.
func newReplace(c *component, where string) (replacer, error) {
	m, err := newMatcher(c.Pattern, where)
	if err != nil {
		return replacer{}, err
	}
	content := c.Content
	if len(content) > maxContent {
		return replacer{}, fmt.Errorf("%s: content has %d bytes, want at most %d", where, len(content), maxContent)
	}
	return replacer{m, content}, nil
}

// A replacer puts a content in the place of what matches.
type replacer struct {
	matcher
	content string
}

func (r replacer) text(text string) (string, error) {
	p, err := r.normalize(piece{text: text})
	return p.text, err
}

// normalize replaces. The content stands where the last character did that it takes the place of.
func (r replacer) normalize(p piece) (piece, error) {
	var b strings.Builder
	read, first := 0, 0
	err := matches(r.matcher, p.text, func(part string, matched bool) {
		from := read
		read += len(part)
		switch {
		case matched && read <= p.first:
			first += len(r.content)
		case !matched:
			first += max(0, min(p.first, read)-from)
		}
		if matched {
			part = r.content
		}
		b.WriteString(part)
	})
	return piece{b.String(), first}, err
}

func newReplaceNormalizer(c *component, where string) (normalizer, error) {
	r, err := newReplace(c, where)
	return r.normalize, err
}
