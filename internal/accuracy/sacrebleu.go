package accuracy

import (
	"cmp"
	"fmt"
	"math"
	"regexp"
	"slices"
	"strings"
	"unicode"

	"github.com/mlperf-go/mlperf/internal/tokenizer/pytext"
)

// SacreOptions are those of sacreBLEU. The zero value stands for its defaults.
type SacreOptions struct {
	Tokenize  string // 13a (default), intl, zh, char or none
	Smooth    string // exp (default), floor, add-k or none
	Lowercase bool
}

// score computes sacreBLEU as version 2.6.0 does, and the lines that it prints.
func (o *SacreOptions) score(b bleuCount) (score float64, lines []string) {
	smooth, length, wanted := cmp.Or(o.Smooth, "exp"), b[translationWords], b[referenceWords]
	penalty, ratio := 1.0, 0.0
	if wanted > 0 {
		ratio = float64(length) / float64(wanted)
	}
	if length < wanted {
		penalty = 0
		if length > 0 {
			penalty = math.Exp(1 - float64(wanted)/float64(length))
		}
	}
	var precisions [maxOrder]float64
	if slices.Max(b[:maxOrder]) > 0 {
		halves, logs := 1.0, 0.0
		for k := range precisions {
			count, total := float64(b[k]), float64(b[maxOrder+k])
			if smooth == "add-k" && k > 0 {
				count, total = count+1, total+1
			}
			switch {
			case total == 0: // and so it is for all longer n-grams
			case count > 0:
				precisions[k] = 100 * count / total
			case smooth == "exp":
				halves *= 2
				precisions[k] = 100 / (halves * total)
			case smooth == "floor":
				precisions[k] = 100 * 0.1 / total
			}
			if precisions[k] > 0 {
				logs += math.Log(precisions[k])
			} else {
				logs += -9999999999 // sacreBLEU's logarithm of 0
			}
		}
		score = penalty * math.Exp(logs/maxOrder)
	}
	var text []string
	for _, p := range precisions {
		text = append(text, fmt.Sprintf("%.1f", p))
	}
	kept := "mixed"
	if o.Lowercase {
		kept = "lc"
	}
	switch smooth {
	case "floor":
		smooth = "floor[0.10]"
	case "add-k":
		smooth = "add-k[1.00]"
	}
	return score, []string{
		fmt.Sprintf("BLEU = %.2f %s (BP = %.3f ratio = %.3f hyp_len = %d ref_len = %d)", score, strings.Join(text, "/"), penalty, ratio, length, wanted),
		fmt.Sprintf("nrefs:1|case:%s|eff:no|tok:%s|smooth:%s|version:2.6.0", kept, cmp.Or(o.Tokenize, "13a"), smooth),
	}
}

// words makes words of a line as the tokenizers of sacreBLEU 2.6.0 do.
func (o *SacreOptions) words(line string) []string {
	if o.Lowercase {
		line = pytext.Lower(line)
	}
	line = pytext.TrimRight(line)
	switch o.Tokenize {
	case "none":
	case "char":
		return strings.Split(strings.Join(pytext.Fields(line), ""), "")
	case "zh":
		line = tokenizeMteval(spaced(strings.TrimSpace(line), func(r rune) bool { return r > unicode.MaxASCII && unicode.Is(chinese, r) }))
	case "intl": // mteval-v14.pl: blanks around punctuation unless a digit is before it, or after it, and around symbols
		line = beforePunctuation.ReplaceAllString(line, "$1 $2 ")
		line = afterPunctuation.ReplaceAllString(line, " $1 $2")
		line = spaced(line, unicode.IsSymbol)
	default: // mteval-v13a.pl
		line = strings.ReplaceAll(line, "<skipped>", "")
		line = strings.ReplaceAll(line, "-\n", "")
		line = strings.ReplaceAll(line, "\n", " ")
		if strings.Contains(line, "&") {
			for i := 0; i < len(entities); i += 2 { // one after another: &amp;lt; becomes <
				line = strings.ReplaceAll(line, entities[i], entities[i+1])
			}
		}
		line = tokenizeMteval(" " + line + " ")
	}
	return pytext.Fields(line)
}

