// Package livecode judges answers to problems of LiveCodeBench, as the accuracy scripts of deepseek-r1
// and gpt-oss-120b do: the program that a model wrote is run on all tests of the problem.
//
//	tests, err := livecode.Open(ctx, folder, 6) // test.jsonl to test6.jsonl: release_v6
//	defer tests.Close()
//	passed, err := tests.Judge(ctx, coderun.New(coderun.Limits{}), "abc301_a", code)
//	if errors.Is(err, livecode.ErrUnknown) { … } // the release has no such problem
//
// A problem is a line of the files of livecodebench/code_generation_lite: its public tests, its private ones,
// which are a packed pickle in most lines, and the name of the function, where it is one that is called. The
// files have some 4.5 GB, so they are read once to find the problems, and a problem again when it is judged.
//
// What passes is what LiveCodeBench's own grader lets pass (lcb_runner at revision b1e7cab), which runs programs in
// Python inside itself: judge.py does the same, in a process of coderun, and testdata has verdicts of both.
// A test may take 60 s, as the scripts want it. Two things are different: a program has the bound
// of coderun on its memory, and there is none of 20 minutes on all programs together.
package livecode
