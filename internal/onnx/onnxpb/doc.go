// Package onnxpb holds the generated types of ONNX's messages, which package onnx reads and writes files with.
package onnxpb

//go:generate protoc --go_out=. --go_opt=paths=source_relative onnx.proto
