// Package report has the results of runs as a document, and shows them.
//
// Results is what results.json holds: every number with its unit, every setting with
// where it came from, and everything that limits what the numbers may be used
// for. From it, Summary prints the table at the end of a run and Explain every
// constraint with what to do about it.
//
//	r, err := report.Read("results/resnet50/server/performance/latest")
//	err = report.Summary(os.Stdout, r)
//
// The package measures and judges nothing: package loadgen does.
package report
