package grading

import (
	"strings"
	"testing"
)

// A reading is LaTeX, the text that it stands for, and what of it that shows.
type reading struct{ claim, latex, text string }

func checkReadings(t *testing.T, cases []reading) {
	t.Helper()
	for _, c := range cases {
		if got, ok := latexText(c.latex); !ok || got != c.text {
			t.Errorf("%s: latexText(%q) = %q, %t, want %q", c.claim, c.latex, got, ok, c.text)
		}
		note(t, "latex", c.text, c.latex)
	}
}

func TestFormulasAsText(t *testing.T) {
	checkReadings(t, []reading{
		{"plain text", "x+1", "x+1"},
		{"a fraction, before which is a blank", `1\frac{2}{3}`, "1 2/3"},
		{"of characters", `\frac12`, "1/2"},
		{"with other names", `\tfrac{1}{2}\dfrac{3}{4}`, "1/2 3/4"},
		{"many of them", strings.Repeat(`\frac{1}{2}+`, 80) + "x", strings.Repeat("1/2+ ", 79) + "1/2+x"},
		{"in another", `\frac{1}{\frac{2}{3}}`, "1/ 2/3"},
		{"a root", `\sqrt{2}`, "sqrt(2)"},
		{"of a character", `\sqrt2`, "sqrt(2)"},
		{"of a macro", `\sqrt\pi`, "sqrt(pi)"},
		{"with a number", `\sqrt[3]{x}`, "sqrt(x)"},
		{"products", `a\cdot b\times c`, "a*b*c"},
		{"infinity and unions", `(-\infty,1)\cup(2,3)`, "(-inf,1)U(2,3)"},
		{"greek letters", `\alpha\beta\Gamma\pi`, "αβΓpi"},
		{"comparisons", `x\le 1\geq y\neq z`, "x≤1≥y≠z"},
		{"functions", `\sin x+\log y`, "sinx+logy"},
		{"powers and places stay", "x^2_1", "x^2_1"},
		{"in braces too, which go", "x^{10}", "x^10"},
		{"size marks", `\left(1\right)`, "(1)"},
		{"spaces", `a\,b\;c\quad d\ e~f`, "a b c  d e\u00a0f"},
		{"text, but not that of a box", `\text{a b}\mathrm{c}\mbox{d}`, "a bc"},
		{"bold letters", `\textbf{ab}`, "ab"},
		{"letters of another alphabet", `\mathbb{R}\mathcal{A}`, "ℝ𝒜"},
		{"accents", `\hat{x}\bar y\vec{a}`, "x̂y̅a⃗"},
		{"a line over all of it is dropped", `\overline{AB}`, "AB"},
		{"percents, dollars and braces", `5\%\$\{1\}`, "5%${1}"},
		{"dashes and quotes", "a--b---c``d''", "a–b—c“d”"},
		{"what is not known is nothing", `a\unknown{b}c`, "abc"},
		{"binomials", `\binom{5}{2}`, "52"},
		{"dots", `1,\ldots,n\cdots`, "1,…,n⋯"},
	})
}

func TestGroupsAndEnds(t *testing.T) {
	checkReadings(t, []reading{
		{"groups go", "{a{b}c}", "abc"},
		{"one that has no end", "{a{b", "ab"},
		{"an end too many", "a}b", "ab"},
		{"formulas within a line", `a\(x\)b`, "axb"},
		{"formulas of their own", `a\[x\]b`, "a\n    x\nb"},
		{"a backslash at the end", `a\`, "a"},
		{"arguments that are not there leave their places", `a\frac`, "a %s/%s"},
		{"where one is there too", `\frac{1}`, "%s/%s1"},
		{"brackets that are no arguments", `[1]\frac12`, "[1] 1/2"},
		{"space before an argument", `\frac {1} 2`, "1/2"},
		{"space behind a macro", `\pi  r`, "pir"},
		{"a macro of a sign", `\&\#\_`, "&#_"},
		{"an ampersand is space", "a&b", "a   b"},
		{"nothing at all", "", ""},
		{"space around", "  x  ", "x"},
	})
}

func TestEnvironments(t *testing.T) {
	checkReadings(t, []reading{
		{"a column", `\begin{pmatrix}1\\2\end{pmatrix}`, "[ 1; 2 ]"},
		{"a row", `\begin{pmatrix}1&2\end{pmatrix}`, "[ 1 2 ]"},
		{"both, as wide as the widest", `\begin{pmatrix}1&-20\\300&4\end{pmatrix}`, "[   1 -20; 300   4 ]"},
		{"of other brackets", `\begin{bmatrix}1&2\\3&4\end{bmatrix}`, "[ 1 2; 3 4 ]"},
		{"with fractions", `\begin{pmatrix}\frac12\\3\end{pmatrix}`, "[ 1/2;   3 ]"},
		{"space in it does not count", "\\begin{pmatrix}\n 1 & 2 \\\\\n 3 & 4 \n\\end{pmatrix}", "[ 1 2; 3 4 ]"},
		{"nothing between two signs is no element", `\begin{pmatrix}1&&2\end{pmatrix}`, "[ 1 2 ]"},
		{"an array with columns", `\begin{array}{cc}1&2\\3&4\end{array}`, "[ 1 2; 3 4 ]"},
		{"equations", `\begin{equation}x=1\end{equation}`, "x=1"},
		{"one that is not known is what it holds", `\begin{thing}a\end{thing}`, "a"},
		{"an end of another", `\begin{thing}a\end{other}b\end{thing}c`, "abc"},
		{"without an end", `\begin{thing}a`, "a"},
		{"an end without a begin", `a\end{thing}b`, "ab"},
	})
}

// Where pylatexenc fails the grader leaves an answer as it is.
func TestWhatPylatexencCannotRead(t *testing.T) {
	for _, latex := range []string{`\sqrt`, `\begin{pmatrix}\end{pmatrix}`, `\begin{pmatrix}&\end{pmatrix}`} {
		if text, ok := latexText(latex); ok {
			t.Errorf("latexText(%q) = %q, want that it is not read", latex, text)
		}
		note(t, "latex", nil, latex)
	}
	for _, latex := range []string{strings.Repeat("{", 60), strings.Repeat(`\frac{`, 60), strings.Repeat(`\(`, 60), strings.Repeat(`\begin{a}`, 60)} { // of which pylatexenc reads more
		if text, ok := latexText(latex); ok {
			t.Errorf("%.20q… is %q, want that it is not read", latex, text)
		}
	}
}

// Whatever is read, a text comes out, and text without a backslash and the like comes out unchanged.
func TestPlainTextIsItself(t *testing.T) {
	for _, text := range []string{"x", "1+2=3", "f(x)=y'", "a<b>c", "1.5", "\"x\"", "é日𝄞", "a\nb", "x^2_1", "[1,2)", "#1", "a|b"} {
		if got, ok := latexText(text); !ok || got != text {
			t.Errorf("latexText(%q) = %q, %t", text, got, ok)
		}
	}
}
