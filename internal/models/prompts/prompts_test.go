package prompts

import (
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/mlperf-go/mlperf/internal/backend"
	table "github.com/mlperf-go/mlperf/internal/dataset/prompts"
	"github.com/mlperf-go/mlperf/internal/models/workload"
	"github.com/mlperf-go/mlperf/internal/testenv"
	"github.com/mlperf-go/mlperf/internal/tokenizer/hf"
)

func TestReadFile(t *testing.T) {
	text := func(s string) []backend.Prompt { return []backend.Prompt{{Text: s}} }
	chat := func(m ...backend.Message) []backend.Prompt { return []backend.Prompt{{Messages: m}} }
	for _, test := range []struct {
		name, file string
		want       []backend.Prompt
		err        string
	}{
		{"a prompt", `{"prompt":"a b","max_tokens":7}`, []backend.Prompt{{Text: "a b", MaxTokens: 7}}, ""},
		{"other names", `{"question":"why","id":1}`, text("why"), ""},
		{"empty lines", "\n\n" + `{"text":"a"}` + "\r\n\n", text("a"), ""},
		{"messages", `{"messages":[{"role":"system","content":"s"},{"role":"user","content":"u"}]}`,
			chat(backend.Message{Role: "system", Content: "s"}, backend.Message{Role: "user", Content: "u"}), ""},
		{"ShareGPT", `[{"id":"x","conversations":[{"from":"human","value":"u"},{"from":"gpt","value":"a"},{"from":"human","value":"v"}]}]`,
			chat(backend.Message{Role: "user", Content: "u"}), ""},
		{"ShareGPT that begins with the assistant", `[{"conversations":[{"from":"gpt","value":"a"},{"from":"human","value":"u"}]}]`, chat(backend.Message{Role: "user", Content: "u"}), ""},
		{"a list of prompts", ` [ {"prompt":"a"} , {"prompt":"b"} ] `, []backend.Prompt{{Text: "a"}, {Text: "b"}}, ""},
		{"token ids", `{"prompt_token_ids":[3,4]}`, []backend.Prompt{{IDs: []int32{3, 4}}}, ""},
		{"token ids and their text", `{"tok_input":[3],"input":"a","output_len":9}`, []backend.Prompt{{Text: "a", IDs: []int32{3}, MaxTokens: 9}}, ""},
		{"token ids below 0", `{"tok_input":[-3]}`, nil, "line 1: tok_input: must be token ids"},
		{"a content that is not a text", `{"messages":[{"role":"user","content":5}]}`, nil, "message 1: content is not a text"},
		{"messages that are none", `{"messages":"u"}`, nil, "messages is not a list of objects"},
		{"turns that are none", `{"conversations":[1,2]}`, nil, "conversations is not a list of objects"},
		{"nothing", " \n", nil, "neither JSON"},
		{"no prompt", `{"prompt":"a"}` + "\n" + `{"x":1}`, nil, "line 2: the row has no prompt: must be one of prompt,"},
		{"an empty prompt", `{"prompt":""}`, nil, "line 1: the prompt is empty"},
		{"a prompt that is not a text", `{"prompt":5}`, nil, "line 1: prompt is not a text"},
		{"no JSON", "{\"prompt\":\"a\"}\n\nhello", nil, "line 3: "},
		{"a length below 1", `{"prompt":"a","max_tokens":0}`, nil, "max_tokens is 0: must be"},
		{"a length of letters", `{"prompt":"a","output_len":"x"}`, nil, "output_len is x: must be"},
		{"an unknown role", `[{"conversations":[{"from":"robot","value":"u"}]}]`, nil, `line 1: turn 1: from is "robot": must be human, gpt or system`},
		{"ShareGPT with a greeting between system and user", `[{"conversations":[{"from":"system","value":"s"},{"from":"gpt","value":"hello"},{"from":"Human","value":"u"},{"from":"GPT","value":"a"}]}]`,
			chat(backend.Message{Role: "system", Content: "s"}, backend.Message{Role: "user", Content: "u"}), ""},
		{"two turns of a user", `[{"conversations":[{"from":"user","value":"u"},{"from":"human","value":"v"},{"from":"bard","value":"a"},{"from":"robot"}]}]`,
			chat(backend.Message{Role: "user", Content: "u"}, backend.Message{Role: "user", Content: "v"}), ""},
		{"a chat with answers", `{"messages":[{"role":"user","content":"u"},{"role":"assistant","content":null},{"role":"user","content":"v"}]}`,
			chat(backend.Message{Role: "user", Content: "u"}, backend.Message{Role: "assistant"}, backend.Message{Role: "user", Content: "v"}), ""},
		{"a chat before a text", `{"messages":[{"role":"user","content":"u"}],"prompt":"p"}`, chat(backend.Message{Role: "user", Content: "u"}), ""},
		{"a chat before a conversation", `{"messages":[{"role":"user","content":"u"}],"conversations":[{"from":"user","value":"v"}]}`, chat(backend.Message{Role: "user", Content: "u"}), ""},
		{"a chat and its tokens", `{"messages":[{"role":"user","content":""}],"token_ids":[0]}`, []backend.Prompt{{IDs: []int32{0}, Messages: []backend.Message{{Role: "user"}}}}, ""},
		{"a chat of nothing", `{"messages":[]}`, nil, "line 1: messages is not a list of objects"},
		{"a chat in which nothing is said", `{"messages":[{"role":"system"},{"role":"user","content":""}]}`, nil, "line 1: the prompt is empty"},
		{"a conversation without a user", `[{"conversations":[{"from":"gpt","value":"a"}]}]`, nil, "line 1: the prompt is empty"},
		{"a message that is a text", `{"messages":["u"]}`, nil, "message 1: expected an object"},
		{"a turn that is a list", `{"conversations":[{"from":"user","value":"u"},[{}]]}`, nil, "turn 2: expected an object"},
		{"a turn without a text", `{"conversations":[{"from":"user","value":7}]}`, nil, "turn 1: value is not a text"},
		{"a null before a text", `{"prompt":null,"text":"a"}`, text("a"), ""},
		{"the longest answer", `{"prompt":"a","max_tokens":1048576}`, []backend.Prompt{{Text: "a", MaxTokens: 1 << 20}}, ""},
		{"one that is longer", `{"prompt":"a","max_completion_tokens":1048577}`, nil, "max_completion_tokens is 1048577: must be a whole number from 1 to 1048576"},
		{"half a token", `{"prompt":"a","output_length":1.5}`, nil, "output_length is 1.5: must be a whole number"},
		{"a token that is too large", `{"token_ids":[2147483648]}`, nil, "line 1: token_ids: must be token ids"},
		{"a token of the largest number", `{"token_ids":[2147483647]}`, []backend.Prompt{{IDs: []int32{2147483647}}}, ""},
		{"no role", `{"messages":[{"content":"u"}]}`, nil, "message 1: the role is missing"},
		{"half a list", `[{"prompt":"a"},`, nil, "row 1"},
	} {
		path := filepath.Join(t.TempDir(), "prompts.jsonl")
		if err := os.WriteFile(path, []byte(test.file), 0o644); err != nil {
			t.Fatal(err)
		}
		got, err := read(path, 0)
		if test.err != "" && (err == nil || !strings.Contains(err.Error(), test.err) || !strings.Contains(err.Error(), path)) || test.err == "" && err != nil {
			t.Errorf("%s: %v, want %q", test.name, err, test.err)
		}
		if diff := cmp.Diff(test.want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", test.name, diff)
		}
	}
}

