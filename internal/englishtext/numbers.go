package englishtext

import (
	"iter"
	"maps"
	"math/big"
	"strings"
	"unicode"
	"unicode/utf8"
)

// The words of numbers (whisper, normalizers/english.py).
var (
	ones, onesSuffixed               = makeOnes()
	tens, tensSuffixed               = makeTens()
	multipliers, multipliersSuffixed = makeMultipliers()

	zeros      = map[string]bool{"o": true, "oh": true, "zero": true}
	signs      = map[string]string{"minus": "-", "negative": "-", "plus": "+", "positive": "+"}
	currencies = map[string]string{
		"pound": "£", "pounds": "£", "euro": "€", "euros": "€", "dollar": "$", "dollars": "$", "cent": "¢", "cents": "¢",
	}
	specials = map[string]bool{"and": true, "double": true, "triple": true, "point": true}

	numberWords = makeNumberWords()
)

// A suffixed number is one as "21st" or "60s".
type suffixed struct {
	value  *big.Int
	suffix string
}

func makeOnes() (map[string]*big.Int, map[string]suffixed) {
	names := strings.Fields("one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen sixteen seventeen eighteen nineteen")
	plain, with := make(map[string]*big.Int), make(map[string]suffixed)
	for i, name := range names {
		v := big.NewInt(int64(i + 1))
		plain[name] = v
		with[name+"s"] = suffixed{v, "s"}
		if i+1 > 3 && i+1 != 5 && i+1 != 12 {
			ordinal := name + "th"
			if strings.HasSuffix(name, "t") {
				ordinal = name + "h"
			}
			with[ordinal] = suffixed{v, "th"}
		}
	}
	delete(with, "sixs")
	with["sixes"] = suffixed{plain["six"], "s"}
	for name, s := range map[string]suffixed{
		"zeroth": {big.NewInt(0), "th"}, "first": {plain["one"], "st"}, "second": {plain["two"], "nd"}, "third": {plain["three"], "rd"},
		"fifth": {plain["five"], "th"}, "twelfth": {plain["twelve"], "th"},
	} {
		with[name] = s
	}
	return plain, with
}

func makeTens() (map[string]*big.Int, map[string]suffixed) {
	plain, with := make(map[string]*big.Int), make(map[string]suffixed)
	for i, name := range strings.Fields("twenty thirty forty fifty sixty seventy eighty ninety") {
		v := big.NewInt(int64(10 * (i + 2)))
		plain[name] = v
		with[strings.ReplaceAll(name, "y", "ies")] = suffixed{v, "s"}
		with[strings.ReplaceAll(name, "y", "ieth")] = suffixed{v, "th"}
	}
	return plain, with
}

func makeMultipliers() (map[string]*big.Int, map[string]suffixed) {
	plain, with := map[string]*big.Int{"hundred": big.NewInt(100)}, make(map[string]suffixed)
	thousand := big.NewInt(1000)
	v := big.NewInt(1)
	for _, name := range strings.Fields("thousand million billion trillion quadrillion quintillion sextillion septillion octillion nonillion decillion") {
		v = new(big.Int).Mul(v, thousand)
		plain[name] = v
	}
	for name, v := range plain {
		with[name+"s"], with[name+"th"] = suffixed{v, "s"}, suffixed{v, "th"}
	}
	return plain, with
}

// decimals reports whether a word can stand after "point".
func decimals(word string) bool { return ones[word] != nil || tens[word] != nil || zeros[word] }

// makeNumberWords gathers the words that can be part of a number.
func makeNumberWords() map[string]bool {
	all := map[string]bool{"per": true, "percent": true}
	for _, words := range []iter.Seq[string]{
		maps.Keys(ones), maps.Keys(onesSuffixed), maps.Keys(tens), maps.Keys(tensSuffixed), maps.Keys(multipliers), maps.Keys(multipliersSuffixed),
		maps.Keys(zeros), maps.Keys(signs), maps.Keys(currencies), maps.Keys(specials),
	} {
		for word := range words {
			all[word] = true
		}
	}
	return all
}

