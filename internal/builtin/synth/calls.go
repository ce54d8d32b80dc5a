package synth

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/mlperf-go/mlperf/internal/dataset/bfcl"
	"github.com/mlperf-go/mlperf/internal/fileio"
	"github.com/mlperf-go/mlperf/internal/tokenizer/vocab"
)

// callQuestions is the form of qwen3.6-27b: questions of BFCL, and recorded conversations. Behind the mark in a question, and in what a user or
// a tool says, are the calls that answer it, as JSON.
const callQuestions = "qwen3.6-27b"

// callKinds are the subsets, with how many functions a question offers and how many calls answer it.
var callKinds = []struct {
	subset           string
	functions, calls int
}{
	{"simple_python", 1, 1}, {"simple_java", 1, 1}, {"simple_javascript", 1, 1}, {"multiple", 3, 1}, {"parallel", 1, 2}, {"parallel_multiple", 3, 3},
	{"live_simple", 1, 1}, {"live_multiple", 4, 1}, {"live_parallel", 1, 3}, {"live_parallel_multiple", 4, 2}, {"irrelevance", 2, 0},
	{"live_irrelevance", 3, 0},
}

// A callType is a type of parameters: its name, the type of its items if it has some, and the value that a number stands for, as a model writes
// it and as the possible answers have it.
type callType struct {
	name, items     string
	written, wanted func(n int) any
}

func callText(n int) any { return "value " + string(rune('a'+n%26)) }

var pythonTypes = []callType{
	{"integer", "", func(n int) any { return n }, func(n int) any { return n }},
	{"float", "", func(n int) any { return float64(n) + 0.5 }, func(n int) any { return float64(n) + 0.5 }},
	{"string", "", callText, callText},
	{"boolean", "", func(n int) any { return n%2 == 0 }, func(n int) any { return n%2 == 0 }},
	{"array", "string", func(n int) any { return []any{callText(n), callText(n + 1)} }, func(n int) any { return []any{callText(n), callText(n + 1)} }},
}

var javaTypes = []callType{
	{"integer", "", func(n int) any { return fmt.Sprint(n) }, func(n int) any { return n }},
	{"long", "", func(n int) any { return fmt.Sprintf("%dL", n) }, func(n int) any { return n }},
	{"boolean", "", func(n int) any { return fmt.Sprint(n%2 == 0) }, func(n int) any { return n%2 == 0 }},
	{"String", "", callText, callText},
	{"Array", "integer", func(n int) any { return fmt.Sprintf("new int[]{%d, %d}", n, n+1) }, func(n int) any { return []any{n, n + 1} }},
}

var scriptTypes = []callType{
	{"integer", "", func(n int) any { return fmt.Sprint(n) }, func(n int) any { return n }},
	{"Boolean", "", func(n int) any { return fmt.Sprint(n%2 == 0) }, func(n int) any { return n%2 == 0 }},
	{"String", "", func(n int) any { return fmt.Sprintf("%q", callText(n)) }, callText},
	{"array", "integer", func(n int) any { return fmt.Sprintf("[%d, %d]", n, n+1) }, func(n int) any { return []any{n, n + 1} }},
}

// typesOf are the types of a subset.
func typesOf(subset string) []callType {
	switch subset {
	case "simple_java":
		return javaTypes
	case "simple_javascript":
		return scriptTypes
	}
	return pythonTypes
}

// A plainCall is a call as an answer has it.
type plainCall struct {
	Name      string         `json:"name"`
	Arguments map[string]any `json:"arguments"`
}

// A callFunction is a function with its parameters.
type callFunction struct {
	name  string
	types []callType
}

func (f callFunction) parameter(k int) string { return fmt.Sprintf("%s_%d", f.types[k].name, k+1) }

// describe is the description of the function in BFCL.
func (f callFunction) describe() map[string]any {
	properties, required := map[string]any{}, []string{}
	for k, t := range f.types {
		p := map[string]any{"type": t.name, "description": fmt.Sprintf("Parameter %d of the function.", k+1)}
		if t.items != "" {
			p["items"] = map[string]any{"type": t.items}
		}
		if properties[f.parameter(k)] = p; k == 0 || k+1 < len(f.types) {
			required = append(required, f.parameter(k)) // the last of several is optional
		}
	}
	return map[string]any{"name": f.name, "description": "A built-in function.", "parameters": map[string]any{
		"type": "dict", "properties": properties, "required": required,
	}}
}

