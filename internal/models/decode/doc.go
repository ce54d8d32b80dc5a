// Package decode generates tokens with a model's session.
//
// A Decoder (decoder.go) runs a decoder with its key-value cache, shared (shared.go) or growing (growing.go), for the ports
// of a Layout (layout.go). A Batcher answers samples greedily or by sampling (batcher.go, sampling.go), a BeamBatcher by
// the beam search of transformers (beambatcher.go, answerbeams.go). A SpeechDecoder runs an encoder-decoder (speech.go).
// BeamSearch (beam.go) is the search of TensorFlow 1 alone, for GNMT:
//
//	s := decode.NewBeamSearch(decode.BeamOptions{Width: 10, End: 2, LengthPenalty: 1})
//	s.Start(2 * len(source))
//	for !s.Done() {
//		… run the model for the tokens s.Tokens() after the beams s.Parents() …
//		s.Advance(candidates, logits, logSums)
//	}
//	answer := s.Best(nil)
//
// A beam is one of several sequences that a search continues at once. Beams that end stay among them; the search ends when
// all have ended.
package decode
