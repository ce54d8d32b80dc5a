package generative

import (
	"cmp"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/mlperf-go/mlperf/internal/accuracy"
	"github.com/mlperf-go/mlperf/internal/config/limitation"
	"github.com/mlperf-go/mlperf/internal/models/decode"
	"github.com/mlperf-go/mlperf/internal/models/workload"
	"github.com/mlperf-go/mlperf/internal/tensor"
	"github.com/mlperf-go/mlperf/internal/testenv"
	"github.com/mlperf-go/mlperf/internal/tokenizer/chat"
	"github.com/mlperf-go/mlperf/internal/tokenizer/hf"
)

func TestMain(m *testing.M) {
	chat.Main() // a chat starts its renderer
	m.Run()
}

func TestCutsNeedDataSet(t *testing.T) {
	w := opened(t, wordsOnly)
	if got := w.workload().Exchange.NeedsDataset; got != "" {
		t.Errorf("without ends it needs the data set for %q", got)
	}
	w.cuts = map[int][]int32{3: mbxpEnd}
	if got := w.workload().Exchange.NeedsDataset; !strings.Contains(got, "ends") {
		t.Errorf("with ends it needs the data set for %q", got)
	}
}

func TestChatHasSpecialTokens(t *testing.T) {
	dir := t.TempDir()
	for name, text := range map[string]string{
		tokenizerFile: `{"model": {"type": "BPE", "ignore_merges": true, "vocab": {"a": 0, "b": 250}, "unk_token": "a"}, "added_tokens": [{"id": 251, "content": "<s>", "special": true}],
			"post_processor": {"type": "TemplateProcessing", "single": [{"SpecialToken": {"id": "<s>", "type_id": 0}}, {"Sequence": {"id": "A", "type_id": 0}}],
			"pair": [], "special_tokens": {"<s>": {"id": "<s>", "ids": [251], "tokens": ["<s>"]}}}}`,
		"tokenizer_config.json": `{"bos_token": "<s>", "chat_template": "{{bos_token}}{{messages[0].content}}"}`,
	} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	tokenizer, err := hf.Open(filepath.Join(dir, tokenizerFile))
	if err != nil {
		t.Fatal(err)
	}
	texts := opened(t, wordsOnly)
	texts.tokenizer, texts.chat = tokenizer, chat.Open(dir)
	w := texts.workload().Exchange.Sequences.Text
	text, err := w.ChatTemplate([]map[string]any{{"role": "user", "content": "b"}})
	if err != nil {
		t.Fatal(err)
	}
	if ids, err := w.Tokenizer.EncodePlain(text); err != nil || len(ids) != 2 || ids[0] != 251 || ids[1] != 250 {
		t.Errorf("the chat is %v, %v, want <s> once and b", ids, err)
	}
	if ids, err := w.Tokenizer.Encode("b"); err != nil || len(ids) != 2 || ids[0] != 251 {
		t.Errorf("a prompt is %v, %v, want <s> before it", ids, err)
	}
	if opened(t, wordsOnly).workload().Exchange.Sequences.Text.ChatTemplate != nil {
		t.Error("without a template there is one")
	}
}

// opened is a decoder of 100 tokens with two prompts, 5 tokens long at most, and answers of up to 10.
func opened(t *testing.T, tokenizer string) *decoderWorkload {
	t.Helper()
	w := benchmark{rules: decode.Rules{Stop: []int32{9}, MinNew: 1, MaxNew: 10, Width: 4}, read: readArticles}
	dir := folderWith(t, map[string]string{"cnn_eval.json": twoArticles, "tokenizer.json": tokenizer})
	o, err := w.decoder(workload.Setup{DatasetDir: dir, ModelPath: filepath.Join(dir, "none.onnx"), Ports: decoderPorts()})
	if err != nil {
		t.Fatal(err)
	}
	return o
}

// errorText is the text of an error; empty: none.
func errorText(err error) string {
	if err == nil {
		return ""
	}
	return err.Error()
}

