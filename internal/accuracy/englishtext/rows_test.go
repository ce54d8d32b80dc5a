package englishtext

import (
	"math/rand/v2"
	"strconv"
	"strings"
	"sync"
	"testing"
)

// A row is a text, and what EnglishTextNormalizer of openai-whisper 20250625 makes of it.
type row struct{ claim, text, want string }

func normalizeAll(t *testing.T, rows []row) {
	t.Helper()
	for _, c := range rows {
		if got := Normalize(c.text); got != c.want {
			t.Errorf("%s: Normalize(%q) = %q, want %q", c.claim, c.text, got, c.want)
		}
	}
}

// What becomes of marks, accents and characters of other scripts.
func TestMarksAndAccents(t *testing.T) {
	normalizeAll(t, []row{
		{"what is in brackets is no speech", "before [noise] after <unk> end", "before after end"},
		{"nor what is in parentheses", "yes (laughs) no", "yes no"},
		{"brackets of two kinds close each other", "a [b> c <d] e", "a c e"},
		{"a bracket without another stays a blank", "a [b c", "a b c"},
		{"parentheses end at the first closing one", "a (b (c) d) e", "a d e"},
		{"quotes are blanks", "\"quoted\" “text” «here»", "quoted text here"},
		{"an apostrophe of another kind is a mark", "it’s", "it s"},
		{"an apostrophe behind a blank joins", "it 's and dogs ' tails", "it is and dogs tails"},
		{"hyphens and dashes are blanks", "well-known – or — not", "well known or not"},
		{"points of sentences go", "Stop. Go... End.", "stop go end"},
		{"points in numbers stay", "version 2.10 of 3", "version 2.10 of 3"},
		{"points before letters go", "example.com and a.b.c", "example com and a b c"},
		{"commas in numbers go", "10,000 and 1,2,3", "10000 and 12 3"},
		{"commas of sentences too", "yes, no,maybe", "yes no maybe"},
		{"accents go", "naïve café Zürich élan señor", "naive cafe zurich elan senor"},
		{"accents that stand alone too", "e\u0301a\u0308", "ea"},
		{"ligatures are letters", "ﬁne ﬀ ﬃ", "fine ff ffi"},
		{"letters that are two", "œuvre Æon straße ẞ", "oeuvre eon strasse ss"},
		{"letters with strokes", "Łódź đa øre þorn ðat", "lodz da ore thorn dat"},
		{"full width is plain", "ＡＢＣ １２３ ％", "abc 123 "},
		{"letters of other scripts stay", "北京 привет αβγ", "北京 привет αβγ"},
		{"an i without a dot stays, a dot above goes", "ıstanbul İzmir", "ıstanbul izmir"},
		{"symbols are blanks", "a + b = c © d ® e ™ f", "a b c d e TM f"},
		{"emoji are blanks", "great 🙂 day", "great day"},
		{"underlines are blanks", "snake_case _x_", "snake case x"},
		{"currencies stay before numbers, and cents join", "€5 and £7 and ¢9", "€5 and £7.09"},
		{"and go before others", "€ and $x and 5$ a£", " and x and 5 a£"},
		{"percent stays behind numbers", "5% of 3.5% and x% %", "5% of 3.5% and x "},
		{"a hash and others go", "#1 @home & co * / \\ | ~ ^ `x`", "one home co x"},
		{"upper case is lower", "ABC Äpfel ΣΑΣ", "abc apfel σας"},
		{"white space is one blank", "  a\t\nb \u00a0 c\u2003d  ", "a b c d"},
		{"characters without width stay", "zero\u200bwidth", "zero\u200bwidth"},
		{"of nothing but marks a point may be left", "... !!! ???", "."},
		{"fractions are digits and a stroke", "½ cup and ¾", "one 2 cup and 3 4"},
		{"raised digits are digits", "x² m³", "x 2 m 3"},
		{"numbers of Rome are letters", "Ⅻ and ⅷ", "xii and viii"},
	})
}

