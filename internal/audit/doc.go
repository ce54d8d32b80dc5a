// Package audit makes and verifies compliance tests: short experiments beside a result
// that show that its system under test answers what it was asked, and does not remember
// answers or know the order of questions.
//
//	TEST01  answers in performance mode are those of the accuracy run
//	TEST04  one sample again and again is not faster than different ones
//	TEST05  other seeds are as fast as the round's (v2.1 to v4.1)
//	TEST06  answers of language models: first token, end, length
//	TEST09  lengths of answers in performance mode
//
// A test has settings (Conf), which are an audit.config; a run under them; and a
// verification of its logs against those of the result. Run does all of it through
// package session, Verify the last part with anybody's logs:
//
//	verdict, err := audit.Verify("TEST04", audit.Logs{Performance: "resnet50/Offline", Audit: "logs"}, audit.Options{})
//	err = verdict.Write("resnet50/Offline", false) // resnet50/Offline/TEST04/…
//
// Algorithms and thresholds are those of the scripts in the reference's compliance
// folder, of which Verify says yes and no as they do. Logs that are not of the test, of
// the scenario or of the data that they are compared with are errors here.
//
// Left out: TEST07 and TEST08, which need the accuracy scripts of models that are not in
// the catalogue, and the tests of rounds before v2.1. Accuracy logs are streamed.
package audit
