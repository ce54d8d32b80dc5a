package speech

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/fnv"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/mlperf-go/mlperf/internal/backend"
	"github.com/mlperf-go/mlperf/internal/models/workload"
	"github.com/mlperf-go/mlperf/internal/preprocess/audio"
	"github.com/mlperf-go/mlperf/internal/tensor"
	"github.com/mlperf-go/mlperf/internal/testenv"
)

// A randomModel is a pair of networks whose scores follow, at random, from the recording, its step and all characters before,
// so that a wrong state changes the next character. States are numbers of texts.
type randomModel struct {
	texts        []string           // by the number of a state
	number       map[string]float32 // and back
	bound, freed int
	runs         int
	before       func(runs int) error // each run
}

// A randomNetwork is one of the networks.
type randomNetwork struct {
	of   *randomModel
	role string
}

type randomValue struct {
	tensor tensor.Tensor
	of     *randomModel
}

func (v randomValue) Tensor() tensor.Tensor { return v.tensor }
func (v randomValue) Close() error          { v.of.freed++; return nil }

func (s randomNetwork) Close() error { return nil }
func (s randomNetwork) Bind(t tensor.Tensor) (backend.Value, error) {
	s.of.bound++
	return randomValue{t, s.of}, nil
}

func (s randomNetwork) Info() (info backend.Info) {
	for _, name := range rnntPorts[s.role].Inputs {
		info.Inputs = append(info.Inputs, backend.Port{Name: name})
	}
	for _, name := range rnntPorts[s.role].Outputs {
		info.Outputs = append(info.Outputs, backend.Port{Name: name})
	}
	return info
}

// randomSizes are those of the tensors: an encoded step is recording and step, what is predicted is a state.
var randomSizes = sizes{joint: 2, state: 1, labels: labelCount}

// state is the number of what was written.
func (d *randomModel) state(text string) float32 {
	n, ok := d.number[text]
	if !ok {
		n = float32(len(d.texts))
		d.texts, d.number[text] = append(d.texts, text), n
	}
	return n
}

// scores are those of the labels at a step of a recording, behind a text.
func scores(recording, step int, text string) []float32 {
	h := fnv.New64a()
	fmt.Fprint(h, recording, step, text)
	r := rand.New(rand.NewPCG(h.Sum64(), 1))
	list := make([]float32, labelCount)
	for i := range list {
		list[i] = float32(r.IntN(12)) // equal ones are among them
	}
	if r.IntN(3) > 0 {
		list[labelCount-1] = 12
	}
	if recording == 7 && step == 1 {
		list[labelCount-1] = -1 // without an end
	}
	return list
}

func (s randomNetwork) Run(_ context.Context, in, out []backend.Value) error {
	s.of.runs++
	if s.of.before != nil {
		if err := s.of.before(s.of.runs); err != nil {
			return err
		}
	}
	if s.role == predictionRole {
		labels, state := tensor.Data[int64](in[0].Tensor()), tensor.Data[float32](in[1].Tensor())
		predicted, next := tensor.Data[float32](out[0].Tensor()), tensor.Data[float32](out[1].Tensor())
		for k, label := range labels {
			text := s.of.texts[int(state[k])]
			if label != labelCount-1 {
				text += fmt.Sprint(label, ",")
			}
			next[k] = s.of.state(text)
			predicted[2*k] = next[k]
		}
		return nil
	}
	heard, before, logits := tensor.Data[float32](in[0].Tensor()), tensor.Data[float32](in[1].Tensor()), tensor.Data[float32](out[0].Tensor())
	for k := range len(heard) / 2 {
		copy(logits[k*labelCount:], scores(int(heard[2*k]), int(heard[2*k+1]), s.of.texts[int(before[2*k])]))
	}
	return nil
}

func newRandomModel() *randomModel {
	return &randomModel{texts: []string{""}, number: map[string]float32{"": 0}}
}

func (d *randomModel) sessions() workload.Sessions {
	return workload.Sessions{predictionRole: randomNetwork{d, predictionRole}, jointRole: randomNetwork{d, jointRole}}
}

// plainLoop is the loop of the reference (decoders.py) over one recording: at each step the likeliest label, until that is the blank
// or thirty characters are written.
func plainLoop(recording, steps int) (labels []int64) {
	text := ""
	for step := range steps {
		for range maxPerStep {
			list := scores(recording, step, text)
			best := 0
			for i, v := range list {
				if v > list[best] {
					best = i
				}
			}
			if best == labelCount-1 {
				break
			}
			labels = append(labels, int64(best))
			text += fmt.Sprint(best, ",")
		}
	}
	return labels
}

