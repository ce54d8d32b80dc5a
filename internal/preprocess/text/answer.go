package text

import (
	"cmp"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/mlperf-go/mlperf/internal/accuracy/pytext"
	"github.com/mlperf-go/mlperf/internal/models/tokenizer"
)

// What the reference looks for (accuracy-squad.py).
const (
	nBest     = 20 // starts, ends and answers
	maxAnswer = 30 // pieces
)

// noAnswer is what the reference says when it has none.
const noAnswer = "empty"

// A Position is a place in a window, with its logit.
type Position struct {
	Index int
	Logit float64
}

// Best returns the places with the 20 highest logits, the highest first; of equal ones that
// which comes first. The logits must be numbers.
func Best(logits []float64) []Position {
	best := make([]Position, 0, nBest)
	for i, logit := range logits {
		if len(best) == nBest && logit <= best[nBest-1].Logit {
			continue
		}
		at := len(best)
		for at > 0 && best[at-1].Logit < logit {
			at--
		}
		if len(best) == nBest {
			best = best[:nBest-1]
		}
		best = slices.Insert(best, at, Position{i, logit})
	}
	return best
}

// Ends are the best starts and the best ends of answers in a window. A window whose
// response is missing has none.
type Ends struct{ Starts, Stops []Position }

// A candidate is an answer in a window.
type candidate struct {
	window      *Window
	start, stop int
	score       float64
}

// Answer returns the answer to a question from all of its windows.
func Answer(windows []Window, ends []Ends, words []string, v *tokenizer.Vocabulary) string {
	var found []candidate
	for i := range windows {
		found = appendCandidates(found, &windows[i], ends[i])
	}
	if len(found) == 0 {
		return noAnswer
	}
	best := slices.MaxFunc(found, func(a, b candidate) int { return cmp.Compare(a.score, b.score) })
	return best.text(words, v)
}

// appendCandidates appends the answers that a window allows.
func appendCandidates(found []candidate, w *Window, ends Ends) []candidate {
	for _, start := range ends.Starts {
		from := start.Index - w.First
		if !w.showsBest(from) {
			continue
		}
		for _, stop := range ends.Stops {
			to := stop.Index - w.First
			if to < from || to >= len(w.Best) || to-from >= maxAnswer {
				continue
			}
			found = append(found, candidate{w, from, to, start.Logit + stop.Logit})
		}
	}
	return found
}

// showsBest reports whether a place is in the document, and no other window shows more around it.
func (w *Window) showsBest(at int) bool {
	return at >= 0 && at < len(w.Best) && w.Best[at]
}

// text returns the answer in the words of the document.
func (c *candidate) text(words []string, v *tokenizer.Vocabulary) string {
	w := c.window
	pieces := make([]string, 0, maxAnswer)
	for _, id := range w.Pieces[w.First+c.start : w.First+c.stop+1] {
		pieces = append(pieces, v.Piece(id))
	}
	said := strings.Join(pytext.Fields(tokenizer.JoinWordPieces(pieces)), " ")
	written := strings.Join(words[w.WordOf[c.start]:w.WordOf[c.stop]+1], " ")
	return align(said, written)
}

// align finds in text as it was written what the model said of it, which is lower-cased and
// without accents. It counts characters that are no blanks; where they do not correspond,
// all of the text is the answer.
func align(said, written string) string {
	split := strings.Join(tokenizer.Basic(written), " ")
	at := strings.Index(split, said)
	if at < 0 || said == "" {
		return written
	}
	places := inked(written)
	if len(places) != inkedCount(split) || said[0] == ' ' || said[len(said)-1] == ' ' {
		return written
	}
	first := inkedCount(split[:at])
	last := first + inkedCount(said) - 1
	stop := places[last]
	_, size := utf8.DecodeRuneInString(written[stop:])
	return written[places[first] : stop+size]
}

// inked returns where the characters are that are no blanks.
func inked(text string) []int {
	var places []int
	for i, r := range text {
		if r != ' ' {
			places = append(places, i)
		}
	}
	return places
}

func inkedCount(text string) int { return utf8.RuneCountInString(text) - strings.Count(text, " ") }
