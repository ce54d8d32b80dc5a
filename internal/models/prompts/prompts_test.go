package prompts

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/mlperf-go/mlperf/internal/backend"
	table "github.com/mlperf-go/mlperf/internal/dataset/prompts"
	"github.com/mlperf-go/mlperf/internal/models/workload"
)

func TestPromptsAreReadByWhatLinesHave(t *testing.T) {
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
		{"token ids below 0", `{"tok_input":[-3]}`, nil, "row 0: tok_input are no token ids"},
		{"a content that is no text", `{"messages":[{"role":"user","content":5}]}`, nil, "message 1: content is no text"},
		{"messages that are none", `{"messages":"u"}`, nil, "messages is no list of objects"},
		{"turns that are none", `{"conversations":[1,2]}`, nil, "conversations is no list of objects"},
		{"nothing", " \n", nil, "neither JSON"},
		{"no prompt", `{"prompt":"a"}` + "\n" + `{"x":1}`, nil, "row 1: there is no prompt, want one of prompt,"},
		{"an empty prompt", `{"prompt":""}`, nil, "row 0: the prompt is empty"},
		{"a prompt that is no text", `{"prompt":5}`, nil, "row 0: prompt is no text"},
		{"no JSON", "{\"prompt\":\"a\"}\n\nhello", nil, "line 3: "},
		{"a length below 1", `{"prompt":"a","max_tokens":0}`, nil, "max_tokens is 0, want"},
		{"a length that is none", `{"prompt":"a","output_len":"x"}`, nil, "output_len is x, want"},
		{"somebody else", `[{"conversations":[{"from":"robot","value":"u"}]}]`, nil, `row 0: turn 1: from is "robot", want human, gpt or system`},
		{"ShareGPT with a greeting between system and user", `[{"conversations":[{"from":"system","value":"s"},{"from":"gpt","value":"hello"},{"from":"Human","value":"u"},{"from":"GPT","value":"a"}]}]`,
			chat(backend.Message{Role: "system", Content: "s"}, backend.Message{Role: "user", Content: "u"}), ""},
		{"two turns of a user", `[{"conversations":[{"from":"user","value":"u"},{"from":"human","value":"v"},{"from":"bard","value":"a"},{"from":"robot"}]}]`,
			chat(backend.Message{Role: "user", Content: "u"}, backend.Message{Role: "user", Content: "v"}), ""},
		{"a chat with answers", `{"messages":[{"role":"user","content":"u"},{"role":"assistant","content":null},{"role":"user","content":"v"}]}`,
			chat(backend.Message{Role: "user", Content: "u"}, backend.Message{Role: "assistant"}, backend.Message{Role: "user", Content: "v"}), ""},
		{"a chat before a text", `{"messages":[{"role":"user","content":"u"}],"prompt":"p"}`, chat(backend.Message{Role: "user", Content: "u"}), ""},
		{"a chat before a conversation", `{"messages":[{"role":"user","content":"u"}],"conversations":[{"from":"user","value":"v"}]}`, chat(backend.Message{Role: "user", Content: "u"}), ""},
		{"a chat and its tokens", `{"messages":[{"role":"user","content":""}],"token_ids":[0]}`, []backend.Prompt{{IDs: []int32{0}, Messages: []backend.Message{{Role: "user"}}}}, ""},
		{"a chat of nothing", `{"messages":[]}`, nil, "row 0: messages is no list of objects"},
		{"a chat in which nothing is said", `{"messages":[{"role":"system"},{"role":"user","content":""}]}`, nil, "row 0: the prompt is empty"},
		{"a conversation that nobody begins", `[{"conversations":[{"from":"gpt","value":"a"}]}]`, nil, "row 0: the prompt is empty"},
		{"a message that is a text", `{"messages":["u"]}`, nil, "message 1: want an object"},
		{"a turn that is a list", `{"conversations":[{"from":"user","value":"u"},[{}]]}`, nil, "turn 2: want an object"},
		{"a turn without a text", `{"conversations":[{"from":"user","value":7}]}`, nil, "turn 1: value is no text"},
		{"a null before a text", `{"prompt":null,"text":"a"}`, text("a"), ""},
		{"the longest answer", `{"prompt":"a","max_tokens":1048576}`, []backend.Prompt{{Text: "a", MaxTokens: 1 << 20}}, ""},
		{"one that is longer", `{"prompt":"a","max_completion_tokens":1048577}`, nil, "max_completion_tokens is 1048577, want a whole number from 1 to 1048576"},
		{"half a token", `{"prompt":"a","output_length":1.5}`, nil, "output_length is 1.5, want a whole number"},
		{"a token that is too large", `{"token_ids":[2147483648]}`, nil, "row 0: token_ids are no token ids"},
		{"a token of the largest number", `{"token_ids":[2147483647]}`, []backend.Prompt{{IDs: []int32{2147483647}}}, ""},
		{"no role", `{"messages":[{"content":"u"}]}`, nil, "message 1: there is no role"},
		{"half a list", `[{"prompt":"a"},`, nil, "row 1"},
	} {
		path := filepath.Join(t.TempDir(), "prompts.jsonl")
		if err := os.WriteFile(path, []byte(test.file), 0o644); err != nil {
			t.Fatal(err)
		}
		got, err := readFile(path, 0)
		if test.err != "" && (err == nil || !strings.Contains(err.Error(), test.err) || !strings.Contains(err.Error(), path)) || test.err == "" && err != nil {
			t.Errorf("%s: %v, want %q", test.name, err, test.err)
		}
		if diff := cmp.Diff(test.want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", test.name, diff)
		}
	}
}

