// Package hf reads tokenizer.json, the file in which HuggingFace's tokenizers library keeps a
// tokenizer, and cuts text into the numbers of tokens and back as that library does.
//
//	t, err := hf.Open("Llama-3.1-8B-Instruct/tokenizer.json")
//	ids, err := t.Append(nil, "Who built the castle?", hf.AddSpecial)
//	text, err := t.Decode(ids, hf.SkipSpecial)
//
// # Terms
//
// A text goes through five stations, each of which the file describes. Added tokens, such as
// <|eot_id|>, are found first, and are never cut. The normalizer changes what is between
// them. The pre-tokenizer cuts that into words. The model cuts each word into tokens: BPE by
// merging pairs, Unigram by the most probable cut, WordPiece by the longest beginning,
// WordLevel not at all. The post-processor adds special tokens. A decoder goes the other way.
//
// # How equal is equal
//
// The tests compare with version 0.23 of the library over text of all scripts, for each kind
// of tokenizer that a workload of MLPerf has. One thing is that of the versions before, which
// the reference pins: added tokens are decoded as the file writes them, and not in their
// normalized form. Patterns are those of Oniguruma, which the library has; what the engine
// here cannot express of them is refused. Letters and digits are those of Go's Unicode
// tables, so characters that are younger than either table may be cut otherwise. Numbers of
// tokens beyond the vocabulary are an error, where the library leaves them out.
//
// # What it leaves out
//
// Training, pairs of texts, dropout, offsets of tokens in the text, and what the file says of
// truncation and padding: that is for the workload. Components that no known tokenizer of a
// workload has are refused by name.
package hf
