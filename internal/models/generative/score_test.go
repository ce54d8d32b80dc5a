package generative

import (
	"encoding/hex"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/mlperf-go/mlperf/internal/accuracy"
	"github.com/mlperf-go/mlperf/internal/models/decode"
	"github.com/mlperf-go/mlperf/internal/models/workload"
	"github.com/mlperf-go/mlperf/internal/userinput"
)

// scoreDir is a folder of a data set: prompts, and a tokenizer of bytes.
func scoreDir(t *testing.T, file, prompts string) string {
	t.Helper()
	vocab := []string{}
	for b := range 256 {
		vocab = append(vocab, fmt.Sprintf(`"<0x%02X>":%d`, b, b))
	}
	tokenizer := `{"model":{"type":"BPE","byte_fallback":true,"vocab":{` + strings.Join(vocab, ",") + `}},
		"decoder":{"type":"Sequence","decoders":[{"type":"ByteFallback"},{"type":"Fuse"}]},"added_tokens":[{"id":256,"content":"</s>","special":true}]}`
	dir := t.TempDir()
	for name, text := range map[string]string{file: prompts, tokenizerFile: tokenizer} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

// tokenLog is an accuracy log of texts, whose tokens are their bytes, as int32.
func tokenLog(texts ...string) accuracy.Input {
	records := []string{}
	for i, text := range texts {
		data := ""
		for _, b := range append([]byte(text), 0) {
			data += hex.EncodeToString([]byte{b, 0, 0, 0})
		}
		data = data[:len(data)-8] + "00010000" // the special token at the end
		records = append(records, `{"qsl_idx":`+string(rune('0'+i))+`,"data":"`+data+`"}`)
	}
	return accuracy.Named("log", strings.NewReader("["+strings.Join(records, ",")+"]"))
}

func TestLongTextScore(t *testing.T) {
	dir := scoreDir(t, "llama3.1_405b.json", `[{"tok_input":[1],"gt_output":"blue","metric":"qa_em"},{"tok_input":[1],"gt_output":"The cat sat.","metric":"rouge"}]`)
	score, err := llama405B().Score(t.Context(), tokenLog("It is. Answer: blue", "The cat sat."), workload.Scoring{DatasetDir: dir})
	if err != nil {
		t.Fatal(err)
	}
	if want := "\nResults\n\n{'exact_match': 100.0, 'rougeL': 100.0, 'gen_len': 31, 'gen_num': 2, 'gen_tok_len': 33, 'tokens_per_sample': 16.5}\n"; score.Text() != want {
		t.Errorf("printed %q, want %q", score.Text(), want)
	}
	dir = scoreDir(t, "llama3.1_405b.json", `[{"tok_input":[1],"gt_output":"x"}]`)
	if _, err := llama405B().Score(t.Context(), tokenLog("x"), workload.Scoring{DatasetDir: dir}); err == nil || !strings.Contains(err.Error(), "line 1, column metric") {
		t.Errorf("no metric: %v", err)
	}
}

const mixedPrompts = `[{"tok_input":[1],"dataset":"GSM8K","id":"g","gt_output":"42"},
	{"tok_input":[1],"dataset":"MBXP","id":"python_f","gt_output":"\ndef check(f):\n    assert f() == 2\n"}]`

func TestExecuteCode(t *testing.T) {
	t.Parallel()
	if _, err := exec.LookPath("python3"); err != nil {
		t.Skip("python3 is not installed")
	}
	dir := scoreDir(t, "mixtral.json", mixedPrompts)
	for _, c := range []struct {
		program, execute, want string
	}{
		{"def f(): return 2\n```", "true", "'gsm8k': 100.0, 'mbxp': 100.0, "},
		{"def f(): return 3\n```", "true", "'gsm8k': 100.0, 'mbxp': 0.0, "},
		{"def f(): return 2\n```", "false", "{'gsm8k': 100.0, 'gen_len'"},
	} {
		score, err := mixtral().Score(t.Context(), tokenLog("The answer is 42.", c.program), workload.Scoring{DatasetDir: dir, Options: workload.Values{executeOption: c.execute}})
		if err != nil {
			t.Fatal(err)
		}
		if !strings.Contains(score.Text(), c.want) || len(score.Warnings) == 0 {
			t.Errorf("%q, --%s %s: printed %q with warnings %q, want %q", c.program, executeOption, c.execute, score.Text(), score.Warnings, c.want)
		}
	}
}

const reasonedPrompts = `[{"tok_input":[1],"dataset":"gpqa","ground_truth":"B"},
	{"tok_input":[1],"dataset":"livecodebench","ground_truth":"sum"},
	{"tok_input":[1],"dataset":"livecodebench","ground_truth":"elsewhere"}]`

const sumProblem = `{"question_id": "sum", "public_test_cases": "[{\"input\": \"1 2\\n\", \"output\": \"3\\n\", \"testtype\": \"stdin\"}]", "private_test_cases": "[]", "metadata": "{}"}` + "\n"

func TestLiveCodeBenchScore(t *testing.T) {
	t.Parallel()
	if _, err := exec.LookPath("python3"); err != nil {
		t.Skip("python3 is not installed")
	}
	dir := scoreDir(t, "deepseek.json", reasonedPrompts)
	beside := filepath.Join(t.TempDir(), "own")
	if err := os.Mkdir(beside, 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(beside, "test.jsonl"), []byte(sumProblem), 0o600); err != nil {
		t.Fatal(err)
	}
	read := readReasoning("deepseek.json")
	w := benchmark{rules: decode.Rules{Width: 4}, read: read, scorer: reasoning(accuracy.DeepSeekForm, 1)}
	right, wrong := "```python\nprint(sum(map(int, input().split())))\n```", "```python\nprint(4)\n```"
	for _, c := range []struct {
		name     string
		program  string
		options  workload.Values
		want     string
		warnings []string
	}{
		{"right", right, workload.Values{executeOption: "true", liveOption: beside}, "'exact_match': 66.66", []string{`no problem "elsewhere": 1 answers`, "were executed"}},
		{"wrong", wrong, workload.Values{executeOption: "true", liveOption: beside}, "'exact_match': 33.33", []string{`no problem "elsewhere"`, "were executed"}},
		{"not run", right, nil, "'exact_match': 33.33", []string{"the programs of 2 answers"}},
	} {
		score, err := w.score(t.Context(), tokenLog("ANSWER: B", c.program, right), workload.Scoring{DatasetDir: dir, Options: c.options})
		if err != nil {
			t.Fatal(err)
		}
		if !strings.Contains(score.Text(), c.want) || len(score.Warnings) != len(c.warnings) {
			t.Errorf("%s: printed %q with warnings %q, want %q", c.name, score.Text(), score.Warnings, c.want)
			continue
		}
		for i, want := range c.warnings {
			if !strings.Contains(score.Warnings[i], want) {
				t.Errorf("%s: warning %q, want %q", c.name, score.Warnings[i], want)
			}
		}
	}
	var told []int
	progress := func(done, of int) { told = append(told, done, of) }
	if _, err := w.score(t.Context(), tokenLog("ANSWER: B", right, right), workload.Scoring{DatasetDir: dir, Options: workload.Values{executeOption: "true", liveOption: beside}, Progress: progress}); err != nil {
		t.Fatal(err)
	}
	if len(told) < 4 || told[0] != 0 || told[1] != 3 { // before the tests are found
		t.Errorf("progress is %v, want 0 of 3 at first", told)
	}
	var of *userinput.Error
	_, err := w.score(t.Context(), tokenLog("x", right, right), workload.Scoring{DatasetDir: dir, Options: workload.Values{executeOption: "true"}})
	if !errors.As(err, &of) || of.Field != liveOption || !strings.Contains(err.Error(), filepath.Join(filepath.Dir(dir), "livecodebench", "test.jsonl")) {
		t.Errorf("without tests: %v", err)
	}
}
