package text

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/mlperf-go/mlperf/internal/backend"
	"github.com/mlperf-go/mlperf/internal/models/workload"
	"github.com/mlperf-go/mlperf/internal/tensor"
	"github.com/mlperf-go/mlperf/internal/testenv"
)

// A fakeSpans is a model whose start logit is the piece and whose end logit is the segment,
// or NaN where told.
type fakeSpans struct {
	info   backend.Info
	nan    bool
	shapes []tensor.Shape
	closed int
}

type fakeValue struct {
	tensor  tensor.Tensor
	session *fakeSpans
}

func (v fakeValue) Tensor() tensor.Tensor { return v.tensor }
func (v fakeValue) Close() error {
	v.session.closed++
	return nil
}

func (s *fakeSpans) Info() backend.Info                          { return s.info }
func (s *fakeSpans) Bind(t tensor.Tensor) (backend.Value, error) { return fakeValue{t, s}, nil }
func (s *fakeSpans) Close() error                                { return nil }

func number(t tensor.Tensor, i int) float32 {
	switch t.Type {
	case tensor.Int64:
		return float32(tensor.Data[int64](t)[i])
	case tensor.Int32:
		return float32(tensor.Data[int32](t)[i])
	}
	return tensor.Data[float32](t)[i]
}

func (s *fakeSpans) Run(_ context.Context, inputs, outputs []backend.Value) error {
	pieces := inputs[0].Tensor()
	s.shapes = append(s.shapes, pieces.Shape)
	last := inputs[len(inputs)-1].Tensor()
	for i := range pieces.Len() {
		start, end := number(pieces, i), number(last, i)
		if s.nan {
			start = float32(math.NaN())
		}
		if len(outputs) == 1 {
			copy(tensor.Data[float32](outputs[0].Tensor())[2*i:], []float32{start, end})
			continue
		}
		tensor.Data[float32](outputs[0].Tensor())[i] = start
		tensor.Data[float32](outputs[1].Tensor())[i] = end
	}
	return nil
}

func port(name string, t tensor.DType, shape ...int64) backend.Port {
	return backend.Port{Name: name, Type: t, Shape: shape}
}

func officialPorts() workload.Ports {
	return workload.Ports{
		Inputs:  []backend.Port{port("input_ids", tensor.Int64, -1, 384), port("input_mask", tensor.Int64, -1, 384), port("segment_ids", tensor.Int64, -1, 384)},
		Outputs: []backend.Port{port("output_start_logits", tensor.Float32, -1, 384), port("output_end_logits", tensor.Float32, -1, 384)},
	}
}

type replies [][]byte

func (r replies) FirstToken(int, []byte) {}
func (r replies) Done(item int, response []byte, _ int) {
	r[item] = append([]byte{}, response...)
}

// stored prepares samples of a workload, gives them to a predictor and returns what asks for them.
func stored(t *testing.T, w *workload.Workload, p workload.Predictor, indices ...int) []workload.Item {
	t.Helper()
	store, err := workload.NewStore(len(indices), func(i int) []workload.Slot { return w.Row(indices[i]) })
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { store.Close() })
	var items []workload.Item
	for i, index := range indices {
		if err := w.Prepare(index, store.Row(i)); err != nil {
			t.Fatal(err)
		}
		if items = append(items, workload.Item{Row: i, Index: index, Ticket: i}); w.Raw == nil {
			continue
		}
		timed := []tensor.Tensor{tensor.New(tensor.Int64, windowLength), tensor.New(tensor.Int64, windowLength), tensor.New(tensor.Int64, windowLength)}
		text, err := w.Raw.Read(index)
		if err = errors.Join(err, w.Raw.Make(text, index, timed)); err != nil {
			t.Fatal(err)
		}
		for k, made := range timed {
			if !bytes.Equal(made.Bytes(), store.Row(i)[k].Bytes()) {
				t.Errorf("tensor %d of window %d is another if it is made of the text inside the latency", k, index)
			}
		}
	}
	if err := p.Use(store); err != nil {
		t.Fatal(err)
	}
	return items
}

// answer runs items through a workload.
func answer(t *testing.T, w *workload.Workload, s backend.Session, batch int, indices ...int) (replies, error) {
	t.Helper()
	p, err := w.NewPredictor(workload.Sessions{workload.Only: s}, batch)
	if err != nil {
		t.Fatal(err)
	}
	defer p.Close()
	items := stored(t, w, p, indices...)
	r := make(replies, len(items))
	return r, p.Predict(t.Context(), items, r)
}

