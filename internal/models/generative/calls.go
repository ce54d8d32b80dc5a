package generative

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"iter"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/mlperf-go/mlperf/internal/accuracy"
	judge "github.com/mlperf-go/mlperf/internal/accuracy/bfcl"
	"github.com/mlperf-go/mlperf/internal/backend"
	"github.com/mlperf-go/mlperf/internal/dataset/bfcl"
	"github.com/mlperf-go/mlperf/internal/models/workload"
	"github.com/mlperf-go/mlperf/internal/tokenizer/hf"
	"github.com/mlperf-go/mlperf/internal/tokenizer/pytext"
	"github.com/mlperf-go/mlperf/internal/userinput"
)

// What a request for calls asks for (online_edge_full_run.yaml, model_params).
const (
	callTokens = 1024
	callSeed   = 42
)

// callPrompts implement workload.Prompts: questions of BFCL, or the turns of recorded conversations.
type callPrompts struct {
	prompts   []backend.Prompt
	turns     []bfcl.Turn // of recorded conversations; nil: questions
	scored    bool
	logged    bool
	tokenizer *hf.Tokenizer // nil: none

	mu    sync.Mutex
	found map[int][][]string // the programs that the answers to a turn start, of one answer after the other
}

// openCalls opens the questions of BFCL for tests of accuracy, and the recorded conversations for others.
func openCalls(s workload.Setup) (*workload.Workload, error) {
	c := &callPrompts{scored: s.Scored, logged: s.Logged, found: map[int][][]string{}}
	if path := s.Options[tokenizerOption]; path != "" {
		var err error
		if c.tokenizer, err = hf.Open(path); err != nil {
			return nil, userinput.Wrap(tokenizerOption, err)
		}
	}
	what, read := "turns of recorded conversations", c.readTurns
	if s.Scored {
		what, read = "questions of BFCL", c.readQuestions
	}
	if err := read(s.DatasetDir); err != nil {
		return nil, err
	}
	if s.Count > len(c.prompts) {
		return nil, fmt.Errorf("opening the prompts: expected %d, %s has %d", s.Count, s.DatasetDir, len(c.prompts))
	}
	if s.Count > 0 {
		c.prompts = c.prompts[:s.Count]
	}
	w := &workload.Workload{Samples: len(c.prompts), Prompts: c, Notes: []string{fmt.Sprintf(
		"%d %s of %s, answers of up to %d tokens at temperature 0, seed %d", len(c.prompts), what, s.DatasetDir, callTokens, callSeed)}}
	if !s.Scored {
		w.Order, w.Replayed = func(n, _ uint64) int { return int(n % uint64(len(c.prompts))) }, c.replayed
	}
	return w, nil
}

// readQuestions makes prompts of questions, in the body of the official client.
func (c *callPrompts) readQuestions(dir string) error {
	questions, err := bfcl.Read(dir)
	for _, q := range questions {
		p := backend.Prompt{MaxTokens: callTokens, Tools: q.Tools, ToolChoice: jsontext.Value(`"auto"`)}
		for _, m := range q.Messages {
			p.Messages = append(p.Messages, backend.Message{Role: m.Role, Content: m.Content})
		}
		c.prompts = append(c.prompts, p)
	}
	return err
}

// readTurns makes prompts of turns. A turn comes with all that was recorded before it.
func (c *callPrompts) readTurns(path string) (err error) {
	if info, err := os.Stat(path); err == nil && info.IsDir() {
		if _, err := os.Stat(filepath.Join(path, bfcl.ConversationFile)); err != nil {
			return userinput.Errorf("dataset_path", "%s has no %s, the recorded conversations of a test of performance: it is in the repository "+
				"of mlcommons/endpoints, examples/11_Edge_Agentic_Example (mlperf download dataset bfcl)", path, bfcl.ConversationFile)
		}
	}
	c.turns, err = bfcl.ReadConversations(path)
	var all []backend.Message // of a conversation, whose turns share them
	for i, t := range c.turns {
		follows := i > 0 && c.turns[i-1].Conversation == t.Conversation
		if !follows {
			all = nil
		}
		for _, m := range t.Messages[len(all):] {
			all = append(all, backend.Message{Raw: m})
		}
		c.prompts = append(c.prompts, backend.Prompt{
			Messages: all[:len(all):len(all)], MaxTokens: callTokens, Tools: t.Tools, Session: t.Conversation, Turn: t.Number, Follows: follows,
		})
	}
	return err
}

// Texts implements workload.Prompts.
func (c *callPrompts) Texts() backend.Texts {
	t := backend.Texts{Chat: true, ChatOnly: true, Seed: callSeed, OnlyOfficial: true, MayBeEmpty: c.scored}
	if c.tokenizer != nil {
		t.Tokenize = func(text []byte) ([]int32, error) { return c.tokenizer.Append(nil, string(text), hf.KeepSpecial) }
		t.Detokenize = func(ids []int32) (string, error) { return c.tokenizer.Decode(ids, hf.KeepSpecial) }
	}
	return t
}

// WithoutIDs implements workload.Prompts: there are none.
func (*callPrompts) WithoutIDs() error { return nil }

// Prompt implements workload.Prompts.
func (c *callPrompts) Prompt(index int) *backend.Prompt { return &c.prompts[index] }

// First implements workload.Prompts: the text.
func (c *callPrompts) First(_ int, piece []byte, _ []int32) []byte {
	if !c.logged {
		return nil
	}
	return piece
}

