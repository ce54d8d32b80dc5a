package accuracy

import "strings"

// stemPorter is the stem of a lower-cased word as NLTK's PorterStemmer finds it in its
// default mode: Porter's algorithm with NLTK's own additions, each of which is marked.
func stemPorter(word string) string {
	if stem, ok := irregularStems[word]; ok {
		return stem
	}
	if len(word) <= 2 {
		return word
	}
	for _, step := range [...]func(string) string{
		dropPlural, dropPast, turnY, shortenDouble, shortenSuffix, dropSuffix, dropE, dropL,
	} {
		word = step(word)
	}
	return word
}

// irregularStems are NLTK's exceptions.
var irregularStems = map[string]string{
	"sky": "sky", "skies": "sky", "dying": "die", "lying": "lie", "tying": "tie", "news": "news",
	"innings": "inning", "inning": "inning", "outings": "outing", "outing": "outing",
	"cannings": "canning", "canning": "canning", "howe": "howe",
	"proceed": "proceed", "exceed": "exceed", "succeed": "succeed",
}

// A suffixRule replaces a suffix where what stands before it has more than a number of
// measures (Porter's m).
type suffixRule struct {
	suffix, replacement string
	above               int
}

// applyRule applies the first rule whose suffix the word has; if its condition does not
// hold, no other rule is tried.
func applyRule(word string, rules []suffixRule) string {
	for _, r := range rules {
		stem, ok := strings.CutSuffix(word, r.suffix)
		if !ok {
			continue
		}
		if measure(stem) > r.above {
			return stem + r.replacement
		}
		return word
	}
	return word
}

// isConsonant reports whether the letter at i is one: all but vowels, and y at the beginning
// or after a vowel. Digits are consonants too.
func isConsonant(word string, i int) bool {
	switch word[i] {
	case 'a', 'e', 'i', 'o', 'u':
		return false
	case 'y':
		first := i // of the run of y, which take turns
		for first > 0 && word[first-1] == 'y' {
			first--
		}
		afterVowel := first == 0 || !isConsonant(word, first-1)
		return afterVowel == ((i-first)%2 == 0)
	}
	return true
}

// measure counts how often a consonant follows a vowel.
func measure(stem string) int {
	m, vowel := 0, false
	for i := range len(stem) {
		v := stem[i] == 'y' && i > 0 && !vowel || stem[i] != 'y' && !isConsonant(stem, i)
		if vowel && !v {
			m++
		}
		vowel = v
	}
	return m
}

func hasVowel(stem string) bool {
	for i := range len(stem) {
		if !isConsonant(stem, i) {
			return true
		}
	}
	return false
}

// endsShort reports whether a stem ends with consonant, vowel, consonant, the last of which
// is not w, x or y; or, which is NLTK's addition, is a vowel and a consonant.
func endsShort(stem string) bool {
	n := len(stem)
	if n == 2 {
		return !isConsonant(stem, 0) && isConsonant(stem, 1)
	}
	return n >= 3 && isConsonant(stem, n-3) && !isConsonant(stem, n-2) && isConsonant(stem, n-1) &&
		!strings.ContainsRune("wxy", rune(stem[n-1]))
}

// dropPlural is step 1a.
func dropPlural(word string) string {
	switch {
	case strings.HasSuffix(word, "ies") && len(word) == 4: // NLTK: ties is tie
		return word[:3]
	case strings.HasSuffix(word, "sses"), strings.HasSuffix(word, "ies"):
		return word[:len(word)-2]
	case strings.HasSuffix(word, "ss"):
		return word
	}
	return strings.TrimSuffix(word, "s")
}

// dropPast is step 1b.
func dropPast(word string) string {
	switch {
	case strings.HasSuffix(word, "ied") && len(word) == 4: // NLTK's addition, and the next
		return word[:3]
	case strings.HasSuffix(word, "ied"):
		return word[:len(word)-2]
	case strings.HasSuffix(word, "eed"):
		return applyRule(word, []suffixRule{{"eed", "ee", 0}})
	}
	for _, end := range [...]string{"ed", "ing"} {
		if stem, ok := strings.CutSuffix(word, end); ok && hasVowel(stem) {
			return mendPast(stem)
		}
	}
	return word
}

