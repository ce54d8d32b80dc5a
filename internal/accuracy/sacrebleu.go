package accuracy

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/mlperf-go/mlperf/internal/accuracy/pytext"
)

// SacreOptions are those of sacreBLEU. The zero value stands for its defaults.
type SacreOptions struct {
	Tokenize  string // 13a (default), intl, zh, char or none
	Smooth    string // exp (default), floor, add-k or none
	Value     *float64
	Lowercase bool
	// EffectiveOrder leaves out the orders for which the texts are too short.
	EffectiveOrder bool
	Order          int // 0: 4
}

// A sacreCounter computes sacreBLEU as version 2.6.0 does, sentence by sentence.
type sacreCounter struct {
	o                              SacreOptions
	tokenize                       func(string) string
	value                          float64
	counts, totals                 []int
	hypothesisLength, referenceLen int
	references                     int // per sentence; 0: not the same everywhere
	sentences                      int
	grams                          *gramCounter
}

// smoothValues are the methods of smoothing, with the value that each takes by default.
var smoothValues = map[string]float64{"exp": 0, "floor": 0.1, "add-k": 1, "none": 0}

// newSacreCounter returns a counter. Options that sacreBLEU does not have are an error.
func newSacreCounter(o SacreOptions) (*sacreCounter, error) {
	o.Tokenize, o.Smooth, o.Order = cmp.Or(o.Tokenize, "13a"), cmp.Or(o.Smooth, "exp"), cmp.Or(o.Order, 4)
	tokenize, ok := sacreTokenizers[o.Tokenize]
	if !ok {
		return nil, fmt.Errorf("unknown tokenizer %q of sacreBLEU, want 13a, intl, zh, char or none", o.Tokenize)
	}
	value, ok := smoothValues[o.Smooth]
	if !ok {
		return nil, fmt.Errorf("unknown smoothing %q of sacreBLEU, want exp, floor, add-k or none", o.Smooth)
	}
	if o.Value != nil {
		value = *o.Value
	}
	if o.Order < 1 || o.Order > maxOrder {
		return nil, fmt.Errorf("n-grams of order %d, want 1 to %d", o.Order, maxOrder)
	}
	return &sacreCounter{
		o: o, tokenize: tokenize, value: value,
		counts: make([]int, o.Order), totals: make([]int, o.Order), grams: newGramCounter(),
	}, nil
}

// Add adds a translation and its references, of which there must be one.
func (c *sacreCounter) Add(translation string, references ...string) {
	said := c.split(translation)
	wanted := make([][]string, len(references))
	for i, reference := range references {
		wanted[i] = c.split(reference)
	}
	c.grams.matches(said, wanted, c.counts, c.totals)
	c.hypothesisLength += len(said)
	c.referenceLen += closestLength(wanted, len(said))
	if c.sentences == 0 {
		c.references = len(references)
	} else if c.references != len(references) {
		c.references = 0
	}
	c.sentences++
}

// closestLength is that of the reference whose length is nearest to that of a translation, of two the shorter.
func closestLength(references [][]string, length int) int {
	nearest := slices.MinFunc(references, func(a, b []string) int {
		return cmp.Or(cmp.Compare(distance(len(a), length), distance(len(b), length)), cmp.Compare(len(a), len(b)))
	})
	return len(nearest)
}

func distance(a, b int) int { return max(a-b, b-a) }

// split makes words of a line.
func (c *sacreCounter) split(line string) []string {
	if c.o.Lowercase {
		line = pytext.Lower(line)
	}
	return pytext.Fields(c.tokenize(pytext.TrimRight(line)))
}

// A sacreBLEU is a score from 0 to 100, with what it is made of.
type sacreBLEU struct {
	Score          float64
	Precisions     []float64 // by order, from 0 to 100
	BrevityPenalty float64
	Length         int // in words
	ReferenceLen   int
}

// Score computes the score. It is 0 if nothing matches.
func (c *sacreCounter) Score() sacreBLEU {
	s := sacreBLEU{Precisions: make([]float64, c.o.Order), BrevityPenalty: 1, Length: c.hypothesisLength, ReferenceLen: c.referenceLen}
	if s.Length < s.ReferenceLen {
		s.BrevityPenalty = 0
		if s.Length > 0 {
			s.BrevityPenalty = math.Exp(1 - float64(s.ReferenceLen)/float64(s.Length))
		}
	}
	if slices.Max(c.counts) == 0 {
		return s
	}
	order := c.precisions(s.Precisions)
	if !c.o.EffectiveOrder {
		order = c.o.Order
	}
	sum := 0.0
	for _, p := range s.Precisions[:order] {
		sum += logOrTiny(p)
	}
	s.Score = s.BrevityPenalty * math.Exp(sum/float64(order))
	return s
}

// precisions fills in the precisions, and returns the highest order that the text has.
func (c *sacreCounter) precisions(p []float64) int {
	halves := 1.0
	for k := range p {
		count, total := float64(c.counts[k]), float64(c.totals[k])
		if c.o.Smooth == "add-k" && k > 0 {
			count, total = count+c.value, total+c.value
		}
		switch {
		case total == 0:
			return k
		case count > 0:
			p[k] = 100 * count / total
		case c.o.Smooth == "exp":
			halves *= 2
			p[k] = 100 / (halves * total)
		case c.o.Smooth == "floor":
			p[k] = 100 * c.value / total
		}
	}
	return len(p)
}

// logOrTiny is sacreBLEU's logarithm, in which that of 0 is a number.
func logOrTiny(v float64) float64 {
	if v == 0 {
		return -9999999999
	}
	return math.Log(v)
}

// String is what sacreBLEU prints.
func (s sacreBLEU) String() string {
	precisions := make([]string, len(s.Precisions))
	for k, p := range s.Precisions {
		precisions[k] = fmt.Sprintf("%.1f", p)
	}
	ratio := 0.0
	if s.ReferenceLen > 0 {
		ratio = float64(s.Length) / float64(s.ReferenceLen)
	}
	return fmt.Sprintf("BLEU = %.2f %s (BP = %.3f ratio = %.3f hyp_len = %d ref_len = %d)",
		s.Score, strings.Join(precisions, "/"), s.BrevityPenalty, ratio, s.Length, s.ReferenceLen)
}

// Signature names everything that the score depends on, as sacreBLEU does.
func (c *sacreCounter) Signature() string {
	references, kept, effective, smooth := "var", "mixed", "no", c.o.Smooth
	if c.references > 0 {
		references = fmt.Sprint(c.references)
	}
	if c.o.Lowercase {
		kept = "lc"
	}
	if c.o.EffectiveOrder {
		effective = "yes"
	}
	if smooth == "floor" || smooth == "add-k" {
		smooth = fmt.Sprintf("%s[%.2f]", smooth, c.value)
	}
	return fmt.Sprintf("nrefs:%s|case:%s|eff:%s|tok:%s|smooth:%s|version:2.6.0", references, kept, effective, c.o.Tokenize, smooth)
}
