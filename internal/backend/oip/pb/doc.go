// Package pb has the gRPC messages and the service of the Open Inference Protocol, generated from inference.proto.
package pb

//go:generate protoc --go_out=. --go_opt=paths=source_relative --go-grpc_out=. --go-grpc_opt=paths=source_relative inference.proto
