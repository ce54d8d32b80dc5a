package generative

import (
	"fmt"
	"slices"

	"github.com/mlperf-go/mlperf/internal/dataset/prompts"
	"github.com/mlperf-go/mlperf/internal/models/tokenizer/hf"
)

// GPT-J's prompts (language/gpt-j/dataset.py): the template of Alpaca, cut off after alpacaTokens tokens.
const (
	alpaca = "Below is an instruction that describes a task, paired with an input that provides further context. " +
		"Write a response that appropriately completes the request.\n\n### Instruction:\n%s\n\n### Input:\n%s\n\n### Response:"
	alpacaTokens = 1919
)

// readInstructions reads articles with instructions, and tokenizes them unless the file has tokens.
func readInstructions(s source) (*promptSet, error) {
	t, err := s.read(articleFiles...)
	if err != nil {
		return nil, err
	}
	if slices.Contains(t.Columns(), "tok_input") {
		return readTokensAndText(t, "output")
	}
	tokenizer, err := s.openTokenizer()
	if err != nil {
		return nil, err
	}
	q := &promptSet{}
	for i := range t.Len() {
		text, target, err := instruction(t, i)
		if err != nil {
			return nil, err
		}
		ids, err := tokenizer.Append(nil, text, hf.AddSpecial)
		if err != nil {
			return nil, fmt.Errorf("prompt %d: %w", i, err)
		}
		q.tokens, q.targets = append(q.tokens, ids[:min(len(ids), alpacaTokens)]), append(q.targets, target)
	}
	return q, nil
}

// instruction is the prompt and the reference answer of a row.
func instruction(t *prompts.Table, i int) (text, target string, err error) {
	var parts [3]string
	for k, column := range []string{"instruction", "input", "output"} {
		if parts[k], err = t.Text(i, column); err != nil {
			return "", "", err
		}
	}
	return fmt.Sprintf(alpaca, parts[0], parts[1]), parts[2], nil
}
