package grading

import (
	"math"
	"math/cmplx"
	"strings"
	"testing"
)

// valueOf is what an expression is at a point; false: it has no value.
func valueOf(text string, point int) (complex128, bool) {
	n := parse(strings.ReplaceAll(text, "^", "**"))
	if n == nil {
		return 0, false
	}
	v := (&computation{point: point}).value(n)
	if v == nil {
		return 0, false
	}
	return v.complex128(), true
}

func TestExpressionsAreComputedAsTheyAreRead(t *testing.T) {
	for text, want := range map[string]complex128{
		"2+3*4":                 14,
		"2-3-4":                 -5,
		"12/3/2":                2,
		"6/2(3)":                9,
		"2(3)(4)":               24,
		"2^3^2":                 512,
		"2**3":                  8,
		"-2^2":                  -4,
		"2^-1":                  0.5,
		"--2":                   2,
		"2*-+3":                 -6,
		"sqrt(16)":              4,
		"2sqrt(9)3":             18,
		"sqrt(-4)":              2i,
		"sqrt(-4)^2":            -4,
		"2pi":                   2 * math.Pi,
		"pi(2)":                 2 * math.Pi,
		".5+1.":                 1.5,
		"1.2.5":                 0.6,
		"0":                     0,
		"00":                    0,
		"0_0":                   0,
		"0.50":                  0.5,
		"1_000":                 1000,
		"0x1f":                  31,
		"0b101":                 5,
		"0o17":                  15,
		"2e3":                   2000,
		"2e+1":                  20,
		"5e-1":                  0.5,
		"2j":                    2i,
		"2j^2":                  -2,
		"((((7))))":             7,
		"7//2":                  3,
		"(-7)//2":               -4,
		"-(7//2)":               -3,
		"5!":                    120,
		"5!!":                   15,
		"6!!":                   48,
		"0!":                    1,
		"-3!":                   -6,
		"2(3!)4":                48,
		"3!2":                   12,
		"(.5)!":                 complex(math.Sqrt(math.Pi)/2, 0),
		"(-.5)!":                complex(math.Sqrt(math.Pi), 0),
		"(.5)!!":                complex(math.Pow(2, .25)*math.Pow(math.Pi/2, -.25)*math.Gamma(1.25), 0),
		"8**(1/3)":              2,
		"8**(-2/3)":             0.25,
		"4**.5":                 2,
		"2**.3":                 complex(math.Pow(2, .3), 0),
		"(-8)**(1/3)":           complex(1, math.Sqrt(3)),
		"ln(pi)":                complex(math.Log(math.Pi), 0),
		"csc(1)":                complex(1/math.Sin(1), 0),
		"(10^9+1)^9^.5":         complex(math.Pow(1e9+1, 3), 0),
		"10**400/10**399":       10,
		"sqrt(10**401)/10**200": complex(math.Sqrt(10), 0),
		"2 + 3":                 5,
	} {
		if got, ok := valueOf(text, 0); !ok || cmplx.Abs(got-want) > 1e-9*max(1, cmplx.Abs(want)) {
			t.Errorf("%s = %v, %v, want %v", text, got, ok, want)
		}
	}
}

func TestWhatIsNoExpressionHasNoValue(t *testing.T) {
	for _, text := range []string{
		"", "2+", "2*", "2/", "2^", "(2", "2)", "()", ".", "007", "x007", "x;", "2+*3", "sqrt", "sqrt4+sqrt", "sqrt 4", "[1]", "²", "x≤2", "½", "x,y", "x=y", "x==y", "x!=y", "5!!!", "!5", "x.y", "x|y", "'x'", "nan", "oo", "if", "x if y", "0x", "1__0",
		"1/0", "0^-1", "0//0", "0^x", "(-1)!", "ln(0)", "csc(0)", "3^99999", "99999!", "1e99999",
		strings.Repeat("(", 60) + "1" + strings.Repeat(")", 60), strings.Repeat("2^", 60) + "1", strings.Repeat("-", 60) + "1", "1" + strings.Repeat("+1", 600),
	} {
		if got, ok := valueOf(text, 0); ok {
			t.Errorf("%.40q has the value %v", text, got)
		}
	}
}