func TestCount(t *testing.T) {
	path := filepath.Join(t.TempDir(), "prompts.jsonl")
	if err := os.WriteFile(path, []byte(`{"prompt":"a"}`+"\nbroken"), 0o644); err != nil {
		t.Fatal(err)
	}
	if list, err := read(path, 1); err != nil || len(list) != 1 {
		t.Errorf("%v, %v", list, err)
	}
	if _, err := read("/dev/zero", 0); err == nil {
		t.Error("a device is read")
	}
}

func TestSyntheticPrompts(t *testing.T) {
	open := func(c Config, count int) *textPrompts {
		w, err := Model(c).Open(workload.Setup{Count: count})
		if err != nil {
			t.Fatal(err)
		}
		return w.Prompts.(*textPrompts)
	}
	a, b := open(Config{Synthetic: 20, Words: "11", Answer: "5", Exact: true}, 0), open(Config{Synthetic: 20, Words: "11", Answer: "5", Exact: true}, 7)
	if len(a.prompts) != 20 || len(b.prompts) != 7 {
		t.Errorf("%d and %d prompts", len(a.prompts), len(b.prompts))
	}
	if diff := cmp.Diff(a.prompts[:7], b.prompts); diff != "" {
		t.Errorf("other prompts the second time:\n%s", diff)
	}
	seen := map[string]bool{}
	for _, p := range a.prompts {
		if len(strings.Fields(p.Text)) != 11 || p.MaxTokens != 5 || p.MinTokens != 5 || !p.Exact || seen[p.Text] {
			t.Errorf("%+v", p)
		}
		seen[p.Text] = true
	}
}

// Lengths are drawn as the text says, the same in each run, and not by the words.
func TestLengths(t *testing.T) {
	lengthsOf := func(c Config) (prompts, answers []int) {
		c.Synthetic = 400
		w, err := Model(c).Open(workload.Setup{})
		if err != nil {
			t.Fatal(err)
		}
		for _, p := range w.Prompts.(*textPrompts).prompts {
			prompts, answers = append(prompts, len(strings.Fields(p.Text))), append(answers, p.MaxTokens)
		}
		return prompts, answers
	}
	mean := func(list []int) float64 {
		sum := 0
		for _, n := range list {
			sum += n
		}
		return float64(sum) / float64(len(list))
	}
	for text, want := range map[Lengths]struct {
		least, most int
		mean, off   float64
	}{
		"30": {30, 30, 30, 0}, "20-40": {20, 40, 30, 1}, "30±4": {10, 50, 30, 1}, "30+-4": {10, 50, 30, 1}, "3±40": {1, 200, 17, 4}, "10:3, 90:1": {10, 90, 30, 5},
	} {
		prompts, answers := lengthsOf(Config{Words: text, Answer: text})
		for _, list := range [][]int{prompts, answers} {
			if slices.Min(list) < want.least || slices.Max(list) > want.most || math.Abs(mean(list)-want.mean) > want.off {
				t.Errorf("%s: %d to %d, mean %v", text, slices.Min(list), slices.Max(list), mean(list))
			}
		}
		if want.off > 0 && slices.Equal(prompts, answers) {
			t.Errorf("%s: answers are as long as prompts", text)
		}
		if again, _ := lengthsOf(Config{Words: text}); !slices.Equal(prompts, again) {
			t.Errorf("%s: other lengths the second time", text)
		}
	}
	for _, text := range []Lengths{"-5", "x", "5-", "9-5", "5±", "5±-1", "±4", "5:0", "5:", "5,6", "5:1,x:2", "9999999", "1e3", "5:NaN", "5±Inf"} {
		if err := text.Check(); err == nil || !strings.Contains(err.Error(), string(text)) {
			t.Errorf("%q: %v", text, err)
		}
	}
}

