// Package englishtext writes English text in the form in which Whisper's word error rate
// compares it: lower-cased, without fillers, marks and accents, short forms spelled out,
// numbers in digits, and British words spelled as Americans do.
//
//	englishtext.Normalize("Mr. Smith couldn't pay twenty-one pounds!") // mister smith could not pay £21
//
// It is the EnglishTextNormalizer of openai-whisper 20250625, which the reference's
// accuracy_eval.py uses, odd results included ("1.5" becomes "one.5"). spelling.txt.gz has its
// list of words (english.json, under the MIT License; from tysto.com/uk-us-spelling-list.html);
// make_spelling.py writes it.
//
// It leaves out other languages.
package englishtext