func TestLettersSideBySideAreMultiplied(t *testing.T) {
	for a, b := range map[string]string{
		"xy": "y*x", "x2": "2x", "x12y": "y*12*x", "sqrt2": "s*q*r*t*2", "lnx": "l*n*x", "pix": "p*i*x", "2x^2": "2*(x^2)", "xy^2": "x*(y^2)", "xy!": "(x*y)!", "x(y)": "x*y", "(x)y": "x*y", "2θα": "2*θ*α",
		"x1_0": "1_0", // a name with an underscore stays together, and both are variables
	} {
		x, okX := valueOf(a, 4)
		y, okY := valueOf(b, 4)
		if same := cmplx.Abs(x-y) < 1e-9*max(1, cmplx.Abs(x)); !okX || !okY || same != (a != "x1_0") {
			t.Errorf("%s is %v, and %s %v", a, x, b, y)
		}
	}
	for _, name := range []string{"xi", "mu", "nu", "x_1"} {
		whole, _ := valueOf(name, 4)
		product, _ := valueOf(strings.Join(strings.Split(name, ""), "*"), 4)
		if whole == product {
			t.Errorf("%s is the product of its letters", name)
		}
	}
}

func TestVariablesDifferFromEachOtherAndFromPointToPoint(t *testing.T) {
	seen := make(map[complex128]string)
	for _, name := range []string{"x", "y", "θ", "α", "xi", "x_1"} {
		for point := range points {
			v := variableAt(name, point).complex128()
			if before := seen[v]; before != "" {
				t.Errorf("%s at point %d is %v, as %s", name, point, v, before)
			}
			seen[v] = name
			if isReal := imag(v) == 0; isReal != (point < 4) || cmplx.Abs(v) < 1 || cmplx.Abs(v) > 2000 {
				t.Errorf("%s at point %d is %v", name, point, v)
			}
		}
		if real(variableAt(name, 0).complex128()) < 0 || real(variableAt(name, 1).complex128()) > 0 || real(variableAt(name, 2).complex128())*real(variableAt(name, 3).complex128()) > 0 {
			t.Errorf("%s has not both signs", name)
		}
	}
}

func TestRootsOfNegativeNumbersAreTheSameHoweverTheyAreWritten(t *testing.T) {
	for _, said := range []string{`\sqrt{-4}`, `\sqrt{1-5}`, `\sqrt{4*-1}`, `\sqrt{\sqrt{-4}^2}`} {
		if wanted := `2\sqrt{-1}`; !SameMath(said, wanted) {
			t.Errorf("SameMath(%q, %q) = false", said, wanted)
		}
	}
}

func TestDifferencesOfManyDigitsAreFound(t *testing.T) {
	for _, c := range []struct {
		said, wanted string
		want         bool
	}{
		{"x+12345678901234567890123", "x+12345678901234567890124", false},
		{"x+12345678901234567890123", "12345678901234567890123+x", true},
		{"(100000000000.5)", "(100000000000.25)", false},
		{"x/10**40", "0*x", false},
		{"sqrt(10**40+1)-10**20+x", "x", false},
		{"x+0.30000000000000004", "x+0.3", false},
		{"x+.1+.2", "x+.3", false},
		{"100!/(50!50!)", "100!/(49!51!)", false}, // small beside 100!
		{"100!/(50!50!)", "(2/2)100!/(50!50!)", true},
		{"x+1+1/(300!)", "x+2", false},
		{"(300!+x)/300!", "1+x/300!", true},
		{"a^2", `\sqrt{(a^2)^2}`, false},
		{`\alpha^2`, `\sqrt{(\alpha^2)^2}`, false},
		{"x+.25+.5", "x+.75", true},
	} {
		if got := SameMath(c.said, c.wanted); got != c.want {
			t.Errorf("SameMath(%q, %q) = %v", c.said, c.wanted, got)
		}
	}
}

