package endpoints

import (
	"bytes"
	"encoding/json"
	"testing"

	"github.com/mlperf-go/mlperf/internal/report"
)

// Calls of functions have their breakdown, a score of all digits, and behind them the inline score of the conversations.
func TestScoresOfCalls(t *testing.T) {
	r := &report.Results{Rules: "v6.1", Accuracy: &report.Accuracy{Metric: "overall_accuracy", Value: 66.67, Unit: "%", Samples: 3, Right: []byte{0b101},
		Breakdown: &report.Breakdown{Overall: 66.67, Subsets: map[string]float64{"multiple": 66.67}, Completed: 3, Issued: 3}}}
	var b bytes.Buffer
	if err := WriteScores(&b, "qwen3.6-27b", r, &report.Replay{Score: 0.6335, Issued: 1007, Compared: 1006}, nil); err != nil {
		t.Fatal(err)
	}
	var got struct {
		Average float64 `json:"average_accuracy"`
		Scores  []struct {
			Name      string `json:"dataset_name"`
			Type      string `json:"dataset_type"`
			Score     float64
			Breakdown map[string]any
			Samples   int `json:"total_samples"`
		} `json:"accuracy_scores"`
	}
	if err := json.Unmarshal(b.Bytes(), &got); err != nil || len(got.Scores) != 2 {
		t.Fatalf("%v: %s", err, b.Bytes())
	}
	calls, inline := got.Scores[0], got.Scores[1]
	if calls.Name != "bfcl_v4::function_calling" || calls.Score != 2.0/3 || calls.Breakdown["overall_accuracy"] != 66.67 || calls.Samples != 3 || got.Average != 2.0/3 {
		t.Errorf("%+v, average %v", calls, got.Average)
	}
	if inline.Name != "performance" || inline.Type != "performance" || inline.Score != 0.6335 || inline.Samples != 1007 || inline.Breakdown != nil {
		t.Errorf("%+v", inline)
	}
}
