// Package tokenizer cuts text into the pieces that models know by number.
//
//	v, err := tokenizer.ReadVocabulary(file, "vocab.txt")    // one piece per line
//	w, err := tokenizer.NewWordPiece(v)                      // BERT, MobileBERT
//	ids := w.Append(nil, "Who built the castle?")
//
//	rules, err := tokenizer.ReadBPE(file, "bpe.32000")       // GNMT
//	line := rules.NewSegmenter().Line("the house")           // t@@ he h@@ o@@ us@@ e
//
// A piece is a word or a part of one. WordPiece marks pieces that continue a word with
// "##", subword-nmt those that are continued with "@@". A Vocabulary numbers pieces from 0
// by their line.
//
// WordPiece gives what BertTokenizer of HuggingFace transformers 2.4 gives, and BPE what
// subword-nmt's apply_bpe.py gives at the commit that the reference names. Both depend on
// tables of Unicode, see package pytext.
//
// The package leaves out training, and tokenizers that work on bytes.
package tokenizer
