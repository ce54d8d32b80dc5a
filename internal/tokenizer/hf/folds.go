package hf

import (
	"strings"
	"unicode/utf8"

	"golang.org/x/text/cases"
)

// Where capitals do not count, some letters are as good as two or three others: ß as ss, ﬁ as fi. To Oniguruma letters that stand
// beside each other in a pattern are as good as such a letter, too. The engine knows nothing of that.

// foldRanges are where letters are that become several (Unicode's CaseFolding, status F).
var foldRanges = [...][2]rune{{0xdf, 0xdf}, {0x130, 0x149}, {0x1f0, 0x1f0}, {0x390, 0x3b0}, {0x587, 0x587}, {0x1e96, 0x1e9e}, {0x1f50, 0x1ffc}, {0xfb00, 0xfb17}}

// longestFold is how many letters one becomes at most.
const longestFold = 3

// severalOf are the letters that a letter becomes, if they are more than one.
func severalOf(letter rune) (string, bool) {
	for _, r := range foldRanges {
		if letter >= r[0] && letter <= r[1] {
			all := cases.Fold().String(string(letter))
			return all, utf8.RuneCountInString(all) > 1
		}
	}
	return "", false
}

// onesOf are the letters that become the same as a text, which is not one itself.
func (t *translation) onesOf(text string) []string {
	if t.ones == nil {
		t.ones = make(map[string][]string)
		for _, r := range foldRanges {
			for letter := r[0]; letter <= r[1]; letter++ {
				if all, ok := severalOf(letter); ok {
					t.ones[all] = append(t.ones[all], string(letter))
				}
			}
		}
	}
	return t.ones[cases.Fold().String(text)]
}

// literals reads letters that stand beside each other and are as good as one, if there are any; the last of them is not repeated.
func (t *translation) literals() (string, bool) {
	var ends []int
	for at := 0; at < len(t.rest) && len(ends) < longestFold; {
		r, n := utf8.DecodeRuneInString(t.rest[at:])
		if strings.ContainsRune(`\[]()*+?{}^$|.`, r) {
			break
		}
		at += n
		ends = append(ends, at)
	}
	for i := len(ends) - 1; i >= 1; i-- {
		text := t.rest[:ends[i]]
		if rest := t.rest[ends[i]:]; rest != "" && strings.IndexByte("*+?{", rest[0]) >= 0 {
			continue
		}
		if ones := t.onesOf(text); len(ones) > 0 {
			t.take(len(text))
			return t.asGoodAs(text, ones), true
		}
	}
	return "", false
}

// letter is one as the engine reads it.
func (t *translation) letter(letter string) string {
	if r, _ := utf8.DecodeRuneInString(letter); t.fold {
		if all, ok := severalOf(r); ok {
			return t.asGoodAs(all, t.onesOf(all))
		}
	}
	if all := t.folded(letter); all != letter {
		return "[" + all + "]"
	}
	return letter
}

// asGoodAs is a text, or one of the letters that are as good.
func (t *translation) asGoodAs(text string, ones []string) string {
	var b strings.Builder
	for _, r := range text {
		if all := t.folded(string(r)); len(all) > utf8.RuneLen(r) {
			b.WriteString("[" + all + "]")
		} else {
			b.WriteRune(r)
		}
	}
	for _, one := range ones {
		if one == "İ" { // which the engine takes for an i
			one = "(?-i:İ)"
		}
		b.WriteString("|" + one)
	}
	return "(?:" + b.String() + ")"
}
