// Package grading judges answers to questions as the scripts of DeepSeek-R1 and gpt-oss-120b do
// (mlcommons/inference, language/deepseek-r1/eval_accuracy.py and
// language/gpt-oss-120b/eval_accuracy.py).
//
//	answer := grading.Final(text)                      // of gpt-oss-120b: without what it thought
//	letter := grading.Letter(text, 'D')                // of GPQA; 'J': of MMLU-Pro
//	program := grading.Code(text)                      // of LiveCodeBench, in DeepSeek-R1's answers
//	right := grading.SameMath(grading.Boxed(text), `\frac{1}{2}`)
//
// Answers to MATH-500 are compared as the grader of PRM800K compares them: by their text in two
// ways of writing it plainly, then part by part as numbers and expressions. LaTeX becomes text as
// pylatexenc writes it, and text becomes an expression as Python and SymPy's parser read it. Where
// the grader asks SymPy whether a difference is 0, one without decimal fractions is computed here
// at several points, with many digits; one with decimal fractions is multiplied out, and rounded
// where SymPy rounds, and the same only if it is also nearly 0 where it is computed. What SymPy finds beyond that is left out: that == of Python is true or
// false, infinities, quotients of polynomials with rounded coefficients that it cancels, and roots of squares of
// sums of constants and decimal fractions. So is what versions of Python read in different ways, such as 9e+x, 0x, or
// signs outside of ASCII that are no letters: no such expression is the same as another one.
//
// The package finds programs in answers, and leaves out running them.
package grading
