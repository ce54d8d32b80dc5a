// Package bfcl judges calls of functions as the Berkeley Function Calling Leaderboard does (bfcl-eval 2026.3.23, ast_checker), by way of the
// scorer of mlcommons/endpoints (evaluation/bfcl_v4_scorer.py, extractor.py and, for recorded conversations, scoring.py).
//
//	q := bfcl.Question{Subset: "simple_python", Functions: functions, Truth: truth}
//	verdict := q.Judge(`[{"function": {"name": "area", "arguments": "{\"base\": 10}"}}]`)
//	verdict.Right, verdict.Why // false, "simple_function_checker:missing_required"
//
// The files: answer.go reads an answer that the official client logged; calls.go finds calls in an answer, python.go reads those that are written as Python; check.go compares them with the possible
// answers, literal.go reads the literals of Java and JavaScript in their arguments; shell.go compares the programs that a turn of a
// conversation starts with those of the recorded turn; value.go has the values, which are Python's.
//
// Where the official scorer would end with an exception, so that no answer gets a score, an answer is wrong and its verdict says Raises. In calls
// that are written as Python, arguments that are no literals may be names, attributes, calls, indices and operations; with any other (lambda,
// comprehensions, formatted texts) none of the arguments count, while the scorer takes the text of that one.
package bfcl
