// Package text has the benchmarks on text: questions about texts, and translation.
//
//	for _, model := range text.Models() { … }
//
// Each is a value in a file of its own. BERT and MobileBERT find the answer to a question in windows of a text: squad.go opens
// and scores SQuAD, windows.go cuts texts into windows, squadports.go reads the ports of official files and other exports,
// spanreader.go runs the model, spananswer.go finds the answer in the logits of all windows. Numbers, orders and ties are those of
// create_squad_data.py and accuracy-squad.py (language/bert). GNMT
// translates sentences: translator.go runs encoder and decoder with beam search, over the tensors of beammemory.go.
package text
