// Package loadgen generates the traffic of MLPerf Inference and judges how a
// system under test answered it.
//
// It issues, for the same TestSettings, the same samples in the same order at the
// same scheduled nanoseconds as the reference LoadGen (mlcommons/inference,
// loadgen/, version 6.0.17), and applies the same arithmetic to the latencies.
//
// # Terms
//
// A sample is an item of data and a query one call with one or more samples. A
// QuerySampleIndex names data; a ResponseID names an answer. The SUT is the System
// Under Test, the QSL the Query Sample Library that loads its data. A scenario is
// a pattern of traffic, a mode what is done with it (see Scenario and Mode).
//
// # How a test runs
//
// Which sample is issued when is decided before the clock starts (samples.go,
// schedule.go). The issue loop then only waits, issues and goes on (issue.go, serve.go).
// Completions write one slot each of arrays that exist already (recorder.go, complete.go);
// nothing is formatted or logged while the clock runs. When the last answer is in,
// the slots become a Result (judge.go) with the rules that it was judged by (Constraint),
// which package mlperflog writes as log files.
//
//	result, err := loadgen.Run(ctx, sut, qsl, settings, loadgen.Options{})
//	if err != nil {
//		return err // bad settings, or the QSL could not load its samples
//	}
//	fmt.Println(result.Valid())
//
// A run that broke a rule, was interrupted, or whose SUT misbehaved is a Result
// with reasons and not an error. Several tests may run at once in one process.
//
// The package knows nothing of models, backends, data sets or files.
package loadgen
