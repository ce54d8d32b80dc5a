// Package compliance makes and verifies compliance tests: short experiments beside a result
// that show that its system under test answers what it was asked, and does not remember
// answers or know the order of questions.
//
//	TEST01  answers in performance mode are those of the accuracy run
//	TEST03  other data are as fast, and have answers of their own (v0.5)
//	TEST04  one sample again and again is not faster than different ones (before v2.1:
//	        TEST04-A, all samples different, and TEST04-B, one sample)
//	TEST05  other seeds are as fast as the round's (to v4.1)
//	TEST06  answers of language models: first token, end, length
//	TEST07  the score in performance mode reaches a bound of its own
//	TEST08  recommendations in performance mode have the entropy of the accuracy run's
//	TEST09  lengths of answers in performance mode
//
// A test has settings (Conf), which are an audit.config; a run under them; and a
// verification of its logs against those of the result. Run does all of it through
// package run, Verify the last part with anybody's logs:
//
//	verdict, err := compliance.Verify("TEST04", compliance.Logs{Performance: "resnet50/Offline", Audit: "logs"}, compliance.Options{})
//	err = verdict.Write("resnet50/Offline", false) // resnet50/Offline/TEST04/…
//
// Algorithms and thresholds are those of the scripts in the reference's compliance
// folder, of which Verify says yes and no as they do. Logs that are not of the test, of
// the scenario or of the data that they are compared with are errors here.
//
// The audit set of v0.5 is TEST01 with seeds of its own, TEST03, TEST04 and TEST05.
// TEST07 takes its score from a program of the user's: the models' own scripts are no part
// of this one. Accuracy logs are streamed.
package compliance
