// Package ort runs models through ONNX Runtime. It is the only package that knows
// the binding github.com/yalue/onnxruntime_go.
//
// The library is a file that is found and opened while the program runs, so the program
// starts, and everything that needs no inference works, without it:
//
//	library, candidates, err := ort.Search{Explicit: flag}.Find()
//	engine, err := ort.New(library)
//	session, err := engine.Open(ctx, backend.Options{ModelPath: "resnet50.onnx", Device: "cuda"})
//
// Terms. A device is what users name (cpu, cuda, tensorrt, …); ONNX Runtime calls it an
// execution provider. A candidate is a file that might be the library. A port is an input
// or output of a model, a value is a tensor bound for it.
//
// A device that was asked for and cannot be used is an error that says what is missing;
// with Options.AllowFallback it is a warning in Info.
//
// The binding keeps one ONNX Runtime environment per process. Engines share it: any
// number of them may be open on the same library file, a second file is refused.
// Engines and sessions may be used from several goroutines at once.
//
// Without cgo the package compiles, finds libraries and checks options, and New says
// that the program was built without cgo.
//
// Only the processor has been run by the people who wrote this. The options of all other
// devices follow ONNX Runtime's documentation; that they are refused with a helpful text by a
// library without them is tested, that they work is not. The same goes for macOS and Windows.
//
// What the binding lacks is called past it (native.go): run options of bound runs, which end a run
// when its context is done, entries of the configuration of runs, a pool of threads for all
// sessions (Pool), extents for free axes, libraries of operators, an allocator that sessions
// share, and threads of the ordinary scheduling policy.
//
// Left out: inputs and chosen outputs that are sequences or maps, sparse tensors, complex and 8-bit
// floating point elements, training, and tensors in the memory of a device. What a model means, and how many sessions run at once, is not known here.
package ort