func TestAnswersThatTakeForeverAreNotComputed(t *testing.T) {
	for text, want := range map[string]bool{
		"x+y": true, "x+y+z": false, "2^10": false, "2^9": true, "2^3^2": false, "x^(2)": false, "x^{2}": false, "sqrt(x)+frac": true, "αβγ": false,
	} {
		if got := worthComputing(text); got != want {
			t.Errorf("worthComputing(%q) = %t", text, got)
		}
	}
	for _, text := range []string{"9**9**9**9", "(x+y+.5)**99", "(x+.5)**2001", "0.5+9**9**9", "(0.5)**9**9**9", "sqrt(2.5)**1999+99999!!", "sqrt(2)**999999999+.5", "(10**999*sqrt(10))**1999*.5", "9**9**9//.5", "(1999!)**1999+.5", "((((.5+x)**9)**9)**9)**9",
		"2**.5**9**9**9**9", "sqrt(1e999)**2**.5", strings.Repeat("1999!*", 100) + "0.5", strings.Repeat("sqrt(", 40) + "x+.5" + strings.Repeat(")", 40)} {
		SameMath(text, "("+text+")*1") // ends
	}
}

// A model may write anything, and at any length.
func TestLongAndDeepAnswersAreJudged(t *testing.T) {
	chain := func(n int, link string, end string) string { return strings.Repeat(link, n) + end }
	for name, text := range map[string]string{
		"a number of many digits":      chain(20_000, "7", ""),
		"parentheses in each other":    chain(10_000, "(", "1") + chain(10_000, ")", ""),
		"braces in each other":         chain(10_000, "{", "x") + chain(10_000, "}", ""),
		"signs":                        chain(10_000, "-", "1"),
		"elements":                     chain(10_000, "1,", "1"),
		"fractions of nothing":         chain(10_000, `\frac`, ""),
		"fractions in each other":      chain(150, `1+\frac{1}{y+`, "x") + chain(150, "}", ""),
		"roots in each other":          chain(150, `\sqrt{2+`, "x") + chain(150, "}", ""),
		"the root of many digits":      `\sqrt{` + chain(3000, "7", "}"),
		"a wide matrix":                `\begin{pmatrix}` + chain(5_000, "1&", `1\end{pmatrix}`),
		"many factors":                 chain(30, "(a+b+1)(c+d+2)", ""),
		"powers of powers":             "((((x+1)^9+1)^9+1)^9+1)^9",
		"units":                        chain(5_000, "degree ", ""),
		"powers of powers of a number": chain(50, "1.5^", "2"),
	} {
		if SameMath(text, "no answer") || SameMath("no answer", text) {
			t.Errorf("%s is something else", name)
		}
	}
}

func TestBrokenCharactersAreNoAnswer(t *testing.T) {
	for _, text := range []string{"\\sqrt\x94", "\\sqrt\xe2\x82", "\\frac\x94\xff", "\x94", "\\text{\xff}", "2^\xff"} {
		if !SameMath(text, text) || SameMath(text, "2") {
			t.Errorf("%q is not itself, or 2", text)
		}
	}
}

func TestPiHasManyDigits(t *testing.T) {
	const want = "3.14159265358979323846264338327950288419716939937510582097494459230781640628620899862803482534211706798214808651328230664709384460955058223172535940812848"
	if got := piOf().Text('f', len(want)); !strings.HasPrefix(got, want) {
		t.Errorf("π = %s", got)
	}
}

func TestTheGammaFunctionContinuesFactorials(t *testing.T) {
	for n, want := 1, 1.0; n < 20; n++ {
		if got := gamma(complex(float64(n), 0)); cmplx.Abs(got-complex(want, 0)) > 1e-12*want {
			t.Errorf("Γ(%d) = %v, want %v", n, got, want)
		}
		want *= float64(n)
	}
	for _, z := range []complex128{0.3, 1 + 2i, -1.5 + 0.5i, 3 - 4i} {
		if a, b := gamma(z+1), z*gamma(z); cmplx.Abs(a-b) > 1e-12*cmplx.Abs(a) {
			t.Errorf("Γ(%v+1) = %v, want %v", z, a, b)
		}
	}
}
