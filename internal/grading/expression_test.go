package grading

import (
	"math"
	"math/cmplx"
	"strings"
	"testing"
)

func TestExpressionsAreComputedAsTheyAreRead(t *testing.T) {
	for text, want := range map[string]complex128{
		"2+3*4":         14,
		"2-3-4":         -5,
		"12/3/2":        2,
		"6/2(3)":        9,
		"2(3)(4)":       24,
		"2^3^2":         512,
		"2**3":          8,
		"-2^2":          -4,
		"2^-1":          0.5,
		"--2":           2,
		"2*-+3":         -6,
		"sqrt(16)":      4,
		"sqrt16":        4,
		"2sqrt(9)3":     18,
		"sqrt(-4)":      2i,
		"2pi":           2 * math.Pi,
		".5+1.":         1.5,
		"0":             0,
		"00":            0,
		"0.50":          0.5,
		"((((7))))":     7,
		"sqrt(sqrt16)0": 0,
	} {
		if got, err := evaluate(text, 0); err != nil || cmplx.Abs(got-want) > 1e-12 {
			t.Errorf("%s = %v, %v, want %v", text, got, err, want)
		}
	}
}

func TestRootsOfNegativeNumbersAreTheSameHoweverTheyAreWritten(t *testing.T) {
	for _, said := range []string{`\sqrt{-4}`, `\sqrt{1-5}`, `\sqrt{4*-1}`, `\sqrt{--4-8}`} {
		if wanted := `2\sqrt{-1}`; !SameMath(said, wanted) {
			t.Errorf("SameMath(%q, %q) = false", said, wanted)
		}
	}
}

func TestWhatIsNoExpressionHasNoValue(t *testing.T) {
	for _, text := range []string{
		"", "2+", "2*", "2/", "2^", "(2", "2)", "()", "1.2.3", ".", "007", "x;", "2+*3", "sqrt", "[1]", "²", "x≤2",
		strings.Repeat("(", 60) + "1" + strings.Repeat(")", 60), strings.Repeat("2^", 60) + "1", "1" + strings.Repeat("+1", 500),
	} {
		if got, err := evaluate(text, 0); err == nil {
			t.Errorf("%.40q has the value %v", text, got)
		}
	}
}

func TestLettersAreVariables(t *testing.T) {
	value := func(text string, point int) complex128 {
		t.Helper()
		v, err := evaluate(text, point)
		if err != nil {
			t.Fatal(err)
		}
		return v
	}
	if value("x", 0) == value("y", 0) || value("x", 0) == value("x", 1) || value("θ", 0) == value("α", 0) {
		t.Error("a variable has the value of another, or the same one everywhere")
	}
	if got, want := value("xy", 2), value("y*x", 2); !near(got, want) {
		t.Errorf("xy is %v, and y*x %v", got, want)
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
}

func TestLaTeXIsReadAsText(t *testing.T) {
	deep := strings.Repeat("{", 200) + "x" + strings.Repeat("}", 200)
	for latex, want := range map[string]string{
		`\frac{1}{2}`:       "1/2",
		`\dfrac 1 2`:        "1/2",
		`2\tfrac12`:         "2 1/2",
		`\frac{\frac12}{3}`: "1/2/3",
		`\sqrt{2}`:          "sqrt(2)",
		`\sqrt[3]{8}`:       "sqrt(8)",
		`\sqrt[3`:           "sqrt([)3",
		`\sqrt`:             "sqrt()",
		`√2π∞∪·×`:           "sqrt2piinfU**",
		`a\cdot b\times c`:  "a*b*c",
		`\mbox{odd} x`:      "x",
		`\mathbf{3}`:        "3",
		`$x$`:               "x",
		`\{1\}`:             "{1}",
		`a\,b\quad c`:       "a b  c",
		`\unknown x`:        "x",
		`{x`:                "x",
		`x}`:                "x}",
		`\`:                 "",
		``:                  "",
		`\frac{1}`:          "1/",
	} {
		if got := latexText(latex); got != want {
			t.Errorf("latexText(%q) = %q, want %q", latex, got, want)
		}
	}
	if got := latexText(deep); !strings.Contains(got, "x") {
		t.Errorf("a letter in 200 braces becomes %q", got)
	}
	latexText(strings.Repeat(`\frac`, 5000))
	latexText(strings.Repeat(`\sqrt{`, 5000))
}
