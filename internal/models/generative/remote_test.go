package generative

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/google/go-cmp/cmp"

	"github.com/mlperf-go/mlperf/internal/accuracy"
	"github.com/mlperf-go/mlperf/internal/backend"
	"github.com/mlperf-go/mlperf/internal/backend/openai"
	"github.com/mlperf-go/mlperf/internal/backend/openai/tokenserver"
	"github.com/mlperf-go/mlperf/internal/backend/openai/tokenserver/tokentest"
	"github.com/mlperf-go/mlperf/internal/models/decode"
	"github.com/mlperf-go/mlperf/internal/models/workload"
)

// promptPredictor opens a workload with a server of tokens.
func promptPredictor(t *testing.T, w *workload.Workload, o tokenserver.Options) (*workload.PromptPredictor, error) {
	t.Helper()
	network := tokentest.Serve(t, tokenserver.New(o))
	e, err := openai.New(openai.Config{URLs: []string{"http://server"}, Dial: network.Dial, Stream: true})
	if err != nil {
		t.Fatal(err)
	}
	s, err := e.Open(t.Context(), backend.Options{Texts: w.Prompts.Texts()})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := errors.Join(s.Close(), e.Close()); err != nil {
			t.Error(err)
		}
	})
	return workload.NewPromptPredictor(workload.Sessions{workload.Only: s}, w.Prompts)
}

// A kept is what a reply was told.
type kept struct {
	first, response []byte
	tokens          int
}

func (k *kept) FirstToken(_ int, token []byte) { k.first = append([]byte{}, token...) }
func (k *kept) Done(_ int, response []byte, tokens int) {
	k.response, k.tokens = append([]byte{}, response...), tokens
}

// summarizer is like llama3.1-8b, with prompts that begin with token 62.
func summarizer() benchmark {
	return benchmark{rules: decode.Rules{Stop: []int32{999}, MinNew: 2, MaxNew: 9, Width: 4}, read: readArticles, scorer: summaries(accuracy.QuotedForm), remote: remoteRules{bos: 62}}
}

const askedArticles = `[{"tok_input": [62, 62, 1, 2, 3], "output": "one two."}]`

func TestServersAnswerWithTokens(t *testing.T) {
	for _, test := range []struct {
		name string
		o    tokenserver.Options
	}{{"ids of the server", tokenserver.Options{}}, {"prompts of text", tokenserver.Options{TextOnly: true}}, {"text only", tokenserver.Options{TextOnly: true, NoExtras: true}}} {
		synctest.Test(t, func(t *testing.T) {
			dir := folderWith(t, map[string]string{"cnn_eval.json": askedArticles, "tokenizer.json": string(tokentest.Tokenizer(t))})
			w, err := summarizer().openRemote(workload.Setup{DatasetDir: dir, Scored: true, Logged: true})
			if err != nil {
				t.Fatal(err)
			}
			p, err := promptPredictor(t, w, test.o)
			if err != nil {
				t.Fatal(err)
			}
			var k kept
			if err := p.Answer(t.Context(), workload.Item{}, &k); err != nil || k.tokens != 9 || len(k.response) != 36 || len(k.first) != 4 || string(k.first) != string(k.response[:4]) {
				t.Errorf("%s: %v, %+v", test.name, err, k)
			}
			if text := w.Prompts.(*remotePrompts).prompts[0].Text; test.o.TextOnly != (text == " token01 token02 token03") {
				t.Errorf("%s: the prompt is %q, the token that servers put before it is not to be in it", test.name, text)
			}
			if m := p.Measured(); test.o.NoExtras != (m.Tokenized == 1) {
				t.Errorf("%s: %d answers were cut into tokens here", test.name, m.Tokenized)
			}
		})
	}
}

func TestWhatNeedsATokenizerSaysSo(t *testing.T) {
	dir := folderWith(t, map[string]string{"cnn_eval.json": askedArticles})
	if _, err := summarizer().openRemote(workload.Setup{DatasetDir: dir, Scored: true}); err == nil || !strings.Contains(err.Error(), "tokenizer") {
		t.Errorf("a test of accuracy: %v", err)
	}
	if _, err := summarizer().openRemote(workload.Setup{DatasetDir: dir, Options: workload.Values{"tokenizer": dir + "/none.json"}}); err == nil || !strings.Contains(err.Error(), "none.json") {
		t.Errorf("a tokenizer that is not there: %v", err)
	}
	synctest.Test(t, func(t *testing.T) {
		w, err := summarizer().openRemote(workload.Setup{DatasetDir: dir})
		if err != nil {
			t.Fatal(err)
		}
		if _, err := promptPredictor(t, w, tokenserver.Options{TextOnly: true}); err == nil || !strings.Contains(err.Error(), "takes no token ids") {
			t.Errorf("a server of text: %v", err)
		}
		p, err := promptPredictor(t, w, tokenserver.Options{})
		if err != nil {
			t.Fatal(err)
		}
		var k kept
		if err := p.Answer(t.Context(), workload.Item{}, &k); err != nil || k.tokens != 9 {
			t.Errorf("a server of token ids needs none: %v, %+v", err, k)
		}
	})
}

