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
// a pattern of traffic; a mode measures it or logs its answers (see Scenario and Mode).
//
// # How a test runs
//
// TestSettings become EffectiveSettings (settings.go, effective.go); the table of all settings (table.go) is what files, flags,
// logs, results and rules know of them. They decide which sample is issued when, before
// the clock starts (traffic.go, with the random numbers of rng.go). The issue loops then only wait (pace.go) and issue
// (issue.go). A completion writes one slot of an array that exists already (recorder.go); nothing is formatted or
// logged while the clock runs, and a watchdog gives up a SUT that stalls (supervise.go). After the last answer
// the slots become a Result (records.go, stats.go, earlystop.go, judge.go) with the rules that it was judged by
// (constraint.go), which package mlperflog writes as log files.
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
