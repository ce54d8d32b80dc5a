package grading

import (
	"math"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"unicode"

	"github.com/mlperf-go/mlperf/internal/pytext"
)

// SameMath reports whether an answer to a question of MATH-500 is the one that is wanted
// (prm800k/grading/grader.py, grade_answer).
func SameMath(said, wanted string) bool {
	if asWritten(said) == asWritten(wanted) {
		return true
	}
	said, wanted = normal(said), normal(wanted)
	if said == wanted || said == "" {
		return said == wanted
	}
	a, b := elements(said), elements(wanted)
	if len(b) > 1 && ends(said) != ends(wanted) {
		return false
	}
	return slices.EqualFunc(a, b, sameElement)
}

// ends are the brackets of a tuple.
func ends(tuple string) [2]byte { return [2]byte{tuple[0], tuple[len(tuple)-1]} }

// sameElement compares an element of a tuple. Fractions have to be reduced, and integers to be
// written out.
func sameElement(said, wanted string) bool {
	switch {
	case fraction.MatchString(said) && fraction.MatchString(wanted):
		return said == wanted
	case isInteger(said) != isInteger(wanted):
		return false
	}
	return sameExpression(said, wanted)
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
	text = withoutBraces(circle.ReplaceAllString(text, ""))
	text = thinComma.ReplaceAllString(text, "")
	if n, ok := wholeNumber(text); ok {
		text = writeWhole(math.RoundToEven(n))
	}
	if plain, ok := latexText(text); ok && strings.Contains(text, `\`) {
		text = plain
	}
	text = mixed.ReplaceAllString(minus.ReplaceAllString(text, "-"), "$1+$2")
	text = pytext.Lower(strings.NewReplacer(" ", "", "{", "", "}", "").Replace(text))
	if n, ok := wholeNumber(withoutThousands(text)); ok {
		return writeWhole(math.Trunc(n)) // here the grader does not round
	}
	return text
}

func withoutBraces(text string) string {
	if len(text) > 1 && text[0] == '{' && text[len(text)-1] == '}' {
		return text[1 : len(text)-1]
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

// writeWhole writes a whole number without a fraction.
func writeWhole(v float64) string { return strconv.FormatFloat(v+0, 'f', 0, 64) }

func isInteger(text string) bool {
	_, ok := wholeNumber(withoutThousands(text))
	return ok
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

var hardPowers = regexp.MustCompile(`\^[0-9]+\^|\^[0-9][0-9]+|\^[{(]`)

// worthComputing reports whether the grader would ask SymPy: there are at most two unknown letters,
// and no powers that take it long.
func worthComputing(text string) bool {
	letters := map[rune]bool{}
	for _, r := range strings.NewReplacer("sqrt", "", "frac", "").Replace(text) {
		if unicode.IsLetter(r) {
			letters[r] = true
		}
	}
	return len(letters) <= 2 && !hardPowers.MatchString(text)
}
