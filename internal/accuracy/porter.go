package accuracy

import "strings"

// irregularStems are NLTK's exceptions.
var irregularStems = map[string]string{
	"sky": "sky", "skies": "sky", "dying": "die", "lying": "lie", "tying": "tie", "news": "news",
	"innings": "inning", "inning": "inning", "outings": "outing", "outing": "outing",
	"cannings": "canning", "canning": "canning", "howe": "howe",
	"proceed": "proceed", "exceed": "exceed", "succeed": "succeed",
}

// A suffixRule replaces a suffix if what stands before it is long enough by Porter's measure.
type suffixRule struct{ suffix, replacement string }

var (
	step2Rules = []suffixRule{
		{"ational", "ate"}, {"tional", "tion"}, {"enci", "ence"}, {"anci", "ance"}, {"izer", "ize"},
		{"bli", "ble"}, {"alli", "al"}, {"entli", "ent"}, {"eli", "e"}, {"ousli", "ous"},
		{"ization", "ize"}, {"ation", "ate"}, {"ator", "ate"}, {"alism", "al"}, {"iveness", "ive"},
		{"fulness", "ful"}, {"ousness", "ous"}, {"aliti", "al"}, {"iviti", "ive"}, {"biliti", "ble"},
		{"fulli", "ful"}, // NLTK's addition
	}
	step3Rules = []suffixRule{{"icate", "ic"}, {"ative", ""}, {"alize", "al"}, {"iciti", "ic"}, {"ical", "ic"}, {"ful", ""}, {"ness", ""}}
	step4Rules = []suffixRule{
		{"al", ""}, {"ance", ""}, {"ence", ""}, {"er", ""}, {"ic", ""}, {"able", ""}, {"ible", ""}, {"ant", ""}, {"ement", ""},
		{"ment", ""}, {"ent", ""}, {"ou", ""}, {"ism", ""}, {"ate", ""}, {"iti", ""}, {"ous", ""}, {"ive", ""}, {"ize", ""},
	}
)

// stemPorter is the stem of a lower-cased word as NLTK's PorterStemmer finds it in its
// default mode: Porter's algorithm, step by step, with NLTK's own additions, each of which is marked.
func stemPorter(word string) string {
	if stem, ok := irregularStems[word]; ok {
		return stem
	}
	if len(word) <= 2 {
		return word
	}
	switch { // step 1a: plurals
	case strings.HasSuffix(word, "ies") && len(word) == 4: // NLTK: ties is tie
		word = word[:3]
	case strings.HasSuffix(word, "sses"), strings.HasSuffix(word, "ies"):
		word = word[:len(word)-2]
	case !strings.HasSuffix(word, "ss"):
		word = strings.TrimSuffix(word, "s")
	}
	switch { // step 1b: past forms and participles
	case strings.HasSuffix(word, "ied") && len(word) == 4: // NLTK's addition, and the next
		word = word[:3]
	case strings.HasSuffix(word, "ied"):
		word = word[:len(word)-2]
	case strings.HasSuffix(word, "eed"):
		if measure(word[:len(word)-3]) > 0 {
			word = word[:len(word)-1]
		}
	default:
		for _, end := range [...]string{"ed", "ing"} {
			if stem, ok := strings.CutSuffix(word, end); ok && hasVowel(stem) {
				word = mendPast(stem)
				break
			}
		}
	}
	// Step 1c with NLTK's condition: a consonant, which is not the whole stem, stands before the y.
	if stem, ok := strings.CutSuffix(word, "y"); ok && len(stem) > 1 && isConsonant(stem, len(stem)-1) {
		word = stem + "i"
	}
	if stem, ok := strings.CutSuffix(word, "alli"); ok && measure(stem) > 0 { // step 2; NLTK goes on with the rest
		word = stem + "al"
	}
	if stem, ok := strings.CutSuffix(word, "ogi"); ok && strings.HasSuffix(stem, "l") { // NLTK measures the l too
		if measure(stem) > 0 {
			word = stem + "og"
		}
	} else {
		word = applyRule(word, step2Rules, 0)
	}
	word = applyRule(word, step3Rules, 0)
	if stem, ok := strings.CutSuffix(word, "ion"); !ok { // step 4
		word = applyRule(word, step4Rules, 1)
	} else if measure(stem) > 1 && (strings.HasSuffix(stem, "s") || strings.HasSuffix(stem, "t")) {
		word = stem
	}
	if stem, ok := strings.CutSuffix(word, "e"); ok { // step 5a
		if m := measure(stem); m > 1 || m == 1 && !endsShort(stem) {
			word = stem
		}
	}
	if strings.HasSuffix(word, "ll") && measure(word[:len(word)-1]) > 1 { // step 5b
		word = word[:len(word)-1]
	}
	return word
}

// applyRule applies the first rule whose suffix the word has, if its stem has more than a number of
// measures; no other rule is tried.
func applyRule(word string, rules []suffixRule, above int) string {
	for _, r := range rules {
		if stem, ok := strings.CutSuffix(word, r.suffix); ok {
			if measure(stem) > above {
				return stem + r.replacement
			}
			return word
		}
	}
	return word
}

// isConsonant reports whether the letter at i is a consonant: all but vowels, and y at the beginning
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

// endsShort reports whether a stem ends with consonant, vowel, and a consonant other than
// w, x or y; or, which is NLTK's addition, is a vowel and a consonant.
func endsShort(stem string) bool {
	n := len(stem)
	if n == 2 {
		return !isConsonant(stem, 0) && isConsonant(stem, 1)
	}
	return n >= 3 && isConsonant(stem, n-3) && !isConsonant(stem, n-2) && isConsonant(stem, n-1) &&
		!strings.ContainsRune("wxy", rune(stem[n-1]))
}

// mendPast gives the stem of a past form or a participle the end that it lost.
func mendPast(stem string) string {
	n := len(stem)
	double := n >= 2 && stem[n-1] == stem[n-2] && isConsonant(stem, n-1)
	switch {
	case strings.HasSuffix(stem, "at"), strings.HasSuffix(stem, "bl"), strings.HasSuffix(stem, "iz"):
		return stem + "e"
	case double && strings.ContainsRune("lsz", rune(stem[n-1])):
		return stem
	case double:
		return stem[:n-1]
	case measure(stem) == 1 && endsShort(stem):
		return stem + "e"
	}
	return stem
}
