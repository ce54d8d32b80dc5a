// Package harness measures one benchmark, from its files to its verdict. It is the only place where
// the two halves of the program meet: the load generator, which knows nothing of
// models, and the models, which know nothing of traffic.
//
//	test, err := harness.Run(ctx, harness.Config{Model: model, Engine: engine, Settings: settings, …})
//
// A run (config.go, run.go) opens the model and the data set (open.go), warms the workers up (warmup.go) and, if no
// rate was given, measures one (calibrate.go, throughput.go, costs.go); has package loadgen issue the traffic
// to the SUT (sut.go, queue.go), which takes samples from the QSL (qsl.go, contents.go, timed.go); scores the
// accuracy log (score.go); leaves the log files in a folder, and traces of requests (requests.go); and returns what it
// measured (measured.go, operations.go, charts.go), of which the caller makes the record.
//
// issue.go sets the limits of a test: samples under way, and when it is given up. decoder.go and dispatcher.go answer
// samples of sequences and of servers of texts, each in place of the worker in sut.go; servers.go judges what servers say.
// shape.go chooses workers and threads. Without a test, probe.go compares ways to run a model, and service.go answers
// requests of others. findpeak.go searches for the highest load.
//
// Package selftest measures the generator alone; package peak chooses the loads of a search.
//
// The package prints nothing: an Observer follows the run.
package harness
