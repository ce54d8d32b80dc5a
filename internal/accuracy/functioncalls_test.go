package accuracy

import (
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"path/filepath"
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

	// The same as the client logs it: some answers lack, one comes twice, and one is of another phase.
	var events strings.Builder
	indices, dir := map[string]int{}, t.TempDir()
	for i, c := range cases {
		id := fmt.Sprintf("u%d", i)
		indices[id] = i
		if i%7 == 0 {
			continue
		}
		data, _ := json.Marshal([]any{"TextModelOutput", []string{c.Output}})
		fmt.Fprintf(&events, `{"event_type":"sample.issued","sample_uuid":%q,"data":null}`+"\n", id)
		for range 1 + i%2 {
			fmt.Fprintf(&events, `{"event_type":"sample.complete","sample_uuid":%q,"data":%s}`+"\n", id, data)
		}
	}
	events.WriteString(`{"event_type":"sample.complete","sample_uuid":"other","data":null}` + "\n")
	phases, _ := json.Marshal(map[string]any{"performance": map[string]int{"other": 0}, "bfcl_v4::function_calling": indices})
	testenv.Must(t, os.WriteFile(filepath.Join(dir, "sample_idx_map.json"), phases, 0o644))
	log := func(text string) Input { return Named(filepath.Join(dir, "events.jsonl"), strings.NewReader(text)) }
	score, err := ScoreCalls(log(events.String()), questions, 0)
	testenv.Must(t, err)
	var b Breakdown
	testenv.Must(t, json.Unmarshal(golden["missing"].Breakdown, &b))
	if d := cmp.Diff(&b, score.Breakdown); d != "" {
		t.Errorf("events: %s", d)
	}
	for text, want := range map[string]string{
		"{\n": "events.jsonl:1", `{"event_type":"sample.complete","sample_uuid":"u1","data":[1]}`: "events.jsonl:1 … TextModelOutput",
	} {
		if _, err := ScoreCalls(log(text), questions, 0); !testenv.Names(err, want) {
			t.Errorf("%s: %v, want %s", text, err, want)
		}
	}
	if _, err := ScoreCalls(Named(filepath.Join(t.TempDir(), "events.jsonl"), strings.NewReader("{}")), questions, 0); !testenv.Names(err, "sample_idx_map.json") {
		t.Error(err)
	}
}
