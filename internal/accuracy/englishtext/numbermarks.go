package englishtext

import (
	"math/big"
	"strings"
)

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
		w.setText(w.nonZero() + strings.Repeat(digitOf(next), map[string]int{"double": 2, "triple": 3}[word]))
		return true
	}
	return false
}

// digitOf is a number below twenty in digits; 0 for the words of zero.
func digitOf(word string) string {
	if v := ones[word]; v != nil {
		return v.String()
	}
	return "0"
}
