package grading

import (
	"strings"
	"testing"
)

// The grader compares answers as two scripts write them plainly: this is what the first makes of them (math_normalize.py).
func TestAnswersAsTheFirstScriptWritesThem(t *testing.T) {
	for _, c := range []struct{ claim, text, plain string }{
		{"nothing", "", ""},
		{"space around", " x ", "x"},
		{"text marks around all of it", `\text{ab}`, "ab"},
		{"around a part they stay", `\text{a}b`, `\text{a}b`},
		{"a unit with a blank goes, with what is behind it", `5\text{ cm}x`, "5"},
		{"line breaks go", "a\nb", "ab"},
		{"thin spaces go", `1\!000`, "1000"},
		{"two backslashes become one", `a\\b`, `a\b`},
		{"names of fractions", `\tfrac{1}{2}\dfrac{3}{4}`, `\frac{1}{2}\frac{3}{4}`},
		{"sizes go", `\left(x\right)`, "(x)"},
		{"degrees go", `90^{\circ}`, "90"},
		{"and without braces", `90^\circ`, "90"},
		{"dollars go", `\$5`, "5"},
		{"percents go", `5\%`, "5"},
		{"points have a zero before them", "x .5{.5", "x0.5{0.5"},
		{"at the beginning too", ".5x", "0.5x"},
		{"one half", "0.5", `\frac{1}{2}`},
		{"but not a fifth", "0.2", "0.2"},
		{"short names go", "x=5", "5"},
		{"of two letters too", "ab=5", "5"},
		{"longer ones stay", "abc=5", "abc=5"},
		{"so do two equal signs", "a=b=5", "a=b=5"},
		{"nothing before the equal sign", "=5", "5"},
		{"roots of a character", `\sqrt2x`, `\sqrt{2}x`},
		{"roots in braces stay", `\sqrt{23}`, `\sqrt{23}`},
		{"several", `\sqrt2+\sqrt3`, `\sqrt{2}+\sqrt{3}`},
		{"of a character beyond ASCII", `\sqrtπ2`, `\sqrt{π}2`},
		{"blanks within go", "1 + 2", "1+2"},
		{"fractions of characters", `\frac12`, `\frac{1}{2}`},
		{"with more behind", `\frac123`, `\frac{1}{2}3`},
		{"with a brace below", `\frac1{23}`, `\frac{1}{23}`},
		{"with a brace above", `\frac{1}2`, `\frac{1}2`},
		{"of one character only", `\frac1`, `\frac1`},
		{"a quotient of numbers", "3/4", `\frac{3}{4}`},
		{"with a sign", "-3/4", `\frac{-3}{4}`},
		{"with a sign below", "3/-4", `\frac{3}{-4}`},
		{"with a zero before it stays", "03/4", "03/4"},
		{"of letters stays", "x/4", "x/4"},
		{"of three stays", "1/2/3", "1/2/3"},
	} {
		if got := asWritten(c.text); got != c.plain {
			t.Errorf("%s: asWritten(%q) = %q, want %q", c.claim, c.text, got, c.plain)
		}
		note(t, "written", c.plain, c.text)
	}
}

// And this what the second makes of them (grader.py).
func TestAnswersAsTheSecondScriptWritesThem(t *testing.T) {
	for _, c := range []struct{ claim, text, plain string }{
		{"text marks around all of it", `\text{aB}`, "ab"},
		{"around a part they are read as LaTeX", `x\text{aB}`, "xab"},
		{"percents and dollars", `5\%$6\$7`, "567"},
		{"words between", "1 or 2 and 3", "1,2,3"},
		{"or within a word", "or2", "or2"},
		{"large numbers", "3 million", "3*10^6"},
		{"larger ones", "2 billion", "2*10^9"},
		{"the largest", "2 trillion", "2*10^12"},
		{"units", "5 degrees", "5"},
		{"of length, of which every second number finds its neighbour taken", "5 centimeters 6 cm 7 feet 8 yards", "5+67+8"},
		{"squares of them", "5 inches^2", "5"},
		{"time", "5 hours 6 minutes", "5+6"},
		{"a unit alone", "meter", ""},
		{"months and years", "5 months", "5"},
		{"braces around all", "{x}", "x"},
		{"braces within", "x{y}z", "xyz"},
		{"a float that is whole", "5.0", "5"},
		{"below zero", "-5.0", "-5"},
		{"with an exponent", "5e3", "5000"},
		{"LaTeX is read", `\frac{1}{2}`, "1/2"},
		{"what is none stays", "1/2", "1/2"},
		{"a minus with blanks", "x -  1", "x-1"},
		{"mixed numbers", "1 2/3", "1+2/3"},
		{"mixed numbers in LaTeX", `1\frac{2}{3}`, "1+2/3"},
		{"capitals", "ABC", "abc"},
		{"commas between thousands", "1,234", "1234"},
		{"millions", "1,234,567", "1234567"},
		{"commas elsewhere", "1,23", "1,23"},
		{"commas of tuples", "(1,234,5)", "(1,234,5)"},
		{"thin spaces behind commas", `1,\!234`, "1234"},
		{"degrees", `5^\circ`, "5"},
		{"degrees with a blank", `5 ^ \circ`, "5"},
		{"roots", `\sqrt{2}`, "sqrt(2)"},
		{"dots", `2\cdot 3`, "2*3"},
		{"nothing", "", ""},
	} {
		if got := normal(c.text); got != c.plain {
			t.Errorf("%s: normal(%q) = %q, want %q", c.claim, c.text, got, c.plain)
		}
		note(t, "normal", c.plain, c.text)
	}
}

