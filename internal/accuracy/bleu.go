package accuracy

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/mlperf-go/mlperf/internal/tokenizer/pytext"
)

// maxOrder is the longest n-gram of BLEU.
const maxOrder = 4

// A bleuCount is what BLEU is computed from, as an array that sentences add up in: for n-grams of each order how
// many match and how many the translation has, and the words of translation and reference.
type bleuCount [2*maxOrder + 2]int

const translationWords, referenceWords = 2 * maxOrder, 2*maxOrder + 1

func (b *bleuCount) add(other bleuCount) {
	for i, n := range other {
		b[i] += n
	}
}

// countBLEU counts a sentence.
func countBLEU(grams *gramCounter, translation, reference []string) bleuCount {
	b := bleuCount{translationWords: len(translation), referenceWords: len(reference)}
	grams.matches(grams.number(translation), grams.number(reference), b[:maxOrder], b[maxOrder:2*maxOrder])
	return b
}

// bleu computes the score, from 0 to 1, as the scorer of the GNMT reference does (nmt/scripts/bleu.py); NaN without words on both sides.
func bleu(b []int) float64 {
	if b[translationWords] == 0 || b[referenceWords] == 0 {
		return math.NaN()
	}
	logs := 0.0
	for k := range maxOrder {
		if b[k] == 0 {
			return 0
		}
		logs += 1 / float64(maxOrder) * math.Log(float64(b[k])/float64(b[maxOrder+k]))
	}
	score := math.Exp(logs)
	if ratio := float64(b[translationWords]) / float64(b[referenceWords]); ratio <= 1 {
		score *= math.Exp(1 - 1/ratio)
	}
	return score
}

// CleanReference makes words of a line of a reference as the scripts do: pieces of words are
// put together, and only single blanks separate words.
func CleanReference(line string) []string {
	return strings.Split(strings.ReplaceAll(pytext.TrimSpace(line), "@@ ", ""), " ")
}

// ScoreTranslations scores a log of sentences as process_accuracy.py does: on words that
// blanks separate, with the first record of a sentence. Sentences that are not in the log
// do not count. Unlike the script, it does not score a log that was cut off. The first value is "BLEU" in percent;
// sacre, if it is not nil, asks for sacreBLEU too.
func ScoreTranslations(log Input, references [][]string, sacre *SacreOptions) (*Score, error) {
	var sum, sacreSum bleuCount
	score, grams := &Score{Coverage: Coverage{Samples: len(references)}}, newGramCounter()
	parts := make([][]int, len(references))
	for rec, err := range Records(log) {
		switch {
		case err != nil:
			return nil, err
		case !utf8.Valid(rec.Data): // of a repeated record, too
			return nil, rec.errorf(log, "the translation is not UTF-8")
		case rec.QSLIndex >= uint64(len(references)):
			return nil, rec.errorf(log, "the ground truth has only %d samples", len(references))
		}
		repeated := parts[rec.QSLIndex] != nil
		if score.Coverage.count(repeated); repeated {
			continue
		}
		text, reference := string(rec.Data), references[rec.QSLIndex]
		b := countBLEU(grams, strings.Split(text, " "), reference)
		sum.add(b)
		parts[rec.QSLIndex] = slices.Clone(b[:])
		if sacre != nil {
			sacreSum.add(countBLEU(grams, sacre.words(text), sacre.words(strings.Join(reference, " "))))
		}
	}
	percent := 100 * bleu(sum[:])
	if math.IsNaN(percent) {
		return nil, fmt.Errorf("%s: %d words were compared with %d: BLEU is undefined", log.Name(), sum[translationWords], sum[referenceWords])
	}
	resampled := resampleSums(parts, len(sum), func(sums []int) float64 {
		if b := bleu(sums); !math.IsNaN(b) {
			return 100 * b
		}
		return 0
	})
	score.Values = []Value{{Name: "BLEU", Value: percent, Unit: "%", Resampled: resampled}}
	score.printf("BLEU: %.1f", percent)
	if sacre != nil {
		value, lines := sacre.score(sacreSum)
		score.Values = append(score.Values, Value{Name: "sacreBLEU", Value: value, Unit: "%"})
		score.Lines = append(score.Lines, lines...)
	}
	return score, nil
}

// A gramCounter compares the n-grams of sentences. It numbers words as they come. The
// n-grams of a reference are the nodes of a tree: each is one word longer than
// its parent. Its memory is used again for every sentence.
type gramCounter struct {
	words map[string]int32
	nodes map[uint64]int32 // by parent and word
	left  []int32          // by node: how often it is in the reference, and not matched yet
}

func newGramCounter() *gramCounter {
	return &gramCounter{words: make(map[string]int32), nodes: make(map[uint64]int32)}
}

// number returns the numbers of words.
func (c *gramCounter) number(words []string) []int32 {
	ids := make([]int32, len(words))
	for i, word := range words {
		id, ok := c.words[word]
		if !ok {
			id = int32(len(c.words))
			c.words[word] = id
		}
		ids[i] = id
	}
	return ids
}

// matches adds to counts and totals, one each for every order, how many n-grams of a sentence match and how many it has.
// An n-gram matches as often as it is in the reference.
func (c *gramCounter) matches(ids, reference []int32, counts, totals []int) {
	clear(c.nodes)
	c.left = append(c.left[:0], 0) // node 0 is the root
	order := len(counts)
	for i := range reference {
		parent := int32(0)
		for _, id := range reference[i:min(i+order, len(reference))] {
			key := uint64(parent)<<32 | uint64(uint32(id))
			node, ok := c.nodes[key]
			if !ok {
				node = int32(len(c.left))
				c.nodes[key], c.left = node, append(c.left, 0)
			}
			c.left[node]++
			parent = node
		}
	}
	for i := range ids {
		parent := int32(0)
		for k, id := range ids[i:min(i+order, len(ids))] {
			node, ok := c.nodes[uint64(parent)<<32|uint64(uint32(id))]
			if !ok {
				break
			}
			if c.left[node] > 0 {
				c.left[node]--
				counts[k]++
			}
			parent = node
		}
	}
	for k := range totals {
		totals[k] += max(0, len(ids)-k)
	}
}
