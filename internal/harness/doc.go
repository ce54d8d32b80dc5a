// Package harness measures one benchmark, from its files to its verdict. It is the only place where
// the two halves of the program meet: the load generator, which knows nothing of
// models, and the models, which know nothing of traffic.
//
//	test, err := harness.Run(ctx, harness.Config{Model: model, Engine: engine, Settings: settings, …})
//
// A run opens the model and the data set (open.go), warms the workers up and, if no
// rate was given, measures one (calibrate.go); has package loadgen issue the traffic
// to the SUT (sut.go, queue.go), which takes samples from the QSL (qsl.go); scores the
// accuracy log (score.go); leaves the log files in a folder; and returns what it measured (measured.go), of which the
// caller makes the record.
//
// issue.go sets the limits of a test: samples under way, and when it is given up. decoder.go and dispatcher.go answer
// samples of sequences and of servers of texts, each in place of the worker in sut.go. shape.go chooses workers and threads.
//
// Package selftest measures the generator alone; package peak searches for the highest load.
//
// The package prints nothing: an Observer follows the run.
package harness
