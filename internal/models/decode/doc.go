// Package decode chooses the tokens of a sequence, given what a model says about the next
// one. It knows nothing of models, engines or batches.
//
//	s := decode.NewBeamSearch(decode.BeamOptions{Width: 10, End: 2, LengthPenalty: 1})
//	s.Start(2 * len(source))
//	for !s.Done() {
//		… run the model for the tokens s.Tokens() after the beams s.Parents() …
//		s.Advance(candidates, logits, logSums)
//	}
//	answer := s.Best(nil)
//
// A beam is one of several sequences that are followed at once. Beams that end stay among
// them, and stop the search once all have ended.
package decode
