// Package grading judges answers to questions as the scripts of DeepSeek-R1 and gpt-oss-120b do
// (mlcommons/inference, language/deepseek-r1/eval_accuracy.py and
// language/gpt-oss-120b/eval_accuracy.py).
//
//	answer := grading.Final(text)                      // of gpt-oss-120b: without what it thought
//	letter := grading.Letter(text, 'D')                // of GPQA; 'J': of MMLU-Pro
//	program := grading.Code(text)                      // of LiveCodeBench, in DeepSeek-R1's answers
//	right := grading.SameMath(grading.Boxed(text), `\frac{1}{2}`)
//
// SameMath compares answers to MATH-500 as the grader of PRM800K does: by their text in two plain forms, then part by part as numbers and expressions.
// LaTeX becomes text as in pylatexenc, for the macros that answers use, and text becomes an expression as in SymPy's parser: numbers, letters, π, ln,
// roots, the four operations and powers. Where the grader asks SymPy whether a difference is 0, both sides are computed here at twelve points with
// float64. What this does not decide is not the same: factorials, decimals of more than eleven digits, decimal exponents of letters. Decimals are not
// rounded after each step, as SymPy rounds them, so that 0.1x+0.2x is 0.3x here. The golden answers (testdata) show no other difference.
//
// The package finds programs in answers, and leaves out running them.
package grading