func TestAnswersEndWhereTheReferenceEndsThem(t *testing.T) {
	for _, test := range []struct {
		name string
		drop bool
		cut  []int32
		ids  []int32
		want []int32
	}{
		{"nothing ends it", false, nil, []int32{5, 6}, []int32{5, 6}},
		{"the end is a part of it", false, nil, []int32{5, 2, 2, 2}, []int32{5, 2}},
		{"or dropped", true, nil, []int32{5, 2, 2}, []int32{5}},
		{"a program ends behind its fence", true, mbxpEnd, []int32{5, 13, 13940, 28832, 13, 7, 13, 13940, 28832, 13}, []int32{5, 13, 13940, 28832, 13}},
		{"one without a fence at its end", true, mbxpEnd, []int32{5, 13, 2}, []int32{5, 13}},
		{"an answer of nothing", true, mbxpEnd, nil, nil},
		{"an answer of nothing but its end", true, mbxpEnd, []int32{2, 5}, nil},
		{"the end of a program counts only where it is whole", false, mbxpEnd, []int32{13, 13940, 28832, 5}, []int32{13, 13940, 28832, 5}},
		{"behind its end nothing is looked for", false, mbxpEnd, []int32{5, 2, 13, 13940, 28832, 13}, []int32{5, 2}},
	} {
		a := &remotePrompts{data: &promptSet{cuts: map[int][]int32{0: test.cut}}, rules: decode.Rules{Stop: []int32{2}, Drop: test.drop, Width: 8}}
		response, tokens := a.Response(0, backend.Answer{IDs: test.ids, Tokens: len(test.ids)})
		if len(response) != 8*len(test.want) || tokens != len(test.want) || string(response) != string(bytesOf(test.want, 8)) {
			t.Errorf("%s: %d tokens, %x, want %v", test.name, tokens, response, test.want)
		}
	}
}

// Servers that give no ids say how many tokens there were; those that count some which they do not show are believed.
func TestTokensThatNobodySawAreCounted(t *testing.T) {
	a := &remotePrompts{data: &promptSet{}, rules: decode.Rules{Stop: []int32{2}, Width: 4}}
	for _, c := range []struct {
		answer      backend.Answer
		bytes, want int
	}{
		{backend.Answer{Tokens: 5}, 0, 5},
		{backend.Answer{IDs: []int32{7}, Tokens: 5}, 4, 5},
		{backend.Answer{IDs: []int32{7, 8}, Tokens: 5}, 8, 5},
		{backend.Answer{IDs: []int32{7, 2, 8}, Tokens: 5}, 8, 4},
	} {
		if response, tokens := a.Response(0, c.answer); len(response) != c.bytes || tokens != c.want {
			t.Errorf("%+v is kept as %d bytes, %d tokens, want %d and %d", c.answer, len(response), tokens, c.bytes, c.want)
		}
	}
}

func TestFirstTokensAreKeptOnlyWithALog(t *testing.T) {
	dir := folderWith(t, map[string]string{"cnn_eval.json": askedArticles, "tokenizer.json": string(tokentest.Tokenizer(t))})
	for _, logged := range []bool{false, true} {
		w, err := summarizer().openRemote(workload.Setup{DatasetDir: dir, Logged: logged})
		if err != nil {
			t.Fatal(err)
		}
		p := w.Prompts
		ids := p.First(0, []byte("unseen"), []int32{5, 6})
		cut := p.First(0, []byte(" token01"), nil)
		if want := map[bool]string{true: "\x05\x00\x00\x00\x06\x00\x00\x00"}[logged]; string(ids) != want || (len(cut) > 0) != logged {
			t.Errorf("logged %v: of ids %q, of a text %q", logged, ids, cut)
		}
	}
	w, err := summarizer().openRemote(workload.Setup{DatasetDir: folderWith(t, map[string]string{"cnn_eval.json": askedArticles}), Logged: true})
	if err != nil {
		t.Fatal(err)
	}
	if first := w.Prompts.First(0, []byte("a"), nil); len(first) != 0 {
		t.Errorf("without a tokenizer a text is %q", first)
	}
}

func TestNotesOfPromptsSayWhoCounts(t *testing.T) {
	dir := folderWith(t, map[string]string{"cnn_eval.json": askedArticles})
	for _, c := range []struct{ tokenizer, want string }{{"", "no tokenizer: token counts are those of the servers"}, {string(tokentest.Tokenizer(t)), dir + "/tokenizer.json counts tokens"}} {
		if c.tokenizer != "" {
			if err := os.WriteFile(dir+"/tokenizer.json", []byte(c.tokenizer), 0o600); err != nil {
				t.Fatal(err)
			}
		}
		w, err := summarizer().openRemote(workload.Setup{DatasetDir: dir})
		if err != nil {
			t.Fatal(err)
		}
		if notes := w.Notes; len(notes) != 2 || notes[0] != "1 prompts of "+dir+", answers of 2 to 9 tokens at temperature 0" || !strings.HasSuffix(notes[1], c.want) {
			t.Errorf("notes %q, want %q", notes, c.want)
		}
	}
}