// isArabic reports whether a word is a number in digits, perhaps with a fraction.
func isArabic(word string) bool {
	whole, fraction, ok := strings.Cut(word, ".")
	return allDigits(whole) && (!ok || allDigits(fraction))
}

func allDigits(s string) bool {
	for _, r := range s {
		if r < '0' || r > '9' && !unicode.Is(unicode.Nd, r) {
			return false
		}
	}
	return s != ""
}

// A numberWriter goes through words and writes numbers in digits. The number so far is an
// integer, or a text where digits were said one by one or after a point; nil and nil for none.
type numberWriter struct {
	out    []string
	prefix string
	whole  *big.Int
	text   *string
}

func (w *numberWriter) some() bool { return w.whole != nil || w.text != nil }

// digitsSoFar is the number as a text; empty for none.
func (w *numberWriter) digitsSoFar() string {
	switch {
	case w.text != nil:
		return *w.text
	case w.whole != nil:
		return w.whole.String()
	}
	return ""
}

// nonZero is digitsSoFar, but empty for the integer 0, which counts as nothing.
func (w *numberWriter) nonZero() string {
	if w.text == nil && w.whole != nil && w.whole.Sign() == 0 {
		return ""
	}
	return w.digitsSoFar()
}

func (w *numberWriter) setText(text string)  { w.whole, w.text = nil, &text }
func (w *numberWriter) setWhole(v *big.Int)  { w.whole, w.text = v, nil }
func (w *numberWriter) write(text string)    { w.out = append(w.out, w.prefix+text); w.forget() }
func (w *numberWriter) forget()              { w.prefix, w.whole, w.text = "", nil, nil }
func (w *numberWriter) writeAll(text string) { w.flush(); w.write(text) }

