// Package ort runs models through ONNX Runtime. No other package knows the binding github.com/yalue/onnxruntime_go.
//
// The program finds and opens the library while it runs, so it starts without one, and everything that needs no inference
// works without it:
//
//	library, candidates, err := ort.Search{Explicit: flag}.Find()
//	engine, err := ort.New(library, nil)
//	session, err := engine.Open(ctx, backend.Options{ModelPath: "resnet50.onnx", Device: "cuda"})
//
// Terms. A device is the name that users write (cpu, cuda, tensorrt, …); ONNX Runtime calls it an execution provider. A
// candidate is a file that might be the library. A port is an input or output of a model, a value is a tensor bound for it.
//
// If a device cannot be used, the error says what it lacks; with Options.AllowFallback it is a warning in Info.
//
// The binding keeps one ONNX Runtime environment per process. Engines share it: any number of them may be open on the same
// library file, and a second file is refused. Several goroutines may use engines and sessions at once.
//
// Without cgo the package compiles, finds libraries and checks options, and New says that the program was built without cgo.
//
// Files. Finding the library: search, probe. Devices: devices (their table), options (a request for a session, checked),
// compile (devices that compile models first), deviceerror (why one does not work), message (texts of ONNX Runtime, made
// readable). Models: modelfile (the head of a file), optimized (kept results of the optimiser), nodecount. With cgo: environment,
// engine, open (a model becomes a session), session, then the three ways to run (run without a binding, binding, devicememory
// with buffers of a device), value (tensors), stopper (contexts), signals_unix, and native with what the binding lacks: run
// options of bound runs, entries of the configuration of runs, a pool of threads for all sessions (Pool), extents for free axes,
// libraries of operators, an allocator that sessions share, threads of the ordinary scheduling policy, and memory of devices.
//
// Its authors have run it on the processor, with ONNX Runtime's own provider and OpenVINO's, under Linux, and on WebGPU. The options of all
// other devices follow ONNX Runtime's documentation: tests show that a library without them refuses them with a helpful text, not that they
// work. The same goes for macOS and Windows.
//
// Not supported: inputs and chosen outputs that are sequences or maps, sparse tensors, complex and 8-bit floating point
// elements, and training.
package ort
