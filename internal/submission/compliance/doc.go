// Package compliance makes and verifies compliance tests: short runs beside a result that
// show that its system under test computes its answers, and neither remembers them nor knows
// the order of the samples.
//
//	TEST01  answers in performance mode equal those of the accuracy run
//	TEST03  other data are as fast, and have other answers (v0.5)
//	TEST04  one sample again and again is not faster than different ones (before v2.1:
//	        TEST04-A, all samples different, and TEST04-B, one sample)
//	TEST05  other seeds are as fast as the round's (to v4.1)
//	TEST06  answers of language models: first token, end, length
//	TEST07  the score in performance mode reaches a bound
//	TEST08  recommendations in performance mode have the entropy of the accuracy run
//	TEST09  the mean length of answers in performance mode is within bounds
//
// A test has settings (Conf), which are an audit.config; a run under them; and a
// verification of its logs against those of the result. Run does all of it through
// package run, Verify the last part with the logs of any LoadGen:
//
//	verdict, err := compliance.Verify(ctx, "TEST04", compliance.Logs{Performance: "resnet50/Offline", Audit: "logs"}, compliance.Options{})
//	err = verdict.Write("resnet50/Offline", false) // resnet50/Offline/TEST04/…
//
// Algorithms and thresholds are those of the scripts in the reference's compliance folder,
// and so is the verdict. Logs of another test, another scenario or other data than those
// they are compared with are errors here.
//
// The audit set of v0.5 is TEST01 with seeds of its own, TEST03, TEST04 and TEST05. TEST07
// takes its score from a command of the user if there is one. Accuracy logs are streamed.
//
// Stages are what a submission needs: performance, accuracy and the tests of its scenarios.
// RunStages makes those that are not there yet.
//
// tests.go lists the tests and who needs them, conf.go has their settings, run.go makes
// their runs, stages.go those of a submission. verify.go reads the logs of a test and checks that they fit; performance.go
// judges the results of TEST01, TEST04 and TEST05, and the file of each test the rest;
// verdict.go writes the outcome.
package compliance