// A taken has responses, by ticket.
type taken [][]byte

func (taken) FirstToken(int, []byte) {}
func (t taken) Done(ticket int, response []byte, _ int) {
	if t[ticket] != nil {
		panic("a recording is answered twice")
	}
	t[ticket] = append([]byte{}, response...)
}

// labelsOf reads a response.
func labelsOf(response []byte) (labels []int64) {
	for ; len(response) > 0; response = response[8:] {
		labels = append(labels, int64(binary.LittleEndian.Uint64(response)))
	}
	return labels
}

// write decodes a batch of recordings, each with a number and its steps.
func (d *randomModel) write(ctx context.Context, g *greedyDecoder, batch [][2]int) (taken, error) {
	g.reset()
	for ticket, r := range batch {
		var encoded []float32
		for step := range r[1] {
			encoded = append(encoded, float32(r[0]), float32(step))
		}
		g.add(ticket, r[0], encoded)
	}
	got := make(taken, len(batch))
	return got, g.run(ctx, got)
}

// Recordings of all lengths, in batches of all sizes, are written down as each would be by itself.
func TestGreedyEqualsPlainLoop(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 1))
	d := newRandomModel()
	g, err := newGreedyDecoder(randomSizes, d.sessions(), 6)
	if err != nil {
		t.Fatal(err)
	}
	characters, blanks := 0, 0
	for range 40 {
		var batch [][2]int
		for range 1 + r.IntN(6) {
			batch = append(batch, [2]int{r.IntN(50), 1 + r.IntN(9)})
		}
		got, err := d.write(t.Context(), g, batch)
		if err != nil {
			t.Fatal(err)
		}
		for ticket, of := range batch {
			want := plainLoop(of[0], of[1])
			if have := labelsOf(got[ticket]); !slices.Equal(have, want) {
				t.Errorf("recording %d of %d steps in a batch of %d is %v, want %v", of[0], of[1], len(batch), have, want)
			}
			characters, blanks = characters+len(want), blanks+of[1]
		}
	}
	if characters < blanks/10 || characters == 0 {
		t.Errorf("%d characters in %d steps prove little", characters, blanks)
	}
	if err := g.close(); err != nil || d.freed != d.bound {
		t.Errorf("%d of %d values are freed, %v", d.freed, d.bound, err)
	}
}

// A step that would never end has thirty characters, and the one behind it goes on from them.
func TestStepWithoutBlank(t *testing.T) {
	d := newRandomModel()
	g, err := newGreedyDecoder(randomSizes, d.sessions(), 1)
	if err != nil {
		t.Fatal(err)
	}
	one, err := d.write(t.Context(), g, [][2]int{{7, 1}})
	if err != nil {
		t.Fatal(err)
	}
	first := len(labelsOf(one[0]))
	two, err := d.write(t.Context(), g, [][2]int{{7, 2}})
	if err != nil || len(labelsOf(two[0])) != first+maxPerStep {
		t.Errorf("%d characters behind %d, %v, want 30 more", len(labelsOf(two[0])), first, err)
	}
	three, err := d.write(t.Context(), g, [][2]int{{7, 3}})
	if want := plainLoop(7, 3); err != nil || !slices.Equal(labelsOf(three[0]), want) {
		t.Errorf("%v, %v, want %v", labelsOf(three[0]), err, want)
	}
}

// Wherever a batch is stopped, no recording is answered twice, and the next batch is not affected.
func TestStoppedBatch(t *testing.T) {
	enough := errors.New("enough")
	batch := [][2]int{{1, 4}, {2, 6}, {3, 2}}
	d := newRandomModel()
	g, err := newGreedyDecoder(randomSizes, d.sessions(), 3)
	if err != nil {
		t.Fatal(err)
	}
	for after := range 12 {
		ctx, cancel := context.WithCancelCause(t.Context())
		d.runs, d.before = 0, func(runs int) error {
			if runs > after {
				cancel(enough)
			}
			return nil
		}
		if _, err := d.write(ctx, g, batch); !errors.Is(err, enough) {
			t.Errorf("stopped in run %d: %v", after+1, err)
		}
		d.runs, d.before = 0, func(runs int) error {
			if runs > after {
				return enough
			}
			return nil
		}
		if _, err := d.write(t.Context(), g, batch); !errors.Is(err, enough) {
			t.Errorf("failed in run %d: %v", after+1, err)
		}
		d.before = nil
		got, err := d.write(t.Context(), g, batch)
		if err != nil {
			t.Fatal(err)
		}
		for ticket, of := range batch {
			if want := plainLoop(of[0], of[1]); !slices.Equal(labelsOf(got[ticket]), want) {
				t.Errorf("after a batch that was stopped in run %d recording %d is %v, want %v", after+1, of[0], labelsOf(got[ticket]), want)
			}
		}
	}
}

