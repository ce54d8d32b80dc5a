package accuracy

import (
	"encoding/json"
	"fmt"
	"math"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
)

func TestSQuADIsTheOfficialScripts(t *testing.T) {
	var file struct {
		Data []struct {
			Paragraphs []struct {
				QAs []struct {
					ID      string
					Answers []struct{ Text string }
				}
			}
		}
	}
	if err := json.Unmarshal(readTestdata(t, "squad/dataset.json"), &file); err != nil {
		t.Fatal(err)
	}
	var questions []Question
	for _, article := range file.Data {
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
	golden := decodeTestdata[struct {
		Evaluations []struct {
			Name     string
			Removed  []string `json:"removed_prediction_ids"`
			Max      int      `json:"max_examples"`
			Expected struct {
				ExactMatch float64 `json:"exact_match"`
				F1         float64
			}
		}
	}](t, "squad/expected.json")
	for _, run := range golden.Evaluations {
		predictions := decodeTestdata[map[string]string](t, "squad/predictions.json")
		for _, id := range run.Removed {
			delete(predictions, id)
		}
		score, err := ScoreSQuAD(questions, predictions, run.Max)
		if err != nil {
			t.Fatalf("%s: %v", run.Name, err)
		}
		want := []Value{{Name: "f1", Value: run.Expected.F1, Unit: "%"}, {Name: "exact_match", Value: run.Expected.ExactMatch, Unit: "%"}}
		if diff := cmp.Diff(want, score.Values, near, cmpopts.IgnoreFields(Value{}, "Resampled")); diff != "" {
			t.Errorf("%s (-want +got):\n%s", run.Name, diff)
		}
		if len(run.Removed) > 0 && (score.Unanswered == 0 || len(score.Warnings) == 0) {
			t.Errorf("%s: no word of the %d questions without prediction", run.Name, len(run.Removed))
		}
	}
	perQuestion := decodeTestdata[struct {
		Cases []struct {
			ID, Name, Prediction string
			Answers              []string
			NormalizedPrediction string   `json:"normalized_prediction"`
			NormalizedAnswers    []string `json:"normalized_answers"`
			ExactMatch           bool     `json:"exact_match"`
			F1                   float64
		}
	}](t, "squad/per_question.json")
	for _, c := range perQuestion.Cases {
		if got := strings.Join(answerWords(c.Prediction), " "); got != c.NormalizedPrediction {
			t.Errorf("%s: normalised %q, want %q", c.Name, got, c.NormalizedPrediction)
		}
		same, f1 := bestAnswer(c.Prediction, c.Answers)
		if same != c.ExactMatch || math.Abs(f1-c.F1) > 1e-9 {
			t.Errorf("%s: exact %t, F1 %v, want %t and %v", c.Name, same, f1, c.ExactMatch, c.F1)
		}
	}
}

func TestLogitsThatAreNoneNameTheRecord(t *testing.T) {
	const nan, one = "0000C07F", "0000803F"
	for _, test := range []struct{ name, data, want string }{
		{"a logit that is NaN", one + nan, "a logit of place 0 is not a number"},
		{"a start without an end", one, "odd number of logits"},
		{"more places than a window has", strings.Repeat(one, 6), "3 pairs of logits, want at most 2"},
		{"half a logit", "0000", "does not consist of float32"},
	} {
		log := Named("log", strings.NewReader(`[{"seq_id":0,"qsl_idx":0,"data":"`+test.data+`"}]`))
		_, err := ReadSpanLogits(log, 1, 2, SpanOptions{}, func(int, []float64, []float64) {})
		if err == nil || !strings.Contains(err.Error(), test.want) || !strings.Contains(err.Error(), "log: record 0 (qsl_idx 0)") {
			t.Errorf("%s: error %v, want %q", test.name, err, test.want)
		}
	}
}

func FuzzSpanLogits(f *testing.F) {
	f.Add([]byte("\x00\x00\x80\x3f\x00\x00\xc0\x7f"), true)
	f.Fuzz(func(t *testing.T, data []byte, transposed bool) {
		text := fmt.Sprintf(`[{"seq_id":0,"qsl_idx":0,"data":"%X"}]`, data)
		for _, dtype := range []DType{Int8, Int16, Int32, Int64, Float16, Float32, Float64} {
			c, err := ReadSpanLogits(Named("log", strings.NewReader(text)), 1, 8, SpanOptions{dtype, transposed}, func(_ int, starts, ends []float64) {
				for i := range starts {
					if starts[i] != starts[i] || ends[i] != ends[i] {
						t.Errorf("%s: logit %d is not a number", dtype, i)
					}
				}
			})
			if err == nil && (len(data)%(2*dtype.size()) != 0 || c != (Coverage{Samples: 1, Scored: 1})) {
				t.Errorf("%s: took %d bytes", dtype, len(data))
			}
		}
	})
}

func BenchmarkSQuAD(b *testing.B) {
	const n = 3000
	questions, predictions := make([]Question, n), make(map[string]string)
	for i := range questions {
		id, said := fmt.Sprint(i), fmt.Sprintf("The answer, number %d of a list that goes on", i)
		questions[i] = Question{ID: id, Answers: []string{said + ".", fmt.Sprint("number ", i), said}}
		predictions[id] = said
	}
	for b.Loop() {
		if _, err := ScoreSQuAD(questions, predictions, 0); err != nil {
			b.Fatal(err)
		}
	}
	b.ReportMetric(float64(n*b.N)/b.Elapsed().Seconds(), "questions/s")
}
