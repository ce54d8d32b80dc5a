// Package diffusion has the benchmarks that make images of captions, step by step out of noise.
package diffusion
