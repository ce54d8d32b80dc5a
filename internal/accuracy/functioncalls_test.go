package accuracy

import (
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"strings"
	"testing"

	"github.com/go-json-experiment/json/jsontext"
	"github.com/google/go-cmp/cmp"

	"github.com/mlperf-go/mlperf/internal/accuracy/bfcl"
	"github.com/mlperf-go/mlperf/internal/testenv"
)

// The sums of the official scorer, and the lines that its client logs and writes: of all answers, and of a log that lacks some.
func TestCallsAddUp(t *testing.T) {
	var cases []struct {
		Subset, ID, Output string
		Function           jsontext.Value
		Truth              jsontext.Value `json:"ground_truth"`
	}
	var golden map[string]struct {
		Score     float64
		Breakdown jsontext.Value
	}
	for name, into := range map[string]any{"cases.json": &cases, "breakdown.json": &golden} {
		data, err := os.ReadFile("bfcl/testdata/" + name)
		if err == nil {
			err = json.Unmarshal(data, into)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	var questions []bfcl.Question
	for _, c := range cases {
		q, err := bfcl.NewQuestion(c.ID, c.Subset, c.Function, c.Truth)
		if err != nil {
			t.Fatal(err)
		}
		questions = append(questions, q)
	}
	for name, leftOut := range map[string]int{"all": 0, "missing": 7} {
		var records []string
		for i, c := range cases {
			if leftOut == 0 || i%leftOut != 0 {
				records = append(records, fmt.Sprintf(`{"seq_id":%d,"qsl_idx":%d,"data":"%X"}`, i, i, c.Output))
			}
		}
		log := "[" + strings.Join(records, ",\n") + "]"
		score, err := ScoreCalls(Named("log", strings.NewReader(log)), questions, 0)
		if err != nil {
			t.Fatal(err)
		}
		want := golden[name]
		var b Breakdown
		if err := json.Unmarshal(want.Breakdown, &b); err != nil {
			t.Fatal(err)
		}
		if d := cmp.Diff(&b, score.Breakdown); d != "" {
			t.Errorf("%s: %s", name, d)
		}
		_, printed, _ := strings.Cut(score.Text(), "\n")
		var lines Breakdown
		if err := json.Unmarshal([]byte(printed), &lines); err != nil || !maps.Equal(lines.Subsets, b.Subsets) || lines.Overall != b.Overall {
			t.Errorf("%s: %v\n%s", name, err, printed)
		}
		if first := fmt.Sprintf("Score for bfcl_v4::function_calling: %v (1 repeats, complete=True)", want.Score); score.Lines[0] != first {
			t.Errorf("%s: %s, want %s", name, score.Lines[0], first)
		}
	}
	if _, err := ScoreCalls(Named("log", strings.NewReader("[]")), questions, 0); !testenv.Names(err, "no record") {
		t.Error(err)
	}
}
