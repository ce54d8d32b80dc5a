package grading

import (
	"math"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/mlperf-go/mlperf/internal/accuracy/pytext"
)

// SameMath reports whether an answer to a question of MATH-500 is the wanted one (prm800k/grading/grader.py, grade_answer).
func SameMath(said, wanted string) bool {
	if asWritten(said) == asWritten(wanted) {
		return true
	}
	said, wanted = normal(said), normal(wanted)
	if said == wanted || said == "" {
		return said == wanted
	}
	a, b := elements(said), elements(wanted)
	if len(b) > 1 && (said[0] != wanted[0] || said[len(said)-1] != wanted[len(wanted)-1]) {
		return false // other brackets
	}
	return slices.EqualFunc(a, b, func(said, wanted string) bool {
		_, isInteger := wholeNumber(withoutThousands(said))
		_, wantsInteger := wholeNumber(withoutThousands(wanted))
		switch {
		case fraction.MatchString(said) && fraction.MatchString(wanted): // fractions have to be reduced
			return said == wanted
		case isInteger != wantsInteger: // integers have to be written out
			return false
		}
		return sameExpression(said, wanted)
	})
}

var (
	fraction  = regexp.MustCompile(`^-?[0-9]+.?/0*[1-9][0-9]*.?$`)
	textOnly  = regexp.MustCompile(`^\\text\{(.+?)\}$`)
	circle    = regexp.MustCompile(`\^ *\\circ`)
	thinComma = regexp.MustCompile(`,\\! *`)
	minus     = regexp.MustCompile(`- *`)
	mixed     = regexp.MustCompile(`([0-9]) +([0-9])`)
	thousands = regexp.MustCompile(`(\p{Nd}),(\p{Nd}{3})($|\P{Nd})`)
)

// units are dropped one after the other, as what is left around one may be another.
var units = func() (all []*regexp.Regexp) {
	for _, unit := range strings.Fields("degree cm centimeter meter mile second minute hour day week month year foot feet inch yard") {
		all = append(all, regexp.MustCompile(unit+`(?:es)?s? *(?:\^[0-9]+)?`))
	}
	return all
}()

