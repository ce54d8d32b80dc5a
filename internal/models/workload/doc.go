// Package workload is the contract between the benchmarks and what runs them.
//
//	model, err := models.Lookup("resnet50")
//	w, err := model.Open(workload.Setup{DatasetDir: dir, Ports: ports})
//	predictor, err := w.OpenPredictor(sessions, batch)
//
// A Model (model.go) is a value: the names, data and rules of a benchmark, the options of its family
// (options.go), its files (files.go) and built-in form (recipe.go), and the functions that open and score it.
//
// A Workload (workload.go) is the model joined with a data set. Its fields say what it needs: harness and serve
// read them, no type assertion decides. It fills rows of a Store (store.go) with samples, which may differ in
// shape. One of three answers them: a Predictor gets closed batches, a Decoder admits samples of a Source whenever it
// has room, and Prompts go to an engine that takes text (prompts.go).
//
// The package leaves out queues, threads and time: they belong to package harness.
package workload
