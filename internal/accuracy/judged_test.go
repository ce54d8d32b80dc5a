package accuracy

import (
	"os"
	"strings"
	"testing"

	"github.com/go-json-experiment/json"
	"github.com/google/go-cmp/cmp"

	"github.com/mlperf-go/mlperf/internal/testenv"
)

// judged.json has what the official scripts made of replies and of lists of pages.
func TestJudgedAsReference(t *testing.T) {
	data, err := os.ReadFile("testdata/judged/judged.json")
	testenv.Must(t, err)
	var golden struct {
		Retrieval []struct {
			Expected  []string           `json:"expected"`
			Retrieved []string           `json:"retrieved"`
			Pipeline  map[string]float64 `json:"pipeline"`
			Eval      struct {
				Precision float64 `json:"precision"`
				Recall    float64 `json:"recall"`
				F1        float64 `json:"f1"`
			} `json:"accuracy_eval"`
		} `json:"retrieval"`
		Replies []struct {
			Reply  string `json:"reply"`
			Counts int    `json:"counts"`
		} `json:"replies"`
	}
	testenv.Must(t, json.Unmarshal(data, &golden))
	for _, c := range golden.Retrieval {
		if got := RetrievalOf(c.Expected, c.Retrieved); !cmp.Equal(got, c.Pipeline) {
			t.Errorf("%q in %q: %v, want %v", c.Expected, c.Retrieved, got, c.Pipeline)
		}
		if got := OverlapOf(c.Retrieved, c.Expected); got != Overlap(c.Eval) {
			t.Errorf("%q in %q: %v, want %v", c.Expected, c.Retrieved, got, c.Eval)
		}
	}
	for _, c := range golden.Replies {
		if got := VerdictOf(c.Reply); got.Right != (c.Counts == 1) {
			t.Errorf("%q: %+v, want %d", c.Reply, got, c.Counts)
		}
	}
	if len(golden.Retrieval) < 3 || len(golden.Replies) < 10 {
		t.Error("golden values are missing")
	}
}

func TestJudgedByTrueAlone(t *testing.T) {
	list := []Judged{
		{Index: 0, Reply: `{"correct": true}`}, {Index: 1, Reply: `{"correct": "false"}`}, {Index: 2, Reply: "no"}, {Index: 3, Reply: `{"correct": false}`},
	}
	s, err := ScoreJudged(list, Coverage{Samples: 4, Scored: 4})
	testenv.Must(t, err)
	official, _ := s.Lookup(JudgedAnswers)
	sure, _ := s.Lookup(TrueAnswers)
	if official.Value != 50 || sure.Value != 25 || s.Text() != "Accuracy: 50.0000\n" || s.Right[0] != 0b11 {
		t.Errorf("%v, %v, %q, %b", official, sure, s.Text(), s.Right)
	}
	if all := strings.Join(s.Warnings, "\n"); !strings.Contains(all, `1 replies`) || !strings.Contains(all, "25 %") {
		t.Errorf("warnings %s", all)
	}
}
