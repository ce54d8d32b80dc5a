// Package grading judges answers to questions as the scripts of DeepSeek-R1 and gpt-oss-120b do
// (mlcommons/inference, language/deepseek-r1/eval_accuracy.py and
// language/gpt-oss-120b/eval_accuracy.py).
//
//	letter := grading.Letter(text, 'D')                // of GPQA; 'J': of MMLU-Pro
//	number, ok := grading.Integer(text)                // of AIME
//	program := grading.Code(text)                      // of LiveCodeBench; coderun runs it
//	boxed, ok := grading.Boxed(text)                   // of MATH-500
//	right := ok && grading.SameMath(boxed, `\frac{1}{2}`)
//
// FinalLetter and FinalCode read answers of gpt-oss-120b. The files: answer.go finds answers in texts; math.go compares them as the grader of PRM800K
// does, by their text in two plain forms, then element by element as numbers and expressions; latex.go writes LaTeX as text in the way of
// pylatexenc, for the macros that answers use; expression.go reads text as an expression in the way of SymPy's parser (numbers, letters, π,
// ln, roots, the four operations and powers), and where the grader asks SymPy whether a difference is 0, it computes both sides at twelve
// points in float64.
//
// Undecided pairs count as different: factorials, decimals of more than eleven digits, decimal exponents of letters. Decimals are not rounded after
// each step as SymPy rounds them, so that 0.1x+0.2x is 0.3x here. The golden answers (testdata) show no other difference. In letters and words of an
// answer, the capital İ does not count as an I.
package grading
