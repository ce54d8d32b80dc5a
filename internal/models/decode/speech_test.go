package decode

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/mlperf-go/mlperf/internal/backend"
	"github.com/mlperf-go/mlperf/internal/models/workload"
	"github.com/mlperf-go/mlperf/internal/tensor"
)

// A speechModel hears a number in a recording, and says after each token the sum of that number and of all
// tokens before. It knows both by its caches, of two layers and two heads: so any row that is lost, mixed up or
// counted twice changes what it says.
type speechModel struct {
	role    string
	places  bool // it wants to be told the places of tokens
	broken  func(scores []float32)
	failing error
}

const (
	speechLayers = 2
	speechHeads  = 2
	speechSteps  = 3
)

func speechPort(_, name string, t tensor.DType, shape ...int64) backend.Port {
	return backend.Port{Name: name, Type: t, Shape: shape}
}

func (m *speechModel) Info() backend.Info {
	f, i := tensor.Float32, tensor.Int64
	var in, out []backend.Port
	switch m.role {
	case EncoderRole:
		return backend.Info{
			Inputs:  []backend.Port{speechPort(m.role, "input_features", f, -1, 2, 4)},
			Outputs: []backend.Port{speechPort(m.role, "last_hidden_state", f, -1, speechSteps, 1)},
		}
	case FirstRole:
		in = append(in, speechPort(m.role, "input_ids", i, -1, -1), speechPort(m.role, "encoder_hidden_states", f, -1, speechSteps, 1))
		out = append(out, speechPort(m.role, "logits", f, -1, -1, rows))
	default:
		in = append(in, speechPort(m.role, "input_ids", i, -1, 1))
		out = append(out, speechPort(m.role, "logits", f, -1, 1, rows))
	}
	if m.places {
		in = append(in, speechPort(m.role, "cache_position", i, -1))
	}
	for layer := range speechLayers {
		for _, part := range cacheParts {
			length := int64(-1)
			if part.cross {
				length = speechSteps
			}
			if m.role == NextRole {
				in = append(in, speechPort(m.role, part.past(layer), f, -1, speechHeads, length, 1))
			}
			if m.role == FirstRole || !part.cross {
				out = append(out, speechPort(m.role, part.present(layer), f, -1, speechHeads, length, 1))
			}
		}
	}
	return backend.Info{Inputs: in, Outputs: out}
}

func (m *speechModel) Bind(t tensor.Tensor) (backend.Value, error) { return bound{t}, nil }
func (m *speechModel) Close() error                                { return nil }

func (m *speechModel) Run(_ context.Context, in, out []backend.Value) error {
	if m.failing != nil {
		return m.failing
	}
	info := m.Info()
	find := func(name string) []float32 {
		ports, values := info.Inputs, in
		if strings.HasPrefix(name, "present") || name == "logits" || name == "last_hidden_state" {
			ports, values = info.Outputs, out
		}
		return tensor.Data[float32](tensorOf(ports, values, name))
	}
	if m.role == EncoderRole {
		for i, v := range find("input_features")[:speechSteps] {
			find("last_hidden_state")[i] = v
		}
		return nil
	}
	ids := tensorOf(info.Inputs, in, "input_ids")
	batch, n := int(ids.Shape[0]), int(ids.Shape[1])
	past := 0
	if m.role == NextRole {
		past = int(tensorOf(info.Inputs, in, cacheParts[0].past(0)).Shape[2])
	}
	if m.places && int(tensor.Data[int64](tensorOf(info.Inputs, in, "cache_position"))[0]) != past {
		return errors.New("the place is not that of the token")
	}
	for b := range batch {
		sum := float32(0)
		for layer := range speechLayers {
			for _, part := range cacheParts {
				own := func(name string, size int) []float32 { return find(name)[b*size:][:size] }
				var cache []float32
				switch {
				case part.cross && m.role == FirstRole:
					cache = own(part.present(layer), speechHeads*speechSteps)
					for i := range cache {
						cache[i] = find("encoder_hidden_states")[b*speechSteps+i%speechSteps]
					}
				case part.cross:
					cache = own(part.past(layer), speechHeads*speechSteps)
				default:
					cache = own(part.present(layer), speechHeads*(past+n))
					var before []float32
					if past > 0 {
						before = own(part.past(layer), speechHeads*past)
					}
					remember(cache, before, tensor.Data[int64](ids)[b*n:][:n], past)
				}
				for _, v := range cache {
					sum += v
				}
			}
		}
		m.say(find("logits")[(b*n+n-1)*rows:][:rows], int(sum))
	}
	return nil
}