// Prompts share prefixes in turns.
func TestPrefixes(t *testing.T) {
	w, err := Model(Config{Synthetic: 9, Words: "5", Prefixes: 3, PrefixWords: "7"}).Open(workload.Setup{})
	if err != nil {
		t.Fatal(err)
	}
	list := w.Prompts.(*textPrompts)
	prefix := func(i int) string { return strings.Join(strings.Fields(list.prompts[i].Text)[:7], " ") }
	for i, p := range list.prompts {
		if len(strings.Fields(p.Text)) != 12 || prefix(i) != prefix(i%3) || i%3 > 0 && prefix(i) == prefix(0) || i >= 3 && p.Text == list.prompts[i%3].Text {
			t.Errorf("prompt %d: %s", i, p.Text)
		}
	}
	if want := "9 synthetic prompts of 5 common words each after one of 3 shared prefixes of 7"; w.Notes[0] != want {
		t.Errorf("%q, want %q", w.Notes[0], want)
	}
}

// With a tokenizer the lengths are exact in its tokens, also behind a prefix.
func TestLengthsInTokens(t *testing.T) {
	path := filepath.Join(t.TempDir(), "tokenizer.json")
	vocabulary := map[string]int{" ": 0, "th": 1, "the": 2}
	for letter := 'a'; letter <= 'z'; letter++ {
		vocabulary[string(letter)] = len(vocabulary)
	}
	text, err := json.Marshal(map[string]any{"model": map[string]any{"type": "BPE", "vocab": vocabulary, "merges": []string{"t h", "th e"}}})
	if err == nil {
		err = os.WriteFile(path, text, 0o600)
	}
	if err != nil {
		t.Fatal(err)
	}
	tokens, err := hf.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	w, err := Model(Config{Synthetic: 20, Words: "40-60", Prefixes: 2, PrefixWords: "30"}).Open(workload.Setup{Options: workload.Values{workload.TokenizerOption: path}})
	if err != nil {
		t.Fatal(err)
	}
	for i, p := range w.Prompts.(*textPrompts).prompts {
		ids, err := tokens.Append(nil, p.Text, hf.NoSpecial)
		if n := len(ids); err != nil || n < 69 || n > 91 {
			t.Errorf("prompt %d has %d tokens, want 30 and 40 to 60: %v", i, n, err)
		}
	}
}

func TestDefaultLengths(t *testing.T) {
	path := filepath.Join(t.TempDir(), "prompts.jsonl")
	if err := os.WriteFile(path, []byte(`{"prompt":"a"}`+"\n"+`{"prompt":"b","max_tokens":9}`), 0o644); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		config Config
		want   [][2]int // least and most tokens of answers
	}{
		{Config{}, [][2]int{{0, 128}, {0, 9}}},
		{Config{Answer: "7"}, [][2]int{{0, 7}, {0, 9}}},
		{Config{Answer: "7", Exact: true}, [][2]int{{7, 7}, {9, 9}}},
		{Config{Synthetic: 1, Exact: true}, [][2]int{{128, 128}}},
	} {
		w, err := Model(c.config).Open(workload.Setup{DatasetDir: path})
		if err != nil || w.Samples != len(c.want) {
			t.Fatalf("%+v: %v", c.config, err)
		}
		for i, want := range c.want {
			if p := w.Prompts.Prompt(i); [2]int{p.MinTokens, p.MaxTokens} != want || p.Exact != c.config.Exact {
				t.Errorf("%+v: prompt %d is %+v, want %v tokens", c.config, i, p, want)
			}
		}
		if words := len(strings.Fields(w.Prompts.Prompt(0).Text)); c.config.Synthetic > 0 && words != 256 {
			t.Errorf("%d words", words)
		}
		if note := w.Notes[0]; c.config.Synthetic == 0 && note != "prompts of "+path || c.config.Synthetic > 0 && note != "1 synthetic prompts of 256 common words each" {
			t.Errorf("note %q", note)
		}
	}
}

// A generator that takes token ids, or none.
type generator struct {
	backend.Generator
	ids bool
}

func (g generator) TakesIDs() bool { return g.ids }

func TestWithoutIDs(t *testing.T) {
	for _, c := range []struct {
		name, file string
		texts      backend.Texts
		refused    bool // by a server of texts
	}{
		{"texts", `{"prompt":"a"}`, backend.Texts{}, false},
		{"ids", `{"token_ids":[1]}`, backend.Texts{IDs: true}, true},
		{"ids and texts of the same prompts", `{"token_ids":[1],"prompt":"a"}`, backend.Texts{IDs: true}, false},
		{"ids of some, texts of others", `{"token_ids":[1]}` + "\n" + `{"prompt":"a"}`, backend.Texts{}, true},
		{"chats", `{"messages":[{"role":"user","content":"u"}]}`, backend.Texts{Chat: true}, false},
		{"chats with ids", `{"messages":[{"role":"user","content":"u"}],"token_ids":[1]}` + "\n" + `{"prompt":"a","token_ids":[1]}`, backend.Texts{Chat: true, IDs: true}, false},
	} {
		path := filepath.Join(t.TempDir(), "prompts.jsonl")
		if err := os.WriteFile(path, []byte(c.file), 0o644); err != nil {
			t.Fatal(err)
		}
		w, err := Model(Config{}).Open(workload.Setup{DatasetDir: path})
		if err != nil {
			t.Fatal(err)
		}
		if got := w.Prompts.Texts(); got.IDs != c.texts.IDs || got.Chat != c.texts.Chat || got.Least || got.Tokenize != nil {
			t.Errorf("%s: %+v, want %+v", c.name, got, c.texts)
		}
		for _, ids := range []bool{true, false} {
			_, err := w.OpenPredictor(workload.Sessions{workload.Only: generator{ids: ids}}, 1)
			if want := c.refused && !ids; want != (err != nil) || want && !testenv.Names(err, "token ids … prompts … text") {
				t.Errorf("%s, a server that takes ids %v: %v", c.name, ids, err)
			}
		}
	}
}

