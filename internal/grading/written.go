package grading

import (
	"regexp"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/mlperf-go/mlperf/internal/pytext"
)

// asWritten makes what is written differently and means the same one text
// (prm800k/grading/math_normalize.py).
func asWritten(text string) string {
	text = pytext.TrimSpace(text)
	if m := textOnly.FindStringSubmatch(text); m != nil {
		text = pytext.TrimSpace(m[1])
	}
	plain, ok := strip(text)
	if !ok {
		return text
	}
	return plain
}

// Texts that become others, one after the other: a replacement goes through those behind it.
var (
	looks = [][2]string{
		{"\n", ""}, {`\!`, ""}, {`\\`, `\`}, {"tfrac", "frac"}, {"dfrac", "frac"}, {`\left`, ""}, {`\right`, ""},
		{`^{\circ}`, ""}, {`^\circ`, ""}, {`\$`, ""},
	}
	numbers = [][2]string{{`\%`, ""}, {" .", " 0."}, {"{.", "{0."}}
)

func replaceAll(text string, by [][2]string) string {
	for _, r := range by {
		text = strings.ReplaceAll(text, r[0], r[1])
	}
	return text
}

// strip drops what does not count, one after the other. False: the script would stop.
func strip(text string) (string, bool) {
	text, units, _ := strings.Cut(replaceAll(text, looks), `\text{ `)
	if strings.Contains(units, `\text{ `) {
		return "", false
	}
	text = replaceAll(text, numbers)
	if text == "" {
		return "", true
	}
	if text[0] == '.' {
		text = "0" + text
	}
	text, ok := roots(withoutName(text))
	if !ok {
		return "", false
	}
	text, ok = fractions(strings.ReplaceAll(text, " ", ""))
	if text == "0.5" {
		text = `\frac{1}{2}`
	}
	return slashed(text), ok
}

// withoutName drops the name of what is equal to an answer, as k =.
func withoutName(text string) string {
	name, value, named := strings.Cut(text, "=")
	if named && !strings.Contains(value, "=") && utf8.RuneCountInString(name) <= 2 {
		return value
	}
	return text
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

var ratio = regexp.MustCompile(`^(-?[0-9]+)/(-?[0-9]+)$`)

// slashed makes 1/2 a fraction, if both are written as integers are.
func slashed(text string) string {
	m := ratio.FindStringSubmatch(text)
	if m == nil {
		return text
	}
	for _, part := range m[1:] {
		if n, err := strconv.Atoi(part); err != nil || strconv.Itoa(n) != part {
			return text
		}
	}
	return `\frac{` + m[1] + `}{` + m[2] + `}`
}