// remember fills the cache of each head with what it had before, and with tokens.
func remember(cache, before []float32, ids []int64, past int) {
	for h := range speechHeads {
		own := cache[h*(past+len(ids)):]
		if past > 0 {
			copy(own, before[h*past:][:past])
		}
		for i, id := range ids {
			own[past+i] = float32(id)
		}
	}
}

func (m *speechModel) say(scores []float32, sum int) {
	clear(scores)
	scores[sum/8%lastRow] = 1
	if m.broken != nil {
		m.broken(scores)
	}
}

func speechSessions() (map[string]*speechModel, workload.Sessions, map[string]workload.Ports) {
	models, sessions, ports := map[string]*speechModel{}, workload.Sessions{}, map[string]workload.Ports{}
	for _, role := range []string{EncoderRole, FirstRole, NextRole} {
		models[role] = &speechModel{role: role, places: role == NextRole}
		sessions[role] = models[role]
		ports[role] = workload.Ports{Inputs: models[role].Info().Inputs, Outputs: models[role].Info().Outputs}
	}
	return models, sessions, ports
}

func openSpeechDecoder(t *testing.T, slots int) (map[string]*speechModel, *SpeechDecoder) {
	t.Helper()
	models, sessions, ports := speechSessions()
	l, err := ReadSpeechLayout(ports, nil)
	if err != nil {
		t.Fatal(err)
	}
	d, err := NewSpeechDecoder(sessions, l, slots, 30)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := d.Close(); err != nil {
			t.Error(err)
		}
	})
	return models, d
}

// transcriptOf is what the model says of a recording in so many tokens, worked out at once.
func transcriptOf(heard float32, begin []int32, n int) []int {
	tokens := 0
	for _, t := range begin {
		tokens += int(t)
	}
	var said []int
	for range n {
		// keys and values of 2 layers and 2 heads are 8 sums of tokens and 8 of the 3 steps
		next := (8*tokens + 8*3*int(heard)) / 8 % lastRow
		said, tokens = append(said, next), tokens+next
	}
	return said
}

// Recordings end one after the other, in any order: those that go on are as if they were alone.
func TestSpeechDecoderInBatches(t *testing.T) {
	begin := []int32{3, 4}
	ends := []int{5, 2, 9, 2, 7} // tokens of each recording
	for _, slots := range []int{5, 8} {
		_, d := openSpeechDecoder(t, slots)
		for range 2 { // a second batch begins afresh
			var rows []int
			for i := range ends {
				features := []float32{float32(i + 1), float32(i + 1), float32(i + 1), 0, 0, 0, 0, 0}
				if err := d.Encode(t.Context(), i, features); err != nil {
					t.Fatal(err)
				}
				rows = append(rows, i)
			}
			said := make([][]int, len(ends))
			if err := d.Begin(t.Context(), len(ends), begin); err != nil {
				t.Fatal(err)
			}
			for {
				for row := len(rows) - 1; row >= 0; row-- {
					i := rows[row]
					if said[i] = append(said[i], d.Next(row)); len(said[i]) == ends[i] {
						d.Drop(row)
						rows[row] = rows[len(rows)-1]
						rows = rows[:len(rows)-1]
					}
				}
				if len(rows) == 0 {
					break
				}
				if err := d.Step(t.Context()); err != nil {
					t.Fatal(err)
				}
			}
			for i, n := range ends {
				if diff := cmp.Diff(transcriptOf(float32(i+1), begin, n), said[i]); diff != "" {
					t.Errorf("recording %d of %d slots (-want +got):\n%s", i, slots, diff)
				}
			}
		}
	}
}

func TestSpeechDecoderErrors(t *testing.T) {
	features := make([]float32, 8)
	models, d := openSpeechDecoder(t, 1)
	if err := d.Begin(t.Context(), 2, []int32{1}); err == nil || !strings.Contains(err.Error(), "at most 30 tokens of 1") {
		t.Errorf("two recordings in one slot: %v", err)
	}
	models[EncoderRole].failing = errors.New("broken")
	if err := d.Encode(t.Context(), 0, features); !errors.Is(err, models[EncoderRole].failing) {
		t.Errorf("an encoder that fails: %v", err)
	}
	models[FirstRole].broken = func(scores []float32) {
		for i := range scores {
			scores[i] = float32(math.NaN())
		}
	}
	if err := d.Begin(t.Context(), 1, []int32{1}); !errors.Is(err, errNotNumbers) {
		t.Errorf("NaN: %v", err)
	}
	models[FirstRole].broken = nil
	if err := d.Begin(t.Context(), 1, []int32{1}); err != nil {
		t.Fatal(err)
	}
	var err error
	steps := 0
	for ; err == nil && steps < 100; steps++ {
		err = d.Step(t.Context())
	}
	if steps != 30 || !strings.Contains(fmt.Sprint(err), "the context is full") {
		t.Errorf("%d steps of 29 for which there is room: %v", steps, err)
	}
	if _, err := NewSpeechDecoder(nil, d.layout, 0, 30); err == nil {
		t.Error("no slots are enough")
	}
}

