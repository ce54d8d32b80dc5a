package text

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/mlperf-go/mlperf/internal/backend"
	"github.com/mlperf-go/mlperf/internal/models/workload"
	"github.com/mlperf-go/mlperf/internal/tensor"
)

func sprintf(format string, of ...any) string { return fmt.Sprintf(format, of...) }

// A hashing model's logits depend on all that it reads of a place, and on the place: on nothing of other windows.
type hashing struct {
	fakeSpans
	failsBind int // values can be bound
	bound     int
	fails     error
	reader    workload.Predictor // of session
}

// session has one predictor answer windows, call after call.
func (s *hashing) session(t *testing.T, w *workload.Workload, indices []int) {
	t.Helper()
	var err error
	if s.reader == nil {
		if s.reader, err = w.NewPredictor(workload.Sessions{workload.Only: s}, 4); err != nil {
			t.Fatal(err)
		}
	}
	items := stored(t, w, s.reader, indices...)
	if err := s.reader.Predict(t.Context(), items, make(replies, len(items))); err != nil {
		t.Fatal(err)
	}
}

var errNoRoom = errors.New("out of device memory")

func (s *hashing) Bind(t tensor.Tensor) (backend.Value, error) {
	if s.failsBind > 0 && s.bound >= s.failsBind {
		return nil, errNoRoom
	}
	s.bound++
	return s.fakeSpans.Bind(t)
}

// logits are those of a place, of its piece, its mask and its segment.
func logits(place int, piece, mask, segment float32) (start, end float32) {
	return piece + 3*segment + float32(place)/512, 2*piece - 5*mask + float32(place)
}

func (s *hashing) Run(_ context.Context, inputs, outputs []backend.Value) error {
	if s.fails != nil {
		return s.fails
	}
	shape := inputs[0].Tensor().Shape
	s.shapes = append(s.shapes, slices.Clone(shape))
	length := int(shape[1])
	for i := range inputs[0].Tensor().Len() {
		start, end := logits(i%length, number(inputs[0].Tensor(), i), number(inputs[1].Tensor(), i), number(inputs[2].Tensor(), i))
		if len(outputs) == 1 {
			copy(tensor.Data[float32](outputs[0].Tensor())[2*i:], []float32{start, end})
			continue
		}
		tensor.Data[float32](outputs[0].Tensor())[i] = start
		tensor.Data[float32](outputs[1].Tensor())[i] = end
	}
	return nil
}

// expected is the response to a window, place by place: pairs, or all starts and then all ends.
func expected(w *squad, index, length int, transposed bool) []byte {
	pieces := w.set.windows[index].Pieces
	var starts, ends, pairs []byte
	for p := range length {
		piece, mask, segment := float32(0), float32(0), float32(0)
		if p < len(pieces) {
			piece, mask = float32(pieces[p]), 1
			if p >= w.set.windows[index].First {
				segment = 1
			}
		}
		start, end := logits(p, piece, mask, segment)
		starts = binary.LittleEndian.AppendUint32(starts, math.Float32bits(start))
		ends = binary.LittleEndian.AppendUint32(ends, math.Float32bits(end))
		pairs = append(append(pairs, starts[4*p:]...), ends[4*p:]...)
	}
	if transposed {
		return append(starts, ends...)
	}
	return pairs
}

// A way to feed a model and to read from it.
type way struct {
	element                   tensor.DType
	batch                     int64 // -1: any
	joint, longest, transpose bool
}

// opened opens the data set for a model of a way.
func opened(t *testing.T, as way) (*workload.Workload, *squad, *hashing) {
	t.Helper()
	length := int64(windowLength)
	options := workload.Values{}
	if as.longest {
		length, options[padOption] = -1, padLongest
	}
	var ports workload.Ports
	for _, name := range sentNames {
		ports.Inputs = append(ports.Inputs, port(name, as.element, as.batch, length))
	}
	ports.Outputs = []backend.Port{port("start_logits", tensor.Float32, as.batch, length), port("end_logits", tensor.Float32, as.batch, length)}
	if as.joint {
		ports.Outputs = []backend.Port{port("logits", tensor.Float32, as.batch, length, 2)}
	}
	w, err := newSquad(workload.Setup{DatasetDir: "testdata/bert", Ports: map[string]workload.Ports{workload.Only: ports}, Options: options}, as.transpose)
	if err != nil {
		t.Fatal(err)
	}
	return w.workload(), w, &hashing{fakeSpans: fakeSpans{info: backend.Info{Inputs: ports.Inputs, Outputs: ports.Outputs}}}
}

