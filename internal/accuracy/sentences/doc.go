// Package sentences splits English text into sentences as the official scripts do before they
// compute ROUGE: with NLTK's Punkt (sent_tokenize) and its parameters of English.
//
//	for _, s := range sentences.Split("Dr. Smith left. He was late.") {
//		fmt.Println(s) // Dr. Smith left.
//	} // He was late.
//
// Punkt judges every mark that may end a sentence by the word before and the word after it:
// whether the first is an abbreviation, a number or an initial, and whether the second is
// a word that has a capital only at the beginning of a sentence (Kiss and Strunk, 2006).
// split.go cuts texts into words and sentences, punkt.go judges.
//
// english.txt.gz has the parameters of NLTK's English model, by Jan Strunk, under the MIT
// License; make_english.py writes it. Other languages, and learning, are left out.
package sentences
