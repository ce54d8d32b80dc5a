// Package backend is the contract of inference engines.
//
// An Engine opens a model file as a Session (backend.go). Memory is bound once and used in many runs: Bind
// makes a Value over a tensor's memory, Run reads input values and fills output values in place (values.go).
// Ports describe inputs and outputs (ports.go).
//
//	session, err := engine.Open(ctx, backend.Options{ModelPath: "resnet50.onnx", Device: "cpu"})
//	in, err := session.Bind(tensor.New(tensor.Float32, 1, 3, 224, 224))
//	out, err := session.Bind(tensor.New(tensor.Int64, 1))
//	err = session.Run(ctx, []backend.Value{in}, []backend.Value{out})
//
// A Remote runs models on servers and counts what they do (remote.go); a Generator answers prompts with text
// (generation.go). Times are kept in histograms (times.go).
//
// The engines are packages of their own: ort is ONNX Runtime, oip the client of Open Inference Protocol
// servers, openai the client of servers with OpenAI's protocol, and simulated computes nothing in a set time.
// The package does not know what a model means: which tensors are images, or how many sessions run at once.
package backend
