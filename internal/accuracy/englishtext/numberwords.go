package englishtext

import (
	"iter"
	"maps"
	"math/big"
	"strings"
	"unicode"
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