// floats are the numbers of a response.
func floats(data []byte) []float32 {
	v := make([]float32, len(data)/4)
	for i := range v {
		v[i] = math.Float32frombits(binary.LittleEndian.Uint32(data[4*i:]))
	}
	return v
}

func TestSquadPorts(t *testing.T) {
	official := officialPorts()
	ids, mask, segments := official.Inputs[0], official.Inputs[1], official.Inputs[2]
	exported := []backend.Port{port("input_ids", tensor.Int64, -1, -1), port("attention_mask", tensor.Int64, -1, -1), port("token_type_ids", tensor.Int64, -1, -1)}
	for _, test := range []struct {
		name   string
		ports  workload.Ports
		option workload.Values
		want   string // of the notes
		err    string
	}{
		{"the official file", official, nil, "segments: segment_ids int64[? 384]", ""},
		{"the official INT8 file", workload.Ports{Inputs: exported, Outputs: official.Outputs}, nil, "mask: attention_mask", ""},
		{"in another order", workload.Ports{Inputs: []backend.Port{segments, mask, ids}, Outputs: official.Outputs}, nil, "pieces: input_ids", ""},
		{"without segments", workload.Ports{Inputs: exported[:2], Outputs: official.Outputs}, nil, "pieces: input_ids", ""},
		{"logits in one", workload.Ports{Inputs: exported, Outputs: []backend.Port{port("logits", tensor.Float32, -1, -1, 2)}}, nil, "starts and ends: logits", ""},
		{"unknown names", workload.Ports{Inputs: []backend.Port{port("a", tensor.Int32, 1, 384), port("b", tensor.Int32, 1, 384), port("c", tensor.Int32, 1, 384)},
			Outputs: []backend.Port{port("x", tensor.Float32, 1, 384), port("y", tensor.Float32, 1, 384)}}, nil, "pieces: a int32[1 384]", ""},
		{"ends come first", workload.Ports{Inputs: official.Inputs, Outputs: []backend.Port{official.Outputs[1], official.Outputs[0]}}, nil, "starts: output_start_logits", ""},
		{"told", official, workload.Values{outputOption: "output_end_logits, output_start_logits"}, "starts: output_end_logits", ""},
		{"short windows", workload.Ports{Inputs: exported, Outputs: official.Outputs}, workload.Values{padOption: "longest"}, "padded to the longest of a batch", ""},

		{"ends of another name", workload.Ports{Inputs: official.Inputs, Outputs: []backend.Port{port("start_logits", tensor.Float32, -1, 384), port("stop_logits", tensor.Float32, -1, 384)}}, nil,
			"starts: start_logits, ends: stop_logits", ""},
		{"starts of two names", workload.Ports{Inputs: official.Inputs, Outputs: []backend.Port{port("start_a", tensor.Float32, -1, 384), port("start_b", tensor.Float32, -1, 384), port("end", tensor.Float32, -1, 384)}}, nil,
			"starts: start_a, ends: start_b", ""},
		{"half free inputs", workload.Ports{Inputs: []backend.Port{exported[0], mask, segments}, Outputs: official.Outputs}, nil, "padded to 384 pieces", ""},
		{"the longest windows of half free inputs", workload.Ports{Inputs: []backend.Port{exported[0], mask}, Outputs: official.Outputs}, workload.Values{padOption: "Longest"}, "",
			"pad: the inputs are input_ids int64[? ?], input_mask int64[? 384]: the model takes windows of 384 pieces only"},
		{"outputs beyond the first two", workload.Ports{Inputs: official.Inputs, Outputs: []backend.Port{port("x", tensor.Float32, -1, 384), port("y", tensor.Float32, -1, -1), port("pooled", tensor.Float32, -1, 1024)}}, nil,
			"starts: x, ends: y", ""},
		{"names of TensorFlow", workload.Ports{Inputs: []backend.Port{port("Segment_IDs:0", tensor.Int32, -1, 384), port("input_ids:0", tensor.Int32, -1, 384), port("input_mask:0", tensor.Int32, -1, 384)}, Outputs: official.Outputs}, nil,
			"segments: Segment_IDs:0 int32[? 384], pieces: input_ids:0", ""},

		{"no inputs", workload.Ports{Outputs: official.Outputs}, nil, "", "the model has 0 inputs (), expected pieces, mask and perhaps segments"},
		{"four inputs", workload.Ports{Inputs: append(slices.Clone(official.Inputs), port("positions", tensor.Int64, -1, 384)), Outputs: official.Outputs}, nil, "", "the model has 4 inputs"},
		{"no outputs", workload.Ports{Inputs: official.Inputs}, nil, "", "0 outputs, expected those of starts and ends, or one of both"},
		{"a mask of 256", workload.Ports{Inputs: []backend.Port{ids, port("input_mask", tensor.Int64, -1, 256)}, Outputs: official.Outputs}, nil, "", "input input_mask has shape [? 256], expected windows of 384 pieces"},
		{"other batches", workload.Ports{Inputs: []backend.Port{port("input_ids", tensor.Int64, 4, 384), port("input_mask", tensor.Int64, 2, 384)}, Outputs: official.Outputs}, nil, "",
			"input input_mask has shape [2 384], the inputs before it take [4 384]"},
		{"logits of other windows", workload.Ports{Inputs: official.Inputs, Outputs: []backend.Port{port("start", tensor.Float32, -1, 384), port("end", tensor.Float32, -1, 512)}}, nil, "", "expected logits of starts and ends"},
		{"three numbers a piece", workload.Ports{Inputs: official.Inputs, Outputs: []backend.Port{port("logits", tensor.Float32, -1, 384, 3)}}, nil, "", "expected logits of starts and ends"},
		{"halves", workload.Ports{Inputs: official.Inputs, Outputs: []backend.Port{port("start", tensor.Float16, -1, 384), port("end", tensor.Float16, -1, 384)}}, nil, "", "expected logits of starts and ends"},
		{"three outputs that are told", workload.Ports{Inputs: official.Inputs, Outputs: official.Outputs}, workload.Values{outputOption: "output_end_logits,output_start_logits,output_end_logits"}, "", "model-output: 3 outputs, expected those of starts and ends"},

		{"one input", workload.Ports{Inputs: []backend.Port{ids}, Outputs: official.Outputs}, nil, "", "the model has 1 inputs"},
		{"pieces twice", workload.Ports{Inputs: []backend.Port{ids, ids}, Outputs: official.Outputs}, nil, "", "two inputs of the model are input_ids"},
		{"no mask", workload.Ports{Inputs: []backend.Port{ids, segments}, Outputs: official.Outputs}, nil, "", "does not take pieces and mask"},
		{"windows of 256", workload.Ports{Inputs: []backend.Port{port("input_ids", tensor.Int64, -1, 256), mask}, Outputs: official.Outputs}, nil, "", "expected windows of 384 pieces"},
		{"images", workload.Ports{Inputs: []backend.Port{port("x", tensor.Float32, -1, 3, 224, 224), mask}, Outputs: official.Outputs}, nil, "", "expected a batch of windows"},
		{"text", workload.Ports{Inputs: []backend.Port{port("x", tensor.String, -1, 384), mask}, Outputs: official.Outputs}, nil, "", "elements of type string"},
		{"classes", workload.Ports{Inputs: official.Inputs, Outputs: []backend.Port{port("logits", tensor.Float32, -1, 2)}}, nil, "", "expected logits of starts and ends"},
		{"no output of that name", official, workload.Values{outputOption: "logits"}, "", `the model has no output "logits"; it has output_start_logits`},
		{"fixed windows that should be short", official, workload.Values{padOption: "longest"}, "", "the model takes windows of 384 pieces only"},
		{"too many samples", official, workload.Values{"count": "100000"}, "", "expected 100000 windows"},
	} {
		t.Run(test.name, func(t *testing.T) {
			s := workload.Setup{DatasetDir: "testdata/bert", Ports: map[string]workload.Ports{workload.Only: test.ports}, Options: test.option}
			if test.option["count"] != "" {
				s.Count, s.Options = 100000, nil
			}
			w, err := bert().Open(s)
			if test.err != "" {
				if !testenv.Names(err, test.err) {
					t.Errorf("error %v, want %q", err, test.err)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			if notes := strings.Join(w.Notes, "\n"); !strings.Contains(notes, test.want) {
				t.Errorf("notes %q, want %q", notes, test.want)
			}
		})
	}
}

func open(t *testing.T, ports workload.Ports, options workload.Values) *workload.Workload {
	t.Helper()
	w, err := bert().Open(workload.Setup{DatasetDir: "testdata/bert", Ports: map[string]workload.Ports{workload.Only: ports}, Options: options})
	if err != nil {
		t.Fatal(err)
	}
	return w
}

func TestSquadCount(t *testing.T) {
	setup := workload.Setup{DatasetDir: "testdata/bert", Ports: map[string]workload.Ports{workload.Only: officialPorts()}}
	all, err := bert().Open(setup)
	if err != nil {
		t.Fatal(err)
	}
	for _, n := range []int{1, all.Samples, all.Samples + 1} {
		setup.Count = n
		w, err := bert().Open(setup)
		if n > all.Samples != (err != nil) || err == nil && w.Samples != n {
			t.Errorf("%d windows of %d: %v", n, all.Samples, err)
		}
	}
}

func TestSentWindowsWithoutPieces(t *testing.T) {
	ports := officialPorts()
	for i := range ports.Inputs {
		ports.Inputs[i].Shape = tensor.Shape{-1, -1}
	}
	w := open(t, ports, workload.Values{padOption: padLongest})
	s := &fakeSpans{info: backend.Info{Inputs: ports.Inputs, Outputs: ports.Outputs}}
	p, err := w.NewPredictor(workload.Sessions{workload.Only: s}, 2)
	if err != nil {
		t.Fatal(err)
	}
	defer p.Close()
	store, err := workload.NewStore(2, w.Row)
	if err != nil {
		t.Fatal(err)
	}
	defer store.Close()
	for i := range windowLength { // the second one is full
		tensor.Data[int64](store.Row(1)[maskSlot])[i] = 1
	}
	if err := p.Predict(t.Context(), []workload.Item{{Row: 0}}, make(replies, 1)); !testenv.Names(err, "samples") {
		t.Errorf("before samples are loaded: %v", err)
	}
	if err := p.Use(store); err != nil {
		t.Fatal(err)
	}
	r := make(replies, 2)
	if err := p.Predict(t.Context(), []workload.Item{{Row: 0}}, r); err != nil || len(r[0]) != 0 || s.shapes[0][1] != 8 {
		t.Errorf("a response of %d bytes to nothing, %v: the model was given %v", len(r[0]), err, s.shapes)
	}
	if err := p.Predict(t.Context(), []workload.Item{{Row: 0}, {Row: 1}}, r); err != nil || len(r[0]) != 0 || len(r[1]) != 8*windowLength {
		t.Errorf("responses of %d and %d bytes, %v", len(r[0]), len(r[1]), err)
	}
	if err := p.Predict(t.Context(), nil, r); err != nil || len(s.shapes) != 2 {
		t.Errorf("nothing is answered with %d runs, %v", len(s.shapes), err)
	}
}

func TestWindowLengths(t *testing.T) {
	ports := officialPorts()
	if open(t, ports, nil).Length != nil {
		t.Error("windows that are filled up to one length are grouped by length")
	}
	for i := range ports.Inputs {
		ports.Inputs[i].Shape = tensor.Shape{-1, -1}
	}
	w := open(t, ports, workload.Values{padOption: padLongest})
	shapes := map[int]bool{}
	for i := range w.Samples {
		n, to := w.Length(i), w.PaddedLength(i)
		if to < n || to > n+7 || to > windowLength {
			t.Errorf("window %d of %d pieces is filled up to %d", i, n, to)
		}
		shapes[to] = true
	}
	if len(shapes) < 2 {
		t.Errorf("all windows are filled up to the same length: %v", shapes)
	}
}

func TestBatchBeyondFixed(t *testing.T) {
	w, _, s := opened(t, way{element: tensor.Int64, batch: 2})
	if _, err := w.NewPredictor(workload.Sessions{workload.Only: s}, 3); !testenv.Names(err, "batches … 2 … 3") {
		t.Errorf("error %v", err)
	}
}

func TestLogitsNaN(t *testing.T) {
	w := open(t, officialPorts(), nil)
	ports := officialPorts()
	s := &fakeSpans{info: backend.Info{Inputs: ports.Inputs, Outputs: ports.Outputs}, nan: true}
	if _, err := answer(t, w, s, 1, 2); !testenv.Names(err, "sample 2 … place 0 … not numbers") {
		t.Errorf("error %v", err)
	}
}

// rowOf is a row of a window: pieces of id 7, the last ones of the document.
func rowOf(pieces, document int) []tensor.Tensor {
	row := []tensor.Tensor{tensor.New(tensor.Int64, windowLength), tensor.New(tensor.Int64, windowLength), tensor.New(tensor.Int64, windowLength)}
	for i := range pieces {
		tensor.Data[int64](row[0])[i], tensor.Data[int64](row[1])[i] = 7, 1
		if i >= pieces-document {
			tensor.Data[int64](row[2])[i] = 1
		}
	}
	return row
}

func TestCheckWindows(t *testing.T) {
	set, err := openSet("testdata/bert")
	if err != nil {
		t.Fatal(err)
	}
	last := int64(set.wordPiece.Vocabulary().Len() - 1)
	w := open(t, officialPorts(), nil)
	for _, c := range []struct {
		name         string
		tensor, at   int
		value        int64
		want         string
		pieces, part int
	}{
		{"as usual", 0, 0, 7, "", 20, 12},
		{"no piece at all", 0, 0, 0, "", 0, 0},
		{"all pieces", 0, 0, 7, "", windowLength, 300},
		{"the last piece of the vocabulary", 0, 3, last, "", 20, 12},
		{"a piece behind the vocabulary", 0, 3, last + 1, "input_ids … place 3 … %d … 0 … %d", 20, 12},
		{"a negative piece", 0, 3, -1, "input_ids … place 3 … %d … 0 … %d", 20, 12},
		{"a piece that is one in 32 bits", 0, 383, 1<<32 + 7, "input_ids … place 383 … %d … 0 … %d", 20, 12},
		{"a piece behind the window's end", 0, 200, 7, "", 20, 12},
		{"a mask of two", 1, 5, 2, "input_mask … place 5 … 2 … 0 … 1", 20, 12},
		{"a mask with a gap", 1, 5, 0, "input_mask … place 6 … 1 … 0", 20, 12},
		{"a mask that begins late", 1, 0, 0, "input_mask … place 1 … 1 … 0", 20, 12},
		{"a third segment", 2, 9, 2, "segment_ids … place 9 … 2 … 0 … 1", 20, 12},
		{"segments in any order", 2, 0, 1, "", 20, 12},
	} {
		t.Run(c.name, func(t *testing.T) {
			row := rowOf(c.pieces, c.part)
			tensor.Data[int64](row[c.tensor])[c.at] = c.value
			want := c.want
			if c.tensor == 0 && want != "" {
				want = sprintf(want, c.value, last)
			}
			if err := w.Exchange.Check(row); !testenv.Names(err, want) {
				t.Errorf("Check() = %v, want %q", err, want)
			}
		})
	}
}

func TestSentSentences(t *testing.T) {
	w := (&translation{sentences: [][]int32{{3, 4}}, known: 10}).workload()
	sent := w.Exchange.Inputs
	if len(sent) != 1 || sent[0].Name != "pieces" || sent[0].String() != "int64[?]" {
		t.Errorf("Inputs = %v", sent)
	}
	for n, want := range map[int64]string{
		0: "0 pieces … 1 … 1024", -1: "-1 pieces … 1 … 1024", 1025: "1025 pieces … 1 … 1024", 1: "", 1024: "",
	} {
		slots, err := w.Exchange.Complete([]tensor.Shape{{n}})
		if !testenv.Names(err, want) {
			t.Errorf("%d pieces: %v, want %q", n, err, want)
		}
		if err == nil && (len(slots) != 1 || !slices.Equal(slots[0].Shape, tensor.Shape{n})) {
			t.Errorf("%d pieces: %v", n, slots)
		}
	}
	if err := w.Exchange.Check([]tensor.Tensor{tensor.Of([]int64{9, 10, -1}, 3)}); !testenv.Names(err, "piece 1 … 10 … vocabulary … 10") {
		t.Errorf("Check() = %v", err)
	}
}

func TestMobileBERTResponses(t *testing.T) {
	ports := officialPorts()
	setup := workload.Setup{DatasetDir: "testdata/bert", Ports: map[string]workload.Ports{workload.Only: ports}}
	var got [2]replies
	for i, model := range []workload.Model{bert(), mobileBERT()} {
		w, err := model.Open(setup)
		if err != nil {
			t.Fatal(err)
		}
		s := &fakeSpans{info: backend.Info{Inputs: ports.Inputs, Outputs: ports.Outputs}}
		if got[i], err = answer(t, w, s, 2, 0, 1); err != nil {
			t.Fatal(err)
		}
	}
	for k := range got[0] {
		pairs, apart := floats(got[0][k]), floats(got[1][k])
		for p := range windowLength {
			if apart[p] != pairs[2*p] || apart[windowLength+p] != pairs[2*p+1] {
				t.Fatalf("window %d, place %d: %v and %v, want %v", k, p, apart[p], apart[windowLength+p], pairs[2*p:2*p+2])
			}
		}
	}
}

// A log of the reference with --output_transposed is in the order of MobileBERT.
func TestMobileBERTScore(t *testing.T) {
	log := goldenLog(t, "bert/transposed_float16/mlperf_log_accuracy.json")
	score, err := mobileBERT().Score(t.Context(), log, workload.Scoring{DatasetDir: "testdata/bert", Options: workload.Values{dtypeOption: "float16"}})
	if err != nil || score.Lines[0] != `{"exact_match": 57.142857142857146, "f1": 75.52767027556942}` {
		t.Errorf("score %v, %v", score, err)
	}
	if err := mobileBERT().CheckScoreOptions(workload.Values{transposedOption: "true"}); err == nil {
		t.Error("the order of the logits may be chosen")
	}
}
