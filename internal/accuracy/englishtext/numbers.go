package englishtext

import (
	"math/big"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/mlperf-go/mlperf/internal/tokenizer/pytext"
)

// A numeral is a word for a number (whisper, normalizers/english.py), perhaps with a suffix as in "first" (1, st) or "sixties" (60, s).
type numeral struct {
	kind   numeralKind
	value  *big.Int
	suffix string
}

type numeralKind int

const (
	none       numeralKind = iota
	zero                   // zero, oh
	unit                   // below twenty
	ten                    // twenty, thirty …
	multiplier             // hundred, thousand …
)

// is reports whether a numeral without suffix is of one of some kinds.
func (n numeral) is(kinds ...numeralKind) bool {
	for _, kind := range kinds {
		if n.kind == kind && n.suffix == "" {
			return true
		}
	}
	return false
}

var (
	numerals = func() map[string]numeral {
		all := map[string]numeral{"zeroth": {unit, big.NewInt(0), "th"}}
		for _, name := range []string{"zero", "oh", "o"} {
			all[name] = numeral{zero, big.NewInt(0), ""}
		}
		for i, name := range strings.Fields(
			"one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen sixteen seventeen eighteen nineteen") {
			v := big.NewInt(int64(i + 1))
			all[name], all[name+"s"] = numeral{unit, v, ""}, numeral{unit, v, "s"}
			ordinal := name + "th"
			switch name {
			case "one", "two", "three", "five", "twelve":
				ordinal = map[string]string{"one": "first", "two": "second", "three": "third", "five": "fifth", "twelve": "twelfth"}[name]
			case "six":
				delete(all, "sixs")
				all["sixes"] = numeral{unit, v, "s"}
			case "eight":
				ordinal = "eighth"
			}
			suffix := "th"
			if i < 3 {
				suffix = ordinal[len(ordinal)-2:]
			}
			all[ordinal] = numeral{unit, v, suffix} // the script has nineth for ninth
		}
		for i, name := range strings.Fields("twenty thirty forty fifty sixty seventy eighty ninety") {
			v := big.NewInt(int64(10 * (i + 2)))
			all[name] = numeral{ten, v, ""}
			all[strings.ReplaceAll(name, "y", "ies")] = numeral{ten, v, "s"}
			all[strings.ReplaceAll(name, "y", "ieth")] = numeral{ten, v, "th"}
		}
		v := big.NewInt(100)
		for _, name := range strings.Fields(
			"hundred thousand million billion trillion quadrillion quintillion sextillion septillion octillion nonillion decillion") {
			all[name], all[name+"s"], all[name+"th"] = numeral{multiplier, v, ""}, numeral{multiplier, v, "s"}, numeral{multiplier, v, "th"}
			if v = new(big.Int).Mul(v, thousand); name == "hundred" {
				v = thousand
			}
		}
		return all
	}()
	thousand = big.NewInt(1000)

	signs      = map[string]string{"minus": "-", "negative": "-", "plus": "+", "positive": "+"}
	currencies = map[string]string{
		"pound": "£", "pounds": "£", "euro": "€", "euros": "€", "dollar": "$", "dollars": "$", "cent": "¢", "cents": "¢",
	}
	otherNumberWords = map[string]bool{"and": true, "double": true, "triple": true, "point": true, "per": true, "percent": true}
)

// isNumber reports whether a word can belong to a number.
func isNumber(word string) bool {
	return numerals[word].kind != none || signs[word] != "" || currencies[word] != "" || otherNumberWords[word] || isArabic(word)
}

// isArabic reports whether a word is a number in digits, perhaps with a fraction.
func isArabic(word string) bool {
	isDigits := func(s string) bool {
		return s != "" && strings.IndexFunc(s, func(r rune) bool { return !unicode.Is(unicode.Nd, r) }) < 0
	}
	whole, fraction, ok := strings.Cut(word, ".")
	return isDigits(whole) && (!ok || isDigits(fraction))
}

// writeNumbers writes the numbers among words in digits.
func writeNumbers(words []string) []string {
	w := &numberWriter{}
	for i := 0; i < len(words); i++ {
		previous, next := "", ""
		if i > 0 {
			previous = words[i-1]
		}
		if i+1 < len(words) {
			next = words[i+1]
		}
		if w.word(previous, words[i], next) {
			i++
		}
	}
	w.flush()
	return w.out
}

// A numberWriter goes through words and writes numbers in digits. The number so far is an integer, or a text after single digits or a point.
type numberWriter struct {
	out    []string
	prefix string
	whole  *big.Int
	text   *string
}

