package accuracy

import (
	"context"
	"errors"
	"math"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/mlperf-go/mlperf/internal/testenv"
)

// answers is a log of texts, each of two tokens, and its decoder.
func answers(texts []string) (Input, Decoder) {
	var payloads [][]byte
	for i := range texts {
		payloads = append(payloads, []byte{byte(i), 0, 0, 0, 99, 0, 0, 0})
	}
	return logOf(payloads...), func(ids []int32) (string, error) { return texts[ids[0]], nil }
}

var reasoningTexts = []string{"FINAL ANSWER: B", "ANSWER: C", "ANSWER: J", `so \boxed{\frac12}`, `\boxed{3}`, `\boxed{025}`, "```python\npass\n```"}

var reasoningWanted = []Reasoning{{"gpqa", "B"}, {"gpqa", "D"}, {"mmlu_pro", "J"}, {"math500", "0.5"}, {"math500", ""}, {"aime1983", "25"}, {"livecodebench", "abc301_a"}}

func TestScoreReasoning(t *testing.T) {
	log, decode := answers(reasoningTexts)
	s, err := ScoreReasoning(t.Context(), log, reasoningWanted, decode, DeepSeekForm, ProgramOptions{DType: Int32})
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
	log, decode = answers(reasoningTexts[:6])
	s, err = ScoreReasoning(t.Context(), log, reasoningWanted[:6], decode, DeepSeekForm, ProgramOptions{DType: Int32})
	if err != nil || len(s.Warnings) != 0 || cmp.Diff([]byte{0b101101}, s.Right) != "" {
		t.Errorf("without programs: %v, %+v", err, s)
	}
}

// A question that is asked five times counts a fifth each time.
func TestRepeatsAgreeWithTheOfficialScript(t *testing.T) {
	log, decode := answers([]string{"B", "<|channel|>final<|message|>**A**", `\boxed{7}`})
	s, err := ScoreReasoning(t.Context(), log, []Reasoning{{"gpqa_diamond", "a"}, {"gpqa_diamond", "A"}, {"aime25", "8"}}, decode, HarmonyForm, ProgramOptions{DType: Int32})
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

func TestPrograms(t *testing.T) {
	fence := func(code string) string { return "```python\n" + code + "\n```" }
	texts := []string{fence("right"), "ANSWER: B", fence("wrong"), "no program", fence("draft") + fence("right")}
	wanted := []Reasoning{{"livecodebench", "abc301_a"}, {"gpqa", "B"}, {"livecodebench_v6", "abc301_b"}, {"livecodebench_v6", "2727"}, {"livecodebench_v6", "abc301_c"}}
	for _, c := range []struct {
		form  ReasoningForm
		exact float64
		right byte
		asked []string
	}{
		{DeepSeekForm, 40, 0b00011, []string{"2727:", "abc301_a:right", "abc301_b:wrong", "abc301_c:draft"}},
		{HarmonyForm, (1 + 1 + 1.0/3) / 3 * 100, 0b10011, []string{"2727:", "abc301_a:right", "abc301_b:wrong", "abc301_c:right"}},
	} {
		log, decode := answers(texts)
		var mu sync.Mutex
		var asked []string
		var told []int
		o := ProgramOptions{DType: Int32, Progress: func(done, of int) { told = append(told, done, of) },
			Execute: func(_ context.Context, p Program) (bool, error) {
				mu.Lock()
				defer mu.Unlock()
				asked = append(asked, p.ID+":"+p.Code)
				return p.Code == "right" && p.Language == "python", nil
			}}
		s, err := ScoreReasoning(t.Context(), log, wanted, decode, c.form, o)
		if err != nil {
			t.Fatal(err)
		}
		slices.Sort(asked)
		if diff := cmp.Diff(c.asked, asked); diff != "" {
			t.Errorf("form %d: programs that were run (-want +got):\n%s", c.form, diff)
		}
		if v, _ := s.Lookup("exact_match"); math.Abs(v.Value-c.exact) > 1e-9 || !slices.Equal(s.Right, []byte{c.right}) || len(s.Warnings) > 0 {
			t.Errorf("form %d: %v of %v, right %b, want %b; warnings %q", c.form, v.Value, c.exact, s.Right, c.right, s.Warnings)
		}
		if !slices.Equal(told, []int{1, 4, 2, 4, 3, 4, 4, 4}) {
			t.Errorf("progress was %v", told)
		}
	}
}

func TestScoreReasoningErrors(t *testing.T) {
	log, decode := answers(reasoningTexts)
	o := ProgramOptions{DType: Int32, Execute: func(context.Context, Program) (bool, error) { return false, errors.New("no python") }}
	if _, err := ScoreReasoning(t.Context(), log, reasoningWanted, decode, DeepSeekForm, o); !testenv.Names(err, "executing the answer to abc301_a: no python") {
		t.Errorf("error %v", err)
	}
	ctx, cancel := context.WithCancelCause(t.Context())
	cancel(errors.New("enough"))
	log, _ = answers(reasoningTexts)
	if _, err := ScoreReasoning(ctx, log, reasoningWanted, decode, DeepSeekForm, o); !testenv.Names(err, "enough") {
		t.Errorf("after the end of its context: %v", err)
	}
	log, decode = answers([]string{"B"})
	if _, err := ScoreReasoning(t.Context(), log, []Reasoning{{"trivia", "B"}}, decode, DeepSeekForm, ProgramOptions{DType: Int32}); err == nil || !strings.Contains(err.Error(), `"trivia"`) {
		t.Errorf("error %v", err)
	}
}