func TestHowExpressionsAreRead(t *testing.T) {
	checkJudgements(t, []judgement{
		{"a number before a letter multiplies it", "2x", "2*x", true},
		{"so does one before a parenthesis", "2(x+y)", "2x+2y", true},
		{"and a parenthesis before another", "(x+1)(y+1)", "xy+x+y+1", true},
		{"letters side by side", "xy", "x*y", true},
		{"a number behind a letter", "x2", "2x", true},
		{"powers before products", "2x^2", "2*(x^2)", true},
		{"of the last letter only", "xy^2", "x*(y*y)", true},
		{"signs before powers", "-x^2", "-(x*x)", true},
		{"powers of negative numbers", "x^-1", "1/x", true},
		{"quotients from the left", "x/2/3", "x/6", true},
		{"a product behind a quotient", "x/2y", "x*y/2", true},
		{"differences from the left", "x-y-1", "x-(y+1)", true},
		{"signs behind operators", "x--y", "x+y", true},
		{"a plus of one", "+x", "x", true},
		{"points before digits", ".5x", "x/2", true},
		{"points behind digits", "2.x", "2x", true},
		{"exponents", "x+1e3", "x+1000", true},
		{"underscores", "x+1_0", "x+10", true},
		{"hexadecimal numbers", "x+0x10", "x+16", true},
		{"binary ones", "x+0b11", "x+3", true},
		{"octal ones", "x+0o17", "x+15", true},
		{"factorials of numbers", "x*4!", "24x", true},
		{"double ones", "x*5!!", "15x", true},
		{"a factorial before a power", "x*2!^2", "4x", true},
		{"whole quotients", "x*(7//2)", "3x", true},
		{"roots by their name", "sqrt(x)*sqrt(x)", "x", true},
		{"logarithms have too many letters", "ln(x)+ln(x)", "2ln(x)", false},
		{"those of pi have not", "ln(pi)+ln(pi)", "2ln(pi)", false},
		{"a letter and a name of a root are letters", "xsqrt(y)", "sqrt(y)*x", false},
		{"two operators", "x*/y", "x/y", false},
		{"a comma is none", "x;y", "x*y", false},
		{"a comparison is none", "x=y", "y=x", false},
		{"brackets that do not belong together", "(x]", "x", true},
		{"an empty parenthesis", "x()", "x", false},
		{"a name with an underscore stays together", "x_1", "1x", false},
		{"and is itself", "x_1+1", "1+x_1", true},
		{"a letter of another script", "2я", "я*2", true},
		{"a letter e is a letter", "2e", "e*2", true},
		{"but not behind a number with digits", "2e1", "20", true},
	})
}