// A text that begins with the token that servers put before it would have it twice.
func TestOnlyTheBeginningIsNotSpelled(t *testing.T) {
	dir := folderWith(t, map[string]string{"cnn_eval.json": `[{"tok_input": [62, 1, 62, 2], "output": "x"}, {"tok_input": [1], "output": "x"}]`, "tokenizer.json": string(tokentest.Tokenizer(t))})
	for begin, want := range map[int32][2]string{62: {" token01 token62 token02", " token01"}, 0: {" token62 token01 token62 token02", " token01"}} {
		s := summarizer()
		s.remote.bos = begin
		w, err := s.openRemote(workload.Setup{DatasetDir: dir})
		if err != nil {
			t.Fatal(err)
		}
		for range 2 { // each predictor spells them
			if err := w.Prompts.(*remotePrompts).WithoutIDs(); err != nil {
				t.Fatal(err)
			}
		}
		for i := range want {
			if got := w.Prompts.Prompt(i).Text; got != want[i] {
				t.Errorf("begin %d: prompt %d is %q, want %q", begin, i, got, want[i])
			}
		}
	}
}

func TestMorePromptsThanThereAreAreRefused(t *testing.T) {
	dir := folderWith(t, map[string]string{"cnn_eval.json": askedArticles})
	for count, want := range map[int]string{1: "", 2: "opening the prompts: want 2, " + dir + " has 1"} {
		_, err := summarizer().openRemote(workload.Setup{DatasetDir: dir, Count: count})
		if want == "" && err != nil || want != "" && (err == nil || err.Error() != want) {
			t.Errorf("of %d: error %v, want %q", count, err, want)
		}
	}
}

func TestProgramsAreAskedForWithTheirEnd(t *testing.T) {
	rows := `[{"dataset": "GSM8K", "id": "train.2", "tok_input": [2], "gt_output": "18"}, {"dataset": "MBXP", "id": "cpp_f", "tok_input": [3], "gt_output": "assert"}]`
	m, dir := mixtral().Remote(), folderWith(t, map[string]string{"mixtral.json": rows})
	w, err := m.Open(workload.Setup{DatasetDir: dir})
	if err != nil {
		t.Fatal(err)
	}
	for i, want := range []string{"", "\n```\n"} {
		if p := w.Prompts.Prompt(i); p.Stop != want || p.MinTokens != 2 || p.MaxTokens != 1024 {
			t.Errorf("prompt %d is %+v", i, p)
		}
	}
	if m.Files != nil || len(m.Options) != 2 || m.Options[0].Name != tokenizerOption || m.Options[1].Name != executeOption {
		t.Errorf("there is no file of the model, and %v", m.Options)
	}
}

// The columns are those of the published files.
func TestQuestionsOfReasoningAreRead(t *testing.T) {
	rows := []map[string]any{
		{"dataset": "gpqa", "ground_truth": "B", "question": "q", "text_input": "Which?", "tok_input": []int{0, 5}},
		{"dataset": "aime", "ground_truth": 25, "question": "q", "text_input": "How many?", "tok_input": []int{0, 6}},
	}
	text, err := json.Marshal(rows)
	if err != nil {
		t.Fatal(err)
	}
	file := folderWith(t, map[string]string{"any.json": string(text)}) + "/any.json"
	w, err := deepSeekR1().OpenRemote(workload.Setup{DatasetDir: file})
	if err != nil {
		t.Fatal(err)
	}
	p := w.Prompts
	want := &backend.Prompt{IDs: []int32{0, 6}, Messages: []backend.Message{{Role: "user", Content: "How many?"}}, MaxTokens: 20000, MinTokens: 1}
	if diff := cmp.Diff(want, p.Prompt(1)); diff != "" || !p.Texts().Chat || !p.Texts().IDs {
		t.Errorf("(-want +got):\n%s", diff)
	}
	reasoned := w.Prompts.(*remotePrompts).data.reasoned
	if diff := cmp.Diff([]accuracy.Reasoning{{Dataset: "gpqa", Wanted: "B"}, {Dataset: "aime", Wanted: "25"}}, reasoned); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestAccuracyOfGPTOSSHasPromptsOfItsOwn(t *testing.T) {
	row := func(n int) string {
		return fmt.Sprintf(`[{"input_tokens": [%d], "dataset": "gpqa_diamond", "ground_truth": "A"}]`, n)
	}
	dir := folderWith(t, map[string]string{"perf_eval_ref.parquet": row(1), "acc_eval_ref.parquet": row(2), "tokenizer.json": string(tokentest.Tokenizer(t))})
	for _, scored := range []bool{false, true} {
		w, err := gptOSS().OpenRemote(workload.Setup{DatasetDir: dir, Scored: scored, Logged: scored})
		if err != nil {
			t.Fatal(err)
		}
		p := w.Prompts.Prompt(0)
		wantID, wantMost := int32(1), 10240
		if scored {
			wantID, wantMost = 2, 32768
		}
		if p.IDs[0] != wantID || p.MaxTokens != wantMost || w.Prompts.Texts().Temperature != 1 {
			t.Errorf("scored %v: %+v", scored, p)
		}
	}
}
