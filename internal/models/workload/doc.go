// Package workload is the contract between the benchmarks and what runs them: what a
// benchmark has to say of itself (Model), and what it does while it runs (Workload,
// Predictor). Package harness runs whatever keeps it; the families below package models
// keep it.
//
//	model, err := models.Lookup("resnet50")
//	w, err := model.Open(workload.Setup{DatasetDir: dir, Ports: ports})
//	predictor, err := w.NewPredictor(sessions, batch)
//
// A Model is a value: everything that is known of a benchmark is in it, its names, its data,
// its rules, the options of its family, and the functions that open and score it. Opened
// with a data set and the ports of its files, it becomes a Workload. A Workload fills rows
// of a Store with samples, which may differ in shape, and its Predictors answer samples with
// an engine's sessions, one for each role: with one run of one session (images), or with as
// many runs of as many sessions as they like, window by window or token by token.
//
// A Predictor gets closed batches. One that is also a Puller gets a Source instead, from
// which it admits samples whenever it has room.
//
// The package leaves out queues, threads and time: those belong to package harness.
package workload
