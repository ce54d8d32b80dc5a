package englishtext

import (
	"math/big"
	"math/rand/v2"
	"strings"
	"testing"
)

// spelled writes a number in words, as one reads it out.
func spelled(n *big.Int, and string) string {
	small := strings.Fields("zero one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen sixteen seventeen eighteen nineteen")
	round := strings.Fields("- - twenty thirty forty fifty sixty seventy eighty ninety")
	groups := strings.Fields("- thousand million billion trillion quadrillion quintillion sextillion septillion octillion nonillion decillion")
	below := func(n int64) string {
		var words []string
		if n >= 100 {
			words = append(words, small[n/100], "hundred")
			if n %= 100; n > 0 && and != "" {
				words = append(words, and)
			}
		}
		if n >= 20 {
			words = append(words, round[n/10])
			n %= 10
		}
		if n > 0 {
			words = append(words, small[n])
		}
		return strings.Join(words, " ")
	}
	if n.Sign() == 0 {
		return small[0]
	}
	var parts []string
	thousand := big.NewInt(1000)
	rest := new(big.Int).Set(n)
	for group := 0; rest.Sign() > 0; group++ {
		part := new(big.Int)
		rest.DivMod(rest, thousand, part)
		switch {
		case part.Sign() == 0:
		case group == 0:
			parts = append([]string{below(part.Int64())}, parts...)
		default:
			parts = append([]string{below(part.Int64()) + " " + groups[group]}, parts...)
		}
	}
	return strings.Join(parts, " ")
}

func TestNumbersInWordsAreTheirDigits(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	check := func(n *big.Int) {
		t.Helper()
		for _, and := range []string{"", "and"} {
			words, want := spelled(n, and), n.String()
			if want == "1" {
				want = "one" // the script says so
			}
			if got := Normalize(words); got != want {
				t.Errorf("Normalize(%q) = %q, want %q", words, got, want)
			}
		}
	}
	for n := range int64(1200) {
		check(big.NewInt(n))
	}
	for digits := 4; digits <= 36; digits++ {
		limit := new(big.Int).Exp(big.NewInt(10), big.NewInt(int64(digits)), nil)
		n := new(big.Int)
		for range digits {
			n.Mul(n, big.NewInt(10)).Add(n, big.NewInt(random.Int64N(10)))
		}
		check(n.Mod(n, limit))
		check(new(big.Int).Div(limit, big.NewInt(10)))
	}
}

// What EnglishTextNormalizer of openai-whisper 20250625 makes of these.
func TestNumbersWithEndsAndSigns(t *testing.T) {
	for _, c := range []struct{ claim, text, want string }{
		{"ordinals, of which the script knows no ninth", "first second third fourth fifth eighth ninth twelfth", "1st 2nd 3rd 4th 5th 8th ninth 12th"},
		{"words that end as ordinals and are none", "oneth twoth threeth fiveth twelveth", "oneth twoth threeth fiveth twelveth"},
		{"ordinals of more words", "twenty first one hundred and third", "21st 103rd"},
		{"ordinals of tens", "the twentieth and the thirtieth", "the 20th and the 30th"},
		{"ordinals of multipliers", "two thousandth millionth", "2000th 1000000th"},
		{"decades", "the sixties", "the 60s"},
		{"several of one number", "ones and sixes", "ones and 6s"},
		{"a letter and digits are apart", "b2b", "b 2 b"},
		{"an end that stands apart is joined", "the 22 nd of may", "the 22nd of may"},
		{"but st is a saint", "the 21 st of may", "the 21 saint of may"},
		{"digits one by one", "nine one one", "911"},
		{"double and triple", "double seven triple zero", "77000"},
		{"double of what is no digit", "double trouble", "double trouble"},
		{"a point", "three point one four", "3.14"},
		{"a point without a number", "the point is", "the point is"},
		{"a point at first", "point five", ".5"},
		{"signs", "minus five plus six", "-5 +6"},
		{"a sign of a word", "minus sign", "minus sign"},
		{"and a half after a number", "two and a half", "2.5"},
		{"and a half of a multiplier", "two and a half million", "2500000"},
		{"and a half after a word", "a loaf and a half", "a loaf and a half"},
		{"percent", "five percent", "5%"},
		{"per cent", "five per cent", "5%"},
		{"per without a number", "per cent per year", "per cent per year"},
		{"per after a number", "five per year", "5 per year"},
		{"currencies", "twenty pounds and ten euros", "£20 and €10"},
		{"cents alone", "zero dollars and seven cents", "¢7"},
		{"cents with other money", "$20 and ¢5", "$20.05"},
		{"digits with commas", "1,234,567", "1234567"},
		{"years in two words", "nineteen eighty four", "1984"},
		{"years with oh", "nineteen oh five", "1905"},
		{"digits and a multiplier", "2.5 million", "2500000"},
		{"a fraction that stays one", "2.5555 thousand", "2.5555 1000"},
		{"digits of other scripts", "٣ thousand", "3000"},
		{"one is a word where it stands alone", "1 and 1s and 11", "one and ones and 11"},
	} {
		t.Run(c.claim, func(t *testing.T) {
			if got := Normalize(c.text); got != c.want {
				t.Errorf("Normalize(%q) = %q, want %q", c.text, got, c.want)
			}
		})
	}
}
