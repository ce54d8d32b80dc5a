// Package audio reads recordings of speech and computes the inputs of RNN-T and Whisper.
//
//	samples, err := audio.Decode("84-121123-0001.flac", data)     // 16 kHz, mono, −1 to 1
//	features, err := audio.NewLogMel().Features(nil, samples)     // RNN-T: rows of 240 numbers
//	err = whisper.Features(dst, samples)                          // Whisper: 128 rows of 3000
//
// The features of RNN-T are those of the reference (retired_benchmarks/speech_recognition/rnnt,
// parts/features.py): the logarithm of the energy in 80 bands of frequency each 10 ms, three in
// a row, each number scaled to mean 0 and deviation 1 over the recording. The reference computes
// them in float32; here only input and result are. Results differ by at most 2e-3, where a band is
// nearly empty, and mostly by 1e-5. The features of Whisper are those of openai-whisper
// (whisper/audio.py), of 30 s with silence after the recording; they agree with scipy to 2e-6.
//
// Left out: other sample rates, several channels, and compressed WAV; such files are errors.
package audio