// fillCalls writes the files: a row of the questions for each subset in turn, and conversations.
func (s QuestionSpec) fillCalls(folder string) error {
	if err := os.Mkdir(filepath.Join(folder, bfcl.AnswerFolder), 0o755); err != nil {
		return err
	}
	for k, kind := range callKinds {
		var questions, answers bytes.Buffer
		for i := k; i < s.Questions; i += len(callKinds) {
			question, answer := s.drawCalls(k, i)
			if err := writeRow(&questions, question); err != nil {
				return err
			}
			if kind.calls > 0 {
				if err := writeRow(&answers, answer); err != nil {
					return err
				}
			}
		}
		if err := fileio.WriteFile(filepath.Join(folder, bfcl.FileName(kind.subset)), questions.Bytes(), 0o644); err != nil {
			return err
		}
		if kind.calls == 0 {
			continue
		}
		if err := fileio.WriteFile(filepath.Join(folder, bfcl.AnswerFolder, bfcl.FileName(kind.subset)), answers.Bytes(), 0o644); err != nil {
			return err
		}
	}
	var rows bytes.Buffer
	for i := range callConversations {
		for _, row := range s.drawConversation(i) {
			if err := writeRow(&rows, row); err != nil {
				return err
			}
		}
	}
	return fileio.WriteFile(filepath.Join(folder, bfcl.ConversationFile), rows.Bytes(), 0o644)
}

// writeRow writes a row as a line, with the mark of built-in data.
func writeRow(b *bytes.Buffer, row map[string]any) error {
	row[Mark] = true
	return json.NewEncoder(b).Encode(row)
}

// plainWords are words without a meaning.
func plainWords(r *stream) string {
	var words []string
	for range r.between(fewestAsked, mostAsked) {
		words = append(words, strings.TrimSpace(vocab.Words[r.below(vocab.Plain)]))
	}
	return strings.Join(words, " ")
}

// hide puts calls behind a text, where the server of tokens finds them.
func hide(text string, calls []plainCall) string {
	list, _ := json.Marshal(append([]plainCall{}, calls...)) // of texts and numbers
	return text + vocab.Words[vocab.Mark] + string(list)
}

// drawCalls draws question i, of the k-th subset, and its possible answers.
func (s QuestionSpec) drawCalls(k, i int) (question, answer map[string]any) {
	kind := callKinds[k]
	r := newStream("calls", s.Seed, uint64(i))
	types := typesOf(kind.subset)
	var functions []callFunction
	var described []any
	for n := range kind.functions {
		f := callFunction{name: fmt.Sprintf("tool%d.do_%s", i, string(rune('a'+n)))}
		for range r.between(1, 3) {
			f.types = append(f.types, types[r.below(len(types))])
		}
		functions, described = append(functions, f), append(described, f.describe())
	}
	var calls []plainCall
	truth := []any{}
	for n := range kind.calls {
		f := functions[(n+1)%len(functions)]
		c, possible := plainCall{strings.ReplaceAll(f.name, ".", "_"), map[string]any{}}, map[string]any{}
		for p, t := range f.types {
			v := r.between(1, 999)
			c.Arguments[f.parameter(p)] = t.written(v)
			possible[f.parameter(p)] = []any{t.wanted(v)}
		}
		if len(f.types) > 1 { // the last may be left out
			last := f.parameter(len(f.types) - 1)
			possible[last] = append(possible[last].([]any), "")
		}
		calls, truth = append(calls, c), append(truth, map[string]any{f.name: possible})
	}
	id := fmt.Sprintf("%s_%d", kind.subset, i)
	message := map[string]any{"role": "user", "content": hide(plainWords(r), calls)}
	return map[string]any{"id": id, "question": []any{[]any{message}}, "function": described}, map[string]any{"id": id, "ground_truth": truth}
}

// callConversations is how many conversations are recorded, and callCommands are what their answers run.
const callConversations = 3

var callCommands = []string{"ls -la", "grep -rn word . | head -5", "sed -n '1,20p' file.py", "python3 test.py && git diff", "find . -name '*.go'", "cat a b"}

// drawConversation draws the rows of a conversation: a task, and commands with what they printed.
func (s QuestionSpec) drawConversation(i int) (rows []map[string]any) {
	r := newStream("conversation", s.Seed, uint64(i))
	add := func(role string, more map[string]any) {
		more["conversation_id"], more["turn"], more["role"] = fmt.Sprintf("built-in-%d", i), len(rows)+1, role
		rows = append(rows, more)
	}
	turns := r.between(3, 6)
	commands := make([]string, turns)
	for n := range commands {
		commands[n] = callCommands[r.below(len(callCommands))]
	}
	bash := func(n int) []plainCall { return []plainCall{{"bash", map[string]any{"command": commands[n]}}} }
	tools := []any{map[string]any{"type": "function", "function": map[string]any{"name": "bash", "description": "Run a command.",
		"parameters": map[string]any{"type": "object", "properties": map[string]any{"command": map[string]any{"type": "string"}}, "required": []string{"command"}}}}}
	add("user", map[string]any{"content": hide(plainWords(r), bash(0)), "system": "You work in a shell.", "tools": tools})
	for n, command := range commands {
		id := fmt.Sprintf("call_%d", n)
		arguments, _ := json.Marshal(map[string]string{"command": command}) // a text has JSON
		add("assistant", map[string]any{"reasoning_content": plainWords(r), "tool_calls": []any{map[string]any{
			"id": id, "type": "function", "function": map[string]any{"name": "bash", "arguments": string(arguments)},
		}}})
		if n+1 < len(commands) {
			add("tool", map[string]any{"tool_results": []any{map[string]any{"tool_call_id": id, "content": hide(plainWords(r), bash(n+1))}}, "delay_seconds": 0.5})
		}
	}
	return rows
}
