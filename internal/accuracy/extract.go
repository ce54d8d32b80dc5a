package accuracy

import (
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/mlperf-go/mlperf/internal/accuracy/pytext"
)

// finalNumber is the number that answers a question of GSM8K: the first after the last "The
// answer is", or else the last one, before a further question begins. Commas are dropped.
func finalNumber(text string) string {
	text, _, _ = strings.Cut(text, "\nQ:")
	const cue = "The answer is"
	if i := strings.LastIndex(text, cue); i >= 0 {
		after := text[i+len(cue):]
		if from, to := nextNumber(after, 0); to > 0 {
			return strings.ReplaceAll(after[from:to], ",", "")
		}
	}
	last := ""
	for from, to := nextNumber(text, 0); to > 0; from, to = nextNumber(text, to) {
		last = text[from:to]
	}
	return strings.ReplaceAll(last, ",", "")
}

// nextNumber finds the first number from a place on; to is 0 if there is none. Numbers have commas and a
// fraction: -?[\d,]*\.?\d+ (find_numbers of the script), where \d is any decimal digit, as in Python.
func nextNumber(text string, at int) (from, to int) {
	for at < len(text) {
		to, next := numberAt(text, at)
		if to > 0 {
			return at, to
		}
		at = next
	}
	return 0, 0
}

// numberAt is where a number ends that begins at a place; 0 if none does, and then none begins before next.
func numberAt(text string, at int) (to, next int) {
	end := at
	if text[at] == '-' {
		end++
	}
	for end < len(text) {
		n := digitAt(text, end)
		if n == 0 && text[end] != ',' {
			break
		}
		if end += max(n, 1); n > 0 {
			to = end
		}
	}
	return max(to, fractionEnd(text, end)), max(end, at+1)
}

// fractionEnd is where a point and the digits after it end; 0 if they are not there.
func fractionEnd(text string, at int) int {
	if at == len(text) || text[at] != '.' {
		return 0
	}
	end := at + 1
	for n := digitAt(text, end); n > 0; n = digitAt(text, end) {
		end += n
	}
	if end == at+1 {
		return 0
	}
	return end
}

// digitAt is how many bytes a digit has; 0 if there is none.
func digitAt(text string, at int) int {
	switch {
	case at >= len(text):
		return 0
	case text[at] < utf8.RuneSelf:
		if text[at] >= '0' && text[at] <= '9' {
			return 1
		}
		return 0
	}
	r, n := utf8.DecodeRuneInString(text[at:])
	if unicode.Is(unicode.Nd, r) {
		return n
	}
	return 0
}

// sameNumber reports whether two texts are numbers and the same.
func sameNumber(said, wanted string) bool {
	a, ok := pytext.ParseFloat(said)
	b, also := pytext.ParseFloat(wanted)
	return ok && also && a == b
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
