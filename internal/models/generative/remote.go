package generative

import (
	"encoding/binary"
	"fmt"
	"slices"

	"github.com/mlperf-go/mlperf/internal/backend"
	"github.com/mlperf-go/mlperf/internal/models/decode"
	"github.com/mlperf-go/mlperf/internal/models/workload"
	"github.com/mlperf-go/mlperf/internal/tokenizer/hf"
	"github.com/mlperf-go/mlperf/internal/userinput"
)

// remoteRules are the settings of a benchmark where servers of text answer.
type remoteRules struct {
	bos         int32   // token that servers put before a text; 0: none
	keepSpecial bool    // score special tokens too
	temperature float64 // 0: greedy
	maxScored   int     // tokens of an answer in tests of accuracy; 0: as in others
}

// remoteOptions are the options of runs with servers of text.
func remoteOptions(scored ...workload.Option) []workload.Option {
	return append([]workload.Option{workload.ChooseTokenizer()}, scored...)
}

// openRemote opens the prompts for servers of text.
func (w benchmark) openRemote(s workload.Setup) (*workload.Workload, error) {
	from, data, err := w.load(s)
	if err != nil {
		return nil, err
	}
	a := &remotePrompts{data: data, rules: w.rules, remote: w.remote, logged: s.Logged}
	if s.Scored && w.remote.maxScored > 0 {
		a.rules.MaxNew = w.remote.maxScored
	}
	if err := a.openTokenizer(from); err != nil {
		return nil, userinput.Wrap(tokenizerOption, err)
	}
	a.prompts = make([]backend.Prompt, len(data.tokens))
	for i := range a.prompts {
		a.prompts[i] = a.promptOf(i)
	}
	tokenizer := "no tokenizer: token counts are those of the servers"
	if a.tokenizer != nil {
		tokenizer = "where servers send no token ids, " + a.tokenizerFile + " counts tokens"
	}
	distinct := map[string]bool{}
	for _, text := range data.targets {
		distinct[text] = true
	}
	return &workload.Workload{Samples: len(a.prompts), Prompts: a, Alike: len(data.targets) - len(distinct), Notes: []string{
		fmt.Sprintf("%d prompts of %s, answers of %d to %d tokens at temperature %g", len(a.prompts), s.DatasetDir, a.rules.MinNew, a.rules.MaxNew,
			a.remote.temperature),
		tokenizer,
	}}, nil
}

// openTokenizer opens the tokenizer. It may be missing if no option names it and the run is not scored.
func (a *remotePrompts) openTokenizer(from source) (err error) {
	a.tokenizer, err = from.openTokenizer()
	switch {
	case err == nil:
		a.tokenizerFile = from.tokenizerPath()
		return nil
	case from.scored || from.tokenizer != "":
		return err
	}
	return nil
}

// promptOf is a prompt as servers receive it.
func (a *remotePrompts) promptOf(i int) backend.Prompt {
	p := backend.Prompt{IDs: a.data.tokens[i], MaxTokens: a.rules.MaxNew, MinTokens: a.rules.MinNew}
	if a.data.cuts[i] != nil {
		p.Stop = mbxpEndText
	}
	if a.data.questions != nil {
		p.Messages = []backend.Message{{Role: "user", Content: a.data.questions[i]}}
	}
	return p
}

// remotePrompts implement workload.Prompts.
type remotePrompts struct {
	data          *promptSet
	prompts       []backend.Prompt
	rules         decode.Rules
	remote        remoteRules
	logged        bool
	tokenizer     *hf.Tokenizer // nil: none
	tokenizerFile string        // its file
}

// WithoutIDs implements workload.Prompts: it makes texts of the tokens.
func (a *remotePrompts) WithoutIDs() error {
	if a.data.questions != nil {
		return nil
	}
	if a.tokenizer == nil {
		return userinput.Missing(tokenizerOption, "the server takes no token ids, and the text of the prompts needs the model's tokenizer.json")
	}
	for i := range a.prompts {
		p := &a.prompts[i]
		ids := p.IDs
		for len(ids) > 0 && a.remote.bos != 0 && ids[0] == a.remote.bos {
			ids = ids[1:]
		}
		var err error
		if p.Text, err = a.tokenizer.Decode(ids, hf.KeepSpecial); err != nil {
			return fmt.Errorf("prompt %d: %w", i, err)
		}
	}
	return nil
}

// Texts implements workload.Prompts.
func (a *remotePrompts) Texts() backend.Texts {
	t := backend.Texts{IDs: true, Chat: a.data.questions != nil, Least: a.rules.MinNew > 1, Logged: a.logged, KeepSpecial: a.remote.keepSpecial,
		Temperature: a.remote.temperature}
	if a.tokenizer != nil {
		t.Tokenize = func(text []byte) ([]int32, error) { return a.tokenizer.Append(nil, string(text), hf.KeepSpecial) }
		t.Detokenize = func(ids []int32) (string, error) { return a.tokenizer.Decode(ids, hf.KeepSpecial) }
	}
	return t
}

// Prompt implements workload.Prompts.
func (a *remotePrompts) Prompt(index int) *backend.Prompt { return &a.prompts[index] }

// First implements workload.Prompts: tokens, as the reference logs them.
func (a *remotePrompts) First(_ int, piece []byte, ids []int32) []byte {
	if !a.logged {
		return nil
	}
	if len(ids) == 0 && a.tokenizer != nil {
		ids, _ = a.tokenizer.Append(nil, string(piece), hf.KeepSpecial) // an error shows in the answer
	}
	return bytesOf(ids, a.rules.Width)
}

// Response implements workload.Prompts: the tokens up to the first that ends the answer.
func (a *remotePrompts) Response(index int, answer backend.Answer) ([]byte, int) {
	if len(answer.IDs) == 0 {
		return nil, answer.Tokens // the server's count
	}
	ids := a.upToEnd(answer.IDs, a.data.cuts[index])
	return bytesOf(ids, a.rules.Width), len(ids) + answer.Tokens - len(answer.IDs)
}

// upToEnd cuts an answer off behind the tokens that end it.
func (a *remotePrompts) upToEnd(ids, cut []int32) []int32 {
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

// bytesOf encodes tokens as in a log.
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