func TestHowDecimalFractionsAreRounded(t *testing.T) {
	checkJudgements(t, []judgement{
		{"halves and quarters are exact", "0.25x+0.25x", "0.5x", true},
		{"tenths are not", "x*0.1*3", "0.3x", false},
		{"the same tenth is", "0.1x", "x*0.1", true},
		{"a tenth is a tenth as a fraction becomes one", "0.1x", "x/10", true},
		{"two of them too", "0.1x+0.1y", "x/10+y/10", true},
		{"products of fractions first", "x/3*1.5", "0.5x", true},
		{"with zeros behind", "1.50x", "1.5x", true},
		{"with a zero fraction", "2.0x", "2x", true},
		{"many digits", "0.1234567890123456x", "x*0.1234567890123456", true},
		{"and one that differs far behind", "0.12345678901234567x", "0.12345678901234568x", false},
		{"powers of them", "1.5^2*x", "2.25x", true},
		{"roots of them", "sqrt(2.25)*x", "1.5x", true},
		{"powers of a half", "x**0.5", "sqrt(x)", false},
		{"of the same half", "x**0.5", "x**.5", true},
		{"multiplied out", "(x+0.5)(x-0.5)", "x**2-0.25", true},
		{"squares", "(x+0.5)^2", "x^2+x+0.25", true},
		{"quotients by them", "x/0.5", "2x", true},
		{"with pi", `0.5\pi`, `\pi/2`, true},
		{"a difference that is no zero", "x+0.5", "x+0.51", false},
	})
}

// A model may write anything: what it writes is judged quickly, whatever it is.
func TestHostileAnswersAreJudged(t *testing.T) {
	many := strings.Repeat
	for name, text := range map[string]string{
		"towers of powers":             many("9**", 40) + "9",
		"towers of halves":             many("1.5**", 40) + "2",
		"powers of powers of a sum":    "((x+.5)**19)**19",
		"a root within roots":          many("sqrt(x+", 40) + "1" + many(")", 40),
		"factorials of factorials":     many("(", 20) + "3" + many("!)", 20),
		"many factorials":              many("2000!*", 140) + "x",
		"powers of factorials":         many("(2000!**1999)*", 50) + "x",
		"fractions of large numbers":   many("1/(10**1999+", 20) + "x" + many(")", 20),
		"many sums over sums":          many("1/(x+1.5)+", 60) + "x",
		"numbers of large exponents":   many("1e999*", 120) + "x",
		"begins of matrices":           many(`\begin{pmatrix}`, 1000),
		"ends without begins":          many(`\end {`, 3000),
		"fractions of nothing":         many(`\frac`, 3000),
		"roots of nothing":             many(`\sqrt`, 3000),
		"units":                        many("degree", 5000),
		"units that are left of units": many("fo", 2000) + many("ot", 2000),
		"text of text":                 many(`\text{ `, 3000),
		"commas between digits":        many("1,111", 3000),
		"digits and blanks":            many("1 ", 10000),
		"dollars":                      many("$", 10000),
		"letters of accents":           "x" + many("\u0301", 3000),
		"brackets":                     many("(", 5000) + many("]", 5000),
		"infinite numbers":             "1e999",
		"no number":                    "nan",
	} {
		if SameMath(text, "17") || SameMath("17", text) {
			t.Errorf("%s are taken for 17", name)
		}
		if !SameMath(text, text) {
			t.Errorf("%s are not what they are", name)
		}
	}
}

func TestHostileTextsAreSearched(t *testing.T) {
	many := strings.Repeat
	for name, text := range map[string]string{
		"answers without letters": many("ANSWER: ", 1000),
		"answers of blanks":       "ANSWER:" + many(" ", 5000),
		"many finals":             many("FINAL ", 5000),
		"finals far apart":        many("FINAL"+many(" ", 500), 20),
		"open boxes":              many(`\boxed{`, 5000),
		"open boxes of numbers":   many(`\boxed{ 1`, 5000),
		"fences":                  many("```python", 1001),
		"stars":                   many("**q", 5000),
		"channels":                many("<|channel|>final", 3000),
		"words of one letter":     many("q_", 3000),
	} {
		for _, last := range []byte{'D', 'J'} {
			if a, b := Letter(text, last), FinalLetter(text, last); a != 0 || b != 0 {
				t.Errorf("%s: %q, %q", name, a, b)
			}
		}
		if n, ok := Integer(text); ok {
			t.Errorf("%s: %d", name, n)
		}
		if box, ok := Boxed(text); ok {
			t.Errorf("%s: %.20q", name, box)
		}
		if len(FinalCode(text)) > len(text) || len(Code(text)) > len(text) {
			t.Errorf("%s: the program is longer than its text", name)
		}
	}
}

func TestBracesAroundAllAreTakenAwayOnce(t *testing.T) {
	for text, want := range map[string]string{"{a}": "a", "{{a}}": "{a}", "{}": "", "{": "{", "}": "}", "{a": "{a", "a}": "a}", "": ""} {
		if got := withoutBraces(text); got != want {
			t.Errorf("withoutBraces(%q) = %q, want %q", text, got, want)
		}
	}
}
