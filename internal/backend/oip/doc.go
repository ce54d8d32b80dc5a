// Package oip is the engine whose models run on servers of the Open Inference Protocol: Triton, KServe,
// OpenVINO Model Server, MLServer, or mlperf serve.
//
//	engine, err := oip.New(ctx, oip.Config{Client: client.Options{Endpoints: urls}, Model: "resnet50"})
//
// A run of a session is one request (session.go); a value is a view of its tensor, which the request sends from
// its own memory. A model of several files is several models of the servers: the path of a file is the name at
// the servers, an empty one that of the configuration. In the Network division a server answers a whole sample
// (task.go).
//
// An answer of another shape, type, name or version than before is an error: a server that was restarted with
// another model is noticed. Account returns what the servers count.
//
// Package client sends the requests, package protocol has the messages, and package oipserver of serve is the
// other side.
package oip
