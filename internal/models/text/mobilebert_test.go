package text

import (
	"testing"

	"github.com/mlperf-go/mlperf/internal/backend"
	"github.com/mlperf-go/mlperf/internal/models/workload"
)

func TestMobileBERTAnswersAllStartsAndThenAllEnds(t *testing.T) {
	ports := officialPorts()
	setup := workload.Setup{DatasetDir: "testdata/bert", Ports: map[string]workload.Ports{workload.Only: ports}}
	var got [2]replies
	for i, model := range []workload.Model{bert(), mobileBERT()} {
		w, err := model.Open(setup)
		if err != nil {
			t.Fatal(err)
		}
		s := &fakeSpans{info: backend.Info{Inputs: ports.Inputs, Outputs: ports.Outputs}}
		if got[i], err = answer(t, w, s, 2, 0, 1); err != nil {
			t.Fatal(err)
		}
	}
	for k := range got[0] {
		pairs, apart := floats(got[0][k]), floats(got[1][k])
		for p := range windowLength {
			if apart[p] != pairs[2*p] || apart[windowLength+p] != pairs[2*p+1] {
				t.Fatalf("window %d, place %d: %v and %v, want %v", k, p, apart[p], apart[windowLength+p], pairs[2*p:2*p+2])
			}
		}
	}
}

// A log of the reference with --output_transposed is in the order of MobileBERT.
func TestALogOfMobileBERTHasStartsBeforeEnds(t *testing.T) {
	log := goldenLog(t, "bert/transposed_float16/mlperf_log_accuracy.json")
	score, err := mobileBERT().Score(t.Context(), log, workload.Scoring{DatasetDir: "testdata/bert", Options: workload.Values{dtypeOption: "float16"}})
	if err != nil || score.Lines[0] != `{"exact_match": 57.142857142857146, "f1": 75.52767027556942}` {
		t.Errorf("score %v, %v", score, err)
	}
	if err := mobileBERT().CheckScoreOptions(workload.Values{transposedOption: "true"}); err == nil {
		t.Error("the order of the logits may be chosen")
	}
}
