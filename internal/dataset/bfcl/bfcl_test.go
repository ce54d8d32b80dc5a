package bfcl

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/mlperf-go/mlperf/internal/testenv"
)

func readGolden(t *testing.T, name string, into any) {
	t.Helper()
	data, err := os.ReadFile("testdata/" + name)
	if err == nil {
		err = json.Unmarshal(data, into)
	}
	if err != nil {
		t.Fatal(err)
	}
}

// compact is JSON without white space.
func compact(v jsontext.Value) string { return string(clean(v)) }

// Tools are those of the official converter, to the byte and in its order.
func TestTools(t *testing.T) {
	var list []struct {
		ID       string
		Function jsontext.Value
		Tools    jsontext.Value
	}
	readGolden(t, "tools.json", &list)
	for _, c := range list {
		got, err := Tools(c.Function)
		if err != nil || string(got) != compact(c.Tools) {
			t.Errorf("%s: %v\n%s, want\n%s", c.ID, err, got, compact(c.Tools))
		}
	}
	if len(list) < 10 {
		t.Errorf("%d lists of functions", len(list))
	}
	for functions, want := range map[string]string{
		`{}`: "function", `[{}]`: "function 1 … name", `[{"name":"f","parameters":{"properties":{"a":1}}}]`: "f … a … object",
		`[{"name":"f","parameters":{"properties":{"a":{"type":"float"}}}}]`:                      "f … a … description",
		`[{"name":"f","parameters":{"properties":{"a":{"type":"array","items":{"type":"x"}}}}}]`: `f … a … items … "x"`,
	} {
		if _, err := Tools(jsontext.Value(functions)); !testenv.Names(err, want) {
			t.Errorf("%s: %v, want %s", functions, err, want)
		}
	}
}

// The benchmark asks 995 of the published questions (selection.json: sizes of the files, and what the official client asks of each).
func TestSelection(t *testing.T) {
	var golden struct {
		Sizes, Chosen map[string]int
		Order         []string
		Total         int
	}
	readGolden(t, "selection.json", &golden)
	total, order := 0, []string{}
	for _, s := range subsets {
		n := s.chosen(golden.Sizes[s.name])
		if n != golden.Chosen[s.name] {
			t.Errorf("%s: %d of %d, want %d", s.name, n, golden.Sizes[s.name], golden.Chosen[s.name])
		}
		total, order = total+n, append(order, s.name)
	}
	if total != golden.Total || strings.Join(order, " ") != strings.Join(golden.Order, " ") {
		t.Errorf("%d of %v, want %d of %v", total, order, golden.Total, golden.Order)
	}
}

