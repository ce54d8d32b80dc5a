// Package report has the results of runs as a document, and shows them.
//
// Results is the content of results.json: every number with its unit, every setting with
// its origin, and everything that limits the use of the numbers (results.go, document.go; limitations.go has their words, and
// older.go reads those of older records); Fill takes the measurements of a test (fill.go, test.go). Summary prints the table at the end of
// a run (text.go), Explain every constraint with its origin and what to do (explain.go), and runs.go lists many runs.
//
//	r, err := report.Read("results/resnet50/server/performance/latest")
//	err = report.Summary(os.Stdout, r)
//
// The package measures and judges nothing: package loadgen does.
package report