// mendPast gives the stem of a past form or a participle the end that it lost.
func mendPast(stem string) string {
	n := len(stem)
	switch {
	case strings.HasSuffix(stem, "at"), strings.HasSuffix(stem, "bl"), strings.HasSuffix(stem, "iz"):
		return stem + "e"
	case endsDouble(stem) && strings.ContainsRune("lsz", rune(stem[n-1])):
		return stem
	case endsDouble(stem):
		return stem[:n-1]
	case measure(stem) == 1 && endsShort(stem):
		return stem + "e"
	}
	return stem
}

// endsDouble reports whether a stem ends with the same consonant twice.
func endsDouble(stem string) bool {
	n := len(stem)
	return n >= 2 && stem[n-1] == stem[n-2] && isConsonant(stem, n-1)
}

// turnY is step 1c with NLTK's condition: a consonant, which is not all, stands before the y.
func turnY(word string) string {
	stem, ok := strings.CutSuffix(word, "y")
	if ok && len(stem) > 1 && isConsonant(stem, len(stem)-1) {
		return stem + "i"
	}
	return word
}

var doubleSuffixes = []suffixRule{
	{"ational", "ate", 0}, {"tional", "tion", 0}, {"enci", "ence", 0}, {"anci", "ance", 0}, {"izer", "ize", 0},
	{"bli", "ble", 0}, {"alli", "al", 0}, {"entli", "ent", 0}, {"eli", "e", 0}, {"ousli", "ous", 0},
	{"ization", "ize", 0}, {"ation", "ate", 0}, {"ator", "ate", 0}, {"alism", "al", 0}, {"iveness", "ive", 0},
	{"fulness", "ful", 0}, {"ousness", "ous", 0}, {"aliti", "al", 0}, {"iviti", "ive", 0}, {"biliti", "ble", 0},
	{"fulli", "ful", 0}, // NLTK's addition
}

// shortenDouble is step 2.
func shortenDouble(word string) string {
	if stem, ok := strings.CutSuffix(word, "alli"); ok && measure(stem) > 0 { // NLTK goes on with what is left
		return shortenDouble(stem + "al")
	}
	if stem, ok := strings.CutSuffix(word, "ogi"); ok && strings.HasSuffix(stem, "l") { // NLTK measures the l too
		if measure(stem) > 0 {
			return stem + "og"
		}
		return word
	}
	return applyRule(word, doubleSuffixes)
}

// shortenSuffix is step 3.
func shortenSuffix(word string) string {
	return applyRule(word, []suffixRule{
		{"icate", "ic", 0}, {"ative", "", 0}, {"alize", "al", 0}, {"iciti", "ic", 0}, {"ical", "ic", 0}, {"ful", "", 0}, {"ness", "", 0},
	})
}

// dropSuffix is step 4.
func dropSuffix(word string) string {
	if stem, ok := strings.CutSuffix(word, "ion"); ok {
		if measure(stem) > 1 && (strings.HasSuffix(stem, "s") || strings.HasSuffix(stem, "t")) {
			return stem
		}
		return word
	}
	return applyRule(word, []suffixRule{
		{"al", "", 1}, {"ance", "", 1}, {"ence", "", 1}, {"er", "", 1}, {"ic", "", 1}, {"able", "", 1}, {"ible", "", 1},
		{"ant", "", 1}, {"ement", "", 1}, {"ment", "", 1}, {"ent", "", 1}, {"ou", "", 1}, {"ism", "", 1}, {"ate", "", 1},
		{"iti", "", 1}, {"ous", "", 1}, {"ive", "", 1}, {"ize", "", 1},
	})
}

// dropE is step 5a.
func dropE(word string) string {
	stem, ok := strings.CutSuffix(word, "e")
	if m := measure(stem); ok && (m > 1 || m == 1 && !endsShort(stem)) {
		return stem
	}
	return word
}

// dropL is step 5b.
func dropL(word string) string {
	if strings.HasSuffix(word, "ll") && measure(word[:len(word)-1]) > 1 {
		return word[:len(word)-1]
	}
	return word
}
