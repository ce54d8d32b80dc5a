// Package clip cuts captions into the tokens of CLIP, as Stable Diffusion XL reads them.
//
//	t, err := clip.Open("model/tokenizer", clip.First)   // vocab.json and merges.txt
//	ids := make([]int64, clip.Length)
//	whole, err := t.Encode(ids, "a man riding a wave")   // a start, the words, an end, and filling
//
// A caption is cleaned, cut into words, runs of marks and single digits, and each of them is
// joined from bytes by package hf's BPE; the last part of a word bears "</w>". There are always
// 77 tokens: what is too long is cut before the end, what is too short filled.
//
// Three readers of the same vocabulary differ in little (Kind): with what they fill, and
// whether that is a token which may stand in a caption.
//
// # How equal is equal
//
// The tests compare with Python: ftfy 6 for the cleaning, and CLIP's algorithm for the rest;
// all 5,000 captions of the benchmark come out equal. Of ftfy one thing is left out: text
// that was decoded as another encoding than it has ("donâ€™t") stays as it is. Captions of
// ASCII, as all of the benchmark are, have none of it. Decoding tokens is left out too.
package clip
