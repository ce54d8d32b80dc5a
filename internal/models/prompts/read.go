package prompts

import (
	"cmp"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/mlperf-go/mlperf/internal/backend"
	table "github.com/mlperf-go/mlperf/internal/dataset/prompts"
	"github.com/mlperf-go/mlperf/internal/machine"
	"github.com/mlperf-go/mlperf/internal/tokenizer/hf"
	"github.com/mlperf-go/mlperf/internal/units"
	"github.com/mlperf-go/mlperf/internal/userinput"
)

// readFile reads prompts of any kind of file, the first count; 0: all. Those of a trace are as long as the tokenizer counts, if there is one.
func (c Config) readFile(path string, count int, tokens *hf.Tokenizer) (*textPrompts, error) {
	t, err := table.Read(path, table.Options{Count: count})
	if err != nil {
		return nil, err
	}
	list, err := c.promptsOf(t, filepath.Dir(path), tokens)
	if err != nil {
		return nil, err
	}
	note := "prompts of " + path
	if r, _ := t.Request(0); r != nil {
		unit := "tokens, as the tokenizer counts"
		if tokens == nil {
			unit = "common words, of which most are a token each"
		}
		note += fmt.Sprintf(": texts that are made up, of as many %s; answers have 2 tokens at least", unit)
	}
	if n := t.Failed(); n > 0 {
		note += fmt.Sprintf(", without %s that had no answer when they were recorded", units.Count(n, "request"))
	}
	return &textPrompts{list, note, tokens}, nil
}

// promptsOf makes the prompts of a file in a folder. Those of a trace, which has lengths instead of texts, are made up.
func (c Config) promptsOf(t *table.Table, dir string, tokens *hf.Tokenizer) ([]backend.Prompt, error) {
	turns, err := c.Turns.read(1)
	if err != nil {
		return nil, userinput.Wrap("conversation_turns", err)
	}
	requests, err := requestsOf(t)
	if err != nil {
		return nil, err
	}
	blocks, several := blocks{}, func(int) int { return 0 } // turns of a conversation, at most; 0: not told
	if c.Turns != "" {
		several = func(i int) int { return turns.draw(streamOf(ofTurns, i)) }
		if requests[0] != nil {
			return sessions(t, requests, several, tokens)
		}
	}
	list := make([]backend.Prompt, t.Len())
	for i := range list {
		if requests[i] != nil {
			list[i], err = blocks.prompt(requests[i], i, tokens)
		} else if list[i], err = (row{t, i, dir, several(i), c.Recorded}).promptOf(c.Task); err != nil {
			err = t.At(i, "", err)
		}
		if err != nil {
			return nil, err
		}
	}
	return list, nil
}

// requestsOf are the rows that are requests of a trace; the others are nil. It refuses more of them than there is memory for.
func requestsOf(t *table.Table) ([]*table.Request, error) {
	const bytesOfToken = 5 // of common words
	list, bytes := make([]*table.Request, t.Len()), uint64(0)
	for i := range list {
		r, err := t.Request(i)
		if err != nil {
			return nil, err
		}
		if list[i] = r; r != nil {
			bytes += bytesOfToken * uint64(r.Tokens)
		}
	}
	if free := machine.AvailableMemory(); free > 0 && bytes > free/2 {
		return nil, userinput.Errorf("count", "the prompts of %s requests would take %s, and %s of memory are free: give a smaller number of them",
			units.Number(float64(len(list))), units.Bytes(bytes), units.Bytes(free))
	}
	return list, nil
}

// sessions makes conversations of the requests of a trace that have a session, each of as many turns as a function says at most. A request
// that is longer than the turn before and its answer has these in it, and only the rest is new. A turn comes as long after the answer before
// as it did in the trace.
func sessions(t *table.Table, requests []*table.Request, most func(int) int, tokens *hf.Tokenizer) (list []backend.Prompt, err error) {
	times, err := t.Schedule()
	if err != nil {
		return nil, err
	}
	for n, rows := range t.Sessions() {
		p, before, blocks := backend.Prompt{Exact: true}, 0, blocks{}
		for k, i := range rows[:min(len(rows), most(n))] {
			r := *requests[i]
			if r.Tokens > before {
				r.Tokens -= before
			}
			one, err := blocks.prompt(&r, i, tokens)
			if err != nil {
				return nil, t.At(i, "", err)
			}
			before = requests[i].Tokens + requests[i].Answer
			messages := []backend.Message{{Role: "user", Content: one.Text}}
			if k == 0 {
				p.Messages, p.MaxTokens = messages, one.MaxTokens
				continue
			}
			last := rows[k-1]
			p.Turns = append(p.Turns, backend.Turn{Messages: messages, MaxTokens: one.MaxTokens, Delay: max(times[i]-times[last]-t.Elapsed(last), 0)})
		}
		list = append(list, p)
	}
	return list, nil
}

// leastAnswer is the shortest answer to a request of a trace: the time per token is that of those behind the first.
const leastAnswer = 2

// blocks are the texts of the blocks of a trace, by their numbers.
type blocks map[int32]string

