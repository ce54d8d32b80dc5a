package generative

import (
	"encoding/binary"
	"fmt"
	"slices"

	"github.com/mlperf-go/mlperf/internal/backend"
	"github.com/mlperf-go/mlperf/internal/models/decode"
	"github.com/mlperf-go/mlperf/internal/models/tokenizer/hf"
	"github.com/mlperf-go/mlperf/internal/models/workload"
	"github.com/mlperf-go/mlperf/internal/userinput"
)

// An asking is what a benchmark differs by from others where servers of text answer.
type asking struct {
	begin       int32   // token that prompts begin with, and that servers put before a text; 0: none
	keepSpecial bool    // special tokens are a part of what is scored
	temperature float64 // 0: the likeliest token is taken
	maxScored   int     // tokens of an answer in tests of accuracy; 0: as in others
}

// askOptions are those of runs: the tokenizer, and how answers are scored.
func askOptions(scored ...workload.Option) []workload.Option {
	return append([]workload.Option{chooseTokenizer()}, scored...)
}

// ask joins prompts with servers of text.
func (w writer) ask(s workload.Setup) (*workload.Workload, error) {
	from, data, err := w.load(s)
	if err != nil {
		return nil, err
	}
	a := &asked{data: data, rules: w.rules, asking: w.asked, logged: s.Logged}
	if s.Scored && w.asked.maxScored > 0 {
		a.rules.MaxNew = w.asked.maxScored
	}
	if err := a.openWords(from); err != nil {
		return nil, userinput.Wrap(tokenizerOption, err)
	}
	a.prompts = make([]backend.Prompt, len(data.tokens))
	for i := range a.prompts {
		a.prompts[i] = a.promptOf(i)
	}
	tokenizer := "there is no tokenizer: what the servers tell counts"
	if a.words != nil {
		tokenizer = "where the servers do not tell tokens, those of " + a.tokenizer + " count"
	}
	return &workload.Workload{Samples: len(a.prompts), Prompts: a, Notes: []string{
		fmt.Sprintf("%d prompts of %s, answers of %d to %d tokens at temperature %g", len(a.prompts), s.DatasetDir, a.rules.MinNew, a.rules.MaxNew, a.asking.temperature),
		tokenizer,
	}}, nil
}

// openWords opens the tokenizer. It may be missing if nobody named one, and nothing is scored: what is kept
// are tokens, and the score is one of texts.
func (a *asked) openWords(from source) (err error) {
	a.words, err = from.openTokenizer()
	switch {
	case err == nil:
		a.tokenizer = from.tokenizerPath()
		return nil
	case from.scored || from.tokenizer != "":
		return err
	}
	return nil
}

// promptOf is what servers are sent of a prompt.
func (a *asked) promptOf(i int) backend.Prompt {
	p := backend.Prompt{IDs: a.data.tokens[i], MaxTokens: a.rules.MaxNew, MinTokens: a.rules.MinNew}
	if a.data.cuts[i] != nil {
		p.Stop = mbxpEndText
	}
	if a.data.questions != nil {
		p.Messages = []backend.Message{{Role: "user", Content: a.data.questions[i]}}
	}
	return p
}

// asked are prompts that servers of text answer.
type asked struct {
	data      *questionnaire
	prompts   []backend.Prompt
	rules     decode.Rules
	asking    asking
	logged    bool
	words     *hf.Tokenizer // nil: there is none
	tokenizer string        // its file
}

// WithoutIDs implements workload.Prompts: it makes texts of the tokens.
func (a *asked) WithoutIDs() error {
	if a.data.questions != nil {
		return nil
	}
	if a.words == nil {
		return userinput.Missing(tokenizerOption, "the server takes no token ids, and without the model's tokenizer.json there is no text of the prompts")
	}
	for i := range a.prompts {
		p := &a.prompts[i]
		ids := p.IDs
		for len(ids) > 0 && a.asking.begin != 0 && ids[0] == a.asking.begin {
			ids = ids[1:]
		}
		var err error
		if p.Text, err = a.words.Decode(ids, hf.KeepSpecial); err != nil {
			return fmt.Errorf("prompt %d: %w", i, err)
		}
	}
	return nil
}

// Texts implements workload.Prompts.
func (a *asked) Texts() backend.Texts {
	t := backend.Texts{IDs: true, Chat: a.data.questions != nil, Least: a.rules.MinNew > 1, Logged: a.logged, KeepSpecial: a.asking.keepSpecial, Temperature: a.asking.temperature}
	if a.words != nil {
		t.Tokenize = func(text []byte) ([]int32, error) { return a.words.Append(nil, string(text), hf.KeepSpecial) }
	}
	return t
}

// Prompt implements workload.Prompts.
func (a *asked) Prompt(index int) *backend.Prompt { return &a.prompts[index] }

// First implements workload.Prompts: tokens, as the reference logs them.
func (a *asked) First(_ int, piece []byte, ids []int32) []byte {
	if !a.logged {
		return nil
	}
	if len(ids) == 0 && a.words != nil {
		ids, _ = a.words.Append(nil, string(piece), hf.KeepSpecial) // if it cannot, the answer says so
	}
	return bytesOf(ids, a.rules.Width)
}

// Response implements workload.Prompts: the tokens up to the first one that ends the answer.
func (a *asked) Response(index int, answer backend.Answer) ([]byte, int) {
	if len(answer.IDs) == 0 {
		return nil, answer.Tokens // as many as the server says
	}
	ids := a.ended(answer.IDs, a.data.cuts[index])
	return bytesOf(ids, a.rules.Width), len(ids) + answer.Tokens - len(answer.IDs)
}

// ended cuts an answer off behind the tokens that end it.
func (a *asked) ended(ids, cut []int32) []int32 {
	if i := slices.IndexFunc(ids, func(id int32) bool { return slices.Contains(a.rules.Stop, id) }); i >= 0 && a.rules.Drop {
		ids = ids[:i]
	} else if i >= 0 {
		ids = ids[:i+1]
	}
	for i := len(cut); len(cut) > 0 && i <= len(ids); i++ {
		if slices.Equal(ids[i-len(cut):i], cut) {
			return ids[:i]
		}
	}
	return ids
}

// bytesOf are tokens as a log has them.
func bytesOf(ids []int32, width int) []byte {
	b := make([]byte, 0, width*len(ids))
	for _, id := range ids {
		if width == 8 {
			b = binary.LittleEndian.AppendUint64(b, uint64(id))
		} else {
			b = binary.LittleEndian.AppendUint32(b, uint32(id))
		}
	}
	return b
}
