package generative

import (
	"encoding/binary"
	"fmt"
	"slices"

	"github.com/mlperf-go/mlperf/internal/models/tokenizer/hf"
	"github.com/mlperf-go/mlperf/internal/models/workload"
	"github.com/mlperf-go/mlperf/internal/tensor"
)

// whole is the part of a row that has tokens: what is behind them is negative.
func whole(row []int32) []int32 {
	if n := slices.IndexFunc(row, func(t int32) bool { return t < 0 }); n >= 0 {
		return row[:n]
	}
	return row
}

// mostPrompt is how many tokens a prompt from elsewhere may have.
func (t *texts) mostPrompt() int { return t.context - t.rules.MaxNew }

func (t *texts) complete(sent []tensor.Shape) ([]workload.Slot, error) {
	if most := t.mostPrompt(); sent[0][0] < 1 || sent[0][0] > int64(most) {
		return nil, fmt.Errorf("a prompt of %d tokens, want 1 to %d", sent[0][0], most)
	}
	return []workload.Slot{{Type: tensor.Int32, Shape: sent[0]}}, nil
}

// tokens appends the tokens of a response.
func (t *texts) tokens(dst []int32, response []byte) []int32 {
	for w := t.rules.Width; len(response) >= w; response = response[w:] {
		dst = append(dst, int32(binary.LittleEndian.Uint32(response)))
	}
	return dst
}

// words are a tokenizer.
type words struct{ *hf.Tokenizer }

// Encode implements workload.Tokenizer.
func (w words) Encode(text string) ([]int32, error) { return w.Append(nil, text, hf.AddSpecial) }

// EncodeWhole implements workload.Tokenizer.
func (w words) EncodeWhole(text string) ([]int32, error) { return w.Append(nil, text, hf.NoSpecial) }

// Decode implements workload.Tokenizer.
func (w words) Decode(tokens []int32) (string, error) {
	return w.Tokenizer.Decode(tokens, hf.SkipSpecial)
}

// forRows returns the decoder without prompts of its own. A row has room for the longest prompt.
func (t *texts) forRows(limits []int) *workload.Workload {
	own := *t
	own.cuts, own.limits = nil, limits
	w := own.workload()
	w.Samples = len(limits)
	w.Row = func(int) []workload.Slot {
		return []workload.Slot{{Type: tensor.Int32, Shape: tensor.Shape{int64(t.mostPrompt())}}}
	}
	return w
}

// check finds tokens that the model does not know.
func (t *texts) check(row []tensor.Tensor) error {
	tokens := whole(tensor.Data[int32](row[0]))
	if len(tokens) == 0 {
		return fmt.Errorf("the prompt is empty")
	}
	if i := slices.IndexFunc(tokens, t.unknown); i >= 0 {
		return fmt.Errorf("token %d of the prompt is %d, the model knows %d", i, tokens[i], t.layout.Rows)
	}
	return nil
}
