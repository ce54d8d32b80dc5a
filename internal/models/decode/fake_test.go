package decode

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"slices"
	"sync"

	"github.com/mlperf-go/mlperf/internal/backend"
	"github.com/mlperf-go/mlperf/internal/models/workload"
	"github.com/mlperf-go/mlperf/internal/tensor"
)

// rows is how many tokens the model of the tests knows. The last one ends an answer.
const (
	rows    = 50
	lastRow = rows - 1
)

// A countingModel says after each token the sum of all before, and ends where that is a multiple of
// its period. It knows them by its cache, which holds a number for each token: so any row of the
// cache that is lost, mixed up or counted twice changes what it says.
type countingModel struct {
	shared bool
	pruned bool // scores are of the last token, and have an axis for it
	period int
	broken func(scores []float32) // spoils scores
	wait   func(ctx context.Context) error
	runs   int
}

func (m *countingModel) inputs() []backend.Port {
	past := backend.Port{Type: tensor.Float32, Shape: tensor.Shape{-1, 1, -1, 1}}
	ports := []backend.Port{{Name: "input_ids", Type: tensor.Int64, Shape: tensor.Shape{-1, -1}}}
	if m.shared {
		ports = append(ports, backend.Port{Name: "last_rows", Type: tensor.Int64, Shape: tensor.Shape{-1}}, backend.Port{Name: "seqlens_k", Type: tensor.Int32, Shape: tensor.Shape{-1}},
			backend.Port{Name: "total_sequence_length", Type: tensor.Int32, Shape: tensor.Shape{1}})
	} else {
		ports = append(ports, backend.Port{Name: "attention_mask", Type: tensor.Int64, Shape: tensor.Shape{-1, -1}}, backend.Port{Name: "position_ids", Type: tensor.Int64, Shape: tensor.Shape{-1, -1}})
	}
	for _, name := range []string{"past_key_values.0.key", "past_key_values.0.value"} {
		p := past
		p.Name = name
		ports = append(ports, p)
	}
	return ports
}

func (m *countingModel) outputs() []backend.Port {
	ports := []backend.Port{{Name: "next_token", Type: tensor.Int64, Shape: tensor.Shape{-1}}, {Name: "logits", Type: tensor.Float32, Shape: tensor.Shape{-1, rows}}}
	switch {
	case m.pruned:
		ports[len(ports)-1].Shape = tensor.Shape{-1, 1, rows}
	case !m.shared:
		ports = []backend.Port{{Name: "logits", Type: tensor.Float32, Shape: tensor.Shape{-1, -1, rows}}}
	}
	for _, name := range []string{"present.0.key", "present.0.value"} {
		ports = append(ports, backend.Port{Name: name, Type: tensor.Float32, Shape: tensor.Shape{-1, 1, -1, 1}})
	}
	return ports
}

func (m *countingModel) Info() backend.Info {
	return backend.Info{Inputs: m.inputs(), Outputs: m.outputs()}
}
func (m *countingModel) Bind(t tensor.Tensor) (backend.Value, error) { return bound{t}, nil }
func (m *countingModel) Close() error                                { return nil }

type bound struct{ t tensor.Tensor }

func (b bound) Tensor() tensor.Tensor { return b.t }
func (b bound) Close() error          { return nil }

// tensorOf finds a tensor by the name of its port.
func tensorOf(ports []backend.Port, values []backend.Value, name string) tensor.Tensor {
	i := slices.IndexFunc(ports, func(p backend.Port) bool { return p.Name == name })
	return values[i].Tensor()
}

