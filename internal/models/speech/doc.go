// Package speech has the benchmarks on speech.
//
//	for _, model := range speech.Models() { … }
//
// RNN-T (rnnt*.go) transcribes character by character: the encoder runs once for a recording, then the prediction and
// joint networks run for each step and character (greedy decoding). Whisper (whisper*.go) is an encoder-decoder, which
// internal/models/decode runs token by token. Package internal/preprocess/audio reads recordings and makes features.
package speech
