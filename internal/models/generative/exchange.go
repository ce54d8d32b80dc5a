package generative

import (
	"encoding/binary"
	"fmt"
	"slices"

	"github.com/mlperf-go/mlperf/internal/models/workload"
	"github.com/mlperf-go/mlperf/internal/tensor"
	"github.com/mlperf-go/mlperf/internal/tokenizer/hf"
)

// tokensIn is the part of a row before the first negative number: the tokens.
func tokensIn(row []int32) []int32 {
	if n := slices.IndexFunc(row, func(t int32) bool { return t < 0 }); n >= 0 {
		return row[:n]
	}
	return row
}

// maxPrompt is the maximum of tokens of a prompt that is sent.
func (t *decoderWorkload) maxPrompt() int { return t.context - t.rules.MaxNew }

func (t *decoderWorkload) complete(sent []tensor.Shape) ([]workload.Slot, error) {
	if most := t.maxPrompt(); sent[0][0] < 1 || sent[0][0] > int64(most) {
		return nil, fmt.Errorf("the prompt has %d tokens, expected 1 to %d", sent[0][0], most)
	}
	return []workload.Slot{{Type: tensor.Int32, Shape: sent[0]}}, nil
}

// tokens appends the tokens of a response.
func (t *decoderWorkload) tokens(dst []int32, response []byte) []int32 {
	for w := t.rules.Width; len(response) >= w; response = response[w:] {
		dst = append(dst, int32(binary.LittleEndian.Uint32(response)))
	}
	return dst
}

// An exchangeTokenizer implements workload.Tokenizer.
type exchangeTokenizer struct{ *hf.Tokenizer }

// Encode implements workload.Tokenizer.
func (w exchangeTokenizer) Encode(text string) ([]int32, error) {
	return w.Append(nil, text, hf.AddSpecial)
}

// EncodePlain implements workload.Tokenizer.
func (w exchangeTokenizer) EncodePlain(text string) ([]int32, error) {
	return w.Append(nil, text, hf.NoSpecial)
}

// Decode implements workload.Tokenizer.
func (w exchangeTokenizer) Decode(tokens []int32) (string, error) {
	return w.Tokenizer.Decode(tokens, hf.SkipSpecial)
}

// forRows returns the decoder for rows that are sent. A row has room for the longest prompt.
func (t *decoderWorkload) forRows(limits []int) *workload.Workload {
	own := *t
	own.cuts, own.limits = nil, limits
	w := own.workload()
	w.Samples = len(limits)
	w.Row = func(int) []workload.Slot {
		return []workload.Slot{{Type: tensor.Int32, Shape: tensor.Shape{int64(t.maxPrompt())}}}
	}
	return w
}

// check finds tokens that are not in the model's vocabulary.
func (t *decoderWorkload) check(row []tensor.Tensor) error {
	tokens := tokensIn(tensor.Data[int32](row[0]))
	if len(tokens) == 0 {
		return fmt.Errorf("the prompt is empty")
	}
	if i := slices.IndexFunc(tokens, t.unknown); i >= 0 {
		return fmt.Errorf("token %d of the prompt is %d, the model's vocabulary has %d", i, tokens[i], t.layout.Rows)
	}
	return nil
}
