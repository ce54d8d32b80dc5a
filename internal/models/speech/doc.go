// Package speech has the benchmarks on speech.
//
//	for _, model := range speech.Models() { … }
//
// Each is a value in a file of its own. RNN-T writes down what is said, character by
// character: an encoder listens to a whole recording, and a small network, asked again and
// again, says which character comes next. The package leaves recordings and features to
// internal/preprocess/audio.
package speech