func (m *countingModel) Run(ctx context.Context, in, out []backend.Value) error {
	m.runs++
	if m.wait != nil {
		if err := m.wait(ctx); err != nil {
			return err
		}
	}
	inputs, outputs := m.inputs(), m.outputs()
	ids := tensorOf(inputs, in, "input_ids")
	batch, n := int(ids.Shape[0]), int(ids.Shape[1])
	for b := range batch {
		tokens := tensor.Data[int64](ids)[b*n:][:n]
		past := m.past(inputs, in, b, n)
		if m.shared && n > 1 && past > 0 && batch > 1 {
			return errors.New("several tokens behind others, of several sequences at once")
		}
		for kv, name := range []string{"key", "value"} {
			from := row(tensorOf(inputs, in, "past_key_values.0."+name), b)
			to := row(tensorOf(outputs, out, "present.0."+name), b)
			copy(to, from[:past])
			for i, t := range tokens {
				to[past+i] = float32(int(t) + kv)
			}
		}
		if err := m.say(outputs, out, b, n, past); err != nil {
			return err
		}
	}
	return nil
}

// past is how many tokens of a sequence are in the cache.
func (m *countingModel) past(inputs []backend.Port, in []backend.Value, b, n int) int {
	if m.shared {
		return int(tensor.Data[int32](tensorOf(inputs, in, "seqlens_k"))[b]) + 1 - n
	}
	return int(tensorOf(inputs, in, "attention_mask").Shape[1]) - n
}

// row is the cache of a sequence.
func row(t tensor.Tensor, b int) []float32 {
	each := int(t.Shape[2])
	return tensor.Data[float32](t)[b*each:][:each]
}

// say writes the scores.
func (m *countingModel) say(outputs []backend.Port, out []backend.Value, b, n, past int) error {
	sum := float32(0)
	for _, v := range row(tensorOf(outputs, out, "present.0.key"), b)[:past+n] {
		sum += v
	}
	next := int(sum) % lastRow
	if m.period > 0 && int(sum)%m.period == 0 {
		next = lastRow
	}
	logits := tensorOf(outputs, out, "logits")
	scores := tensor.Data[float32](logits)
	if m.pruned && !slices.Equal(logits.Shape[1:], tensor.Shape{1, rows}) {
		return fmt.Errorf("scores are %v", logits.Shape)
	}
	if m.shared || m.pruned {
		scores = scores[b*rows:][:rows]
	} else {
		scores = scores[(b*n+n-1)*rows:][:rows]
	}
	for i := range scores {
		scores[i] = -float32(i)
	}
	scores[next] = 1
	if m.broken != nil {
		m.broken(scores)
	}
	if m.shared {
		tensor.Data[int64](tensorOf(outputs, out, "next_token"))[b] = int64(next)
	}
	return nil
}

// said is what the model says after a prompt, worked out at once.
func (m *countingModel) said(prompt []int32, rules Rules) []int32 {
	sum := 0
	for _, t := range prompt {
		sum += int(t)
	}
	var answer []int32
	for len(answer) < rules.MaxNew {
		next := sum % lastRow
		if m.period > 0 && sum%m.period == 0 {
			if next = lastRow; len(answer) < rules.MinNew {
				next = 0 // the best of the others
			}
		}
		answer = append(answer, int32(next))
		if next == lastRow {
			return answer
		}
		sum += next
	}
	return answer
}

// A keeper keeps answers, by their tickets.
type keeper struct {
	mu      sync.Mutex
	firsts  map[int][]int32
	answers map[int][]int32
	counted map[int]int
	rounds  int // of work that it was told of
}

func (k *keeper) Worked() { k.rounds++ }

func newKeeper() *keeper {
	return &keeper{firsts: map[int][]int32{}, answers: map[int][]int32{}, counted: map[int]int{}}
}

func (k *keeper) FirstToken(ticket int, token []byte) { k.firsts[ticket] = decoded(token) }

func (k *keeper) Done(ticket int, response []byte, tokens int) {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.answers[ticket], k.counted[ticket] = decoded(response), tokens
}

func decoded(response []byte) []int32 {
	tokens := []int32{}
	for i := 0; i < len(response); i += 4 {
		tokens = append(tokens, int32(binary.LittleEndian.Uint32(response[i:])))
	}
	return tokens
}

func itemsOf(n int) []workload.Item {
	items := make([]workload.Item, n)
	for i := range items {
		items[i] = workload.Item{Index: i, Ticket: i}
	}
	return items
}
