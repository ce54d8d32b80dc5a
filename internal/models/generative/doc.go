// Package generative has the benchmarks whose answers are made token by token: summaries and other
// texts of decoders of the Llama family.
//
//	for _, model := range generative.Models() { … }
//
// Each is a value in a file of its own. benchmark.go opens prompts with a decoder's file, built in or exported by
// onnxruntime-genai or Optimum; the layout comes from its ports, its genai_config.json and the options of the family.
// remote.go opens prompts for servers of text, score.go scores logs.
package generative
