package englishtext

import (
	"math/big"
	"strings"
	"unicode/utf8"

	"github.com/mlperf-go/mlperf/internal/accuracy/pytext"
)

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
	text = strings.Map(pytext.ASCIIDigit, text)
	if strings.Trim(text, "0123456789.") != "" || strings.Trim(text, ".") == "" {
		return nil, false
	}
	return new(big.Rat).SetString("0" + strings.TrimSuffix(text, "."))
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
