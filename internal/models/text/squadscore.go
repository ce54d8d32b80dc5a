package text

import (
	"context"

	"github.com/mlperf-go/mlperf/internal/accuracy"
	"github.com/mlperf-go/mlperf/internal/models/workload"
	windows "github.com/mlperf-go/mlperf/internal/preprocess/text"
)

// scoreSquad scores a log of start and end logits as accuracy-squad.py and evaluate_v1.1.py
// do. Of a part of the windows those questions count of which it has one.
func scoreSquad(ctx context.Context, log accuracy.Input, s workload.Scoring) (*accuracy.Score, error) {
	return scoreSpans(log, s, false)
}

// scoreSpans does it, of a log that may have all starts before all ends.
func scoreSpans(log accuracy.Input, s workload.Scoring, transposed bool) (*accuracy.Score, error) {
	o, err := parseSquadScoring(s.Options)
	if err != nil {
		return nil, err
	}
	o.Transposed = o.Transposed || transposed
	set, err := openSet(s.DatasetDir)
	if err != nil {
		return nil, err
	}
	set.askOnly(s.Samples)
	ends := make([]windows.Ends, len(set.windows))
	coverage, err := accuracy.ReadSpanLogits(log, len(set.windows), windowLength, o.SpanOptions, func(i int, starts, stops []float64) {
		ends[i] = windows.Ends{Starts: windows.Best(starts), Stops: windows.Best(stops)}
	})
	if err != nil {
		return nil, err
	}
	score, err := accuracy.ScoreSQuAD(set.data.Truth(), set.predictions(ends, o.questions), o.questions)
	if err != nil {
		return nil, err
	}
	score.Coverage = coverage
	return score, nil
}

// askOnly keeps the first windows and the questions that they belong to; 0: all.
func (s *squadSet) askOnly(samples int) {
	if samples > 0 && samples < len(s.windows) {
		s.windows = s.windows[:samples]
		s.data.Questions = s.data.Questions[:s.windows[samples-1].Question+1]
	}
}

// predictions returns the answers to the first questions; 0: to all.
func (s *squadSet) predictions(ends []windows.Ends, questions int) map[string]string {
	answers := make(map[string]string, len(s.data.Questions))
	first := 0
	for i, q := range s.data.Questions {
		if questions > 0 && i == questions {
			break
		}
		last := first
		for last < len(s.windows) && s.windows[last].Question == i {
			last++
		}
		var words []string
		if d := s.documents[q.Text]; d != nil {
			words = d.Words
		}
		answers[q.ID] = windows.Answer(s.windows[first:last], ends[first:last], words, s.wordPiece.Vocabulary())
		first = last
	}
	return answers
}
