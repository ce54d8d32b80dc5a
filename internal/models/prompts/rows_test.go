package prompts

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/mlperf-go/mlperf/internal/backend"
	"github.com/mlperf-go/mlperf/internal/models/workload"
)

// lines writes rows as lines of JSON and reads them.
func lines(t *testing.T, rows ...string) ([]backend.Prompt, error) {
	t.Helper()
	path := filepath.Join(t.TempDir(), "prompts.jsonl")
	if err := os.WriteFile(path, []byte(strings.Join(rows, "\n")), 0o600); err != nil {
		t.Fatal(err)
	}
	return readFile(path, 0)
}

// Of several columns with a text the first in the list counts, in whatever order a line has them.
func TestTheFirstOfSeveralColumnsCounts(t *testing.T) {
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
			if err == nil || !strings.Contains(err.Error(), "there is no prompt, want one of prompt, text") {
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

func TestRowsThatAreNoPromptsAreNamed(t *testing.T) {
	for _, c := range []struct{ name, row, want string }{
		{"nothing", `{}`, "there is no prompt"},
		{"an empty text", `{"prompt": ""}`, "the prompt is empty"},
		{"a text of white space", `{"prompt": " "}`, ""},
		{"a number for a text", `{"prompt": 7}`, "prompt is no text"},
		{"a list of texts for tokens", `{"token_ids": ["a"]}`, "token_ids are no token ids"},
		{"no token", `{"token_ids": []}`, ""},
		{"a negative token", `{"token_ids": [3, -1]}`, "token_ids are no token ids"},
		{"a token beyond 32 bits", `{"token_ids": [4294967296]}`, "token_ids are no token ids"},
		{"half a token", `{"token_ids": [0.5]}`, "token_ids are no token ids"},
		{"an answer of nothing", `{"prompt": "a", "max_tokens": 0}`, "max_tokens is 0, want a whole number from 1 to 1048576"},
		{"an answer without end", `{"prompt": "a", "output_len": 1e18}`, "output_len is 1e+18, want a whole number from 1 to 1048576"},
		{"the longest answer", `{"prompt": "a", "output_len": 1048576}`, ""},
		{"one more", `{"prompt": "a", "output_len": 1048577}`, "output_len is 1048577"},
		{"an answer in words", `{"prompt": "a", "max_tokens": "many"}`, "max_tokens is many, want a whole number"},
		{"a chat that is none", `{"messages": "hello"}`, "messages is no list of objects"},
		{"a chat of texts", `{"messages": ["hello"]}`, "message 1: want an object"},
		{"a message of nobody", `{"messages": [{"content": "hello"}]}`, "message 1: there is no role"},
		{"a message of pictures", `{"messages": [{"role": "system", "content": "a"}, {"role": "user", "content": [1]}]}`, "message 2: content is no text"},
		{"a chat in which nothing is said", `{"messages": [{"role": "user", "content": ""}]}`, "the prompt is empty"},
		{"a chat of nobody", `{"messages": []}`, "messages is no list of objects"},
		{"a conversation that is none", `{"conversations": {"from": "human"}}`, "conversations is no list of objects"},
		{"a turn of somebody else", `{"conversations": [{"from": "tool", "value": "a"}]}`, `turn 1: from is "tool", want human, gpt or system`},
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

// A conversation is asked up to its first answer to a user, whoever answered.
func TestAConversationIsAskedUpToItsFirstAnswer(t *testing.T) {
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
func TestAnswersAreAsLongAsTheirPromptSays(t *testing.T) {
	path := filepath.Join(t.TempDir(), "prompts.jsonl")
	if err := os.WriteFile(path, []byte("{\"prompt\": \"a\", \"max_tokens\": 7}\r\n{\"prompt\": \"b\"}\r\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		config      Config
		most, least [2]int
	}{
		{Config{}, [2]int{7, 128}, [2]int{0, 0}},
		{Config{Answer: 50}, [2]int{7, 50}, [2]int{0, 0}},
		{Config{Answer: 50, Exact: true}, [2]int{7, 50}, [2]int{7, 50}},
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