// Response implements workload.Prompts: the calls of tools as the official client writes them, or else the text.
func (c *callPrompts) Response(index int, a backend.Answer) ([]byte, int) {
	if c.turns != nil {
		var programs []string
		for _, call := range a.Calls {
			programs = append(programs, judge.ProgramsOfCall(call.Name, call.Arguments)...)
		}
		c.mu.Lock()
		c.found[index] = append(c.found[index], programs)
		c.mu.Unlock()
	}
	if !c.logged {
		return nil, a.Tokens
	}
	if len(a.Calls) == 0 {
		return a.Text, a.Tokens
	}
	return callsText(a.Calls), a.Tokens
}

// Reset forgets the answers so far: those of a warm-up.
func (c *callPrompts) Reset() {
	c.mu.Lock()
	defer c.mu.Unlock()
	clear(c.found)
}

// callsText are calls of tools as JSON (core/types.py, merge_tool_calls).
func callsText(calls []backend.ToolCall) []byte {
	type function struct {
		Arguments string `json:"arguments"`
		Name      string `json:"name,omitempty"`
	}
	type call struct {
		Type     string   `json:"type"`
		Function function `json:"function"`
		ID       string   `json:"id,omitempty"`
	}
	var list []call
	for _, c := range calls {
		list = append(list, call{c.Type, function{c.Arguments, c.Name}, c.ID})
	}
	text, _ := json.Marshal(list) // texts have JSON
	return text
}

// A replayedTurn is a turn in scores.json.
type replayedTurn struct {
	Conversation string         `json:"conversation_id"`
	Repeat       int            `json:"repeat"`
	Turn         int            `json:"turn"`
	Domain       string         `json:"domain"`
	Missing      bool           `json:"missing,omitempty"`
	Wanted       []string       `json:"gt_actions"`
	Found        []string       `json:"model_actions"`
	Score        jsontext.Value `json:"score"`
}

// replayed compares the programs that answers start with those of the recorded ones (AgenticInferenceInlineScorer of mlcommons/endpoints).
func (c *callPrompts) replayed(issued iter.Seq2[int, bool]) *workload.Replay {
	c.mu.Lock()
	defer c.mu.Unlock()
	r := &workload.Replay{}
	asked, answered, sum, list := map[int]int{}, map[int]int{}, 0.0, []replayedTurn{}
	for index, ok := range issued {
		r.Issued++
		asked[index]++
		var found []string
		if n := answered[index]; ok && n < len(c.found[index]) {
			found = c.found[index][n]
			answered[index]++
		} else {
			ok = false
		}
		t := c.turns[index]
		if t.Programs == nil {
			continue
		}
		r.Compared++
		if !ok {
			r.Missing++
		}
		agreement := judge.Agreement(t.Programs, found)
		sum += agreement
		list = append(list, replayedTurn{t.Conversation, asked[index], t.Answer, "coding", !ok, t.Programs, append([]string{}, found...), rounded(agreement)})
	}
	slices.SortStableFunc(list, func(a, b replayedTurn) int {
		return cmp.Or(strings.Compare(a.Conversation, b.Conversation), a.Repeat-b.Repeat, a.Turn-b.Turn)
	})
	if r.Compared > 0 {
		r.Score = pytext.Round(sum/float64(r.Compared), 4)
	}
	type turns struct {
		Issued   int `json:"issued"`
		Expected int `json:"expected"`
		Observed int `json:"observed"`
		Missing  int `json:"missing"`
		Scored   int `json:"scored"`
	}
	type domain struct {
		Score  jsontext.Value `json:"score"`
		Scored int            `json:"scored"`
	}
	document := struct {
		Score    jsontext.Value    `json:"score"`
		Turns    turns             `json:"turns"`
		Domains  map[string]domain `json:"domains"`
		PerTurn  []replayedTurn    `json:"per_turn"`
		Excluded []excludedTurn    `json:"excluded_turns,omitempty"`
	}{jsontext.Value("null"), turns{r.Issued, r.Compared, r.Compared - r.Missing, r.Missing, r.Compared}, map[string]domain{}, list, c.excluded()}
	if r.Compared > 0 {
		document.Score = rounded(r.Score)
		document.Domains["coding"] = domain{document.Score, r.Compared}
	}
	r.Document, _ = json.MarshalIndent(document, "", "  ") // numbers and texts have JSON
	return r
}

// An excludedTurn is one whose recorded answer starts no program.
type excludedTurn struct {
	Conversation string `json:"conversation_id"`
	Turn         int    `json:"turn"`
	Domain       string `json:"domain"`
	Reason       string `json:"exclude_reason"`
}

func (c *callPrompts) excluded() (list []excludedTurn) {
	for _, t := range c.turns {
		if t.Answer > 0 && t.Programs == nil {
			list = append(list, excludedTurn{t.Conversation, t.Answer, "coding", "no ground truth"})
		}
	}
	slices.SortStableFunc(list, func(a, b excludedTurn) int { return strings.Compare(a.Conversation, b.Conversation) })
	return list
}

// rounded is a share with four digits, as Python writes it.
func rounded(v float64) jsontext.Value { return jsontext.Value(pytext.Float(pytext.Round(v, 4))) }

// scoreCalls scores a log of the answers to the questions of BFCL.
func scoreCalls(_ context.Context, log accuracy.Input, s workload.Scoring) (*accuracy.Score, error) {
	questions, err := bfcl.Read(s.DatasetDir)
	if err != nil {
		return nil, err
	}
	list := make([]judge.Question, len(questions))
	for i, q := range questions {
		list[i] = q.Judge
	}
	return accuracy.ScoreCalls(log, list, s.Samples)
}