func TestResponse(t *testing.T) {
	w := &textPrompts{}
	if got := w.First(0, []byte("on"), []int32{5}); string(got) != "on" {
		t.Errorf("first %q", got)
	}
	if got, tokens := w.Response(0, backend.Answer{Text: []byte("once"), IDs: []int32{5, 6}, Tokens: 3}); string(got) != "once" || tokens != 3 {
		t.Errorf("response %q, %d tokens", got, tokens)
	}
}

func TestModel(t *testing.T) {
	m := Model(Config{Name: NameOf("meta-llama/Llama-3.1-8B"), Synthetic: 1})
	if m.Name != "meta-llama_Llama-3_1-8B" || m.Rules.Name != m.Name || m.Title != m.Name || m.Task == "" || m.Dataset == "" || m.PerformanceSampleCount < 100_000 {
		t.Errorf("%+v", m)
	}
	if got := NameOf("az AZ\u00e909-_./\\:"); got != "az_AZ_09-_____" {
		t.Errorf("the name is %q", got)
	}
	if _, err := m.Score(t.Context(), nil, workload.Scoring{}); !errors.Is(err, errNoTruth) {
		t.Errorf("Score: %v", err)
	}
	w, err := m.Open(workload.Setup{})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := w.OpenPredictor(workload.Sessions{}, 1); err == nil || !strings.Contains(err.Error(), "takes text") {
		t.Errorf("OpenPredictor: %v", err)
	}
	if _, err := m.Open(workload.Setup{DatasetDir: "/nowhere"}); err != nil {
		t.Errorf("prompts that are made up are in no file: %v", err)
	}
	if _, err := Model(Config{}).Open(workload.Setup{DatasetDir: "/nowhere"}); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("prompts of a file that is not there: %v", err)
	}
}

func TestReadParquet(t *testing.T) {
	got, err := read("../../dataset/prompts/testdata/hyparquet.parquet", 2) // of another writer
	if diff := cmp.Diff([]backend.Prompt{{Text: "first"}, {Text: "zweite Zeile ü"}}, got); err != nil || diff != "" {
		t.Errorf("%v (-want +got):\n%s", err, diff)
	}
}

func FuzzRead(f *testing.F) {
	f.Add(`{"prompt":"a","max_tokens":7}` + "\n" + `{"messages":[{"role":"user","content":"u"}]}`)
	f.Add(`[{"conversations":[{"from":"human","value":"u"}]}]`)
	f.Fuzz(func(t *testing.T, file string) {
		rows, err := table.Parse([]byte(file), "file", table.Options{})
		if err != nil {
			return
		}
		list, err := Config{Turns: "5"}.promptsOf(rows, t.TempDir(), nil)
		if err != nil {
			return
		}
		for _, p := range list {
			if p.Text == "" && len(p.Messages) == 0 && len(p.IDs) == 0 || p.MaxTokens < 0 {
				t.Errorf("%+v", p)
			}
		}
	})
}

// read reads the prompts of a file.
func read(path string, count int) ([]backend.Prompt, error) {
	list, err := Config{}.readFile(path, count, nil)
	if err != nil {
		return nil, err
	}
	return list.prompts, nil
}

// lines writes rows as lines of JSON and reads them.
func lines(t *testing.T, rows ...string) ([]backend.Prompt, error) {
	t.Helper()
	path := filepath.Join(t.TempDir(), "prompts.jsonl")
	if err := os.WriteFile(path, []byte(strings.Join(rows, "\n")), 0o600); err != nil {
		t.Fatal(err)
	}
	return read(path, 0)
}

// Of several columns with a text the first in the list is used, in any order of the line.
func TestFirstColumn(t *testing.T) {
	r := rand.New(rand.NewPCG(2, 1))
	for range 60 {
		var has []string
		for _, list := range [][]string{textFields, tokenFields, limitFields} {
			for _, column := range list {
				if r.IntN(2) == 0 {
					has = append(has, column)
				}
			}
		}
		first := func(list []string) int {
			return slices.IndexFunc(list, func(c string) bool { return slices.Contains(has, c) })
		}
		var parts []string
		for _, i := range r.Perm(len(has)) {
			column, value := has[i], ""
			switch {
			case slices.Contains(textFields, column):
				value = fmt.Sprintf(`"text of %s"`, column)
			case slices.Contains(tokenFields, column):
				value = fmt.Sprintf("[%d, 5]", slices.Index(tokenFields, column))
			default:
				value = fmt.Sprint(100 + slices.Index(limitFields, column))
			}
			parts = append(parts, fmt.Sprintf("%q: %s", column, value))
		}
		row := "{" + strings.Join(parts, ", ") + "}"
		got, err := lines(t, row)
		text, ids, limit := first(textFields), first(tokenFields), first(limitFields)
		if text < 0 && ids < 0 {
			if !testenv.Names(err, "no prompt … prompt, text") {
				t.Errorf("%s: %v", row, err)
			}
			continue
		}
		if err != nil {
			t.Fatalf("%s: %v", row, err)
		}
		var want backend.Prompt
		if text >= 0 {
			want.Text = "text of " + textFields[text]
		}
		if ids >= 0 {
			want.IDs = []int32{int32(ids), 5}
		}
		if limit >= 0 {
			want.MaxTokens = 100 + limit
		}
		if diff := cmp.Diff([]backend.Prompt{want}, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", row, diff)
		}
	}
}

