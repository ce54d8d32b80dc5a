package englishtext

import (
	"bytes"
	"compress/gzip"
	_ "embed"
	"fmt"
	"io"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"

	"github.com/mlperf-go/mlperf/internal/tokenizer/pytext"
)

// space is \s of Python, for a class.
const space = `\t-\r\x1c-\x20\x85\xa0\x{1680}\x{2000}-\x{200a}\x{2028}\x{2029}\x{202f}\x{205f}\x{3000}`

var (
	brackets      = regexp.MustCompile(`[<\[][^>\]]*[>\]]`)
	parentheses   = regexp.MustCompile(`\(([^)]+?)\)`)
	apostrophe    = regexp.MustCompile(`[` + space + `]+'`)
	commas        = regexp.MustCompile(`(\p{Nd}),(\p{Nd})`)
	periods       = regexp.MustCompile(`\.([^0-9]|$)`)
	looseCurrency = regexp.MustCompile(`[.$¢€£]([^0-9])`)
	loosePercent  = regexp.MustCompile(`([^0-9])%`)

	andAHalf     = regexp.MustCompile(`and[` + space + `]+a[` + space + `]+half`)
	looseSuffix  = regexp.MustCompile(`([0-9])[` + space + `]+(st|nd|rd|th|s)`)
	amountCents  = regexp.MustCompile(`([€£$])([0-9]+) (?:and )?¢([0-9]{1,2})`)
	centsOnly    = regexp.MustCompile(`[€£$]0.([0-9]{1,2})`)
	numberOne    = regexp.MustCompile(`1(s?)`)
	fillers      = map[string]bool{"hmm": true, "mm": true, "mhm": true, "mmm": true, "uh": true, "um": true}
	otherLetters = map[rune]string{ // NFKD does not take these apart
		'œ': "oe", 'Œ': "OE", 'ø': "o", 'Ø': "O", 'æ': "ae", 'Æ': "AE", 'ß': "ss", 'ẞ': "SS", 'đ': "d", 'Đ': "D",
		'ð': "d", 'Ð': "D", 'þ': "th", 'Þ': "th", 'ł': "l", 'Ł': "L",
	}
)

// shortForms are words and, with an apostrophe or n't, ends of words, in the order of the script (whisper, normalizers/english.py).
var shortForms = []struct{ short, long string }{
	{"won't", "will not"}, {"can't", "can not"}, {"let's", "let us"}, {"ain't", "aint"}, {"y'all", "you all"},
	{"wanna", "want to"}, {"gotta", "got to"}, {"gonna", "going to"}, {"i'ma", "i am going to"}, {"imma", "i am going to"},
	{"woulda", "would have"}, {"coulda", "could have"}, {"shoulda", "should have"}, {"ma'am", "madam"},
	{"mr", "mister "}, {"mrs", "missus "}, {"st", "saint "}, {"dr", "doctor "}, {"prof", "professor "}, {"capt", "captain "},
	{"gov", "governor "}, {"ald", "alderman "}, {"gen", "general "}, {"sen", "senator "}, {"rep", "representative "},
	{"pres", "president "}, {"rev", "reverend "}, {"hon", "honorable "}, {"asst", "assistant "}, {"assoc", "associate "},
	{"lt", "lieutenant "}, {"col", "colonel "}, {"jr", "junior "}, {"sr", "senior "}, {"esq", "esquire "},
	{"'d been", " had been"}, {"'s been", " has been"}, {"'d gone", " had gone"}, {"'s gone", " has gone"},
	{"'d done", " had done"}, {"'s got", " has got"},
	{"n't", " not"}, {"'re", " are"}, {"'s", " is"}, {"'d", " would"}, {"'ll", " will"}, {"'t", " not"}, {"'ve", " have"}, {"'m", " am"},
}

//go:embed spelling.txt.gz
var spellingText []byte

// spelling has the American words of British ones.
var spelling = sync.OnceValue(func() map[string]string {
	z, err := gzip.NewReader(bytes.NewReader(spellingText))
	if err != nil {
		panic(err)
	}
	text, err := io.ReadAll(z)
	if err != nil {
		panic(err)
	}
	words := make(map[string]string)
	for line := range strings.Lines(string(text)) {
		british, american, _ := strings.Cut(strings.TrimSuffix(line, "\n"), "\t")
		words[british] = american
	}
	return words
})

// Normalize returns the form of a text in which the word error rate compares it. It may be called by several goroutines.
func Normalize(text string) string {
	s := pytext.Lower(text)
	s = replace(brackets, s, "<[", "")
	s = replace(parentheses, s, "(", "")
	s = pytext.MapWords(s, func(word string) string {
		if fillers[word] {
			return ""
		}
		return word
	})
	s = replace(apostrophe, s, "'", "'")
	for _, f := range shortForms {
		s = replaceWords(s, f.short, f.long)
	}
	s = replace(commas, s, ",", "$1$2")
	s = replace(periods, s, ".", " $1")
	s = digits(replaceMarks(s))
	words := pytext.Fields(s)
	for i, word := range words {
		if american, ok := spelling()[word]; ok {
			words[i] = american
		}
	}
	s = strings.Join(words, " ")
	s = replace(looseCurrency, s, ".$¢€£", " $1")
	s = replace(loosePercent, s, "%", "$1 ")
	// The last step makes one blank of each run of white space.
	var b strings.Builder
	b.Grow(len(s))
	blank := false
	for _, r := range s {
		was := blank
		blank = pytext.IsSpace(r)
		switch {
		case !blank:
			b.WriteRune(r)
		case !was:
			b.WriteByte(' ')
		}
	}
	return b.String()
}

