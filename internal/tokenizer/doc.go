// Package tokenizer converts text to the ids of pieces, and back.
//
//	v, err := tokenizer.ReadVocabulary(file, "vocab.txt")    // one piece per line
//	w, err := tokenizer.NewWordPiece(v)                      // BERT, MobileBERT
//	ids := w.Append(nil, "Who built the castle?")
//
//	text := tokenizer.JoinBPE([]string{"the", "ho@@", "use"}) // GNMT: the house
//
// A piece is a word or a part of one. WordPiece marks pieces that continue a word with
// "##", subword-nmt those that are continued with "@@". A Vocabulary numbers pieces from 0
// by their line.
//
// WordPiece gives what BertTokenizer of HuggingFace transformers 2.4 gives. It depends on
// tables of Unicode, see package pytext.
//
// Package hf reads tokenizer.json, package clip has CLIP's tokenizer, package chat the chat templates of models. Training and
// encoding for subword-nmt are left out: the data set of GNMT has pieces.
package tokenizer