// write makes a folder with a question in each subset.
func write(t *testing.T, change func(name, text string) string) string {
	t.Helper()
	dir := t.TempDir()
	if err := os.Mkdir(filepath.Join(dir, AnswerFolder), 0o755); err != nil {
		t.Fatal(err)
	}
	put := func(name, text string) {
		t.Helper()
		if err := os.WriteFile(filepath.Join(dir, name), []byte(change(name, text)), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	for _, s := range subsets {
		put(FileName(s.name), `{"id":"`+s.name+`_0","question":[[{"role":"system","content":null},{"role":"user","content":"one"}],[{"role":"user","content":"two"}]],`+
			`"function":[{"name":"a.b","description":"","parameters":{"type":"dict","properties":{"x":{"type":"integer","description":""}},"required":["x"]}}]}`+"\n\n")
		if s.truth {
			put(AnswerFolder+"/"+FileName(s.name), `{"id":"`+s.name+`_0","ground_truth":[{"a.b":{"x":[1]}}]}`+"\n")
		}
	}
	return dir
}

func TestQuestions(t *testing.T) {
	list, err := Read(write(t, func(_, text string) string { return text }))
	if err != nil || len(list) != len(subsets) {
		t.Fatalf("%d questions, %v", len(list), err)
	}
	q := list[len(list)-1]
	if want := []Message{{"system", ""}, {"user", "one"}, {"user", "two"}}; len(q.Messages) != 3 || q.Messages[0] != want[0] || q.Messages[2] != want[2] {
		t.Errorf("messages %+v", q.Messages)
	}
	if v := q.Judge.Judge(`[{"name":"a_b","arguments":{"x":1}}]`); !v.Right {
		t.Errorf("%+v", v)
	}
	for _, c := range []struct{ file, from, to, want string }{
		{"BFCL_v4_multiple.json", `"id":"multiple_0",`, ``, "BFCL_v4_multiple.json:1 … id"},
		{"BFCL_v4_multiple.json", `[[{"role"`, `[{"role"`, "BFCL_v4_multiple.json:1"},
		{"BFCL_v4_multiple.json", `"role":"system",`, ``, "multiple_0 … role"},
		{"BFCL_v4_multiple.json", `"name":"a.b",`, ``, "multiple_0 … function 1 … name"},
		{"BFCL_v4_multiple.json", `multiple_0`, `multiple_1`, "multiple_1 … possible_answer/BFCL_v4_multiple.json"},
		{"possible_answer/BFCL_v4_multiple.json", `[1]`, `1`, "multiple_0 … x of a.b … list"},
		{"possible_answer/BFCL_v4_multiple.json", `}`, ``, "possible_answer/BFCL_v4_multiple.json:1"},
	} {
		_, err := Read(write(t, func(name, text string) string {
			if name == c.file {
				return strings.Replace(text, c.from, c.to, 1)
			}
			return text
		}))
		if !testenv.Names(err, c.want) {
			t.Errorf("%s with %s: %v, want %s", c.file, c.to, err, c.want)
		}
	}
	if _, err := Read(t.TempDir()); !testenv.Names(err, "BFCL_v4_irrelevance.json") {
		t.Error(err)
	}
}

// The messages of turns are those that the official client sends, to the byte.
func TestConversations(t *testing.T) {
	turns, err := ReadConversations("testdata/conversation.jsonl")
	if err != nil {
		t.Fatal(err)
	}
	var bodies []struct {
		Messages []jsontext.Value
		Tools    jsontext.Value
	}
	readGolden(t, "bodies.json", &bodies)
	if len(turns) != len(bodies) || len(bodies) != 3 {
		t.Fatalf("%d turns, %d bodies", len(turns), len(bodies))
	}
	for i, b := range bodies {
		got := turns[i]
		if compact(b.Tools) != string(got.Tools) || len(b.Messages) != len(got.Messages) {
			t.Fatalf("turn %d: %d messages, tools %s", i, len(got.Messages), got.Tools)
		}
		for k, m := range b.Messages {
			if compact(m) != string(got.Messages[k]) {
				t.Errorf("turn %d, message %d:\n%s, want\n%s", i, k, got.Messages[k], compact(m))
			}
		}
	}
	if first := turns[0]; first.Conversation != "django__django-16899" || first.Answer != 2 || strings.Join(first.Programs, " ") != "find xargs head" {
		t.Errorf("%s, answer %d, %v", first.Conversation, first.Answer, first.Programs)
	}
}

const talk = `{"conversation_id":"a","turn":1,"role":"user","content":"do","tools":[{}]}
{"conversation_id":"a","turn":2,"role":"assistant","tool_calls":[{"id":"1","type":"function","function":{"name":"bash","arguments":"{\"command\":\"ls\"}"}}]}
{"conversation_id":"a","turn":3,"role":"tool","tool_results":[{"tool_call_id":"1","content":"x"}]}
{"conversation_id":"a","turn":4,"role":"assistant","content":"done"}
{"conversation_id":"b","turn":1,"role":"user","content":"more"}
`

func TestDamagedConversations(t *testing.T) {
	for _, c := range []struct{ from, to, want string }{
		{`"turn":3`, `"turn":4`, "3 … turn is 4 … 3"}, {`"role":"tool"`, `"role":"assistant"`, `3 … role is "assistant" … tool`},
		{`"conversation_id":"b"`, `"conversation_id":"a"`, "5 … turn is 1 … 5"}, {`"content":"do"`, `"content":""`, "1 … content"},
		{`"tool_results":[{"tool_call_id":"1","content":"x"}]`, `"tool_results":[]`, "3 … tool_results"}, {`"tool_call_id":"1",`, ``, "3 … tool_results 1 … tool_call_id"},
		{`"content":"done"`, `"content":null`, "4 … empty"}, {`"conversation_id":"b",`, ``, "5 … conversation_id"}, {`"more"}`, `"more"`, "5"},
		{`"tool_calls":[{"id"`, `"content":"x","calls":[{"id"`, "3 … results of tools"}, {`"role":"tool","tool_results":[{"tool_call_id":"1","content":"x"}]`, `"role":"user","content":"y"`, "3 … results"},
	} {
		path := filepath.Join(t.TempDir(), "c.jsonl")
		if err := os.WriteFile(path, []byte(strings.Replace(talk, c.from, c.to, 1)), 0o644); err != nil {
			t.Fatal(err)
		}
		if _, err := ReadConversations(path); !testenv.Names(err, "c.jsonl:"+c.want) {
			t.Errorf("%s: %v, want %s", c.to, err, c.want)
		}
	}
	if _, err := ReadConversations(t.TempDir()); !testenv.Names(err, ConversationFile) {
		t.Error(err)
	}
}

// Rows survive: what is read as a conversation has a turn for each row of a user or a tool.
func FuzzConversations(f *testing.F) {
	f.Add([]byte(talk))
	f.Fuzz(func(t *testing.T, data []byte) {
		path := filepath.Join(t.TempDir(), "c.jsonl")
		if err := os.WriteFile(path, data, 0o644); err != nil {
			t.Fatal(err)
		}
		turns, err := ReadConversations(path)
		if err != nil {
			return
		}
		for _, turn := range turns {
			for _, m := range turn.Messages {
				if !m.IsValid(jsontext.AllowDuplicateNames(true), jsontext.AllowInvalidUTF8(true)) {
					t.Errorf("message %s", m)
				}
			}
		}
	})
}

// What is read as tools is JSON, and is read again as the same.
func FuzzTools(f *testing.F) {
	f.Add([]byte(`[{"name":"a.b","parameters":{"properties":{"x":{"type":"float","description":"d"},"y":{"type":"array","items":{"type":"dict","properties":{}}}},"required":[]}}]`))
	f.Fuzz(func(t *testing.T, data []byte) {
		tools, err := Tools(data)
		if err == nil && !tools.IsValid(jsontext.AllowDuplicateNames(true), jsontext.AllowInvalidUTF8(true)) {
			t.Errorf("%s: %s", data, tools)
		}
	})
}