func TestRowErrors(t *testing.T) {
	for _, c := range []struct{ name, row, want string }{
		{"nothing", `{}`, "the row has no prompt"},
		{"an empty text", `{"prompt": ""}`, "the prompt is empty"},
		{"a text of white space", `{"prompt": " "}`, ""},
		{"a number for a text", `{"prompt": 7}`, "prompt is not a text"},
		{"a list of texts for tokens", `{"token_ids": ["a"]}`, "token_ids: must be token ids"},
		{"no token", `{"token_ids": []}`, ""},
		{"a negative token", `{"token_ids": [3, -1]}`, "token_ids: must be token ids"},
		{"a token beyond 32 bits", `{"token_ids": [4294967296]}`, "token_ids: must be token ids"},
		{"half a token", `{"token_ids": [0.5]}`, "token_ids: must be token ids"},
		{"an answer of nothing", `{"prompt": "a", "max_tokens": 0}`, "max_tokens is 0: must be a whole number from 1 to 1048576"},
		{"an answer without end", `{"prompt": "a", "output_len": 1e18}`, "output_len is 1e+18: must be a whole number from 1 to 1048576"},
		{"the longest answer", `{"prompt": "a", "output_len": 1048576}`, ""},
		{"one more", `{"prompt": "a", "output_len": 1048577}`, "output_len is 1048577"},
		{"an answer in words", `{"prompt": "a", "max_tokens": "many"}`, "max_tokens is many: must be a whole number"},
		{"a chat that is a text", `{"messages": "hello"}`, "messages is not a list of objects"},
		{"a chat of texts", `{"messages": ["hello"]}`, "message 1: expected an object"},
		{"a message without a role", `{"messages": [{"content": "hello"}]}`, "message 1: the role is missing"},
		{"a message of pictures", `{"messages": [{"role": "system", "content": "a"}, {"role": "user", "content": [1]}]}`, "message 2: content is not a text"},
		{"a chat in which nothing is said", `{"messages": [{"role": "user", "content": ""}]}`, "the prompt is empty"},
		{"an empty chat", `{"messages": []}`, "messages is not a list of objects"},
		{"a conversation that is an object", `{"conversations": {"from": "human"}}`, "conversations is not a list of objects"},
		{"a turn of another role", `{"conversations": [{"from": "tool", "value": "a"}]}`, `turn 1: from is "tool": must be human, gpt or system`},
		{"a turn without a value", `{"conversations": [{"from": "human"}]}`, "the prompt is empty"},
		{"a conversation of answers alone", `{"conversations": [{"from": "gpt", "value": "Hello."}]}`, "the prompt is empty"},
	} {
		_, err := lines(t, `{"prompt": "the first line is right"}`, c.row)
		if c.name == "no token" {
			if err == nil {
				t.Errorf("%s is a prompt", c.name)
			}
			continue
		}
		if (err == nil) != (c.want == "") || err != nil && !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v, want %q", c.name, err, c.want)
		}
		if err != nil && !strings.Contains(err.Error(), "prompts.jsonl: row 1") && !strings.Contains(err.Error(), "line 2") {
			t.Errorf("%s: %v, want that it says where", c.name, err)
		}
	}
}

// A conversation is the prompt up to its first answer to a user.
func TestConversations(t *testing.T) {
	type turn struct{ From, Value string }
	said := func(turns ...string) []turn {
		var list []turn
		for _, s := range turns {
			from, value, _ := strings.Cut(s, ":")
			list = append(list, turn{from, value})
		}
		return list
	}
	for _, c := range []struct {
		turns []turn
		want  []string
	}{
		{said("human:Hi", "gpt:Hello", "human:Bye"), []string{"user:Hi"}},
		{said("gpt:Welcome", "human:Hi", "gpt:Hello"), []string{"user:Hi"}},
		{said("system:Be brief", "Human:Hi"), []string{"system:Be brief", "user:Hi"}},
		{said("USER:One", "user:Two", "ChatGPT:Three"), []string{"user:One", "user:Two"}},
		{said("system:Be brief", "bing:Welcome", "human:Hi", "bard:Hello"), []string{"system:Be brief", "user:Hi"}},
	} {
		var turns []map[string]string
		for _, s := range c.turns {
			turns = append(turns, map[string]string{"from": s.From, "value": s.Value})
		}
		text, err := json.Marshal(map[string]any{"conversations": turns, "id": "x"})
		if err != nil {
			t.Fatal(err)
		}
		got, err := lines(t, string(text))
		if err != nil {
			t.Fatalf("%s: %v", text, err)
		}
		var messages []string
		for _, m := range got[0].Messages {
			messages = append(messages, m.Role+":"+m.Content)
		}
		if diff := cmp.Diff(c.want, messages); diff != "" {
			t.Errorf("%s (-want +got):\n%s", text, diff)
		}
	}
}

