// Package englishtext writes English text in the form in which Whisper's word error rate
// compares it: in lower case, without fillers, marks and accents, with short forms spelled out,
// numbers in digits, and American spelling.
//
//	englishtext.Normalize("Mr. Smith couldn't pay twenty-one pounds!") // mister smith could not pay £21
//
// It is the EnglishTextNormalizer of openai-whisper 20250625, which the reference's
// accuracy_eval.py uses, odd results included ("1.5" becomes "one.5"). numbers.go has the numbers, normalize.go the rest.
// spelling.txt.gz has the normalizer's list of words (english.json, under the MIT License; from
// tysto.com/uk-us-spelling-list.html); make_spelling.py writes it.
//
// It leaves out other languages.
package englishtext