// Whatever the model takes and gives, and whichever windows are answered together, each has its own logits.
func TestSpansInBatches(t *testing.T) {
	r := rand.New(rand.NewPCG(5, 1))
	for _, element := range []tensor.DType{tensor.Int64, tensor.Int32, tensor.Float32} {
		for bits := range 16 {
			as := way{element: element, batch: -1, joint: bits&1 > 0, longest: bits&2 > 0, transpose: bits&4 > 0}
			if bits&8 > 0 {
				as.batch = 3
			}
			w, set, s := opened(t, as)
			for range 3 {
				indices := r.Perm(w.Samples)[:1+r.IntN(3)]
				got, err := answer(t, w, s, 3, indices...)
				if err != nil {
					t.Fatalf("%+v: %v", as, err)
				}
				for k, index := range indices {
					length := windowLength
					if as.longest {
						length = len(set.set.windows[index].Pieces)
					}
					if want := expected(set, index, length, as.transpose); !slices.Equal(got[k], want) {
						t.Errorf("%+v: window %d of %v has other logits (-want +got):\n%s", as, index, indices, cmp.Diff(floats(want), floats(got[k])))
					}
				}
			}
			for _, shape := range s.shapes {
				if as.batch > 0 && shape[0] != as.batch || !as.longest && shape[1] != windowLength || shape[1]%8 != 0 {
					t.Errorf("%+v: the model is given %v", as, shape)
				}
			}
			if s.closed != s.bound {
				t.Errorf("%+v: %d of %d values are closed", as, s.closed, s.bound)
			}
		}
	}
}

// Values are made once for each shape, and all are freed.
func TestSpansBindOnce(t *testing.T) {
	w, _, s := opened(t, way{element: tensor.Int64, batch: -1})
	for _, step := range []struct {
		indices []int
		bound   int // since the beginning, with five of a shape
	}{{[]int{0, 1}, 5}, {[]int{2, 3}, 5}, {[]int{1}, 10}, {[]int{3, 0}, 10}, {[]int{0, 1, 2}, 15}} {
		if s.session(t, w, step.indices); s.bound != step.bound {
			t.Errorf("after windows %v: %d values are bound, want %d", step.indices, s.bound, step.bound)
		}
	}
	if err := s.reader.Close(); err != nil || s.closed != s.bound {
		t.Errorf("%d of %d values are closed, %v", s.closed, s.bound, err)
	}
	if err := s.reader.Close(); err != nil || s.closed != s.bound {
		t.Errorf("the second time: %d of %d values are closed, %v", s.closed, s.bound, err)
	}
}

// What cannot be bound is an error, after which nothing is left bound, and the next call tries again.
func TestSpansBindFailure(t *testing.T) {
	for n := range 5 {
		w, _, s := opened(t, way{element: tensor.Int64, batch: -1})
		s.failsBind = n
		if n == 0 {
			s.failsBind, s.bound = 1, 1
		}
		before := s.bound
		_, err := answer(t, w, s, 2, 0, 1)
		if !errors.Is(err, errNoRoom) || s.closed != s.bound-before {
			t.Errorf("of %d values that can be bound %d are closed: %v", n, s.closed, err)
		}
		s.failsBind = 0
		if _, err := answer(t, w, s, 2, 0, 1); err != nil {
			t.Errorf("the next call: %v", err)
		}
	}
}

func TestSpansRunFailure(t *testing.T) {
	w, _, s := opened(t, way{element: tensor.Int64, batch: -1})
	s.fails = errors.New("the device is lost")
	got, err := answer(t, w, s, 2, 0, 1)
	if !errors.Is(err, s.fails) || got[0] != nil || got[1] != nil {
		t.Errorf("%v, %d and %d bytes", err, len(got[0]), len(got[1]))
	}
}