// Short forms, titles, and what is said without a meaning.
func TestShortFormsAndFillers(t *testing.T) {
	normalizeAll(t, []row{
		{"negations", "I won't, can't, don't, isn't, shan't, ain't", "i will not can not do not is not sha not aint"},
		{"is, are and am", "I'm, you're, she's, they're, it's", "i am you are she is they are it is"},
		{"will, would and have", "I'll, you'd, we've, they'd, it'll", "i will you would we have they would it will"},
		{"had been and has been", "he'd been, she's been, it'd been", "he had been she has been it had been"},
		{"had gone and has gone", "he'd gone, she's gone", "he had gone she has gone"},
		{"had done and has got", "he'd done, she's got", "he had done she has got"},
		{"has done is not among them", "she's done", "she is done"},
		{"forms that are spoken", "wanna gonna gotta i'ma imma woulda coulda shoulda", "want to going to got to i am going to i am going to would have could have should have"},
		{"let us and you all", "let's y'all ma'am", "let us you all madam"},
		{"a plural's apostrophe goes", "the dogs' bones", "the dogs bones"},
		{"possession is taken for is", "the dog's bone", "the dog is bone"},
		{"the o of the clock is a zero", "five o'clock", "50 clock"},
		{"two forms in a word", "I'd've wouldn't've", "i would have would not have"},
		{"a form alone", "'s 'd 'll n't 't", "is would will not not"},
		{"a t alone is not", "'tis and can 't", "tis and can not"},
		{"titles", "Mr. Mrs. Dr. Prof. Capt. Gov. Gen. Sen. Rep. Pres. Rev.", "mister missus doctor professor captain governor general senator representative president reverend"},
		{"titles of the law and others", "Hon. Asst. Assoc. Lt. Col. Jr. Sr. Esq. Ald.", "honorable assistant associate lieutenant colonel junior senior esquire alderman"},
		{"a saint", "St. James and st james", "saint james and saint james"},
		{"titles inside words are letters", "drab strong colt", "drab strong colt"},
		{"a title at the end", "Sammy Davis Jr.", "sammy davis junior"},
		{"titles with letters beyond", "mrä drß", "mra drss"},
		{"fillers go", "uh um hmm mm mhm mmm", ""},
		{"as words alone", "umbrella hmmm uhm mmmm", "umbrella hmmm uhm mmmm"},
		{"with marks around", "um, well uh... yes-hmm", "well yes"},
		{"of units they go only apart", "20mm and 20 mm", "20 mm and 20"},
		{"beside an underline they stay", "um_ _uh", "um uh"},
		{"in upper case they go", "UM Uh", ""},
	})
}

// Words are spelled as Americans do.
func TestWordsOfBritishSpelling(t *testing.T) {
	normalizeAll(t, []row{
		{"our", "colour favour honour neighbour", "color favor honor neighbor"},
		{"re", "centre theatre metre litre fibre", "center theater meter liter fiber"},
		{"ise", "organise realised recognising", "organize realized recognizing"},
		{"yse", "analyse paralysed", "analyze paralyzed"},
		{"double l", "travelled cancelling jewellery", "traveled canceling jewelry"},
		{"ence and ogue", "defence offence catalogue dialogue", "defense offense catalog dialog"},
		{"ae and oe", "anaemia oesophagus encyclopaedia", "anemia esophagus encyclopedia"},
		{"grey and others", "grey tyre plough cheque programme aluminium", "gray tire plow check program aluminum"},
		{"in upper case", "COLOUR Theatre", "color theater"},
		{"with marks around", "(the) colour, the centre.", "color the center"},
		{"inside a word nothing changes", "colourx watercolours", "colourx watercolors"},
		{"American words stay", "color theater analyze", "color theater analyze"},
		{"words of neither stay", "table chair", "table chair"},
	})
}

