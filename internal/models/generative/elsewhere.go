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

// Decode implements workload.Portable.
func (*texts) Decode([]byte, []tensor.Tensor) error { return workload.ErrNoFile }

// Stamp implements workload.Portable: tokens have no index.
func (*texts) Stamp([]byte, int, []tensor.Tensor) {}

// Tied implements workload.Tied.
func (t *texts) Tied() string {
	if len(t.cuts) == 0 {
		return ""
	}
	return "where the answer to a prompt ends"
}

// Sent implements workload.Varied.
func (t *texts) Sent() []workload.Sent {
	return []workload.Sent{{Name: "input_ids", Slot: workload.Slot{Type: tensor.Int32, Shape: tensor.Shape{-1}}}}
}

// Complete implements workload.Varied.
func (t *texts) Complete(sent []tensor.Shape) ([]workload.Slot, error) {
	if most, _ := t.Room(); sent[0][0] < 1 || sent[0][0] > int64(most) {
		return nil, fmt.Errorf("a prompt of %d tokens, want 1 to %d", sent[0][0], most)
	}
	return []workload.Slot{{Type: tensor.Int32, Shape: sent[0]}}, nil
}

// Room implements workload.TextWriter.
func (t *texts) Room() (prompt, answer int) { return t.context - t.rules.MaxNew, t.rules.MaxNew }

// Tokens implements workload.TextWriter.
func (t *texts) Tokens(dst []int32, response []byte) []int32 {
	for w := t.rules.Width; len(response) >= w; response = response[w:] {
		dst = append(dst, int32(binary.LittleEndian.Uint32(response)))
	}
	return dst
}

// Ends implements workload.TextWriter.
func (t *texts) Ends(token int32) bool { return slices.Contains(t.rules.Stop, token) }

// Words implements workload.TextWriter.
func (t *texts) Tokenizer() workload.Tokenizer {
	if t.words == nil {
		return nil
	}
	return words{t.words}
}

// Chat implements workload.TextWriter.
func (t *texts) ChatTemplate() workload.ChatTemplate {
	if t.chat == nil {
		return nil
	}
	return t.chat
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

// Elsewhere implements workload.Writer.
func (t *texts) Elsewhere(rows int) workload.Prompted {
	own := *t
	own.cuts, own.limits = nil, make([]int, rows)
	return &elsewhere{own}
}

// elsewhere is a decoder without prompts of its own.
type elsewhere struct{ texts }

// Len implements workload.Workload.
func (e *elsewhere) Len() int { return len(e.limits) }

// Row implements workload.Workload: room for the longest prompt.
func (e *elsewhere) Row(int) []workload.Slot {
	most, _ := e.Room()
	return []workload.Slot{{Type: tensor.Int32, Shape: tensor.Shape{int64(most)}}}
}

// Limit implements workload.Prompted.
func (e *elsewhere) Limit(row, tokens int) { e.limits[row] = tokens }

// Check implements workload.Prompted.
func (e *elsewhere) Check(row []tensor.Tensor) error {
	tokens := whole(tensor.Data[int32](row[0]))
	if len(tokens) == 0 {
		return fmt.Errorf("the prompt is empty")
	}
	if i := slices.IndexFunc(tokens, e.unknown); i >= 0 {
		return fmt.Errorf("token %d of the prompt is %d, the model knows %d", i, tokens[i], e.layout.Rows)
	}
	return nil
}
