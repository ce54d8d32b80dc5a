// Package protocol is the Open Inference Protocol, version 2, as Triton, KServe, OpenVINO Model
// Server and MLServer speak it: what requests, answers, descriptions and statistics consist of,
// and how they look on the wire, in JSON, in JSON with binary tensors behind it, and as messages
// of gRPC.
//
//	head := protocol.Head{Model: "resnet50", Tensors: []protocol.Spec{{"image", tensor.Float32, shape}}}
//	text, err := protocol.RequestJSON(&head, tensors, protocol.Binary)
//
// Whoever decodes says where tensors go: a Place gets a tensor's name, type and shape, and
// returns memory for it, or an error. It is asked after these were checked and before
// anything is allocated, so what the other side claims takes no memory here.
//
// Messages of gRPC are those of package pb. Large tensors are faster over HTTP: protobuf copies them once more on each side.
//
// Package client asks servers, package oipserver is one. What a model does with tensors is
// left to others.
package protocol
