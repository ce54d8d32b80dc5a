package generative

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/google/go-cmp/cmp"

	"github.com/mlperf-go/mlperf/internal/accuracy"
	"github.com/mlperf-go/mlperf/internal/backend"
	"github.com/mlperf-go/mlperf/internal/backend/openai"
	"github.com/mlperf-go/mlperf/internal/models/decode"
	"github.com/mlperf-go/mlperf/internal/models/workload"
	"github.com/mlperf-go/mlperf/internal/serve/tokenserver"
	"github.com/mlperf-go/mlperf/internal/serve/tokenserver/tokentest"
	"github.com/mlperf-go/mlperf/internal/testenv"
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

func TestRemoteAnswers(t *testing.T) {
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

func TestRemoteNeedsTokenizer(t *testing.T) {
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

func TestRemoteAnswerEnds(t *testing.T) {
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
func TestRemoteTokenCounts(t *testing.T) {
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

func TestFirstTokens(t *testing.T) {
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

func TestRemoteNotes(t *testing.T) {
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
func TestRemoteTextWithoutBOS(t *testing.T) {
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

func TestRemoteStop(t *testing.T) {
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
func TestReadReasoning(t *testing.T) {
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

func TestGPTOSSAccuracyPrompts(t *testing.T) {
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

func TestBytesOfTokens(t *testing.T) {
	for width, want := range map[int]string{4: "\x01\x00\x00\x00\x49\xf4\x01\x00", 8: "\x01\x00\x00\x00\x00\x00\x00\x00\x49\xf4\x01\x00\x00\x00\x00\x00"} {
		if got := string(bytesOf([]int32{1, 128073}, width)); got != want {
			t.Errorf("%d bytes each: % x, want % x", width, got, want)
		}
	}
	if got := bytesOf(nil, 4); len(got) != 0 {
		t.Errorf("no tokens are % x", got)
	}
}

// Each benchmark of the family reads the file of its reference, with the columns that it has there. A row of
// another kind is an error that names row and column.
func TestReferenceFiles(t *testing.T) {
	for _, c := range []struct {
		model, file, row string
		tokens           []int32
		columns          map[string]string // what replaces a column, and what is then said
	}{
		{"llama3.1-8b", "cnn_eval.json", `{"tok_input": [128000, 5], "output": "A text."}`, []int32{128000, 5}, map[string]string{
			`"tok_input": [128000, 5]`: `line 2, column tok_input`, `"output": "A text."`: `line 2, column output`,
		}},
		{"llama3.1-8b-edge", "sample_cnn_eval_5000.json", `{"tok_input": [7], "output": "A text."}`, []int32{7}, map[string]string{`"tok_input": [7]`: `line 2, column tok_input`}},
		{"llama2-70b", "cnn_eval.json", `{"tok_input": [1, 2, 3], "output": "A text."}`, []int32{1, 2, 3}, map[string]string{`"output": "A text."`: `line 2, column output`}},
		{"mixtral-8x7b", "mixtral.json", `{"tok_input": [1], "gt_output": "18", "dataset": "GSM8K", "id": "train.548"}`, []int32{1}, map[string]string{
			`"dataset": "GSM8K"`: `line 2, column dataset`, `"id": "train.548"`: `line 2, column id`, `"gt_output": "18"`: `line 2, column gt_output`,
		}},
		{"llama3.1-405b", "llama3.1_405b.json", `{"tok_input": [1], "gt_output": "blue", "metric": "qa_em"}`, []int32{1}, map[string]string{`"metric": "qa_em"`: `line 2, column metric`}},
		{"deepseek-r1", "deepseek_r1_eval.parquet", `{"tok_input": [0, 9], "ground_truth": "B", "dataset": "gpqa", "text_input": "Which?"}`, []int32{0, 9}, map[string]string{
			`"dataset": "gpqa"`: `line 2, column dataset`, `"ground_truth": "B"`: `line 2, column ground_truth`,
		}},
		{"gpt-oss-120b", "perf_eval_ref.parquet", `{"input_tokens": [200006, 9]}`, []int32{200006, 9}, map[string]string{`"input_tokens": [200006, 9]`: `line 2, column input_tokens`}},
	} {
		t.Run(c.model, func(t *testing.T) {
			open := func(second string) (*workload.Workload, error) {
				dir := folderWith(t, map[string]string{c.file: "[" + c.row + ",\n" + second + "]"})
				return modelNamed(t, c.model).OpenRemote(workload.Setup{DatasetDir: dir})
			}
			w, err := open(c.row)
			if err != nil {
				t.Fatal(err)
			}
			if p := w.Prompts.Prompt(1); !slices.Equal(p.IDs, c.tokens) || w.Samples != 2 {
				t.Errorf("the second of %d prompts is %v, want %v", w.Samples, p.IDs, c.tokens)
			}
			for column, want := range c.columns {
				name, _, _ := strings.Cut(column, ":")
				for _, wrong := range []string{name + ": null", name + `: {"a": 1}`} {
					if _, err := open(strings.Replace(c.row, column, wrong, 1)); err == nil || !strings.Contains(err.Error(), want) {
						t.Errorf("with %s: %v, want %q", wrong, err, want)
					}
				}
			}
		})
	}
}

// Who cuts a benchmark short has the first prompts of it, and is told if there are fewer.
func TestCount(t *testing.T) {
	var rows []string
	for i := range 5 {
		rows = append(rows, fmt.Sprintf(`{"tok_input": [%d], "output": "x"}`, 10+i))
	}
	dir := folderWith(t, map[string]string{"cnn_eval.json": "[" + strings.Join(rows, ",") + "]"})
	for _, n := range []int{1, 3, 5, 6} {
		w, err := modelNamed(t, "llama3.1-8b").OpenRemote(workload.Setup{DatasetDir: dir, Count: n})
		if n > 5 {
			if want := fmt.Sprintf("6 … %s … 5", dir); !testenv.Names(err, want) {
				t.Errorf("of 6: %v, want %q", err, want)
			}
			continue
		}
		if err != nil || w.Samples != n {
			t.Fatalf("of %d: %v", n, err)
		}
		for i := range n {
			if ids := w.Prompts.Prompt(i).IDs; !slices.Equal(ids, []int32{int32(10 + i)}) {
				t.Errorf("prompt %d of %d is %v", i, n, ids)
			}
		}
	}
}

func modelNamed(t *testing.T, name string) workload.Model {
	t.Helper()
	for _, m := range slices.Concat(Models(), RemoteModels()) {
		if m.Name == name {
			return m
		}
	}
	t.Fatalf("there is no %s", name)
	return workload.Model{}
}

// anyRow has the columns of all data sets of the family.
const anyRow = `[{"tok_input": [7], "output": "a", "gt_output": "1", "metric": "rouge", "dataset": "GSM8K", "id": "x", "ground_truth": "A"}]`

// TestAnswerLimitsOfReference compares with the SUTs of mlcommons/inference: what they pass to
// generate, and how their logs have a token.
func TestAnswerLimitsOfReference(t *testing.T) {
	llama3, dir := []int32{128001, 128008, 128009}, folderWith(t, map[string]string{"any.json": anyRow})
	for name, want := range map[string]struct {
		ends        []int32
		least, most int
		bytes       int // of the answer "7, 7, end"
	}{
		"llama3.1-8b":      {llama3, 1, 128, 12},
		"llama3.1-8b-edge": {llama3, 1, 128, 12},
		"llama2-70b":       {[]int32{2}, 1, 1024, 12},
		"llama2-70b-99.9":  {[]int32{2}, 1, 1024, 12},
		"mixtral-8x7b":     {[]int32{2}, 2, 1024, 8}, // the end is no part of it
		"llama3.1-405b":    {llama3, 2, 2000, 12},
		"deepseek-r1":      {[]int32{1}, 1, 20000, 12},
		"gpt-oss-120b":     {[]int32{200002, 200012}, 1, 10240, 12},
	} {
		w, err := modelNamed(t, name).OpenRemote(workload.Setup{DatasetDir: dir + "/any.json"})
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		p := w.Prompts
		if got := p.Prompt(0); got.MinTokens != want.least || got.MaxTokens != want.most {
			t.Errorf("%s asks for %d to %d tokens, want %d to %d", name, got.MinTokens, got.MaxTokens, want.least, want.most)
		}
		for _, end := range want.ends {
			ids := []int32{7, 7, end, 7, 7}
			if response, tokens := p.Response(0, backend.Answer{IDs: ids, Tokens: len(ids)}); len(response) != want.bytes || 4*tokens != want.bytes {
				t.Errorf("%s: %v is kept as %d tokens, % x, want %d bytes", name, ids, tokens, response, want.bytes)
			}
		}
		ids := []int32{7, 3, 128000, 200001}
		if response, _ := p.Response(0, backend.Answer{IDs: ids, Tokens: 4}); len(response) != 16 {
			t.Errorf("%s: %v ends early, as % x", name, ids, response)
		}
	}
	for _, name := range []string{"gpt-j", "gpt-j-99.9"} {
		w, err := modelNamed(t, name).Open(workload.Setup{DatasetDir: dir + "/any.json", Ports: decoderPorts()})
		if err != nil {
			t.Fatal(err)
		}
		got := gptJWriter()
		if r := got.rules; !slices.Equal(w.EndTokens, []int32{50256}) || r.MinNew != 30 || r.MaxNew != 128 || r.Width != 8 || got.beams != 4 || r.Drop {
			t.Errorf("%s: %+v, %d beams", name, r, got.beams)
		}
	}
}

// Greedy decoding wants temperature 0; gpt-oss-120b is drawn at 1, with all of its special tokens in what is scored.
func TestRemoteSettingsOfReference(t *testing.T) {
	dir := folderWith(t, map[string]string{"any.json": anyRow})
	for _, m := range slices.Concat(Models(), RemoteModels()) {
		if m.OpenRemote == nil || m.Name == qwen3VL().Name || m.Turns > 0 { // which have no tokens: TestRequestsOfProducts, TestRecordedConversations
			continue
		}
		w, err := m.OpenRemote(workload.Setup{DatasetDir: dir + "/any.json"})
		if err != nil {
			t.Fatal(err)
		}
		got, drawn, least := w.Prompts.Texts(), m.Name == "gpt-oss-120b", m.Name == "mixtral-8x7b" || m.Name == "llama3.1-405b"
		want := backend.Texts{IDs: true, Least: least}
		if drawn {
			want.KeepSpecial, want.Temperature = true, 1
		}
		if got.Tokenize != nil || got.IDs != want.IDs || got.Chat || got.Least != want.Least || got.KeepSpecial != want.KeepSpecial || got.Temperature != want.Temperature || got.Logged {
			t.Errorf("%s: %+v, want %+v", m.Name, got, want)
		}
	}
}