// Currencies go before their numbers, shares behind.
func TestMoneyAndShares(t *testing.T) {
	normalizeAll(t, []row{
		{"dollars behind a number go before", "twenty dollars", "$20"},
		{"one dollar is a word, and no dollar", "one dollar", " one"},
		{"cents behind a number", "seventy five cents", "¢75"},
		{"dollars and cents", "three dollars and five cents", "$3.05"},
		{"dollars and cents without and", "three dollars five cents", "$3.05"},
		{"more than 99 cents are two sums", "two dollars and one hundred cents", "$2 and ¢100"},
		{"no dollars are cents alone", "zero dollars and fifty cents", "¢50"},
		{"pounds and euros", "five pounds and six euros", "£5 and €6"},
		{"a pound of something", "a pound of flesh", "a pound of flesh"},
		{"millions of money", "five million dollars", "$5000000"},
		{"a point in money", "two point five million euros", "€2500000"},
		{"money in digits", "$5 million and £2.50", "$5000000 and £2.50"},
		{"a sum of a currency before a word", "dollars and cents", "dollars and cents"},
		{"two currencies", "ten dollars twenty pounds", "$10 £20"},
		{"a currency without a number", "no dollars", "no dollars"},
		{"cents of a decimal sum", "$0.50 and €0.05", "¢50 and ¢5"},
		{"cents of one digit", "$0.5", "¢5"},
		{"a dollar before cents is lost", "$1 and ¢05", " one.05"},
		{"a share", "fifty percent", "50%"},
		{"a share in two words", "fifty per cent", "50%"},
		{"a decimal share", "two point five percent", "2.5%"},
		{"a share without a number", "what percent of it", "what percent of it"},
		{"per without cent", "ten per week", "10 per week"},
		{"a share of a whole", "one hundred percent", "100%"},
		{"a share in digits", "50 percent of 20 per cent", "50% of 20%"},
	})
}

// Numbers in words and in digits.
func TestNumbersInAllPositions(t *testing.T) {
	normalizeAll(t, []row{
		{"a number alone", "forty two", "42"},
		{"with a hyphen", "forty-two", "42"},
		{"two tens stand side by side", "forty fifty", "4050"},
		{"two small numbers are digits", "four two", "42"},
		{"a teen and a ten are a year", "nineteen eighty", "1980"},
		{"a teen and a digit", "nineteen five", "195"},
		{"a ten and two digits", "twenty one two", "212"},
		{"a hundred and", "one hundred and one", "101"},
		{"and between numbers that do not join", "five and six", "5 and 6"},
		{"and behind a multiplier before a word", "a hundred and more", "a 100 and more"},
		{"and at the beginning", "and five", "and 5"},
		{"a hundred alone", "a hundred people", "a 100 people"},
		{"hundreds of", "hundreds of thousands", "100s of 1000s"},
		{"a multiplier behind digits", "5 hundred and 2 thousand", "500 2000"},
		{"a multiplier behind a fraction", "1.5 thousand", "1500"},
		{"a multiplier of a fraction that is none", "1.2345 thousand", "one.2345 1000"},
		{"two multipliers", "two hundred thousand", "200000"},
		{"two numbers with multipliers", "two thousand three hundred and four", "2304"},
		{"a small multiplier behind a large one", "two million five hundred", "2000500"},
		{"zero alone", "zero", "0"},
		{"zeros among digits", "one zero zero one", "1001"},
		{"oh and o", "one oh o one", "1001"},
		{"oh without numbers", "oh no", "0 no"},
		{"a zero before a number", "oh five", "05"},
		{"a zero before a multiplier", "zero thousand", "0"},
		{"double before zero", "double oh seven", "007"},
		{"triple before a digit", "triple nine", "999"},
		{"double before a ten", "double twenty", "double 20"},
		{"double at the end", "to double", "to double"},
		{"double behind digits", "one double two three", "1223"},
		{"a point", "three point one four one five nine", "3.14159"},
		{"a point before a ten", "one point twenty five", "one.25"},
		{"a point before a multiplier is nothing", "one point million", "1000000"},
		{"a point before digits", "three point 14", "3.14"},
		{"two points", "one point two point three", "one.2.3"},
		{"a point behind zero", "zero point five", "0.5"},
		{"of an address the last one is a word", "192 point 168 point 0 point 1", "192.168.0 one"},
		{"minus and plus", "minus five and plus six", "-5 and +6"},
		{"negative and positive", "negative ten positive four", "-10 +4"},
		{"a sign before a word", "plus size", "plus size"},
		{"a sign at the end", "five minus", "5 minus"},
		{"a sign before digits", "minus 7", "-7"},
		{"a sign before digits is a mark", "-5 +7", "5 7"},
		{"digits with two", "--5", "5"},
		{"digits side by side", "1 2 3", "one 2 3"},
		{"digits and words", "1 two 3", "12 3"},
		{"digits before a ten", "20 five", "25"},
		{"zeros before digits go", "007 and 0", "7 and 0"},
		{"digits with a point alone", "5. and .5", "5 and .5"},
		{"digits and letters", "b2b a1 4x4 3d", "b 2 b a one 4 x 4 3 d"},
		{"digits of other scripts", "٣٤ and ९", "34 and 9"},
		{"one behind others", "twenty one", "21"},
		{"one as a word", "one by one", "one by one"},
		{"ones", "the ones and twos", "the ones and 2s"},
		{"one in digits", "1 and 1st", "one and 1st"},
		{"first and second", "first second third", "1st 2nd 3rd"},
		{"an ordinal of two words", "twenty first", "21st"},
		{"an ordinal of a hundred", "one hundredth", "100th"},
		{"an ordinal behind a number that does not join", "five sixth", "56th"},
		{"an ordinal in digits", "the 2nd of the 11th", "the 2nd of the 11th"},
		{"an ordinal's end apart", "the 3 rd and the 4 th", "the 3rd and the 4th"},
		{"decades", "the nineteen sixties and the nineties", "the 1960s and the 90s"},
		{"decades in digits", "the 1960s and 60's", "the 1960s and 60 is"},
		{"dozens of tens", "twenties thirties", "20s 30s"},
		{"half behind a number", "three and a half", "3.5"},
		{"half behind a ten", "twenty and a half", "20.5"},
		{"half behind a multiplier", "a hundred and a half", "a 100.5"},
		{"half behind a word", "a year and a half", "a year and a half"},
		{"half before a word", "half a year", "half a year"},
		{"two halves", "one and a half and two and a half", "one.5 and 2.5"},
		{"a half of nothing is lost", "and a half", ""},
		{"half inside a word", "behalf and halfway", "behalf and halfway"},
		{"a very large number", "nine hundred ninety nine decillion", "999000000000000000000000000000000000"},
		{"multipliers of nothing are lost", "thousand thousand million", "1000"},
	})
}