// flush writes the number so far, if there is one.
func (w *numberWriter) flush() {
	if w.some() {
		w.write(w.digitsSoFar())
	}
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

// word takes a word, and reports whether the next one is done with too.
func (w *numberWriter) word(previous, word, next string) (skip bool) {
	sign, bare := cutSign(word)
	switch {
	case isArabic(bare):
		w.arabic(word, sign, bare)
	case !numberWords[word]:
		w.writeAll(word)
	case zeros[word]:
		w.setText(w.nonZero() + "0")
	case ones[word] != nil:
		w.add(ones[word], w.base(ones[word]), previous)
	case tens[word] != nil:
		w.add(tens[word], 100, "")
	case multipliers[word] != nil:
		w.multiply(multipliers[word])
	case signs[word] != "":
		w.sign(word, next)
	case currencies[word] != "":
		w.currency(word)
	case word == "per" || word == "percent":
		return w.percent(word, next)
	case specials[word]:
		return w.special(previous, word, next)
	default:
		w.ordinal(word, previous)
	}
	return false
}

// cutSign cuts off a sign of a number.
func cutSign(word string) (sign, bare string) {
	if r, n := utf8.DecodeRuneInString(word); strings.ContainsRune("-+£€$¢", r) {
		return word[:n], word[n:]
	}
	return "", word
}

// arabic takes a number in digits.
func (w *numberWriter) arabic(word, sign, bare string) {
	if w.text != nil && strings.HasSuffix(*w.text, ".") {
		w.setText(*w.text + word) // decimals, or parts of an address
		return
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
}

// fraction is the value of digits with at most one point; there has to be a digit.
func fraction(text string) (*big.Rat, bool) {
	text = strings.Map(asciiDigit, text)
	if strings.Trim(text, "0123456789.") != "" || strings.Count(text, ".") > 1 || strings.Trim(text, ".") == "" {
		return nil, false
	}
	return new(big.Rat).SetString("0" + strings.TrimSuffix(text, "."))
}

// asciiDigit turns the decimal digits of all scripts into those of ASCII.
func asciiDigit(r rune) rune {
	if r < 0x80 || !unicode.Is(unicode.Nd, r) {
		return r
	}
	zero := r
	for r-zero < 9 && unicode.Is(unicode.Nd, zero-1) {
		zero--
	}
	return '0' + (r - zero)
}

// base is what the number so far has to be a multiple of for another to be added.
func (w *numberWriter) base(v *big.Int) int64 {
	if v.Cmp(big.NewInt(10)) < 0 {
		return 10
	}
	return 100
}

// joined is the number so far with another after it: added where there are zeros for it, or
// else digit by digit.
func (w *numberWriter) joined(v *big.Int, base int64, previous string) (whole *big.Int, text string) {
	switch {
	case !w.some():
		return v, v.String()
	case w.text != nil || ones[previous] != nil:
		so := w.digitsSoFar()
		if tens[previous] != nil && base == 10 {
			return nil, strings.TrimSuffix(so, "0") + v.String()
		}
		return nil, so + v.String()
	case new(big.Int).Mod(w.whole, big.NewInt(base)).Sign() == 0:
		sum := new(big.Int).Add(w.whole, v)
		return sum, sum.String()
	}
	return nil, w.digitsSoFar() + v.String()
}

func (w *numberWriter) add(v *big.Int, base int64, previous string) {
	whole, text := w.joined(v, base, previous)
	if whole != nil {
		w.setWhole(whole)
	} else {
		w.setText(text)
	}
}

// ordinal takes a number with an end, which ends it.
func (w *numberWriter) ordinal(word, previous string) {
	if s, ok := onesSuffixed[word]; ok {
		_, text := w.joined(s.value, w.base(s.value), previous)
		w.write(text + s.suffix)
		return
	}
	if s, ok := tensSuffixed[word]; ok {
		_, text := w.joined(s.value, 100, "")
		w.write(text + s.suffix)
		return
	}
	s := multipliersSuffixed[word]
	w.multiply(s.value)
	w.write(w.digitsSoFar() + s.suffix)
}

var thousand = big.NewInt(1000)

// multiply takes hundred, thousand and so on. Of a whole number it multiplies what is below a
// thousand.
func (w *numberWriter) multiply(m *big.Int) {
	switch {
	case !w.some():
		w.setWhole(m)
	case w.text != nil || w.whole.Sign() == 0:
		v, ok := fraction(w.digitsSoFar())
		if ok {
			v.Mul(v, new(big.Rat).SetInt(m))
		}
		if ok && v.IsInt() {
			w.setWhole(new(big.Int).Set(v.Num()))
			return
		}
		w.flush()
		w.setWhole(m)
	default:
		above, below := new(big.Int).DivMod(w.whole, thousand, new(big.Int))
		w.setWhole(above.Mul(above, thousand).Add(above, below.Mul(below, m)))
	}
}

// sign takes minus and plus, which belong to a number that follows.
func (w *numberWriter) sign(word, next string) {
	w.flush()
	if numberWords[next] || isArabic(next) {
		w.prefix = signs[word]
	} else {
		w.write(word)
	}
}

// currency takes a currency, which goes before the number.
func (w *numberWriter) currency(word string) {
	if !w.some() {
		w.write(word)
		return
	}
	w.prefix = currencies[word]
	w.flush()
}

// percent takes "percent" and "per cent" after a number.
func (w *numberWriter) percent(word, next string) (skip bool) {
	switch {
	case !w.some():
		w.write(word)
	case word == "percent":
		w.write(w.digitsSoFar() + "%")
	case next == "cent":
		w.write(w.digitsSoFar() + "%")
		return true
	default:
		w.writeAll(word)
	}
	return false
}

// special takes words that count only before numbers.
func (w *numberWriter) special(previous, word, next string) (skip bool) {
	numeric := isArabic(next)
	switch {
	case !numberWords[next] && !numeric:
		w.writeAll(word)
	case word == "and":
		if multipliers[previous] == nil {
			w.writeAll(word)
		}
	case word == "point":
		if decimals(next) || numeric {
			w.setText(w.nonZero() + ".")
		}
	case ones[next] == nil && !zeros[next]:
		w.writeAll(word)
	default: // double, triple
		digit := "0"
		if v := ones[next]; v != nil {
			digit = v.String()
		}
		w.setText(w.nonZero() + strings.Repeat(digit, map[string]int{"double": 2, "triple": 3}[word]))
		return true
	}
	return false
}
