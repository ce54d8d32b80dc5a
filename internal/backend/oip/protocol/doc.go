// Package protocol has the messages of the Open Inference Protocol, version 2, as Triton, KServe, OpenVINO Model
// Server and MLServer write them: in JSON with the elements of tensors in it or behind it (json.go), and in
// protobuf (grpc.go, with the generated package pb).
//
//	head := protocol.Head{Model: "resnet50", Tensors: []protocol.Spec{{Name: "image", Type: tensor.Float32, Shape: shape}}}
//	text, err := protocol.RequestJSON(&head, tensors, protocol.Binary)
//
// tensor.go has datatypes and descriptions of tensors, document.go what was decoded. A decoder returns
// memory for each tensor from a Place, which is called after its name, type and shape were checked and before
// anything is allocated: the claims of the other side take no memory here. metadata.go describes servers, models
// and their statistics, errors.go the errors of servers.
//
// The client is package client, a server package oipserver.
package protocol
