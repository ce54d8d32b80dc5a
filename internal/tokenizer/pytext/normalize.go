package pytext

import (
	"cmp"
	"slices"
	"strings"

	"golang.org/x/text/unicode/norm"
)

// Normalize is unicodedata.normalize. Package norm is for streams: into runs of more than 30 combining marks it puts a
// U+034F, which Unicode's definition does not.
func Normalize(form norm.Form, s string) string {
	const joiner = "\u034f"
	out := form.String(s)
	if strings.Count(out, joiner) == strings.Count(s, joiner) {
		return out
	}
	decompose := norm.NFD
	if form == norm.NFKC || form == norm.NFKD {
		decompose = norm.NFKD
	}
	var all []rune
	for _, r := range s { // alone, a character needs no joiner
		all = append(all, []rune(decompose.String(string(r)))...)
	}
	class := func(r rune) uint8 { return norm.NFD.PropertiesString(string(r)).CCC() }
	for start, end := 0, 0; start < len(all); start = end { // a starter stays before its marks
		for end = start + 1; end < len(all) && class(all[end]) != 0; end++ {
		}
		slices.SortStableFunc(all[start:end], func(a, b rune) int { return cmp.Compare(class(a), class(b)) })
	}
	if form == norm.NFD || form == norm.NFKD {
		return string(all)
	}
	var composed []rune
	starter, last := -1, uint8(0)
	for _, r := range all {
		c := class(r)
		if starter >= 0 && (starter == len(composed)-1 || last < c) { // nothing between them blocks the mark
			if both := []rune(norm.NFC.String(string(composed[starter]) + string(r))); len(both) == 1 {
				composed[starter] = both[0]
				continue
			}
		}
		if c == 0 {
			starter = len(composed)
		}
		composed, last = append(composed, r), c
	}
	return string(composed)
}
