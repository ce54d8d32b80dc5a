// Package text turns questions about documents into what BERT reads, and what BERT says
// into answers, as the reference does for SQuAD.
//
//	cut := text.Cutter{WordPiece: w, Length: 384, Stride: 128, MaxQuestion: 64}
//	doc := cut.Document(text.Words(context))
//	windows := cut.Windows(nil, 0, "Who built it?", doc)
//	… the model gives each piece of each window a start and an end logit …
//	answer := text.Answer(windows, spans, doc.Words, vocabulary)
//
// A word is what white space separates in a document, a piece what the tokenizer makes of
// it. A window is a question and as much of the document as fits beside it; long documents
// have several, which overlap. A span is where an answer starts and ends.
//
// Numbers, orders and ties are those of create_squad_data.py and accuracy-squad.py
// (language/bert). The package leaves out files and scores.
package text
