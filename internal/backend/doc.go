// Package backend says what an inference engine must offer.
//
// An Engine opens a model file as a Session. Memory is bound once and used in many
// runs: Bind makes a Value over a tensor's memory, Run reads input values and
// fills output values in place. Nothing is allocated or copied in between.
//
//	session, err := engine.Open(ctx, backend.Options{ModelPath: "resnet50.onnx", Device: "cpu"})
//	in, err := session.Bind(tensor.New(tensor.Float32, 1, 3, 224, 224))
//	out, err := session.Bind(tensor.New(tensor.Int64, 1))
//	err = session.Run(ctx, []backend.Value{in}, []backend.Value{out})
//
// Engines live in packages of their own: ort is ONNX Runtime, simulated a stand-in
// with a set latency. The package leaves out what a model means: which tensors are
// images, how answers are read, and how many sessions run at once.
package backend