// entities are the four of HTML that mteval-v13a.pl knows, in its order.
var entities = []string{"&quot;", `"`, "&amp;", "&", "&lt;", "<", "&gt;", ">"}

var (
	beforePunctuation = regexp.MustCompile(`(\P{N})(\p{P})`)
	afterPunctuation  = regexp.MustCompile(`(\p{P})(\P{N})`)
)

// chinese are the characters that sacreBLEU takes for Chinese. The two ranges of common
// punctuation come from an error in it, which is kept: it wrote code points above U+FFFF
// with four digits.
var chinese = &unicode.RangeTable{R16: []unicode.Range16{
	{0x2001, 0x2a6d, 1}, {0x2e80, 0x2eff, 1}, {0x2f00, 0x2fdf, 1}, {0x2ff0, 0x2fff, 1}, {0x3000, 0x303f, 1},
	{0x3100, 0x312f, 1}, {0x31a0, 0x31bf, 1}, {0x31c0, 0x31ef, 1}, {0x3200, 0x32ff, 1}, {0x3300, 0x33ff, 1},
	{0x3400, 0x4db5, 1}, {0x4e00, 0x9fa5, 1}, {0x9fa6, 0x9fbb, 1}, {0xf900, 0xfa2d, 1}, {0xfa30, 0xfa6a, 1},
	{0xfa70, 0xfad9, 1}, {0xfe10, 0xfe1f, 1}, {0xfe30, 0xfe4f, 1}, {0xff00, 0xffef, 1},
}}

// spaced puts blanks around some characters.
func spaced(line string, some func(rune) bool) string {
	var b strings.Builder
	for _, r := range line {
		if some(r) {
			b.WriteByte(' ')
			b.WriteRune(r)
			b.WriteByte(' ')
		} else {
			b.WriteRune(r)
		}
	}
	return b.String()
}

// tokenizeMteval applies the four rules of mteval one after another: blanks around
// symbols; around a period or comma unless a digit is before it; the same unless a digit is
// after it; and after a digit before a dash. It works on bytes, as regular expressions are ten times as slow.
func tokenizeMteval(line string) string {
	text := make([]byte, 0, 2*len(line))
	for _, c := range []byte(line) {
		if symbols[c] {
			text = append(text, ' ', c, ' ')
		} else {
			text = append(text, c)
		}
	}
	text = eachPair(text, &noDigits, &stops, "", " ", " ")
	text = eachPair(text, &stops, &noDigits, " ", " ", "")
	return string(eachPair(text, &digits, &dashes, "", " ", " "))
}

// The bytes that the rules tell apart.
var (
	symbols  = bytesOf(" !\"#$%&()*+/:;<=>?@[\\]^_`{|}~")
	stops    = bytesOf(".,")
	dashes   = bytesOf("-")
	digits   = bytesOf("0123456789")
	noDigits = func() (set [256]bool) {
		for i := range set {
			set[i] = !digits[i]
		}
		return set
	}()
)

func bytesOf(list string) (set [256]bool) {
	for _, c := range []byte(list) {
		set[c] = true
	}
	return set
}

// eachPair writes text before, between and behind the bytes of each pair whose first byte is in one set
// and whose second is in another. Pairs do not overlap.
func eachPair(text []byte, first, second *[256]bool, before, between, behind string) []byte {
	out := make([]byte, 0, len(text)+len(text)/2)
	for i := 0; i < len(text); i++ {
		if i+1 == len(text) || !second[text[i+1]] || !first[text[i]] {
			out = append(out, text[i])
			continue
		}
		out = append(append(out, before...), text[i])
		out = append(append(out, between...), text[i+1])
		out = append(out, behind...)
		i++
	}
	return out
}
