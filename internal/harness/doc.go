// Package harness runs one benchmark from start to verdict. It is the only place where
// the two halves of the program meet: the load generator, which knows nothing of
// models, and the models, which know nothing of traffic.
//
//	results, err := harness.Run(ctx, harness.Config{Model: model, Engine: engine, Settings: settings, …})
//
// A run opens the model and the data set (open.go), warms the workers up and, if no
// rate was given, measures one (calibrate.go); has package loadgen issue the traffic
// to the SUT (sut.go, queue.go), which takes samples from the QSL (qsl.go); scores the
// accuracy log (score.go); and leaves the log files and results.json in a folder.
//
// issue.go sets the limits of a test: samples under way, and when it is given up. decoder.go and dispatcher.go answer
// samples of sequences and of servers of texts, each in place of the worker in sut.go. shape.go chooses workers and threads.
//
// Package selftest measures the generator alone; package peak searches for the highest load.
//
// The package prints nothing: an Observer follows the run.
package harness
