// Package livecode judges answers to problems of LiveCodeBench as the accuracy scripts of deepseek-r1
// and gpt-oss-120b do: it runs the program of an answer on all tests of the problem.
//
//	tests, err := livecode.Open(ctx, folder, 6) // test.jsonl to test6.jsonl: release_v6
//	defer tests.Close()
//	passed, err := tests.Judge(ctx, runner, "abc301_a", code)
//	if errors.Is(err, livecode.ErrUnknown) { … } // the release has no such problem
//
// A problem is a line of the files of livecodebench/code_generation_lite: its public tests, its private ones,
// mostly as a compressed pickle, and perhaps the name of the function to call. The
// files have some 4.5 GB: Open reads them once to find the problems, and Judge reads a problem again.
//
// A program passes where LiveCodeBench's own grader lets it pass (lcb_runner at revision b1e7cab), which runs programs in
// its own Python process: judge.py does the same in a process of coderun, and testdata has verdicts of the grader.
// A test may take 60 s, as in the scripts. Two things differ: coderun limits the memory, and all programs together
// have no limit of 20 minutes.
package livecode
