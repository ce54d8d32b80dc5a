package text

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/mlperf-go/mlperf/internal/backend"
	"github.com/mlperf-go/mlperf/internal/models/workload"
	"github.com/mlperf-go/mlperf/internal/tensor"
)

// A randomModel is a GNMT whose next piece depends on the sentence and on all pieces before it, at random: beams overtake each other, end and
// go on, and a state that is not its beam's is found out by the next step. A state is a number that stands for what was said.
type randomModel struct {
	copyingModel
	said   map[int32]string // by the number of a state
	number map[string]int32
}

const randomVocabulary = 29 // that of translationFolder

func randomModels() (encoder, decoder *randomModel) {
	e, d := copyingModels()
	said, number := map[int32]string{0: ""}, map[string]int32{"": 0}
	return &randomModel{*e, said, number}, &randomModel{*d, said, number}
}

// state is the number of what was said.
func (s *randomModel) state(text string) int32 {
	n, ok := s.number[text]
	if !ok {
		n = int32(len(s.number))
		s.number[text], s.said[n] = n, text
	}
	return n
}

// randomLogits is the logits of all pieces after what was said.
func randomLogits(said string) []float32 {
	seed := uint64(14695981039346656037)
	for _, b := range []byte(said) {
		seed = (seed ^ uint64(b)) * 1099511628211
	}
	r := rand.New(rand.NewPCG(seed, 1))
	logits := make([]float32, randomVocabulary)
	for v := range logits {
		logits[v] = float32(r.NormFloat64() * 2)
	}
	logits[startPiece], logits[unknownPiece] = -30, -30
	logits[endPiece] += float32(strings.Count(said, ",")) / 3 // it ends at some time
	return logits
}

func logSum(logits []float32) float32 {
	sum := 0.0
	for _, v := range logits {
		sum += math.Exp(float64(v))
	}
	return float32(math.Log(sum))
}

func (s *randomModel) Run(_ context.Context, inputs, outputs []backend.Value) error {
	s.runs++
	if s.decodes {
		return s.decode(inputs, outputs)
	}
	pieces, lengths := tensor.Data[int64](inputs[0].Tensor()), tensor.Data[int32](inputs[1].Tensor())
	state := tensor.Data[float32](outputs[2].Tensor())
	width := len(pieces) / len(lengths)
	for i, n := range lengths {
		state[i*fakeState] = float32(s.state(fmt.Sprint(pieces[i*width:][:n], ":")))
	}
	return nil
}

// ranked are the pieces, the likeliest first.
func ranked(logits []float32) []int {
	order := make([]int, len(logits))
	for v := range order {
		order[v] = v
	}
	slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(logits[b], logits[a]) })
	return order
}

func (s *randomModel) decode(inputs, outputs []backend.Value) error {
	parents, pieces := tensor.Data[int64](inputs[4].Tensor()), tensor.Data[int64](inputs[5].Tensor())
	before := tensor.Data[float32](inputs[6].Tensor())
	logits, found := tensor.Data[float32](outputs[0].Tensor()), tensor.Data[int64](outputs[1].Tensor())
	sums, state := tensor.Data[float32](outputs[2].Tensor()), tensor.Data[float32](outputs[3].Tensor())
	n := len(logits) / len(parents)
	for row, parent := range parents {
		said := s.said[int32(before[parent*fakeState])] + fmt.Sprint(pieces[row], ",")
		all := randomLogits(said)
		for k, v := range ranked(all)[:n] {
			found[row*n+k], logits[row*n+k] = int64(v), all[v]
		}
		sums[row] = logSum(all)
		state[row*fakeState] = float32(s.state(said))
	}
	return nil
}

// A hypothesis of the plain search below.
type hypothesis struct {
	pieces []int64 // without an end
	total  float32
	score  float32
	length int // with the end, as it is counted
	ended  bool
}

// searchPlainly is the search of TensorFlow 1 over whole texts: of all that could follow all beams the ten best are kept, until all have
// ended or have twice the pieces of the sentence.
func searchPlainly(sentence []int64) []int64 {
	beams := []hypothesis{{}}
	for range stepsPerPiece * len(sentence) {
		var all []hypothesis
		for _, b := range beams {
			if b.ended {
				b.score = b.total / penalty(b.length)
				all = append(all, b)
				continue
			}
			said := fmt.Sprint(sentence, ":", startPiece, ",")
			for _, p := range b.pieces {
				said += fmt.Sprint(p, ",")
			}
			logits := randomLogits(said)
			sum := logSum(logits)
			for v, logit := range logits {
				next := hypothesis{pieces: append(slices.Clone(b.pieces), int64(v)), total: b.total + logit - sum, length: b.length + 1}
				counted := next.length
				if v == endPiece {
					next.pieces, next.ended, counted = b.pieces, true, b.length
				}
				next.score = next.total / penalty(counted)
				all = append(all, next)
			}
		}
		slices.SortStableFunc(all, func(a, b hypothesis) int { return cmp.Compare(b.score, a.score) })
		beams = all[:min(beamWidth, len(all))]
		if !slices.ContainsFunc(beams, func(b hypothesis) bool { return !b.ended }) {
			break
		}
	}
	return beams[0].pieces
}

func penalty(length int) float32 { return float32(math.Pow(float64(5+length)/6, lengthPenalty)) }

// inLetters writes pieces as the vocabulary of translationFolder has them.
func inLetters(pieces []int64) string {
	words := make([]string, len(pieces))
	for i, p := range pieces {
		words[i] = string(rune('a' + p - 3))
	}
	return strings.TrimSuffix(strings.ReplaceAll(strings.Join(words, " ")+" ", "q ", "q"), " ")
}

