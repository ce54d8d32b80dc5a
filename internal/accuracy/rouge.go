package accuracy

import (
	"slices"
	"strings"

	"github.com/mlperf-go/mlperf/internal/tokenizer/pytext"
)

// rougeNames are the scores in the order in which the official scripts print them: words, pairs of words, the longest
// common subsequence of the texts, and that of their lines joined.
var rougeNames = [...]string{"rouge1", "rouge2", "rougeL", "rougeLsum"}

// A rougeScorer compares texts as rouge_score 0.1.2 does, to the last bit. It keeps the stems
// of words from text to text, and is for one goroutine.
type rougeScorer struct {
	words, stems map[string]int32 // numbers by word as it stands in a text, and by stem
	grams        *gramCounter
	table        []uint32 // memory for longest common subsequences
}

func newROUGEScorer() *rougeScorer {
	return &rougeScorer{words: make(map[string]int32), stems: make(map[string]int32), grams: newGramCounter()}
}

// score returns F1, from 0 to 1, by rougeNames. The lines of texts are their sentences.
func (s *rougeScorer) score(text, wanted string) [4]float64 {
	if len(s.words) > 1<<20 { // numbers are compared within a pair of texts only
		clear(s.words)
		clear(s.stems)
	}
	ids, lines := s.read(text)
	wantedIDs, wantedLines := s.read(wanted)
	var hits, totals [2]int
	s.grams.matches(ids, wantedIDs, hits[:], totals[:])
	n, m := len(ids), len(wantedIDs)
	return [4]float64{
		f1(hits[0], n, m), f1(hits[1], n-1, m-1), f1(commonLength(s.zeros(len(ids)+1), wantedIDs, ids), n, m),
		f1(s.union(lines, wantedLines, countIDs(ids), countIDs(wantedIDs)), n, m),
	}
}

// f1 returns the F1 score of hits among the words of two texts.
func f1(hits, n, m int) float64 {
	return harmonic(float64(hits)/float64(max(n, 1)), float64(hits)/float64(max(m, 1)))
}

// read numbers the words of a text, so that words of equal stems have equal numbers:
// runs of a to z and 0 to 9 after lower-casing, stemmed where they are longer than three
// characters (rouge_score, tokenize.py).
func (s *rougeScorer) read(text string) (ids []int32, lines [][]int32) {
	var ends []int
	for line := range strings.SplitSeq(pytext.Lower(text), "\n") {
		if line == "" {
			continue
		}
		for _, word := range strings.FieldsFunc(line, func(r rune) bool { return !(r >= 'a' && r <= 'z' || r >= '0' && r <= '9') }) {
			id, ok := s.words[word]
			if !ok {
				stem := word
				if len(word) > 3 {
					stem = stemPorter(word)
				}
				if id, ok = s.stems[stem]; !ok {
					id = int32(len(s.stems))
					s.stems[strings.Clone(stem)] = id
				}
				s.words[strings.Clone(word)] = id
			}
			ids = append(ids, id)
		}
		ends = append(ends, len(ids))
	}
	start := 0
	for _, end := range ends {
		lines = append(lines, ids[start:end])
		start = end
	}
	return ids, lines
}

// countIDs counts how often a text has each word.
func countIDs(ids []int32) map[int32]int {
	counts := make(map[int32]int, len(ids))
	for _, id := range ids {
		counts[id]++
	}
	return counts
}

// union counts the words of the wanted lines that are in a longest common subsequence with
// one line of the text or another, each as often as both texts have it.
func (s *rougeScorer) union(lines, wanted [][]int32, left, wantedLeft map[int32]int) int {
	hits := 0
	for _, line := range wanted {
		common := make([]bool, len(line))
		for _, other := range lines {
			s.markCommon(common, line, other)
		}
		for i, id := range line {
			if common[i] && left[id] > 0 && wantedLeft[id] > 0 {
				left[id]--
				wantedLeft[id]--
				hits++
			}
		}
	}
	return hits
}

// commonLength is the length of a longest common subsequence. It works in a row of zeros, one more than b has.
func commonLength[T comparable](row []uint32, a, b []T) int {
	for _, x := range a {
		diagonal := uint32(0)
		for j, y := range b {
			above := row[j+1]
			if x == y {
				row[j+1] = diagonal + 1
			} else {
				row[j+1] = max(above, row[j])
			}
			diagonal = above
		}
	}
	return int(row[len(b)])
}

// markCommon marks the words of a line that are in the longest common subsequence with
// another line. Of several it takes the one that rouge_score finds, from the end: it
// leaves out a word of the line unless leaving out one of the other line costs less.
func (s *rougeScorer) markCommon(common []bool, line, other []int32) {
	width := len(other) + 1
	t := s.zeros((len(line) + 1) * width) // the lengths for all beginnings of both, a row for each of the line
	for i, x := range line {
		row, next := t[i*width:(i+1)*width], t[(i+1)*width:(i+2)*width]
		for j, y := range other {
			if x == y {
				next[j+1] = row[j] + 1
			} else {
				next[j+1] = max(row[j+1], next[j])
			}
		}
	}
	for i, j := len(line), len(other); i > 0 && j > 0; {
		switch {
		case line[i-1] == other[j-1]:
			common[i-1] = true
			i, j = i-1, j-1
		case t[i*width+j-1] > t[(i-1)*width+j]:
			j--
		default:
			i--
		}
	}
}

// zeros returns memory of n zeros.
func (s *rougeScorer) zeros(n int) []uint32 {
	s.table = slices.Grow(s.table[:0], n)[:n]
	clear(s.table)
	return s.table
}