// replace is ReplaceAllString of a pattern that matches nothing without one of some characters: looking for them is much faster.
func replace(re *regexp.Regexp, s, needs, with string) string {
	if !strings.ContainsAny(s, needs) {
		return s
	}
	return re.ReplaceAllString(s, with)
}

// replaceWords replaces a short form that is a word, or one with an apostrophe or n't that ends a word.
func replaceWords(s, short, long string) string {
	if !strings.Contains(s, short) {
		return s
	}
	isWord := short[0] != '\'' && short != "n't"
	var b strings.Builder
	from := 0
	for at := 0; ; {
		i := strings.Index(s[at:], short)
		if i < 0 {
			b.WriteString(s[from:])
			return b.String()
		}
		i += at
		at = i + 1
		if end := i + len(short); boundary(s, end) && (!isWord || boundary(s, i)) {
			b.WriteString(s[from:i])
			b.WriteString(long)
			at, from = end, end
		}
	}
}

// boundary is Python's \b: whether a word begins or ends at a place. Go's knows only ASCII.
func boundary(s string, at int) bool {
	before, n := utf8.DecodeLastRuneInString(s[:at])
	after, m := utf8.DecodeRuneInString(s[at:])
	return (n > 0 && pytext.IsWord(before)) != (m > 0 && pytext.IsWord(after))
}

// replaceMarks drops accents, and replaces marks by blanks where they do not belong to numbers.
func replaceMarks(s string) string {
	var b strings.Builder
	b.Grow(len(s))
	for _, r := range norm.NFKD.String(s) {
		if r >= 'a' && r <= 'z' || r == ' ' { // most characters
			b.WriteByte(byte(r))
			continue
		}
		switch other, ok := otherLetters[r]; {
		case ok:
			b.WriteString(other)
		case unicode.Is(unicode.Mn, r):
		case unicode.In(r, unicode.M, unicode.S, unicode.P) && !strings.ContainsRune(".%$¢€£", r):
			b.WriteByte(' ')
		default:
			b.WriteRune(r)
		}
	}
	return b.String()
}

// digits writes numbers in digits.
func digits(s string) string {
	// "and a half" after a number is "point five".
	if strings.Contains(s, "half") {
		var parts []string
		from := 0
		for _, at := range matches(andAHalf, s, true) {
			if words := pytext.Fields(s[from:at[0]]); len(words) > 0 {
				end := "and a half"
				if numerals[words[len(words)-1]].is(zero, unit, ten, multiplier) {
					end = "point five"
				}
				parts = append(parts, s[from:at[0]], end)
			}
			from = at[1]
		}
		s = strings.Join(append(parts, s[from:]), " ")
	}
	// Letters and digits are apart, but not a suffix of a number.
	if strings.ContainsAny(s, "0123456789") {
		isLetter := func(c byte) bool { return c >= 'a' && c <= 'z' }
		isDigit := func(c byte) bool { return c >= '0' && c <= '9' }
		var b strings.Builder
		for i := range len(s) {
			if i > 0 && (isLetter(s[i-1]) && isDigit(s[i]) || isDigit(s[i-1]) && isLetter(s[i])) {
				b.WriteByte(' ')
			}
			b.WriteByte(s[i])
		}
		s = b.String()
	}
	s = replaceBounded(looseSuffix, s, "0123456789", false, func(m []string) string { return m[1] + m[2] })
	s = strings.Join(writeNumbers(pytext.Fields(s)), " ")
	s = replaceBounded(amountCents, s, "¢", false, func(m []string) string {
		cents, _ := strconv.Atoi(m[3])
		return fmt.Sprintf("%s%s.%02d", m[1], m[2], cents)
	})
	s = replaceBounded(centsOnly, s, "€£$", false, func(m []string) string {
		cents, _ := strconv.Atoi(m[1])
		return fmt.Sprintf("¢%d", cents)
	})
	return replaceBounded(numberOne, s, "1", true, func(m []string) string { return "one" + m[1] })
}

// matches returns the matches, with their groups, that end at a word boundary, and if both is true also begin at one.
func matches(re *regexp.Regexp, s string, both bool) (all [][]int) {
	for from := 0; from <= len(s); {
		at := re.FindStringSubmatchIndex(s[from:])
		if at == nil {
			break
		}
		for i := range at {
			at[i] += from
		}
		from = at[0] + 1
		if boundary(s, at[1]) && (!both || boundary(s, at[0])) {
			all = append(all, at)
			from = at[1]
		}
	}
	return all
}

// replaceBounded replaces such matches. Without one of the characters in needs the pattern matches nothing.
func replaceBounded(re *regexp.Regexp, s, needs string, both bool, with func(m []string) string) string {
	if !strings.ContainsAny(s, needs) {
		return s
	}
	var b strings.Builder
	from := 0
	for _, at := range matches(re, s, both) {
		groups := make([]string, len(at)/2)
		for i := range groups {
			groups[i] = s[at[2*i]:at[2*i+1]]
		}
		b.WriteString(s[from:at[0]])
		b.WriteString(with(groups))
		from = at[1]
	}
	b.WriteString(s[from:])
	return b.String()
}
