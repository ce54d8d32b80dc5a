package hf

import (
	"fmt"
	"strings"
	"unicode"

	"golang.org/x/text/unicode/norm"
)

// A normalizer changes a text before it is cut.
type normalizer func(p piece) (piece, error)

// pure is a normalizer that does to each character, or nearly so, what it does: what becomes of the first one is what becomes of it alone.
func pure(f func(string) string) normalizer {
	return func(p piece) (piece, error) { return p.each(f), nil }
}

// normalizerKinds change texts as a component of a type says.
var normalizerKinds = map[string]func(c *component, text string) string{
	"NFC":            func(_ *component, text string) string { return norm.NFC.String(text) },
	"NFD":            func(_ *component, text string) string { return norm.NFD.String(text) },
	"NFKC":           func(_ *component, text string) string { return norm.NFKC.String(text) },
	"NFKD":           func(_ *component, text string) string { return norm.NFKD.String(text) },
	"Lowercase":      func(_ *component, text string) string { return lower(text) },
	"StripAccents":   func(_ *component, text string) string { return dropRunes(unicode.M)(text) },
	"Nmt":            func(_ *component, text string) string { return strings.Map(nmtRune, text) },
	"BertNormalizer": (*component).bert,
	"ByteLevel":      func(_ *component, text string) string { return toByteCharacters(text) },
}

// newNormalizer makes one; where is the place in the file. A nil component changes nothing.
func newNormalizer(c *component, where string) (normalizer, error) {
	if c == nil {
		return func(p piece) (piece, error) { return p, nil }, nil
	}
	switch c.Type {
	case "Sequence":
		return normalizers(c.Normalizers, where+".normalizers")
	case "Replace":
		return newReplaceNormalizer(c, where)
	case "Strip":
		return c.strip, nil
	case "Prepend":
		return c.prepend, nil
	case "Precompiled":
		return newPrecompiled(c, where)
	}
	if change := normalizerKinds[c.Type]; change != nil {
		return pure(func(text string) string { return change(c, text) }), nil
	}
	return nil, fmt.Errorf("%s: type %q is not known, want Sequence, NFC, NFD, NFKC, NFKD, Lowercase, StripAccents, Strip, Prepend, Replace, "+
		"Nmt, Precompiled, BertNormalizer or ByteLevel", where, c.Type)
}

func normalizers(parts []component, where string) (normalizer, error) {
	steps := make([]normalizer, len(parts))
	for i := range parts {
		var err error
		if steps[i], err = newNormalizer(&parts[i], fmt.Sprintf("%s[%d]", where, i)); err != nil {
			return nil, err
		}
	}
	return func(p piece) (piece, error) {
		limit := maxGrowth * (len(p.text) + 256)
		var err error
		for _, step := range steps {
			if p, err = step(p); err != nil {
				return piece{}, err
			}
			if len(p.text) > limit {
				return piece{}, fmt.Errorf("%s: a text became more than %d times as long", where, maxGrowth)
			}
		}
		return p, nil
	}, nil
}

// What a file may make of a text: NFKD makes up to 18 characters of one.
const (
	maxGrowth  = 64
	maxContent = 256 // bytes in the place of a match
)

// lower lower-cases each character on its own: a sigma at the end of a word is like others.
func lower(text string) string {
	return strings.ReplaceAll(strings.Map(func(r rune) rune {
		if r == 'İ' {
			return r
		}
		return unicode.ToLower(r)
	}, text), "İ", "i\u0307")
}

func dropRunes(table *unicode.RangeTable) func(string) string {
	return func(text string) string {
		return strings.Map(func(r rune) rune {
			if unicode.Is(table, r) {
				return -1
			}
			return r
		}, text)
	}
}

func (c *component) strip(p piece) (piece, error) {
	if c.StripLeft {
		rest := strings.TrimLeftFunc(p.text, unicode.IsSpace)
		p = p.part(len(p.text)-len(rest), len(p.text))
	}
	if c.StripRight {
		p = p.part(0, len(strings.TrimRightFunc(p.text, unicode.IsSpace)))
	}
	return p, nil
}

func (c *component) prepend(p piece) (piece, error) { return p.behind(c.Prepend), nil }

// nmtRune is what the normalizer Nmt makes of a character (tokenizers, normalizers/unicode.rs).
func nmtRune(r rune) rune {
	switch {
	case strings.ContainsRune("\t\n\f\r\u1680\u200b\u200c\u200d\u200e\u200f\u2028\u2029\u2581\ufeff\ufffd", r):
		return ' '
	case r > 0 && r < ' ', r == 0x7f, r == 0x8f, r == 0x9f:
		return -1
	}
	return r
}

// bert is what BERT does to a text: it drops control characters, makes blanks of all white
// space, and sets ideographs apart.
func (c *component) bert(text string) string {
	if c.CleanText {
		text = strings.Map(cleanRune, text)
	}
	if c.ChineseChars {
		text = spaceIdeographs(text)
	}
	if c.stripsAccents() {
		text = dropRunes(unicode.Mn)(norm.NFD.String(text))
	}
	if c.Lowercase {
		text = lower(text)
	}
	return text
}

// stripsAccents is what the file says of accents, or else of capitals.
func (c *component) stripsAccents() bool {
	if c.StripAccents == nil {
		return c.Lowercase
	}
	return *c.StripAccents
}

// cleanRune drops what is a control character, though it be a blank too, as a form feed is.
func cleanRune(r rune) rune {
	switch {
	case r == '\t' || r == '\n' || r == '\r':
		return ' '
	case r == 0xfffd || unicode.In(r, unicode.Cc, unicode.Cf, unicode.Co):
		return -1
	case unicode.IsSpace(r):
		return ' '
	}
	return r
}

func spaceIdeographs(text string) string {
	var b strings.Builder
	for _, r := range text {
		if isIdeograph(r) {
			b.WriteString(" " + string(r) + " ")
		} else {
			b.WriteRune(r)
		}
	}
	return b.String()
}

// ideographs are the blocks that BERT's tokenizer names (2b820 to 2b91f is in none of them).
var ideographs = &unicode.RangeTable{
	R16: []unicode.Range16{{Lo: 0x3400, Hi: 0x4dbf, Stride: 1}, {Lo: 0x4e00, Hi: 0x9fff, Stride: 1}, {Lo: 0xf900, Hi: 0xfaff, Stride: 1}},
	R32: []unicode.Range32{{Lo: 0x20000, Hi: 0x2a6df, Stride: 1}, {Lo: 0x2a700, Hi: 0x2b73f, Stride: 1}, {Lo: 0x2b740, Hi: 0x2b81f, Stride: 1},
		{Lo: 0x2b920, Hi: 0x2ceaf, Stride: 1}, {Lo: 0x2f800, Hi: 0x2fa1f, Stride: 1}},
}

// isIdeograph reports whether BERT sets a character apart.
func isIdeograph(r rune) bool {
	return unicode.Is(ideographs, r)
}