// word takes a word, and reports whether it took the next one too.
func (w *numberWriter) word(previous, word, next string) (tookNext bool) {
	sign, bare := "", word
	if r, n := utf8.DecodeRuneInString(word); strings.ContainsRune("-+£€$¢", r) {
		sign, bare = word[:n], word[n:]
	}
	n := numerals[word]
	switch {
	case isArabic(bare):
		if w.text != nil && strings.HasSuffix(*w.text, ".") {
			w.setText(*w.text + word) // decimals, or parts of an address
			return false
		}
		w.flush()
		if sign != "" {
			w.prefix = sign
		}
		if v, ok := fraction(bare); ok && v.IsInt() {
			w.setWhole(new(big.Int).Set(v.Num()))
		} else {
			w.setText(bare)
		}
	case !isNumber(word):
		w.flushAndWrite(word)
	case n.kind == zero:
		w.setText(w.nonZero() + "0")
	case n.kind == multiplier:
		w.multiply(n.value)
		if n.suffix != "" {
			w.write(w.digits() + n.suffix)
		}
	case n.kind != none:
		whole, text := w.joined(n.value, previous)
		switch {
		case n.suffix != "":
			w.write(text + n.suffix)
		case whole != nil:
			w.setWhole(whole)
		default:
			w.setText(text)
		}
	case signs[word] != "":
		w.flush()
		if isNumber(next) {
			w.prefix = signs[word]
		} else {
			w.write(word)
		}
	case currencies[word] != "":
		if !w.some() {
			w.write(word)
			return false
		}
		w.prefix = currencies[word]
		w.flush()
	case word == "per" || word == "percent":
		switch {
		case !w.some():
			w.write(word)
		case word == "percent", next == "cent":
			w.write(w.digits() + "%")
			return word == "per"
		default:
			w.flushAndWrite(word)
		}
	case !isNumber(next): // and, point, double and triple count only before numbers
		w.flushAndWrite(word)
	case word == "and":
		if !numerals[previous].is(multiplier) {
			w.flushAndWrite(word)
		}
	case word == "point":
		if isArabic(next) || numerals[next].is(zero, unit, ten) {
			w.setText(w.nonZero() + ".")
		}
	case !numerals[next].is(zero, unit):
		w.flushAndWrite(word)
	case word == "double":
		w.setText(w.nonZero() + strings.Repeat(numerals[next].value.String(), 2))
		return true
	default:
		w.setText(w.nonZero() + strings.Repeat(numerals[next].value.String(), 3))
		return true
	}
	return false
}

func (w *numberWriter) some() bool { return w.whole != nil || w.text != nil }

// digits returns the number as text; empty: none.
func (w *numberWriter) digits() string {
	switch {
	case w.text != nil:
		return *w.text
	case w.whole != nil:
		return w.whole.String()
	}
	return ""
}

// nonZero is digits, but empty for the integer 0, which counts as none.
func (w *numberWriter) nonZero() string {
	if w.text == nil && w.whole != nil && w.whole.Sign() == 0 {
		return ""
	}
	return w.digits()
}

func (w *numberWriter) setText(text string) { w.whole, w.text = nil, &text }
func (w *numberWriter) setWhole(v *big.Int) { w.whole, w.text = v, nil }

// write writes a text with the prefix in the place of the number.
func (w *numberWriter) write(text string) {
	w.out = append(w.out, w.prefix+text)
	w.prefix, w.whole, w.text = "", nil, nil
}

// flush writes the number.
func (w *numberWriter) flush() {
	if w.some() {
		w.write(w.digits())
	}
}

func (w *numberWriter) flushAndWrite(text string) { w.flush(); w.write(text) }

// joined returns the number followed by another: their sum where the number ends in zeros, or else the digits of both, then only as text.
func (w *numberWriter) joined(v *big.Int, previous string) (whole *big.Int, text string) {
	isDigit := v.Cmp(big.NewInt(10)) < 0
	zeros := big.NewInt(100)
	if isDigit {
		zeros = big.NewInt(10)
	}
	switch {
	case !w.some():
		return v, v.String()
	case isDigit && w.text != nil && numerals[previous].is(ten):
		return nil, strings.TrimSuffix(w.digits(), "0") + v.String()
	case w.text == nil && !numerals[previous].is(unit) && new(big.Int).Mod(w.whole, zeros).Sign() == 0:
		sum := new(big.Int).Add(w.whole, v)
		return sum, sum.String()
	}
	return nil, w.digits() + v.String()
}

// multiply multiplies the number. Of an integer it multiplies the part below a thousand.
func (w *numberWriter) multiply(m *big.Int) {
	switch {
	case !w.some():
		w.setWhole(m)
	case w.text != nil:
		if v, ok := fraction(w.digits()); ok {
			if v.Mul(v, new(big.Rat).SetInt(m)); v.IsInt() {
				w.setWhole(new(big.Int).Set(v.Num()))
				return
			}
		}
		w.flush()
		w.setWhole(m)
	default:
		above, below := new(big.Int).DivMod(w.whole, thousand, new(big.Int))
		w.setWhole(above.Mul(above, thousand).Add(above, below.Mul(below, m)))
	}
}

// fraction is the value of digits with at most one point. False: not such a number.
func fraction(text string) (*big.Rat, bool) {
	text = strings.Map(pytext.ASCIIDigit, text)
	if strings.Trim(text, "0123456789.") != "" || strings.Trim(text, ".") == "" {
		return nil, false
	}
	return new(big.Rat).SetString("0" + strings.TrimSuffix(text, "."))
}
