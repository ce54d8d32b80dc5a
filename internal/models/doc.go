// Package models has each benchmark of MLPerf Inference as a value: which data set it
// reads, how a sample becomes tensors, how the model's outputs become a response,
// and how responses are scored.
//
//	model, err := models.Lookup("resnet50")
//	workload, err := model.Open(models.Setup{DatasetDir: dir, Inputs: in, Outputs: out})
//
// A Model is an entry of the catalogue (zoo.go). Opened with a data set and the ports
// of a model file, it becomes a Workload. A Workload fills rows of a Store with
// samples, and its Predictors answer samples with an engine's sessions: with one run
// (images), or with as many as they like, window by window or token by token.
//
// The package leaves out queues, threads and time: those belong to package bench.
package models
