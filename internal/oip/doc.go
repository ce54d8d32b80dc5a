// Package oip is the Open Inference Protocol, version 2, as Triton, KServe, OpenVINO Model
// Server and MLServer speak it: what requests, answers, descriptions and statistics consist of,
// and how they look on the wire, in JSON, in JSON with binary tensors behind it, and as messages
// of gRPC.
//
//	head := oip.Head{Model: "resnet50", Tensors: []oip.Spec{{"image", tensor.Float32, shape}}}
//	text, err := oip.AppendRequest(nil, &head, tensors, oip.Binary)
//
// Whoever decodes says where tensors go: a Place gets a tensor's name, type and shape, and
// returns memory for it, or an error. It is asked after these were checked and before
// anything is allocated, so what the other side claims takes no memory here.
//
// The messages of gRPC are written and read by their field numbers, without generated code:
// tensors go from their memory to the connection and back without being copied in between
// (Message, Codec).
//
// Package client asks servers, package server is one. What a model does with tensors is
// left to others.
package oip