func TestOnlySoManyPromptsAreReadAsAreUsed(t *testing.T) {
	path := filepath.Join(t.TempDir(), "prompts.jsonl")
	if err := os.WriteFile(path, []byte(`{"prompt":"a"}`+"\nbroken"), 0o644); err != nil {
		t.Fatal(err)
	}
	if list, err := readFile(path, 1); err != nil || len(list) != 1 {
		t.Errorf("%v, %v", list, err)
	}
	if _, err := readFile("/dev/zero", 0); err == nil {
		t.Error("a device is read")
	}
}

func TestPromptsThatAreMadeUpAreTheSameEachTime(t *testing.T) {
	open := func(c Config, count int) *texts {
		w, err := Model(c).Open(workload.Setup{Count: count})
		if err != nil {
			t.Fatal(err)
		}
		return w.Prompts.(*texts)
	}
	a, b := open(Config{Synthetic: 20, Words: 11, Answer: 5, Exact: true}, 0), open(Config{Synthetic: 20, Words: 11, Answer: 5, Exact: true}, 7)
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

func TestPromptsOfAnotherSeedAreOthers(t *testing.T) {
	a, b := synthetic(2, 30, 1), synthetic(2, 30, 2)
	if a[0].Text == b[0].Text || a[0].Text == a[1].Text || strings.Join(strings.Fields(a[0].Text), " ") != a[0].Text {
		t.Errorf("%+v and %+v", a, b)
	}
}

func TestLengthsThatNobodyChoseAreUsual(t *testing.T) {
	path := filepath.Join(t.TempDir(), "prompts.jsonl")
	if err := os.WriteFile(path, []byte(`{"prompt":"a"}`+"\n"+`{"prompt":"b","max_tokens":9}`), 0o644); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		config Config
		want   [][2]int // least and most tokens of answers
	}{
		{Config{}, [][2]int{{0, 128}, {0, 9}}},
		{Config{Answer: 7}, [][2]int{{0, 7}, {0, 9}}},
		{Config{Answer: 7, Exact: true}, [][2]int{{7, 7}, {9, 9}}},
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
		if note := w.Notes[0]; c.config.Synthetic == 0 && note != "prompts of "+path || c.config.Synthetic > 0 && note != "1 prompts that are made up, of 256 common words each" {
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

func TestAServerHasToTakeWhatThePromptsAre(t *testing.T) {
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
			if want := c.refused && !ids; want != (err != nil) || want && err.Error() != "the server takes no token ids, and some prompts have no text" {
				t.Errorf("%s, a server that takes ids %v: %v", c.name, ids, err)
			}
		}
	}
}

func TestWhatIsKeptOfAnAnswerIsItsText(t *testing.T) {
	w := &texts{}
	if got := w.First(0, []byte("on"), []int32{5}); string(got) != "on" {
		t.Errorf("first %q", got)
	}
	if got, tokens := w.Response(0, backend.Answer{Text: []byte("once"), IDs: []int32{5, 6}, Tokens: 3}); string(got) != "once" || tokens != 3 {
		t.Errorf("response %q, %d tokens", got, tokens)
	}
}

func TestPromptsHaveNoAccuracyAndNeedAServer(t *testing.T) {
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

func TestPromptsAreReadFromParquet(t *testing.T) {
	got, err := readFile("../../dataset/prompts/testdata/hyparquet.parquet", 2) // of another writer
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
		list, err := promptsOf(rows, "file")
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
