// Package oipserver is a server of the Open Inference Protocol: over HTTP/1.1 with JSON, binary tensors
// and raw requests (http.go), over gRPC with unary calls, streams and the standard health service (grpc.go),
// and with metrics for Prometheus (metrics.go).
//
//	s := oipserver.New(oipserver.Config{Name: "mlperf", Models: []oipserver.Model{m}})
//	go s.ServeHTTP(listener)
//	…
//	err := s.Drain(ctx) // not ready, requests under way are answered, connections are closed
//
// The claims of a request are compared with the model before memory is taken for them, and a model without room
// answers 503 at once. Implementations of Model compute the answers (package serve).
package oipserver
