package accuracy

import (
	"math"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
)

func TestSQuADAgreesWithTheOfficialScript(t *testing.T) {
	var questions []Question
	for _, article := range golden[struct {
		Data []struct {
			Paragraphs []struct {
				QAs []struct {
					ID      string
					Answers []struct{ Text string }
				}
			}
		}
	}](t, "squad/dataset.json").Data {
		for _, p := range article.Paragraphs {
			for _, qa := range p.QAs {
				q := Question{ID: qa.ID}
				for _, a := range qa.Answers {
					q.Answers = append(q.Answers, a.Text)
				}
				questions = append(questions, q)
			}
		}
	}
	for _, run := range golden[struct {
		Evaluations []struct {
			Name     string
			Removed  []string `json:"removed_prediction_ids"`
			Max      int      `json:"max_examples"`
			Expected struct {
				ExactMatch float64 `json:"exact_match"`
				F1         float64
			}
		}
	}](t, "squad/expected.json").Evaluations {
		predictions := golden[map[string]string](t, "squad/predictions.json")
		for _, id := range run.Removed {
			delete(predictions, id)
		}
		score := must(ScoreSQuAD(questions, predictions, run.Max))
		want := []Value{{Name: "f1", Value: run.Expected.F1, Unit: "%"}, {Name: "exact_match", Value: run.Expected.ExactMatch, Unit: "%"}}
		if diff := cmp.Diff(want, score.Values, append(near, cmpopts.IgnoreFields(Value{}, "Resampled"))...); diff != "" {
			t.Errorf("%s (-want +got):\n%s", run.Name, diff)
		}
		if (len(run.Removed) > 0) != (len(score.Warnings) > 0) {
			t.Errorf("%s: %d questions without prediction, warnings %q", run.Name, len(run.Removed), score.Warnings)
		}
	}
	for _, c := range golden[struct {
		Cases []struct {
			ID, Name, Prediction string
			Answers              []string
			NormalizedPrediction string `json:"normalized_prediction"`
			ExactMatch           bool   `json:"exact_match"`
			F1                   float64
		}
	}](t, "squad/per_question.json").Cases {
		if got := strings.Join(answerWords(c.Prediction), " "); got != c.NormalizedPrediction {
			t.Errorf("%s: normalised %q, want %q", c.Name, got, c.NormalizedPrediction)
		}
		got := must(ScoreSQuAD([]Question{{"1", c.Answers}}, map[string]string{"1": c.Prediction}, 0)).Values
		if f1, same := got[0].Value/100, got[1].Value == 100; same != c.ExactMatch || math.Abs(f1-c.F1) > 1e-9 {
			t.Errorf("%s: exact %t, F1 %v, want %t and %v", c.Name, same, f1, c.ExactMatch, c.F1)
		}
	}
}

func TestScoreSQuADErrors(t *testing.T) {
	_, err := ScoreSQuAD([]Question{{"a", []string{"one"}}, {ID: "b"}}, map[string]string{"a": "one", "b": "two"}, 0)
	wantError(t, err, "question b has no answer to compare with")
	_, err = ScoreSQuAD(nil, nil, 0)
	wantError(t, err, "no questions")
}

// What evaluate_v1.1.py makes of these.
func TestAnswerWords(t *testing.T) {
	for text, want := range map[string]string{
		"the-end":        "theend", // marks go before articles are looked for
		"“the” quoted":   "“ ” quoted",
		"50% of $1,000":  "50 of 1000",
		"the\u00a0cat":   "cat",
		"the the the":    "",
		"_a_":            "",
		"a\u0301 accent": "\u0301 accent", // a character that is not of a word ends one
		"an_article":     "anarticle",
		"İstanbul":       "i̇stanbul",
		"thé":            "thé",
		"the\u200bend":   "\u200bend",
	} {
		if got := strings.Join(answerWords(text), " "); got != want {
			t.Errorf("%q is compared as %q, want %q", text, got, want)
		}
	}
}

func TestReadSpanLogits(t *testing.T) {
	var got [][]float64
	read := func(window int, starts, ends []float64) {
		got = append(got, append(append([]float64{float64(window)}, starts...), ends...))
	}
	log := formatLog([]Record{{QSLIndex: 1, Data: []byte{1, 2, 3, 4}}, {QSLIndex: 1, Data: []byte{5, 6}}})
	c := must(ReadSpanLogits(text(log), 2, 2, SpanOptions{DType: int8s}, read))
	must(ReadSpanLogits(text(log), 2, 2, SpanOptions{DType: int8s, Transposed: true}, read))
	want := [][]float64{{1, 1, 3, 2, 4}, {1, 5, -10000, 6, -10000}, {1, 1, 2, 3, 4}, {1, 5, -10000, 6, -10000}}
	if diff := cmp.Diff(want, got); diff != "" || c != (Coverage{Samples: 2, Scored: 1, Repeated: 1}) {
		t.Errorf("coverage %+v; window, starts, ends (-want +got):\n%s", c, diff)
	}
	for _, test := range []struct {
		name, want string
		data       []byte
	}{
		{"NaN", "a logit of place 0 is not a number", floats(1, float32(math.NaN()))},
		{"a start without an end", "odd number of logits", floats(1)},
		{"more places than a window has", "3 pairs of logits, expected at most 2", floats(1, 1, 1, 1, 1, 1)},
		{"half a logit", "does not consist of float32", []byte{0, 0}},
	} {
		t.Run(test.name, func(t *testing.T) {
			_, err := ReadSpanLogits(logOf(test.data), 1, 2, SpanOptions{}, read)
			wantError(t, err, "test.json: record 0 (qsl_idx 0)", test.want)
		})
	}
	_, err := ReadSpanLogits(logOf(nil, nil), 1, 2, SpanOptions{}, read)
	wantError(t, err, "record 1 (qsl_idx 1): the data set has only 1 windows")
	_, err = ReadSpanLogits(logOf(), 1, 2, SpanOptions{}, read)
	wantError(t, err, "the log has no record")
}
