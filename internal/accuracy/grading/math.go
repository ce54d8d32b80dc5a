package grading

import (
	"math"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/mlperf-go/mlperf/internal/tokenizer/pytext"
)

// SameMath reports whether an answer to a question of MATH-500 is the expected one (prm800k/grading/grader.py, grade_answer).
func SameMath(said, wanted string) bool {
	if canonical(said) == canonical(wanted) {
		return true
	}
	said, wanted = normal(said), normal(wanted)
	if said == wanted || said == "" {
		return said == wanted
	}
	a, b := elements(said), elements(wanted)
	if len(b) > 1 && (said[0] != wanted[0] || said[len(said)-1] != wanted[len(wanted)-1]) {
		return false // brackets differ
	}
	return slices.EqualFunc(a, b, func(said, wanted string) bool {
		_, saidInteger := integer(withoutThousands(said))
		_, wantedInteger := integer(withoutThousands(wanted))
		switch {
		case fraction.MatchString(said) && fraction.MatchString(wanted): // fractions must be reduced
			return said == wanted
		case saidInteger != wantedInteger: // integers must be written out
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

// units are dropped one after the other, because the rest around one may be another.
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
	if n, ok := integer(text); ok {
		text = strconv.FormatFloat(math.RoundToEven(n)+0, 'f', 0, 64) // + 0: no sign of -0
	}
	if strings.Contains(text, `\`) {
		if plain, err := latexText(text); err == nil {
			text = plain
		}
	}
	text = mixed.ReplaceAllString(minus.ReplaceAllString(text, "-"), "$1+$2")
	text = pytext.Lower(strings.NewReplacer(" ", "", "{", "", "}", "").Replace(text))
	if n, ok := integer(withoutThousands(text)); ok {
		return strconv.FormatFloat(math.Trunc(n)+0, 'f', 0, 64) // the grader truncates here
	}
	return text
}

// withoutThousands drops commas between groups of three digits, not those of a tuple.
func withoutThousands(text string) string {
	for {
		next := thousands.ReplaceAllString(text, "$1$2$3")
		if next == text {
			return text
		}
		text = next
	}
}

// integer reads a number that is an integer within 1e-7.
func integer(text string) (float64, bool) {
	v, ok := pytext.ParseFloat(text)
	return v, ok && math.Abs(v-math.RoundToEven(v)) <= 1e-7
}

// tuple is a tuple or an interval that is not empty and holds no other.
var tuple = regexp.MustCompile(`^[()\[\]][^()\[\]]+[()\[\]]$`)

// elements returns the elements of a tuple or an interval, or the whole text.
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

// canonical writes LaTeX in one of the ways that mean the same (prm800k/grading/math_normalize.py).
func canonical(text string) string {
	text = pytext.TrimSpace(text)
	if m := textOnly.FindStringSubmatch(text); m != nil {
		text = pytext.TrimSpace(m[1])
	}
	plain := text
	for _, r := range [][2]string{{"\n", ""}, {`\!`, ""}, {`\\`, `\`}, {"tfrac", "frac"}, {"dfrac", "frac"}, {`\left`, ""}, {`\right`, ""},
		{`^{\circ}`, ""}, {`^\circ`, ""}, {`\$`, ""}} {
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
	if strings.HasSuffix(plain, `\sqrt`) || strings.Contains(plain, `\sqrt\sqrt`) {
		return text // the script fails
	}
	plain = strings.ReplaceAll(bareRoot.ReplaceAllString(plain, `\sqrt{$1}`), " ", "")
	switch short := shortFraction.FindStringSubmatch(plain); {
	case short == nil:
		plain = bareFraction.ReplaceAllString(bareNumerator.ReplaceAllString(plain, `\frac{$1}{`), `\frac{$1}{$2}`)
	case short[1] == "":
		return text // the script fails
	}
	if plain == "0.5" {
		return `\frac{1}{2}`
	}
	return ratio.ReplaceAllString(plain, `\frac{$1}{$2}`)
}

var (
	// bareRoot, bareNumerator and bareFraction are roots and fractions of one character without braces.
	bareRoot      = regexp.MustCompile(`\\sqrt([^{])`)
	bareNumerator = regexp.MustCompile(`\\frac([^{])\{`)
	bareFraction  = regexp.MustCompile(`\\frac([^{])([^{])`)
	// shortFraction has fewer than two characters before the next one or the end.
	shortFraction = regexp.MustCompile(`\\frac([^{]?)(?:\\frac|$)`)
	ratio         = regexp.MustCompile(`^(0|-?[1-9][0-9]*)/(0|-?[1-9][0-9]*)$`)
)
