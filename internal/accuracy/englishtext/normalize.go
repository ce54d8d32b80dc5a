package englishtext

import (
	"regexp"
	"strings"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"

	"github.com/mlperf-go/mlperf/internal/accuracy/pytext"
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
)

// Normalize returns a text in the form in which texts are compared. It may be called by
// several goroutines.
func Normalize(text string) string {
	s := pytext.Lower(text)
	s = replace(brackets, s, "<[", "")
	s = replace(parentheses, s, "(", "")
	s = dropFillers(s)
	s = replace(apostrophe, s, "'", "'")
	s = spellOut(s)
	s = replace(commas, s, ",", "$1$2")
	s = replace(periods, s, ".", " $1")
	s = dropMarks(s)
	s = digits(s)
	s = american(s)
	s = replace(looseCurrency, s, ".$¢€£", " $1")
	s = replace(loosePercent, s, "%", "$1 ")
	return oneBlank(s)
}

// replace replaces what re matches, if one of the characters is there without which it matches
// nothing: looking for them is much faster.
func replace(re *regexp.Regexp, s, needs, with string) string {
	if !strings.ContainsAny(s, needs) {
		return s
	}
	return re.ReplaceAllString(s, with)
}

// oneBlank puts a blank in the place of each run of white space.
func oneBlank(s string) string {
	var b strings.Builder
	b.Grow(len(s))
	was := false
	for _, r := range s {
		is := pytext.IsSpace(r)
		switch {
		case !is:
			b.WriteRune(r)
		case !was:
			b.WriteByte(' ')
		}
		was = is
	}
	return b.String()
}

// spellOut writes short forms as the words that they stand for.
func spellOut(s string) string {
	apostrophes := strings.Contains(s, "'")
	for _, f := range shortForms {
		if apostrophes || !strings.Contains(f.short, "'") {
			s = replaceWords(s, f.short, f.long)
		}
	}
	return s
}

// fillers are said and do not count.
var fillers = map[string]bool{"hmm": true, "mm": true, "mhm": true, "mmm": true, "uh": true, "um": true}

// dropFillers drops the words that are fillers.
func dropFillers(s string) string {
	var b strings.Builder
	for s != "" {
		n := runOf(s, true)
		if !fillers[s[:n]] {
			b.WriteString(s[:n])
		}
		s = s[n:]
		n = runOf(s, false)
		b.WriteString(s[:n])
		s = s[n:]
	}
	return b.String()
}

// runOf is the length of the run of characters that are inside words, or are not.
func runOf(s string, inWord bool) int {
	n := strings.IndexFunc(s, func(r rune) bool { return isWord(r) != inWord })
	if n < 0 {
		return len(s)
	}
	return n
}

// isWord is \w of Python.
func isWord(r rune) bool { return r == '_' || unicode.IsLetter(r) || unicode.IsNumber(r) }

// boundary is \b: whether a word begins or ends at a place.
func boundary(s string, at int) bool {
	before, after := false, false
	for _, r := range s[at:] {
		after = isWord(r)
		break
	}
	if r, n := utf8.DecodeLastRuneInString(s[:at]); n > 0 {
		before = isWord(r)
	}
	return before != after
}

// A shortForm is written out. One that begins with a letter is a word of its own, others
// are ends of words.
type shortForm struct{ short, long string }

// shortForms are in the order in which they are looked for (whisper, normalizers/english.py).
var shortForms = []shortForm{
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

// replaceWords replaces a short form wherever it is one.
func replaceWords(s, short, long string) string {
	if !strings.Contains(s, short) {
		return s
	}
	var b strings.Builder
	from := 0
	for at := 0; ; {
		i := strings.Index(s[at:], short)
		if i < 0 {
			b.WriteString(s[from:])
			return b.String()
		}
		i += at
		end := i + len(short)
		at = i + 1
		if isForm(s, short, i) {
			b.WriteString(s[from:i])
			b.WriteString(long)
			at, from = end, end
		}
	}
}

// isForm reports whether a short form, which is in s at a place, is a word of its own or, if it
// needs not be, the end of one.
func isForm(s, short string, at int) bool {
	ownWord := short[0] != '\'' && short != "n't"
	return boundary(s, at+len(short)) && (!ownWord || boundary(s, at))
}

// letters are those that are no other letter with an accent.
var letters = map[rune]string{
	'œ': "oe", 'Œ': "OE", 'ø': "o", 'Ø': "O", 'æ': "ae", 'Æ': "AE", 'ß': "ss", 'ẞ': "SS", 'đ': "d", 'Đ': "D",
	'ð': "d", 'Ð': "D", 'þ': "th", 'Þ': "th", 'ł': "l", 'Ł': "L",
}

// dropMarks drops accents, and makes blanks of marks that do not belong to numbers.
func dropMarks(s string) string {
	var b strings.Builder
	b.Grow(len(s))
	for _, r := range norm.NFKD.String(s) {
		if isPlain(r) {
			b.WriteByte(byte(r))
		} else {
			dropMark(&b, r)
		}
	}
	return b.String()
}

// isPlain reports whether a character stays as it is without a look into the tables: most do.
func isPlain(r rune) bool {
	return r < utf8.RuneSelf && (isWord(r) && r != '_' || r == ' ' || r == '.' || r == '%' || r == '$')
}

// dropMark writes what becomes of a character.
func dropMark(b *strings.Builder, r rune) {
	other, ok := letters[r]
	switch {
	case strings.ContainsRune(".%$¢€£", r):
		b.WriteRune(r)
	case ok:
		b.WriteString(other)
	case unicode.Is(unicode.Mn, r):
	case unicode.In(r, unicode.M, unicode.S, unicode.P):
		b.WriteByte(' ')
	default:
		b.WriteRune(r)
	}
}
