package accuracy

import (
	"encoding/hex"
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// said is a log in which token n of sample i says what a table has.
func said(t *testing.T, texts []string) (Input, Decoder) {
	t.Helper()
	var records []string
	for i := range texts {
		records = append(records, fmt.Sprintf(`{"seq_id": %d, "qsl_idx": %d, "data": %q}`, i, i, hex.EncodeToString([]byte{byte(i), 0, 0, 0, 99, 0, 0, 0})))
	}
	return Named("log", strings.NewReader("["+strings.Join(records, ",")+"]")), func(ids []int32) (string, error) { return texts[ids[0]], nil }
}

var reasonedTexts = []string{"FINAL ANSWER: B", "ANSWER: C", "ANSWER: J", `so \boxed{\frac12}`, `\boxed{3}`, `\boxed{025}`, "```python\npass\n```"}

var reasonedWanted = []Reasoning{{"gpqa", "B"}, {"gpqa", "D"}, {"mmlu_pro", "J"}, {"math500", "0.5"}, {"math500", ""}, {"aime1983", "25"}, {"livecodebench", "abc301_a"}}

func TestReasoningIsScoredByDataSet(t *testing.T) {
	log, decode := said(t, reasonedTexts)
	s, err := ScoreReasoning(t.Context(), log, reasonedWanted, decode, DeepSeekForm, TokenOptions{DType: Int32})
	if err != nil {
		t.Fatal(err)
	}
	want := []string{"", "Results", "", "{'exact_match': 57.142857142857146, 'tokens_per_sample': 2.0, 'num-samples': 7}"}
	if diff := cmp.Diff(want, s.Lines); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if v, _ := s.Lookup("exact_match"); v.Value < 57.14 || v.Value > 57.15 || len(s.Warnings) != 1 || !strings.Contains(s.Warnings[0], "1 answers to LiveCodeBench were not run") || s.Right != nil {
		t.Errorf("%+v", s)
	}
	log, decode = said(t, reasonedTexts[:6])
	s, err = ScoreReasoning(t.Context(), log, reasonedWanted[:6], decode, DeepSeekForm, TokenOptions{DType: Int32})
	if err != nil || len(s.Warnings) != 0 || cmp.Diff([]byte{0b101101}, s.Right) != "" {
		t.Errorf("without programs: %v, %+v", err, s)
	}
}

// A question that is asked five times counts a fifth each time.
func TestRepeatsCountOnceTogether(t *testing.T) {
	log, decode := said(t, []string{"B", "<|channel|>final<|message|>**A**", `\boxed{7}`})
	s, err := ScoreReasoning(t.Context(), log, []Reasoning{{"gpqa_diamond", "a"}, {"gpqa_diamond", "A"}, {"aime25", "8"}}, decode, HarmonyForm, TokenOptions{DType: Int32})
	if err != nil {
		t.Fatal(err)
	}
	want, err := os.ReadFile("testdata/gptoss_table.txt") // make_gptoss_table.py
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), strings.Join(s.Lines, "\n")+"\n"); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestAnUnknownDataSetIsNoScore(t *testing.T) {
	log, decode := said(t, []string{"B"})
	if _, err := ScoreReasoning(t.Context(), log, []Reasoning{{"trivia", "B"}}, decode, DeepSeekForm, TokenOptions{DType: Int32}); err == nil || !strings.Contains(err.Error(), `"trivia"`) {
		t.Errorf("error %v", err)
	}
	log, _ = said(t, []string{"B"})
	if _, err := ScoreReasoning(t.Context(), log, reasonedWanted, nil, DeepSeekForm, TokenOptions{}); err == nil {
		t.Error("there is no tokenizer, and a score")
	}
}