// normal writes an answer plainly (grader.py, _normalize).
func normal(text string) string {
	if m := textOnly.FindStringSubmatch(text); m != nil {
		text = m[1]
	}
	text = strings.NewReplacer(`\%`, "", `\$`, "", "$", "", "%", "").Replace(text)
	text = strings.ReplaceAll(strings.ReplaceAll(text, " or ", " , "), " and ", " , ")
	text = strings.NewReplacer("million", "*10^6", "billion", "*10^9", "trillion", "*10^12").Replace(text)
	for _, unit := range units {
		text = unit.ReplaceAllString(text, "")
	}
	text = circle.ReplaceAllString(text, "")
	if len(text) > 1 && text[0] == '{' && text[len(text)-1] == '}' {
		text = text[1 : len(text)-1]
	}
	text = thinComma.ReplaceAllString(text, "")
	if n, ok := wholeNumber(text); ok {
		text = strconv.FormatFloat(math.RoundToEven(n)+0, 'f', 0, 64) // + 0: no sign of -0
	}
	if strings.Contains(text, `\`) {
		if plain, err := latexText(text); err == nil {
			text = plain
		}
	}
	text = mixed.ReplaceAllString(minus.ReplaceAllString(text, "-"), "$1+$2")
	text = pytext.Lower(strings.NewReplacer(" ", "", "{", "", "}", "").Replace(text))
	if n, ok := wholeNumber(withoutThousands(text)); ok {
		return strconv.FormatFloat(math.Trunc(n)+0, 'f', 0, 64) // here the grader does not round
	}
	return text
}

// withoutThousands drops commas between groups of digits, but none of a tuple.
func withoutThousands(text string) string {
	for {
		next := thousands.ReplaceAllString(text, "$1$2$3")
		if next == text {
			return text
		}
		text = next
	}
}

// wholeNumber is the number that a text is, if it is whole, or nearly.
func wholeNumber(text string) (float64, bool) {
	v, ok := pytext.ParseFloat(text)
	return v, ok && math.Abs(v-math.RoundToEven(v)) <= 1e-7
}

// tuple is a tuple or an interval with something in it, and no other inside.
var tuple = regexp.MustCompile(`^[()\[\]][^()\[\]]+[()\[\]]$`)

// elements are those of a tuple or an interval, or the text as a whole.
func elements(text string) []string {
	text = withoutThousands(text)
	if tuple.MatchString(text) {
		parts := strings.Split(text[1:len(text)-1], ",")
		for i := range parts {
			parts[i] = pytext.TrimSpace(parts[i])
		}
		return parts
	}
	return []string{text}
}

// asWritten makes one text of what is written differently and means the same (prm800k/grading/math_normalize.py).
func asWritten(text string) string {
	text = pytext.TrimSpace(text)
	if m := textOnly.FindStringSubmatch(text); m != nil {
		text = pytext.TrimSpace(m[1])
	}
	plain := text
	for _, r := range [][2]string{{"\n", ""}, {`\!`, ""}, {`\\`, `\`}, {"tfrac", "frac"}, {"dfrac", "frac"}, {`\left`, ""}, {`\right`, ""}, {`^{\circ}`, ""}, {`^\circ`, ""}, {`\$`, ""}} {
		plain = strings.ReplaceAll(plain, r[0], r[1]) // one after the other
	}
	plain, unit, _ := strings.Cut(plain, `\text{ `)
	if strings.Contains(unit, `\text{ `) {
		return text // the script fails
	}
	for _, r := range [][2]string{{`\%`, ""}, {" .", " 0."}, {"{.", "{0."}} {
		plain = strings.ReplaceAll(plain, r[0], r[1])
	}
	if strings.HasPrefix(plain, ".") {
		plain = "0" + plain
	}
	if name, value, named := strings.Cut(plain, "="); named && !strings.Contains(value, "=") && utf8.RuneCountInString(name) <= 2 {
		plain = value // of k = 5
	}
	plain, ok := roots(plain)
	if ok {
		plain, ok = fractions(strings.ReplaceAll(plain, " ", ""))
	}
	if !ok {
		return text
	}
	if plain == "0.5" {
		return `\frac{1}{2}`
	}
	if m := ratio.FindStringSubmatch(plain); m != nil && plainInteger(m[1]) && plainInteger(m[2]) {
		return `\frac{` + m[1] + `}{` + m[2] + `}`
	}
	return plain
}

var ratio = regexp.MustCompile(`^(-?[0-9]+)/(-?[0-9]+)$`)

// plainInteger reports whether digits are an integer as Python writes it.
func plainInteger(text string) bool {
	n, err := strconv.Atoi(text)
	return err == nil && strconv.Itoa(n) == text
}

// roots puts braces around what the root is drawn of.
func roots(text string) (string, bool) {
	parts := strings.Split(text, `\sqrt`)
	for i, p := range parts[1:] {
		switch {
		case p == "":
			return "", false
		case p[0] != '{':
			_, first := utf8.DecodeRuneInString(p)
			parts[i+1] = "{" + p[:first] + "}" + p[first:]
		}
	}
	return strings.Join(parts, `\sqrt`), true
}

// fractions puts braces around numerators and denominators of one character.
func fractions(text string) (string, bool) {
	parts := strings.Split(text, `\frac`)
	for i, p := range parts[1:] {
		r := []rune(p)
		switch {
		case len(r) == 0:
			return "", false
		case r[0] == '{':
			continue
		case len(r) < 2:
			return text, true
		case r[1] == '{':
			parts[i+1] = "{" + string(r[0]) + "}" + string(r[1:])
		default:
			parts[i+1] = "{" + string(r[0]) + "}{" + string(r[1]) + "}" + string(r[2:])
		}
	}
	return strings.Join(parts, `\frac`), true
}