// A log of a run whose tokenizer lies beside the model is scored with it, too.
func TestScoreTakesTheTokenizerOfTheModel(t *testing.T) {
	w := benchmark{rules: decode.Rules{Stop: []int32{9}, MinNew: 1, MaxNew: 10, Width: 4}, read: readArticles}
	data, model := folderWith(t, map[string]string{"cnn_eval.json": twoArticles}), folderWith(t, map[string]string{tokenizerFile: wordsOnly, "model.onnx": ""})
	o, err := w.decoder(workload.Setup{DatasetDir: data, ModelPath: filepath.Join(model, "model.onnx"), Ports: decoderPorts()})
	if err != nil {
		t.Fatal(err)
	}
	if got, want := o.workload().ScoreOptions[tokenizerOption], filepath.Join(model, tokenizerFile); got != want {
		t.Errorf("the score is given the tokenizer %q, want %q", got, want)
	}
}

func TestSentPromptLengths(t *testing.T) {
	w := opened(t, wordsOnly)
	if text := w.workload().Exchange.Sequences.Text; text.MaxPrompt != 5 || text.MaxAnswer != 10 {
		t.Errorf("room for %d and %d tokens", text.MaxPrompt, text.MaxAnswer)
	}
	for _, length := range []int64{1, 5} {
		slots, err := w.complete([]tensor.Shape{{length}})
		if want := fmt.Sprintf("[int32[%d]]", length); err != nil || fmt.Sprint(slots) != want {
			t.Errorf("Complete(%d) = %v, %v, want %s", length, slots, err, want)
		}
	}
	for _, length := range []int64{0, 6} {
		_, err := w.complete([]tensor.Shape{{length}})
		if want := fmt.Sprintf("the prompt has %d tokens, expected 1 to 5", length); errorText(err) != want {
			t.Errorf("Complete(%d): %v, want %q", length, err, want)
		}
	}
}

func TestCheckPrompts(t *testing.T) {
	w := opened(t, wordsOnly)
	e := w.forRows(make([]int, 3))
	if e.Samples != 3 || !slices.Equal(e.Row(2)[0].Shape, tensor.Shape{5}) || w.limits != nil {
		t.Errorf("%d rows of %v", e.Samples, e.Row(2))
	}
	for _, c := range []struct {
		row  []int32
		want string
	}{
		{[]int32{0, 99, -1, 100, 0}, ""}, // behind a negative number there is nothing
		{[]int32{-1, 1, 1, 1, 1}, "the prompt is empty"},
		{[]int32{}, "the prompt is empty"},
		{[]int32{1, 2, 100, 1, 1}, "token 2 of the prompt is 100, the model's vocabulary has 100"},
	} {
		if err := e.Exchange.Check([]tensor.Tensor{tensor.Of(c.row, int64(len(c.row)))}); errorText(err) != c.want {
			t.Errorf("Check(%v): %v, want %q", c.row, err, c.want)
		}
	}
}

func TestTokensOfResponses(t *testing.T) {
	for _, width := range []int{4, 8} {
		w := &decoderWorkload{rules: decode.Rules{Width: width, Stop: []int32{9, 11}}}
		want := []int32{7, 128009}
		if got := w.tokens([]int32{1}, append(bytesOf(want, width), 0)); !slices.Equal(got, append([]int32{1}, want...)) { // what is left of a token is none
			t.Errorf("%d bytes each: %v, want %v", width, got, want)
		}
	}
}

func TestExchangeTokenizer(t *testing.T) {
	w := opened(t, wordsOnly).workload().Exchange.Sequences.Text.Tokenizer
	if ids, err := w.Encode("one two"); err != nil || !slices.Equal(ids, []int32{3, 4}) {
		t.Errorf("%v, %v", ids, err)
	}
	if text, err := w.Decode([]int32{3, 0, 4}); err != nil || text != "one two" {
		t.Errorf("%q, %v: special tokens are no part of a text", text, err)
	}
}