// openRandomModel opens random sentences for a randomModel.
func openRandomModel(t *testing.T, r *rand.Rand, n int) (*workload.Workload, workload.Sessions, [][]int64) {
	t.Helper()
	var lines []string
	sentences := make([][]int64, n)
	for i := range sentences {
		var words []string
		for range 1 + r.IntN(9) {
			p := 3 + r.Int64N(26)
			sentences[i], words = append(sentences[i], p), append(words, string(rune('a'+p-3)))
		}
		lines = append(lines, strings.Join(words, " "))
	}
	encoder, decoder := randomModels()
	ports := map[string]workload.Ports{
		encoderRole: {Inputs: encoder.info.Inputs, Outputs: encoder.info.Outputs}, decoderRole: {Inputs: decoder.info.Inputs, Outputs: decoder.info.Outputs},
	}
	w, err := gnmt().Open(workload.Setup{DatasetDir: translationFolder(t, strings.Join(lines, "\n")+"\n"), Ports: ports})
	if err != nil {
		t.Fatal(err)
	}
	return w, workload.Sessions{encoderRole: encoder, decoderRole: decoder}, sentences
}

// Translations equal those of a search over whole texts, for any number of active sentences and any times of their beginning.
func TestTranslatorEqualsPlainSearch(t *testing.T) {
	r := rand.New(rand.NewPCG(9, 1))
	w, sessions, sentences := openRandomModel(t, r, 10)
	want := make([]string, len(sentences))
	for i, s := range sentences {
		want[i] = inLetters(searchPlainly(s))
	}
	for _, slots := range []int{1, 3, 8} {
		p, items := loaded(t, w, sessions, slots, r.Perm(len(sentences))...)
		source := &trickle{make(replies, len(items)), items, func() int { return r.IntN(3) }}
		if err := p.Serve(t.Context(), source); err != nil {
			t.Fatal(err)
		}
		for _, item := range items {
			if got := string(source.replies[item.Ticket]); got != want[item.Index] {
				t.Errorf("%d slots: %v is translated to %q, want %q", slots, sentences[item.Index], got, want[item.Index])
			}
		}
		if err := p.Close(); err != nil {
			t.Error(err)
		}
	}
}

// A stopAt ends a context after so many runs.
type stopAt struct {
	randomModel
	after  int
	cancel context.CancelCauseFunc
}

var errEnough = errors.New("enough")

func (s *stopAt) Run(ctx context.Context, inputs, outputs []backend.Value) error {
	if s.after--; s.after < 0 {
		s.cancel(errEnough)
	}
	return s.randomModel.Run(ctx, inputs, outputs)
}

// A translator that is stopped in the middle answers no sentence twice and closes its values.
func TestTranslatorStops(t *testing.T) {
	r := rand.New(rand.NewPCG(2, 1))
	w, sessions, sentences := openRandomModel(t, r, 10)
	decoder := *sessions[decoderRole].(*randomModel)
	for after := range 12 {
		ctx, cancel := context.WithCancelCause(t.Context())
		sessions[decoderRole] = &stopAt{decoder, after, cancel}
		p, items := loaded(t, w, sessions, 3, r.Perm(len(sentences))...)
		source := &counted{trickle: trickle{make(replies, len(items)), items, func() int { return 3 }}, done: map[int]int{}}
		if err := p.Serve(ctx, source); !errors.Is(err, errEnough) {
			t.Errorf("stopped after %d steps: %v", after, err)
		}
		for ticket, n := range source.done {
			if n != 1 {
				t.Errorf("stopped after %d steps: sentence %d is answered %d times", after, ticket, n)
			}
		}
		if err := p.Close(); err != nil || *decoder.closed != *decoder.bound {
			t.Errorf("stopped after %d steps: %d of %d values are closed, %v", after, *decoder.closed, *decoder.bound, err)
		}
	}
}

// A counted source counts answers.
type counted struct {
	trickle
	done map[int]int
}

func (s *counted) Done(ticket int, response []byte, tokens int) {
	s.done[ticket]++
	s.trickle.Done(ticket, response, tokens)
}

// Memory of slots that a longer sentence makes larger keeps what is in it, and a shorter one makes it smaller.
func TestSlotsGrow(t *testing.T) {
	decoder := &copyingModel{closed: new(int), bound: new(int)}
	m := newBeamMemory(translationSizes{fakeHidden, fakeState}, 3, 11, decoder)
	live := []*beamedSentence{{slot: 2, pieces: make([]int64, 5)}}
	if err := m.fit(live); err != nil || m.length != 8 {
		t.Fatalf("slots of %d, %v", m.length, err)
	}
	content := []float32{1, 2, 3, 4, 5, 6, 7, 8, 9, 10}
	m.put(2, 5, content, content)
	live[0].steps = 1
	live = append(live, &beamedSentence{slot: 0, pieces: make([]int64, 70)}) // has made no step: the encoder is still to fill its slot
	for _, length := range []int{80, 8} {
		if err := m.fit(live); err != nil || m.length != length {
			t.Fatalf("slots of %d, want %d, %v", m.length, length, err)
		}
		for name, memory := range map[string][]float32{"memory": m.memory, "keys": m.keys} {
			if got := m.slot(memory, 2); !slices.Equal(got[:10], content) || slices.ContainsFunc(got[10:], func(v float32) bool { return v != 0 }) {
				t.Errorf("%s of %d pieces: %v", name, length, got)
			}
		}
		for i, v := range m.mask[2*length:] {
			if (v == 0) != (i < 5) || v != 0 && v != masked {
				t.Errorf("of %d pieces the mask of place %d is %g", length, i, v)
			}
		}
		kept := &m.memory[0]
		if err := m.fit(live); err != nil || &m.memory[0] != kept {
			t.Errorf("slots that are as long as they should be are made again, %v", err)
		}
		live = live[:1]
	}
}
