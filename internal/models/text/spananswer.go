package text

import (
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/mlperf-go/mlperf/internal/tokenizer"
	"github.com/mlperf-go/mlperf/internal/tokenizer/pytext"
)

// Limits of the reference's search (accuracy-squad.py).
const (
	nBest     = 20 // starts, ends and answers
	maxAnswer = 30 // pieces
)

// noAnswer is the reference's answer where it finds none.
const noAnswer = "empty"

// A position is a place in a window, with its logit.
type position struct {
	Index int
	Logit float64
}

// bestPositions returns the places with the 20 highest logits, the highest first, equal ones by their
// index. The logits must not be NaN.
func bestPositions(logits []float64) []position {
	best := make([]position, 0, nBest)
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
		best = slices.Insert(best, at, position{i, logit})
	}
	return best
}

// spanEnds are the best starts and the best ends of answers in a window. A window whose
// response is missing has none.
type spanEnds struct{ Starts, Stops []position }

// answerOf returns the answer to a question from all of its windows.
func answerOf(windows []window, ends []spanEnds, words []string, v *tokenizer.Vocabulary) string {
	var best *window
	var first, last int
	var score float64
	for i := range windows {
		w := &windows[i]
		for _, start := range ends[i].Starts {
			from := start.Index - w.First
			if from < 0 || from >= len(w.Best) || !w.Best[from] {
				continue // not in the document, or another window shows more around it
			}
			for _, stop := range ends[i].Stops {
				to := stop.Index - w.First
				if to < from || to >= len(w.Best) || to-from >= maxAnswer {
					continue
				}
				if sum := start.Logit + stop.Logit; best == nil || sum > score {
					best, first, last, score = w, from, to, sum
				}
			}
		}
	}
	if best == nil {
		return noAnswer
	}
	var pieces []string
	for _, id := range best.Pieces[best.First+first : best.First+last+1] {
		pieces = append(pieces, v.Piece(id))
	}
	lowered := strings.Join(pytext.Fields(tokenizer.JoinWordPieces(pieces)), " ")
	return align(lowered, strings.Join(words[best.WordOf[first]:best.WordOf[last]+1], " "))
}

// align finds in text as it was written an answer of the model, which is lower-cased and without
// accents. It counts characters other than blanks; where they do not correspond, all of the text
// is the answer.
func align(answer, written string) string {
	split := strings.Join(tokenizer.Basic(written), " ")
	at := strings.Index(split, answer)
	if at < 0 || answer == "" {
		return written
	}
	var places []int // of the characters other than blanks
	for i, r := range written {
		if r != ' ' {
			places = append(places, i)
		}
	}
	count := func(text string) int { return utf8.RuneCountInString(text) - strings.Count(text, " ") }
	if len(places) != count(split) || answer[0] == ' ' || answer[len(answer)-1] == ' ' {
		return written
	}
	first := count(split[:at])
	last := places[first+count(answer)-1]
	_, size := utf8.DecodeRuneInString(written[last:])
	return written[places[first] : last+size]
}