// Room for the answers of all prompts is counted per beam, and stays what was asked for.
func TestContext(t *testing.T) {
	for _, c := range []struct {
		model, asked, want int
		err                string
	}{
		{0, 0, 15, ""}, {15, 0, 15, ""}, {4096, 0, 15, ""}, {4096, 100, 100, ""}, {50, 100, 50, ""}, {0, 100, 100, ""},
		{14, 0, 0, "14"}, {4096, 14, 0, "14"}, {14, 100, 0, "14"},
	} {
		w := &decoderWorkload{prompts: [][]int32{{1}, {1, 2, 3, 4, 5}}, rules: decode.Rules{MaxNew: 10}, layout: decode.Layout{Rows: 9}, card: modelCard{context: c.model}, chunk: 128}
		err := w.fit(c.asked)
		if c.err == "" && (err != nil || w.context != c.want || w.chunk != 5) || c.err != "" && !testenv.Names(err, "context … prompt 1 … 5 tokens … 10 … "+c.err) {
			t.Errorf("a model of %d, %d asked for: room for %d, chunks of %d, %v; want %d, %q", c.model, c.asked, w.context, w.chunk, err, c.want, c.err)
		}
	}
}

func TestEarlyEndsAreLimitations(t *testing.T) {
	benchmark := []int32{128001, 128009}
	for _, c := range []struct {
		card modelCard
		want string
	}{
		{modelCard{}, ""},
		{modelCard{from: "genai_config.json", stop: []int32{128009}}, ""}, // later ones are no help
		{modelCard{from: "genai_config.json", stop: []int32{128009, 13, 128001, 198}}, "[13 198]"},
		{modelCard{from: ofModelFile, stop: []int32{2}}, ""}, // a vocabulary of its own
	} {
		w := &decoderWorkload{card: c.card, early: c.card.endsBefore(benchmark)}
		var want []limitation.Limitation
		if c.want != "" {
			want = []limitation.Limitation{{ID: limitation.EndTokens, Value: c.want, Origin: c.card.from}}
		}
		if got := w.limitations(); !slices.Equal(got, want) {
			t.Errorf("%+v: %v, want %v", c.card, got, want)
		}
	}
}

// Each beam is a sequence of its own in memory, and none of them is drawn.
func TestBeamMemory(t *testing.T) {
	one, beams := opened(t, wordsOnly).workload(), opened(t, wordsOnly)
	beams.beams = 4
	four := beams.workload()
	if one.PredictorBytes(3)*4 != four.PredictorBytes(3) || one.PredictorBytes(1)*3 != one.PredictorBytes(3) {
		t.Errorf("3 slots take %d bytes, of 4 beams %d", one.PredictorBytes(3), four.PredictorBytes(3))
	}
	notes := strings.Join(four.Notes, "\n")
	for _, want := range []string{"for 15 tokens, times 4 beams; prefill in chunks of 5 tokens", "\nbeam search with 4 beams"} {
		if !strings.Contains(notes, want) {
			t.Errorf("notes\n%s\nwant %q", notes, want)
		}
	}
	if notes := strings.Join(one.Notes, "\n"); strings.Contains(notes, "beams") || !strings.Contains(notes, "\na sequence takes 0.0 MiB of cache for 15 tokens; ") {
		t.Errorf("of one beam: notes\n%s", notes)
	}
	if _, err := (runOptions{sampling: "temperature=1"}).chooseSampling(modelCard{}, 4); !testenv.Names(err, "sampling … 4 beams") {
		t.Errorf("drawn beams: %v", err)
	}
	if _, err := (runOptions{sampling: "temperature=0"}).chooseSampling(modelCard{}, 4); err != nil {
		t.Errorf("at temperature 0 nothing is drawn: %v", err)
	}
}

func TestNotesOfEndTokens(t *testing.T) {
	w := opened(t, wordsOnly)
	w.card = modelCard{from: "genai_config.json", stop: []int32{9}}
	if notes := strings.Join(w.notes(), "\n"); !strings.Contains(notes, "they end with [9] (from genai_config.json)") {
		t.Errorf("notes\n%s", notes)
	}
}

