package accuracy

import (
	"strings"
)

// A rouge says how much two texts have in common, each part from 0 to 1.
type rouge struct {
	Precision, Recall, F1 float64
}

// newROUGE is the score of so many hits among the words that were said and wanted.
func newROUGE(hits, said, wanted int) rouge {
	r := rouge{Precision: float64(hits) / float64(max(said, 1)), Recall: float64(hits) / float64(max(wanted, 1))}
	if sum := r.Precision + r.Recall; sum > 0 {
		r.F1 = 2 * r.Precision * r.Recall / sum
	}
	return r
}

// rouges are the four scores that the official scripts print of a pair of texts.
type rouges struct {
	One, Two rouge // words, pairs of words
	L        rouge // the longest common subsequence
	LSum     rouge // the same line by line, joined
}

// A rougeScorer compares texts as rouge_score 0.1.2 does, to the last bit. It keeps what it
// knows of words from text to text, and is for one goroutine.
type rougeScorer struct {
	words        rougeWords
	said, wanted rougeText
	grams        gramCounter
	lcs          commonSubsequence
	left         [2]map[int32]int
}

// newROUGEScorer returns a scorer, which compares the stems of words if stem is true, as all
// official scripts do.
func newROUGEScorer(stem bool) *rougeScorer {
	return &rougeScorer{
		words: rougeWords{stem: stem}, grams: *newGramCounter(),
		left: [2]map[int32]int{make(map[int32]int), make(map[int32]int)},
	}
}

// A rougeText is a text as numbers of words, and where its lines begin.
type rougeText struct {
	ids   []int32
	lines [][]int32
}

func (t *rougeText) set(w *rougeWords, text string) {
	t.ids, t.lines = t.ids[:0], t.lines[:0]
	var ends []int
	for line := range strings.SplitSeq(text, "\n") {
		if line == "" {
			continue
		}
		t.ids = w.append(t.ids, line)
		ends = append(ends, len(t.ids))
	}
	start := 0
	for _, end := range ends {
		t.lines = append(t.lines, t.ids[start:end])
		start = end
	}
}

// Score compares what was said with what was wanted. Lines are sentences, for LSum alone.
func (s *rougeScorer) Score(said, wanted string) rouges {
	s.words.forget()
	s.said.set(&s.words, said)
	s.wanted.set(&s.words, wanted)
	var hits, totals [2]int
	s.grams.matchIDs(s.said.ids, [][]int32{s.wanted.ids}, hits[:], totals[:])
	n, m := len(s.said.ids), len(s.wanted.ids)
	return rouges{
		One:  newROUGE(hits[0], n, m),
		Two:  newROUGE(hits[1], n-1, m-1),
		L:    newROUGE(s.lcs.length(s.wanted.ids, s.said.ids), n, m),
		LSum: newROUGE(s.union(), n, m),
	}
}

// union counts the words of the wanted lines that are in a longest common subsequence with
// one of the said lines or another, each as often as both texts have it.
func (s *rougeScorer) union() int {
	said, wanted := s.left[0], s.left[1]
	countWords(said, s.said.ids)
	countWords(wanted, s.wanted.ids)
	hits := 0
	for _, line := range s.wanted.lines {
		for i, common := range s.lcs.marks(line, s.said.lines) {
			if id := line[i]; common && said[id] > 0 && wanted[id] > 0 {
				said[id]--
				wanted[id]--
				hits++
			}
		}
	}
	return hits
}

// countWords fills in how often a text has each word.
func countWords(counts map[int32]int, ids []int32) {
	clear(counts)
	for _, id := range ids {
		counts[id]++
	}
}
