package accuracy

import (
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"unicode"

	"github.com/mlperf-go/mlperf/internal/pytext"
)

// numberPattern finds numbers, with commas and a fraction (find_numbers of the script). \d is
// any decimal digit, as in Python.
var numberPattern = regexp.MustCompile(`-?[\p{Nd},]*\.?\p{Nd}+`)

// finalNumber is the number that answers a question of GSM8K: the first after the last "The
// answer is", or else the last one, before a further question begins. Commas are dropped.
func finalNumber(text string) string {
	text, _, _ = strings.Cut(text, "\nQ:")
	const cue = "The answer is"
	if i := strings.LastIndex(text, cue); i >= 0 {
		if n := numberPattern.FindString(text[i+len(cue):]); n != "" {
			return strings.ReplaceAll(n, ",", "")
		}
	}
	all := numberPattern.FindAllString(text, -1)
	if len(all) == 0 {
		return ""
	}
	return strings.ReplaceAll(all[len(all)-1], ",", "")
}

// sameNumber reports whether two texts are numbers and the same.
func sameNumber(said, wanted string) bool {
	a, ok := parseFloat(said)
	b, also := parseFloat(wanted)
	return ok && also && a == b
}

// parseFloat is float() of a string.
func parseFloat(text string) (float64, bool) {
	text = strings.Map(asciiDigit, pytext.TrimSpace(text))
	if strings.ContainsAny(text, "xXpP") { // Go's hexadecimal numbers
		return 0, false
	}
	digit := func(i int) bool { return i >= 0 && i < len(text) && text[i] >= '0' && text[i] <= '9' }
	var b strings.Builder
	for i := range len(text) {
		if text[i] == '_' {
			if !digit(i-1) || !digit(i+1) {
				return 0, false
			}
			continue
		}
		b.WriteByte(text[i])
	}
	v, err := strconv.ParseFloat(b.String(), 64)
	return v, err == nil || v != 0 // what is too large is infinite
}

// asciiDigit turns the decimal digits of all scripts into those of ASCII. Each script has
// its ten in a row.
func asciiDigit(r rune) rune {
	if r < 0x80 || !unicode.Is(unicode.Nd, r) {
		return r
	}
	for _, t := range unicode.Nd.R16 {
		if r <= rune(t.Hi) {
			return '0' + (r-rune(t.Lo))%10
		}
	}
	for _, t := range unicode.Nd.R32 {
		if r <= rune(t.Hi) {
			return '0' + (r-rune(t.Lo))%10
		}
	}
	return r
}

// newProgram is the program in a response: what comes before the end of the block of code,
// without the backslashes that Mixtral puts before underscores (evaluate_mbxp.py), and then
// the tests, which in Python have to be called (mxeval, execution.py).
func newProgram(want MixedText, response string) (Program, error) {
	language, entry, ok := strings.Cut(want.ID, "_")
	if !ok {
		return Program{}, fmt.Errorf("the id of the sample is %q, want a language, an underscore and a name", want.ID)
	}
	code, _, _ := strings.Cut(response, "```")
	if language == "python" {
		code = strings.TrimLeftFunc(code, pytext.IsSpace)
	}
	code = strings.ReplaceAll(code, `\_`, "_") + want.Wanted
	if language == "python" {
		code += "\ncheck(" + entry + ")"
	}
	return Program{Language: language, ID: want.ID, Code: code}, nil
}