// An answer has the length that its prompt says, or else the one that was chosen, exactly or at most.
func TestAnswerLimits(t *testing.T) {
	path := filepath.Join(t.TempDir(), "prompts.jsonl")
	if err := os.WriteFile(path, []byte("{\"prompt\": \"a\", \"max_tokens\": 7}\r\n{\"prompt\": \"b\"}\r\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		config      Config
		most, least [2]int
	}{
		{Config{}, [2]int{7, 128}, [2]int{0, 0}},
		{Config{Answer: "50"}, [2]int{7, 50}, [2]int{0, 0}},
		{Config{Answer: "50", Exact: true}, [2]int{7, 50}, [2]int{7, 50}},
		{Config{Exact: true}, [2]int{7, 128}, [2]int{7, 128}},
	} {
		w, err := Model(c.config).Open(workload.Setup{DatasetDir: path})
		if err != nil {
			t.Fatal(err)
		}
		for i := range 2 {
			if p := w.Prompts.Prompt(i); p.MaxTokens != c.most[i] || p.MinTokens != c.least[i] || p.Exact != c.config.Exact {
				t.Errorf("%+v: prompt %d is %+v, want %d to %d tokens", c.config, i, p, c.least[i], c.most[i])
			}
		}
	}
}

func ExampleNameOf() {
	fmt.Println(NameOf("meta-llama/Llama-3.1-8B"), NameOf("größe 2"))
	// Output: meta-llama_Llama-3_1-8B gr__e_2
}

// Requests of a trace have texts of their lengths, share those of their blocks, and are the same in each run.
func TestTraces(t *testing.T) {
	list, err := lines(t, `{"timestamp":0,"input_length":1100,"output_length":1,"hash_ids":[7,8,9]}`, `{"timestamp":5,"input_length":600,"output_length":30,"hash_ids":[7,5]}`,
		`{"timestamp":6,"input_length":20,"output_length":3}`)
	if err != nil {
		t.Fatal(err)
	}
	for i, want := range []struct{ words, answer int }{{1100, 2}, {600, 30}, {20, 3}} {
		if n := len(strings.Fields(list[i].Text)); n != want.words || list[i].MaxTokens != want.answer || list[i].MinTokens != 0 || !list[i].Exact {
			t.Errorf("request %d has %d words and an answer of %d tokens", i, n, list[i].MaxTokens)
		}
	}
	first := func(p backend.Prompt, words int) string { return strings.Join(strings.Fields(p.Text)[:words], " ") }
	if first(list[0], 512) != first(list[1], 512) || first(list[0], 530) == first(list[1], 530) {
		t.Error("the first two requests share the 512 tokens of block 7, and not more")
	}
}

// pixel is a picture in a folder, and its address in a request.
func pixel(t *testing.T) (dir, url string) {
	t.Helper()
	data := []byte("GIF89a\x01\x00\x01\x00\x00\x00\x00;")
	dir = t.TempDir()
	for name, content := range map[string][]byte{"p.gif": data, "p.txt": []byte("no picture")} {
		if err := os.WriteFile(filepath.Join(dir, name), content, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return dir, "data:image/gif;base64," + base64.StdEncoding.EncodeToString(data)
}

func TestChats(t *testing.T) {
	dir, url := pixel(t)
	image := func(of string) string {
		return `{"role":"user","content":[{"text":"look","type":"text"},{"image_url":{"detail":"low","url":"` + of + `"},"type":"image_url"}]}`
	}
	const call = `{"content":null,"role":"assistant","tool_calls":[{"function":{"arguments":"{}","name":"f"},"id":"1","type":"function"}]}`
	const result = `{"content":"42","role":"tool","tool_call_id":"1"}`
	read := func(c Config, line string) (backend.Prompt, error) {
		rows, err := table.Parse([]byte("\n"+line), "file", table.Options{})
		if err != nil {
			return backend.Prompt{}, err
		}
		list, err := c.promptsOf(rows, dir, nil)
		if err != nil {
			return backend.Prompt{}, err
		}
		return list[0], nil
	}
	sent := func(messages []backend.Message) string {
		text, err := json.Marshal(messages)
		if err != nil {
			t.Fatal(err)
		}
		return string(text)
	}
	for _, c := range []struct{ name, line, messages, err string }{
		{"an image of a file", `{"messages":[` + image("p.gif") + `]}`, `[` + image(url) + `]`, ""},
		{"an image with its data", `{"messages":[` + image(url) + `]}`, `[` + image(url) + `]`, ""},
		{"an image by a whole path", `{"messages":[` + image("file://"+dir+"/p.gif") + `]}`, `[` + image(url) + `]`, ""},
		{"images beside a text", `{"prompt":"look","images":["p.gif"]}`, `[{"content":[{"text":"look","type":"text"},{"image_url":{"url":"` + url + `"},"type":"image_url"}],"role":"user"}]`, ""},
		{"a call of a tool and its result", `{"messages":[{"role":"user","content":"u"},` + call + `,` + result + `]}`, `[{"content":"u","role":"user"},` + call + `,` + result + `]`, ""},
		{"a row of a batch", `{"custom_id":"a","body":{"messages":[{"role":"user","content":"u"}]}}`, `[{"role":"user","content":"u"}]`, ""},
		{"an image that is missing", `{"messages":[` + image("q.gif") + `]}`, "", "file: line 2: message 1: part 2: the image: "},
		{"an image that is none", `{"prompt":"a","image":"p.txt"}`, "", "p.txt is text/plain; charset=utf-8: must be JPEG"},
		{"an image without an address", `{"messages":[{"role":"user","content":[{"type":"image_url"}]}]}`, "", "message 1: part 1: image_url has no url"},
		{"a part that is a text", `{"messages":[{"role":"user","content":["a"]}]}`, "", "part 1: expected an object with a type"},
		{"images beside messages", `{"messages":[{"role":"user","content":"u"}],"images":["p.gif"]}`, "", "images of columns belong to the text of a prompt"},
		{"images of numbers", `{"prompt":"a","images":[1.5]}`, "", "images: must be a list of names of files"},
		{"an image that is a number", `{"prompt":"a","image":1}`, "", "image: must be the name of a file"},
		{"tools that are none", `{"messages":[{"role":"user","content":"u"}],"tools":["f"]}`, "", "tools is not a list of objects"},
		{"tools of a text", `{"prompt":"a","tools":[{}]}`, "", "tools belong to the messages of a chat"},
		{"a choice without tools", `{"messages":[{"role":"user","content":"u"}],"tool_choice":"auto"}`, "", "tool_choice needs tools"},
	} {
		p, err := read(Config{}, c.line)
		if c.err != "" {
			if err == nil || !strings.Contains(err.Error(), c.err) || !strings.HasPrefix(err.Error(), "file: line 2: ") {
				t.Errorf("%s: %v, want %q", c.name, err, c.err)
			}
			continue
		}
		var got, want any
		if err == nil {
			err = errors.Join(json.Unmarshal([]byte(sent(p.Messages)), &got), json.Unmarshal([]byte(c.messages), &want))
		}
		if diff := cmp.Diff(want, got); err != nil || diff != "" {
			t.Errorf("%s: %v (-want +got):\n%s", c.name, err, diff)
		}
	}
	p, err := read(Config{}, `{"messages":[{"role":"user","content":"u"}],"tools":[{"type":"function","function":{"name":"f"}}],"tool_choice":"required"}`)
	if err != nil || string(p.Tools) != `[{"function":{"name":"f"},"type":"function"}]` || string(p.ToolChoice) != `"required"` {
		t.Errorf("tools %s, choice %s, %v", p.Tools, p.ToolChoice, err)
	}

	user := func(text string) backend.Message { return backend.Message{Role: "user", Content: text} }
	answer := func(text string) *backend.Message { return &backend.Message{Role: "assistant", Content: text} }
	conversation := `[{"conversations":[{"from":"human","value":"a"},{"from":"gpt","value":"b"},{"from":"human","value":"c"},{"from":"human","value":"d"},{"from":"gpt","value":"e"},{"from":"human","value":"f"},{"from":"gpt","value":"g"}]}]`
	for _, c := range []struct {
		config Config
		line   string
		turns  []backend.Turn
	}{
		{Config{}, conversation, nil},
		{Config{Turns: "9"}, conversation, []backend.Turn{{Messages: []backend.Message{user("c"), user("d")}}, {Messages: []backend.Message{user("f")}}}},
		{Config{Turns: "2"}, conversation, []backend.Turn{{Messages: []backend.Message{user("c"), user("d")}}}},
		{Config{Turns: "2", Recorded: true}, conversation, []backend.Turn{{Answer: answer("b"), Messages: []backend.Message{user("c"), user("d")}}}},
		{Config{Turns: "9"}, `{"max_tokens":7,"messages":[{"role":"assistant","content":"hello"},{"role":"user","content":"a"},{"role":"assistant","content":"b"},{"role":"user","content":"c"}]}`,
			[]backend.Turn{{Messages: []backend.Message{user("c")}, MaxTokens: 7}}},
	} {
		p, err := read(c.config, c.line)
		if diff := cmp.Diff(c.turns, p.Turns); err != nil || diff != "" {
			t.Errorf("%+v: %v (-want +got):\n%s", c.config, err, diff)
		}
	}
	p, err = read(Config{Turns: "9"}, `{"messages":[{"role":"user","content":"u"},`+call+`,`+result+`]}`)
	if err != nil || len(p.Turns) != 1 || p.Turns[0].Answer == nil || sent([]backend.Message{*p.Turns[0].Answer}) != "["+call+"]" {
		t.Errorf("the result of a tool follows the recorded call: %+v, %v", p.Turns, err)
	}
}

// Conversations that are made up are the same in each run, whatever their number.
func TestSyntheticConversations(t *testing.T) {
	open := func(n int) []backend.Prompt {
		w, err := Model(Config{Name: "m", Synthetic: n, Words: "3", Answer: "5-9", Turns: "1-4", Delays: "1s-2s", Exact: true}).Open(workload.Setup{})
		if err != nil {
			t.Fatal(err)
		}
		return w.Prompts.(*textPrompts).prompts
	}
	list, turns := open(200), map[int]int{}
	if diff := cmp.Diff(list[:50], open(50)); diff != "" {
		t.Errorf("(-200 +50):\n%s", diff)
	}
	seen := map[string]bool{}
	for _, p := range list {
		turns[1+len(p.Turns)]++
		seen[p.Messages[0].Content] = true
		for _, turn := range p.Turns {
			if d := turn.Delay; d < time.Second || d > 2*time.Second || turn.MaxTokens < 5 || turn.MaxTokens > 9 || turn.Answer != nil {
				t.Fatalf("%+v", turn)
			}
			seen[turn.Messages[0].Content] = true
		}
	}
	for n := 1; n <= 4; n++ {
		if turns[n] < 25 {
			t.Errorf("%d of 200 conversations have %d turns", turns[n], n)
		}
	}
	if len(seen) < 450 {
		t.Errorf("%d different texts", len(seen))
	}
	for _, wrong := range []Delays{"2", "s", "2s±", "-1s", "3s-2s", "1s:0", "9999h", "a2s"} {
		if err := wrong.Check(); err == nil {
			t.Errorf("%q is accepted", wrong)
		}
	}
	for _, right := range []Delays{"", "0s", "2s±500ms", "2s+-1s", "1.5s", "1s:3,10s:1"} {
		if err := right.Check(); err != nil {
			t.Error(err)
		}
	}
}

func TestInputsOfTasks(t *testing.T) {
	for _, c := range []struct {
		task, line, text string
		inputs           []string
		err              string
	}{
		{"embeddings", `{"input":["a","b"]}`, "a", []string{"a", "b"}, ""},
		{"embeddings", `{"text":"a"}`, "a", []string{"a"}, ""},
		{"embeddings", `{"body":{"input":"a"}}`, "a", []string{"a"}, ""},
		{"embeddings", `{"input":["a",""]}`, "", nil, "line 1: input: must be a list of texts"},
		{"embeddings", `{"input":[]}`, "", nil, "line 1: "},
		{"embeddings", `{"x":1}`, "", nil, "line 1: the row has no prompt"},
		{"rerank", `{"query":"q","documents":["a","b"]}`, "q", []string{"a", "b"}, ""},
		{"rerank", `{"documents":["a"]}`, "", nil, "line 1: the row has no query"},
		{"rerank", `{"query":"q"}`, "", nil, "line 1: documents: must be a list of texts"},
		{"rerank", `{"query":"q","documents":[1.5]}`, "", nil, "line 1: documents: must be"},
	} {
		rows, err := table.Parse([]byte(c.line), "file", table.Options{})
		if err != nil {
			t.Fatal(err)
		}
		list, err := Config{Task: c.task}.promptsOf(rows, "", nil)
		if c.err != "" {
			if err == nil || !strings.Contains(err.Error(), c.err) {
				t.Errorf("%s: %v, want %q", c.line, err, c.err)
			}
		} else if err != nil || list[0].Text != c.text || !slices.Equal(list[0].Inputs, c.inputs) {
			t.Errorf("%s: %+v, %v", c.line, list, err)
		}
	}
	w, err := Model(Config{Name: "m", Synthetic: 3, Words: "5", Task: "rerank", Inputs: 4}).Open(workload.Setup{})
	if err != nil || len(w.Prompts.Prompt(2).Inputs) != 4 || len(strings.Fields(w.Prompts.Prompt(2).Text)) != 16 || len(strings.Fields(w.Prompts.Prompt(2).Inputs[3])) != 5 {
		t.Errorf("%+v, %v", w, err)
	}
}

// Rows of aiperf's multi_turn are conversations: all turns, or as many as are asked for.
func TestMultiTurnRows(t *testing.T) {
	dir := t.TempDir()
	rows := `{"session_id":"a","turns":[{"role":"system","text":"Be brief."},{"text":"Hello","delay":0,"output_length":7},{"texts":["Why?","How?"],"delay":1500}]}
{"turns":[{"text":"Alone"}]}
`
	testenv.Tree(t, dir, map[string]string{"turns.jsonl": rows})
	path := filepath.Join(dir, "turns.jsonl")
	w, err := Model(Config{Name: "m", Answer: "9"}).Open(workload.Setup{DatasetDir: path})
	testenv.Must(t, err)
	p := w.Prompts.Prompt(0)
	if w.Samples != 2 || len(p.Messages) != 2 || p.Messages[0].Role != "system" || p.Messages[1].Content != "Hello" || p.MaxTokens != 7 || len(p.Turns) != 1 {
		t.Fatalf("%d samples, %+v", w.Samples, p)
	}
	if turn := p.Turns[0]; turn.Delay != 1500*time.Millisecond || turn.Messages[0].Content != "Why?How?" || turn.Messages[0].Raw == nil || turn.MaxTokens != 9 || !w.Prompts.Texts().ChatOnly {
		t.Errorf("%+v", turn)
	}
	if alone := w.Prompts.Prompt(1); alone.Messages[0].Content != "Alone" || len(alone.Turns) != 0 {
		t.Errorf("%+v", alone)
	}
	if w, err = Model(Config{Name: "m", Turns: "1"}).Open(workload.Setup{DatasetDir: path}); err != nil || len(w.Prompts.Prompt(0).Turns) != 0 {
		t.Errorf("one turn: %v, %+v", err, w)
	}
	for row, want := range map[string]string{
		`{"turns":[]}`:            "line 1 … turns is not a list",
		`{"turns":["a"]}`:         "line 1 … turn 1 … object",
		`{"turns":[{"delay":5}]}`: "turn 1 … has no text",
		`{"turns":[{"text":"a"},{"text":"b","delay":-1}]}`: "turn 2 … delay … numbers from 0",
		`{"turns":[{"text":7}]}`:                           "turn 1 … text: must be a text",
		`{"turns":[{"text":"a","image":"none.png"}]}`:      "turn 1 … none.png",
	} {
		testenv.Tree(t, dir, map[string]string{"turns.jsonl": row + "\n"})
		if _, err := Model(Config{Name: "m"}).Open(workload.Setup{DatasetDir: path}); !testenv.Names(err, want) {
			t.Errorf("%s: %v, want %q", row, err, want)
		}
	}
}

// Requests of BurstGPT with one session are turns, which come as long after the answer before as they did.
func TestSessionsOfBurstGPT(t *testing.T) {
	dir := t.TempDir()
	testenv.Tree(t, dir, map[string]string{"burst.csv": "Timestamp,Session ID,Elapsed time,Model,Request tokens,Response tokens,Total tokens,Log Type\n" +
		"5,1,2,ChatGPT,100,20,120,Conversation log\n6,,1,GPT-4,50,10,60,API log\n17,1,4,ChatGPT,150,30,180,Conversation log\n20,,1,GPT-4,40,10,50,API log\n22,1,1,ChatGPT,12,5,17,Conversation log\n"})
	path := filepath.Join(dir, "burst.csv")
	w, err := Model(Config{Name: "m", Turns: "10"}).Open(workload.Setup{DatasetDir: path})
	testenv.Must(t, err)
	words := func(m []backend.Message) int { return len(strings.Fields(m[0].Content)) }
	p := w.Prompts.Prompt(0)
	if w.Samples != 3 || len(p.Turns) != 2 || words(p.Messages) != 100 || p.MaxTokens != 20 || !p.Exact {
		t.Fatalf("%d samples, %d turns of %+v", w.Samples, len(p.Turns), p.MaxTokens)
	}
	for i, want := range []struct {
		words, answer int
		delay         time.Duration
	}{{30, 30, 10 * time.Second}, {12, 5, time.Second}} {
		if turn := p.Turns[i]; words(turn.Messages) != want.words || turn.MaxTokens != want.answer || turn.Delay != want.delay {
			t.Errorf("turn %d has %d words, %d tokens, %v after the answer; want %+v", i+2, words(turn.Messages), turn.MaxTokens, turn.Delay, want)
		}
	}
	if w, err = Model(Config{Name: "m"}).Open(workload.Setup{DatasetDir: path}); err != nil || w.Samples != 5 || len(w.Prompts.Prompt(0).Turns) != 0 {
		t.Errorf("without turns: %v, %+v", err, w)
	}
	if w, err = Model(Config{Name: "m", Turns: "2"}).Open(workload.Setup{DatasetDir: path}); err != nil || len(w.Prompts.Prompt(0).Turns) != 1 {
		t.Errorf("two turns: %v", err)
	}
}
