// Package generative has the benchmarks whose answers are made token by token: summaries and other
// texts of decoders of the Llama family.
//
//	for _, model := range generative.Models() { … }
//
// Each is a value in a file of its own. A writer joins prompts with a decoder's file, whether
// built in or exported by onnxruntime-genai or Optimum; what its ports do not tell its
// genai_config.json says, or the options of the family.
package generative