// prompt makes a prompt of a request of a trace: its blocks, and behind them a text of its own.
func (b blocks) prompt(r *table.Request, i int, tokens *hf.Tokenizer) (backend.Prompt, error) {
	var parts []string
	rest := r.Tokens
	for _, block := range r.Blocks {
		if rest < table.BlockTokens {
			break // the last block is shorter, and nothing shows with which others it begins
		}
		if _, ok := b[block]; !ok {
			text, err := textOf(table.BlockTokens, streamOf(ofBlock, int(block)), tokens, "")
			if err != nil {
				return backend.Prompt{}, err
			}
			b[block] = text
		}
		parts, rest = append(parts, b[block]), rest-table.BlockTokens
	}
	if rest > 0 {
		text, err := textOf(rest, streamOf(ofText, i), tokens, "")
		if err != nil {
			return backend.Prompt{}, err
		}
		parts = append(parts, text)
	}
	return backend.Prompt{Text: strings.Join(parts, " "), MaxTokens: max(r.Answer, leastAnswer), Exact: true}, nil
}

// A row is a row of a table.
type row struct {
	t        *table.Table
	i        int
	dir      string // of the file, and of its images
	turns    int    // of a conversation, at most; 0: one, or as many as a row of turns has
	recorded bool   // turns follow recorded answers
}

// value is a value of the row. Rows of OpenAI's batches have them in a body.
func (r row) value(column string) (any, bool) {
	if body, ok := r.t.Value(r.i, "body"); ok {
		fields, _ := body.(map[string]any)
		return fields[column], fields[column] != nil
	}
	return r.t.Value(r.i, column)
}

// textFields are the names of texts; the first in a row is used.
var textFields = []string{"prompt", "text", "question", "instruction", "input", "article", "content"}

// tokenFields are the names of token ids, and limitFields those of the length of the answer.
var (
	tokenFields = []string{"prompt_token_ids", "token_ids", "input_tokens", "tok_input"}
	limitFields = []string{"max_tokens", "max_completion_tokens", "output_tokens", "output_len", "output_length"}
)

// first is the first value of these columns.
func (r row) first(columns []string) (value any, column string) {
	for _, c := range columns {
		if v, ok := r.value(c); ok {
			return v, c
		}
	}
	return nil, ""
}

// promptOf makes a prompt of a row, or a request for embeddings (input, a text or several, or another name of a text) or ranks (query,
// documents).
func (r row) promptOf(task string) (p backend.Prompt, err error) {
	column := "input"
	switch task {
	case "":
		return r.prompt()
	case "rerank":
		column = "documents"
		if v, _ := r.value("query"); v != nil {
			p.Text, _ = v.(string)
		}
		if p.Text == "" {
			return p, errors.New("the row has no query: must be query and documents")
		}
	}
	v, _ := r.value(column)
	list, several := v.([]any)
	if task != "rerank" && !several {
		p.Text, err = r.text(false)
		p.Inputs = []string{p.Text}
	}
	for _, v := range list {
		text, ok := v.(string)
		if !ok || text == "" {
			return p, fmt.Errorf("%s: must be a list of texts", column)
		}
		p.Inputs = append(p.Inputs, text)
	}
	if err == nil && (len(p.Inputs) == 0 || p.Inputs[0] == "") {
		err = fmt.Errorf("%s: must be a list of texts", column)
	}
	if err == nil && p.Text == "" {
		p.Text = p.Inputs[0]
	}
	return p, err
}

// prompt makes a prompt of a row.
func (r row) prompt() (p backend.Prompt, err error) {
	const maxTokens = 1 << 20
	limit, column := r.first(limitFields)
	n, ok := limit.(int64)
	if text, isText := limit.(string); isText { // of CSV
		var err error
		n, err = strconv.ParseInt(text, 10, 64)
		ok = err == nil
	}
	if limit != nil && (!ok || n < 1 || n > maxTokens) {
		return p, fmt.Errorf("%s is %.40s: must be a whole number from 1 to %d", column, fmt.Sprint(limit), maxTokens)
	}
	ids, column := r.first(tokenFields)
	p.MaxTokens = int(n)
	p.IDs, ok = ids.([]int32)
	if ids != nil && (!ok || slices.ContainsFunc(p.IDs, func(id int32) bool { return id < 0 })) {
		return p, fmt.Errorf("%s: must be token ids", column)
	}
	if v, ok := r.value("turns"); ok {
		return p, r.multiTurn(&p, v)
	}
	if p.Messages, err = r.messages(); err != nil {
		return p, err
	}
	if p.Messages == nil {
		p.Text, err = r.text(len(p.IDs) > 0)
	}
	if err == nil {
		err = cmp.Or(r.images(&p), r.tools(&p))
	}
	if err == nil && p.Text == "" && len(p.IDs) == 0 &&
		!slices.ContainsFunc(p.Messages, func(m backend.Message) bool { return m.Content != "" || m.Raw != nil }) {
		err = errors.New("the prompt is empty")
	}
	if r.turns > 1 {
		r.split(&p)
	}
	return p, err
}

// messages are the messages of a chat or a conversation; nil: none.
func (r row) messages() ([]backend.Message, error) {
	if v, ok := r.value("messages"); ok {
		return r.messagesOf(v)
	}
	if v, ok := r.value("conversations"); ok {
		return turnsOf(v, r.turns > 1)
	}
	return nil, nil
}

// text is the text of the prompt, optional beside token ids.
func (r row) text(optional bool) (string, error) {
	v, column := r.first(textFields)
	text, ok := v.(string)
	switch {
	case v == nil && optional:
		return "", nil
	case v == nil:
		return "", fmt.Errorf("the row has no prompt: must be one of %s, messages, conversations, %s", strings.Join(textFields, ", "), tokenFields[0])
	case !ok:
		return "", fmt.Errorf("%s is not a text", column)
	}
	return text, nil
}