func TestParseSampling(t *testing.T) {
	for text, want := range map[string]decode.Sampling{
		"temperature=0.5": {Temperature: 0.5}, "top_k=5": {Temperature: 1, TopK: 5}, "top_p=0.25, seed=18446744073709551615": {Temperature: 1, TopP: 0.25, Seed: 1<<64 - 1},
	} {
		if got, err := parseSampling(text); err != nil || got != want {
			t.Errorf("%q is %+v, %v, want %+v", text, got, err, want)
		}
	}
	for text, want := range map[string]string{
		"temperature": `"temperature": not a number`, "temperature=NaN": "temperature is NaN: must be 0 or more", "top_k=2.5": `"top_k=2.5": not a number`, "top_k=-1": "top_k is -1: must be 0 or more",
		"top_p=1.5": "top_p is 1.5: must be 0 to 1", "seed=-1": `"seed=-1": not a number`, "temperature=1,": `"" is none of greedy, model, temperature=T`, "greedy,top_k=1": `"greedy" is none of`,
	} {
		if _, err := parseSampling(text); !testenv.Names(err, want) {
			t.Errorf("%q: %v, want %q", text, err, want)
		}
	}
}

func FuzzSampling(f *testing.F) {
	f.Add("temperature=0.5,top_k=5,top_p=0.9,seed=7")
	f.Add("greedy")
	f.Fuzz(func(t *testing.T, text string) {
		s, err := parseSampling(text)
		if err != nil {
			return
		}
		again, err := parseSampling(fmt.Sprintf("temperature=%v,top_k=%d,top_p=%v,seed=%d", s.Temperature, s.TopK, s.TopP, s.Seed))
		if err != nil || again != s || s.Check() != nil {
			t.Errorf("%q is %+v, written down and read again %+v, %v", text, s, again, err)
		}
	})
}

func TestLogDType(t *testing.T) {
	for _, c := range []struct {
		width int
		named string
		want  accuracy.DType
	}{{4, "", accuracy.Int32}, {8, "", accuracy.Int64}, {4, "INT64", accuracy.Int64}, {8, "int32", accuracy.Int32}} {
		w := benchmark{rules: decode.Rules{Width: c.width}}
		if got := w.dtype(workload.Values{dtypeOption: c.named}); got != c.want {
			t.Errorf("%d bytes, %q: %v, want %v", c.width, c.named, got, c.want)
		}
	}
}

// Each row that is sent may limit its answer; without a limit that of the benchmark holds.
func TestSentLimits(t *testing.T) {
	limited := make([]int, 3)
	w := opened(t, wordsOnly).forRows(limited)
	endless := func(_ context.Context, _ int, scores []float32) error { scores[3] = 1; return nil }
	p, err := w.NewDecoder(workload.Sessions{workload.Only: &scriptedSession{ports: decoderPorts()[workload.Only], say: endless}}, 1)
	if err != nil {
		t.Fatal(err)
	}
	defer p.Close()
	store, err := workload.NewStore(w.Samples, w.Row)
	if err != nil {
		t.Fatal(err)
	}
	defer store.Close()
	var items []workload.Item
	for i := range w.Samples {
		copy(tensor.Data[int32](store.Row(i)[0]), []int32{1, 2, -1})
		items = append(items, workload.Item{Row: i, Index: i, Ticket: i})
	}
	if err := p.Use(store); err != nil {
		t.Fatal(err)
	}
	for _, limits := range [][3]int{{3, 0, 10}, {1, 2, 0}, {0, 0, 4}} {
		copy(limited, limits[:])
		counted := tokenCounter{}
		if err := p.Predict(t.Context(), items, counted); err != nil {
			t.Fatal(err)
		}
		for row, n := range limits {
			if want := cmp.Or(n, 10); counted[row] != want {
				t.Errorf("limits %v: the answer to row %d has %d tokens, want %d", limits, row, counted[row], want)
			}
		}
	}
}