func TestSpeechLayoutErrors(t *testing.T) {
	for _, test := range []struct {
		name   string
		spoil  func(p map[string]workload.Ports)
		wanted string
	}{
		{"no encoder", func(p map[string]workload.Ports) { delete(p, EncoderRole) }, `encoder has no input "input_features"`},
		{"another type", func(p map[string]workload.Ports) { p[EncoderRole].Inputs[0].Type = tensor.Float16 }, "input_features as float16[? 2 4], expected float32 along 3 axes"},
		{"other sizes", func(p map[string]workload.Ports) { p[FirstRole].Inputs[1].Shape[1] = 7 }, "decoder has encoder_hidden_states as [? 7 1], expected 3 along axis 1"},
		{"scores of nothing", func(p map[string]workload.Ports) { p[FirstRole].Outputs[0].Shape[2] = -1 }, "has no known size along axis 2 of logits"},
		{"texts", func(p map[string]workload.Ports) { p[NextRole].Inputs[0].Type = tensor.String }, "expected int64 or int32 along 2 axes"},
		{"no cache", func(p map[string]workload.Ports) {
			p[NextRole] = workload.Ports{Inputs: p[NextRole].Inputs[:2], Outputs: p[NextRole].Outputs}
		}, "it has no cache"},
		{"a cache of another size", func(p map[string]workload.Ports) { p[NextRole].Inputs[3].Shape[1] = 5 }, "past_key_values.0.decoder.value as [? 5 ? 1], expected 2 along axis 1"},
		{"a cache that is not made", func(p map[string]workload.Ports) {
			p[FirstRole] = workload.Ports{Inputs: p[FirstRole].Inputs, Outputs: p[FirstRole].Outputs[:1]}
		}, `decoder has no output "present.0.decoder.key"`},
		{"both decoders in one", func(p map[string]workload.Ports) {
			p[NextRole] = workload.Ports{Inputs: append(p[NextRole].Inputs, speechPort(NextRole, "use_cache_branch", tensor.Bool, 1)), Outputs: p[NextRole].Outputs}
		}, "use_cache_branch: it is both decoders"},
		{"an input of its own", func(p map[string]workload.Ports) {
			p[FirstRole] = workload.Ports{Inputs: append(p[FirstRole].Inputs, speechPort(FirstRole, "mood", tensor.Int64, 1)), Outputs: p[FirstRole].Outputs}
		}, "has an unknown input mood int64[1]"},
	} {
		_, _, ports := speechSessions()
		test.spoil(ports)
		if _, err := ReadSpeechLayout(ports, nil); err == nil || !strings.Contains(err.Error(), test.wanted) {
			t.Errorf("%s: error %v, want %q", test.name, err, test.wanted)
		}
	}
}

func TestAListenersMemoryIsStated(t *testing.T) {
	_, _, ports := speechSessions()
	l, err := ReadSpeechLayout(ports, nil)
	if err != nil {
		t.Fatal(err)
	}
	// 3 steps heard; 2 layers × keys and values × 3 steps × 2 heads; and twice 10 tokens in the place of the steps
	if got, want := l.Bytes(2, 10), int64(4*2*(3+2*2*3*2+2*2*2*10*2)); got != want {
		t.Errorf("memory for 2 recordings of 10 tokens: %d, want %d", got, want)
	}
	if got := l.Outputs(NextRole); !slices.Equal(got, []string{"logits", "present.0.decoder.key", "present.0.decoder.value", "present.1.decoder.key", "present.1.decoder.value"}) {
		t.Errorf("outputs of the decoder with a past: %v", got)
	}
	for _, part := range []string{"2 bands over 4 frames", "3 steps of 1", "2 layers of 2×1", "50 tokens"} {
		if !strings.Contains(l.String(), part) {
			t.Errorf("%q does not say %q", l, part)
		}
	}
}
