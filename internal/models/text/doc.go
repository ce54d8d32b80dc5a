// Package text has the benchmarks on text: questions about texts, and translation.
//
//	for _, model := range text.Models() { … }
//
// Each is a value in a file of its own. BERT and MobileBERT read windows of a text with a
// question and mark where the answer is (squad). The package knows the official model files,
// and exports of other tools by the names of their inputs and outputs; what cannot be told
// from these the options of the family say.
package text
