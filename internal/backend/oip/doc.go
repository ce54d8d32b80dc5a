// Package protocol is an engine whose models run on servers of the Open Inference Protocol: Triton,
// KServe, OpenVINO Model Server, MLServer, or mlperf serve.
//
//	engine, err := oip.New(ctx, oip.Config{Client: client.Options{Endpoints: urls}, Model: "resnet50"})
//
// The ports of a model are what the servers say; pre- and post-processing and batches are
// those of whoever runs the session. A value is a view of its tensor: a run sends the inputs
// from where they lie and reads the outputs to where they belong.
//
// An answer of another shape, type, name or version than before is an error, so that a server
// that was started anew with another model is noticed. What servers count is told by Account.
//
// A model of several files is as many models of the servers: the path of a file is the name that they
// know it by, an empty one that of the configuration.
package oip
