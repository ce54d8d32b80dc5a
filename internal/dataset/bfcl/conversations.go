package bfcl

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/mlperf-go/mlperf/internal/accuracy/bfcl"
)

// ConversationFile is the file of the recorded conversations in the data set.
const ConversationFile = "agentic_coding_2.5h.jsonl"

// A Turn is a request of a recorded conversation: what a user asked, or what tools answered, behind all that came before.
type Turn struct {
	Conversation string
	Number       int              // of its row in the conversation, from 1
	Messages     []jsontext.Value // up to the turn, as servers receive them; turns share their memory
	Tools        jsontext.Value   // nil: none

	Answer   int      // the number of the recorded answer's row; 0: there is none
	Programs []string // that the recorded answer starts; nil: none, and the answer to the turn is not compared
}

// A row is a line of the file.
type row struct {
	Conversation string         `json:"conversation_id"`
	Turn         int            `json:"turn"`
	Role         string         `json:"role"`
	Content      *string        `json:"content"`
	Name         *string        `json:"name"`
	System       *string        `json:"system"`
	Tools        jsontext.Value `json:"tools"`
	ToolCalls    jsontext.Value `json:"tool_calls"`
	Results      []struct {
		ID      string         `json:"tool_call_id"`
		Content jsontext.Value `json:"content"`
	} `json:"tool_results"`
	Reasoning *string `json:"reasoning_content"`
}

// roles are the roles that may follow one another (agentic_inference_dataset.py, VALID_NEXT).
var roles = map[string][]string{"": {user}, user: {assistant}, assistant: {tool, user}, tool: {assistant, user}}

const user, assistant, tool = "user", "assistant", "tool"

// ReadConversations reads the requests of recorded conversations, in the order of the file: of a folder with ConversationFile, or of the file.
func ReadConversations(path string) (turns []Turn, err error) {
	if info, err := os.Stat(path); err == nil && info.IsDir() {
		path = filepath.Join(path, ConversationFile)
	}
	rows, numbers, err := lines(path)
	if err != nil {
		return nil, fmt.Errorf("opening the recorded conversations: %w", err)
	}
	seen := map[string]bool{}
	c := &conversation{}
	for i, text := range rows {
		var r row
		if err = json.Unmarshal(text, &r, lenient); err == nil && r.Conversation == "" {
			err = errors.New("the row has no conversation_id")
		}
		if err == nil && r.Conversation != c.id {
			if c = (&conversation{id: r.Conversation}); seen[c.id] {
				err = fmt.Errorf("the rows of conversation %s do not follow each other", c.id)
			}
			seen[c.id] = true
		}
		if err == nil {
			turns, err = c.add(turns, r)
		}
		if err != nil {
			return nil, fmt.Errorf("%s:%d: %w", path, numbers[i], err)
		}
	}
	if turns == nil {
		return nil, fmt.Errorf("%s has no conversations", path)
	}
	return turns, nil
}

// A conversation is one whose rows are read.
type conversation struct {
	id       string
	rows     int
	role     string // of the last row
	called   bool   // it has calls of tools
	messages []jsontext.Value
	tools    jsontext.Value // of the first row
}

// add adds a row; that of a user or a tool is another turn.
func (c *conversation) add(turns []Turn, r row) ([]Turn, error) {
	if c.rows++; r.Turn != c.rows {
		return nil, fmt.Errorf("the turn is %d: must be %d", r.Turn, c.rows)
	}
	if !slices.Contains(roles[c.role], r.Role) {
		return nil, fmt.Errorf("the role is %q: must be one of %q", r.Role, roles[c.role])
	}
	if c.rows == 1 {
		c.tools = clean(r.Tools)
		if r.System != nil && *r.System != "" {
			c.messages = append(c.messages, messageOf("system", r.System, nil).value())
		}
	}
	added, err := c.messagesOf(r)
	if err != nil {
		return nil, err
	}
	c.role, c.called = r.Role, r.ToolCalls.Kind() == '['
	c.messages = append(c.messages, added...)
	if r.Role == assistant {
		last := &turns[len(turns)-1]
		last.Answer = r.Turn
		last.Programs, err = programs(r.ToolCalls)
		return turns, err
	}
	return append(turns, Turn{Conversation: c.id, Number: r.Turn, Messages: c.messages[:len(c.messages):len(c.messages)], Tools: c.tools}), nil
}

// messagesOf are the messages of a row: one, or one for each result of a tool.
func (c *conversation) messagesOf(r row) (list []jsontext.Value, err error) {
	switch {
	case r.Role == tool && !c.called:
		return nil, errors.New("results of tools must follow calls of them")
	case r.Role == tool && len(r.Results) == 0:
		return nil, errors.New("tool_results: must be a list of results")
	case r.Role == user && c.called:
		return nil, errors.New("results must follow calls of tools, not a user")
	case r.Role == user && (r.Content == nil || *r.Content == ""):
		return nil, errors.New("the user says nothing: content must be a text")
	case r.Role == assistant && (r.Content == nil || *r.Content == "") && r.ToolCalls.Kind() != '[':
		return nil, errors.New("the answer is empty: must have content or tool_calls")
	case r.Role == tool:
		for i, result := range r.Results {
			if result.ID == "" || result.Content == nil || result.Content.Kind() == 'n' {
				return nil, fmt.Errorf("tool_results %d: must have tool_call_id and content", i+1)
			}
			m := object{{"role", quote(tool)}, {"content", clean(result.Content)}, {"tool_call_id", quote(result.ID)}}
			list = append(list, m.value())
		}
		return list, nil
	}
	m := messageOf(r.Role, r.Content, r.Name)
	if r.ToolCalls.Kind() == '[' {
		m.set("tool_calls", clean(r.ToolCalls))
	}
	if r.Reasoning != nil {
		m.setText("reasoning_content", *r.Reasoning)
	}
	return []jsontext.Value{m.value()}, nil
}

// messageOf is a message; its keys have the order of the official client's.
func messageOf(role string, content, name *string) object {
	m := object{{"role", quote(role)}}
	for _, f := range []struct {
		name string
		text *string
	}{{"content", content}, {"name", name}} {
		if f.text != nil {
			m.setText(f.name, *f.text)
		}
	}
	return m
}

// clean is a value without white space, in memory of its own; nil: there is none.
func clean(v jsontext.Value) jsontext.Value {
	if v == nil || v.Kind() == 'n' {
		return nil
	}
	v = bytes.Clone(v)
	_ = v.Format(jsontext.AllowDuplicateNames(true), jsontext.AllowInvalidUTF8(true)) // it was read from JSON
	return v
}

// programs are those that recorded calls start.
func programs(calls jsontext.Value) (list []string, err error) {
	if calls.Kind() != '[' {
		return nil, nil
	}
	var parsed []struct {
		Function struct {
			Name      string         `json:"name"`
			Arguments jsontext.Value `json:"arguments"`
		} `json:"function"`
	}
	if err := json.Unmarshal(calls, &parsed, lenient); err != nil {
		return nil, fmt.Errorf("tool_calls: %w", err)
	}
	for _, c := range parsed {
		arguments := string(c.Function.Arguments)
		if c.Function.Arguments.Kind() == '"' {
			if err := json.Unmarshal(c.Function.Arguments, &arguments, lenient); err != nil {
				return nil, fmt.Errorf("tool_calls: %w", err)
			}
		}
		list = append(list, bfcl.ProgramsOfCall(c.Function.Name, arguments)...)
	}
	return list, nil
}