// Words that are neither numbers nor short forms nor British are as they were, in whatever order.
func TestPlainWordsStayAsTheyAre(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 4))
	plain := strings.Fields("the quick brown fox jumps over lazy dogs he said that nobody knew why table chair window a an is was 北京 привет")
	for range 300 {
		words := make([]string, 1+r.IntN(12))
		for i := range words {
			words[i] = plain[r.IntN(len(plain))]
		}
		text := strings.Join(words, " ")
		if got := Normalize(text); got != text {
			t.Fatalf("Normalize(%q) = %q", text, got)
		}
	}
}

// However digits are said, they are the same ones.
func TestDigitsAreTheSameHoweverTheyAreSaid(t *testing.T) {
	r := rand.New(rand.NewPCG(5, 6))
	names := strings.Fields("zero one two three four five six seven eight nine")
	for range 300 {
		digits := make([]string, 2+r.IntN(8))
		said := make([]string, len(digits))
		for i := range digits {
			n := r.IntN(10)
			digits[i], said[i] = strconv.Itoa(n), names[n]
			if n == 0 && i > 0 && r.IntN(2) == 0 {
				said[i] = "oh"
			}
		}
		text, want := strings.Join(said, " "), strings.Join(digits, "")
		if got := Normalize(text); got != want {
			t.Fatalf("Normalize(%q) = %q, want %q", text, got, want)
		}
	}
}

// Case and white space around are of no effect, whatever else is in a text.
func TestWhatTextsAreComparedWithoutHasNoEffect(t *testing.T) {
	for _, c := range goldenCases(t)[:400] {
		text := c[0]
		if strings.ContainsFunc(text, func(r rune) bool { return r > 127 }) {
			continue // upper case of some letters is more than one
		}
		for name, changed := range map[string]string{
			"in upper case":           strings.ToUpper(text),
			"with white space around": " \t" + text + " \n",
		} {
			if got, want := strings.TrimSpace(Normalize(changed)), strings.TrimSpace(Normalize(text)); got != want {
				t.Errorf("%q %s is %q, want %q", text, name, got, want)
			}
		}
	}
}

func TestTextsAreNormalizedBySeveralAtOnce(t *testing.T) {
	cases := goldenCases(t)[:100]
	var group sync.WaitGroup
	for range 4 {
		group.Go(func() {
			for _, c := range cases {
				if got := Normalize(c[0]); got != c[1] {
					t.Errorf("Normalize(%q) = %q, want %q", c[0], got, c[1])
				}
			}
		})
	}
	group.Wait()
}
