// Package sentences splits English text into sentences as the official scripts do before they
// compute ROUGE: with NLTK's Punkt (sent_tokenize) and what it learnt of English.
//
//	for _, s := range sentences.Split("Dr. Smith left. He was late.") {
//		fmt.Println(s) // Dr. Smith left.
//	} // He was late.
//
// Punkt looks at every mark that may end a sentence with the word before and the one after:
// whether the first is an abbreviation, a number or an initial, and whether the second is
// written with a capital where it does not begin a sentence (Kiss and Strunk, 2006).
//
// english.txt.gz has the parameters of NLTK's English model, by Jan Strunk, under the MIT
// License; make_english.py writes it. Other languages, and learning, are left out.
package sentences
