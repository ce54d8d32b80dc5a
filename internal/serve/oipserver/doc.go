// Package oipserver is a server of the Open Inference Protocol, over HTTP/1.1 (JSON, binary tensors
// and raw requests) and gRPC (unary, streams, and the standard health service), with metrics
// for Prometheus.
//
//	s := oipserver.New(oipserver.Config{Name: "mlperf", Models: []oipserver.Model{m}})
//	go s.ServeHTTP(listener)
//	…
//	err := s.Drain(ctx) // not ready, what is under way is answered, connections are closed
//
// It trusts nobody: what a request says of itself is checked against the model before
// any memory is taken for it, headers and bodies have to arrive in time, connections that do
// nothing are closed when there are too many, and a model without room answers 503 at
// once.
//
// What a model does with tensors is in whoever implements Model.
package oipserver