func TestLikeliest(t *testing.T) {
	nan, inf := float32(math.NaN()), float32(math.Inf(1))
	for _, c := range []struct {
		scores []float32
		want   int
		ok     bool
	}{
		{[]float32{1, 3, 2}, 1, true}, {[]float32{3, 3, 3}, 0, true}, {[]float32{-1, -inf, -1}, 0, true}, {[]float32{0, inf, inf}, 1, true}, {[]float32{-inf, -inf}, 0, true},
		{[]float32{nan, 1}, 0, false}, {[]float32{1, nan}, 0, false}, {[]float32{1, 2, nan}, 0, false},
	} {
		if at, ok := likeliest(c.scores); at != c.want || ok != c.ok {
			t.Errorf("likeliest(%v) = %d, %t, want %d, %t", c.scores, at, ok, c.want, c.ok)
		}
	}
}

func TestCheckRecordings(t *testing.T) {
	_, w, _ := openFakes(t)
	for _, c := range []struct {
		samples []float32
		want    string
	}{
		{nil, ""}, {[]float32{0, 1, -1, 7}, ""},
		{[]float32{0, float32(math.NaN())}, "sample 1 … NaN"}, {[]float32{float32(math.Inf(-1))}, "sample 0 … -Inf"},
	} {
		err := w.Exchange.Check([]tensor.Tensor{tensor.Of(c.samples, int64(len(c.samples)))})
		if !testenv.Names(err, c.want) {
			t.Errorf("%v: %v, want %q", c.samples, err, c.want)
		}
	}
	for n, want := range map[int64]string{audio.MinSamples - 1: "the recording has 256 samples, expected 257 to 240000", 15*audio.Rate + 1: "the recording has 240001 samples, expected ", audio.MinSamples: "", 15 * audio.Rate: ""} {
		if _, err := w.Exchange.Complete([]tensor.Shape{{n}}); (err == nil) != (want == "") || err != nil && !strings.HasPrefix(err.Error(), want) {
			t.Errorf("%d samples: %v, want %q", n, err, want)
		}
	}
}

// A spyEncoder keeps its inputs.
type spyEncoder struct {
	backend.Session
	heard tensor.Tensor
	says  []int32
}

func (l *spyEncoder) Run(ctx context.Context, in, out []backend.Value) error {
	l.heard, l.says = in[0].Tensor(), slices.Clone(tensor.Data[int32](in[1].Tensor()))
	return l.Session.Run(ctx, in, out)
}

// Behind its end each recording is silent, also where a longer one lay in the batch before.
func TestPaddingIsZero(t *testing.T) {
	_, w, sessions := openFakes(t)
	l := &spyEncoder{Session: sessions[encoderRole]}
	sessions[encoderRole] = l
	p, err := w.NewPredictor(sessions, 2)
	if err != nil {
		t.Fatal(err)
	}
	defer p.Close()
	store, err := workload.NewStore(w.Samples, w.Row)
	if err != nil {
		t.Fatal(err)
	}
	defer store.Close()
	for i := range w.Samples {
		if err := w.Prepare(i, store.Row(i)); err != nil {
			t.Fatal(err)
		}
	}
	if err := p.Use(store); err != nil {
		t.Fatal(err)
	}
	for _, batch := range [][2]int{{2, 2}, {0, 2}, {2, 0}, {1, 0}} { // of 3, 4 and 5 rows
		items := []workload.Item{{Row: batch[0], Index: batch[0]}, {Row: batch[1], Index: batch[1], Ticket: 1}}
		if err := p.Predict(t.Context(), items, replies{}); err != nil {
			t.Fatal(err)
		}
		frames, bands := int(l.heard.Shape[1]), int(l.heard.Shape[2])
		for k, index := range batch {
			rows := index + 3
			if int(l.says[k]) != rows || frames < rows {
				t.Errorf("batch %v: recording %d is said to have %d of %d rows, want %d", batch, index, l.says[k], frames, rows)
			}
			features := tensor.Data[float32](l.heard)[k*frames*bands:][:frames*bands]
			if slices.ContainsFunc(features[rows*bands:], func(v float32) bool { return v != 0 }) {
				t.Errorf("batch %v: behind its %d rows recording %d is not silent", batch, rows, index)
			}
			if !slices.ContainsFunc(features[(rows-1)*bands:rows*bands], func(v float32) bool { return v != 0 }) {
				t.Errorf("batch %v: of recording %d the last row is silent", batch, index)
			}
		}
	}
}
