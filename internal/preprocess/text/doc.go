// Package text makes BERT's inputs of questions about documents, and answers of its logits, as
// the reference does for SQuAD.
//
//	cut := text.Cutter{WordPiece: w, Length: 384, Stride: 128, MaxQuestion: 64}
//	doc := cut.Document(text.Words(context))
//	windows := cut.Windows(nil, 0, "Who built it?", doc)
//	… the model gives each piece of each window a start and an end logit …
//	answer := text.Answer(windows, spans, doc.Words, vocabulary)
//
// White space separates the words of a document; the tokenizer cuts words into pieces. A window is
// a question and as much of the document as fits beside it; long documents have several, which
// overlap. A span is where an answer starts and ends.
//
// Numbers, orders and ties are those of create_squad_data.py and accuracy-squad.py
// (language/bert). Files and scores are elsewhere.
package text
