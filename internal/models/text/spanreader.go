package text

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"slices"

	"github.com/mlperf-go/mlperf/internal/backend"
	"github.com/mlperf-go/mlperf/internal/models/workload"
	"github.com/mlperf-go/mlperf/internal/tensor"
)

// A spanReader runs the model on windows. The windows of a batch are copied to one place and padded to one length. Values are
// bound once for each shape and kept.
type spanReader struct {
	w       *squad
	session backend.Session
	batch   int // largest
	fixed   bool

	store   *workload.Store
	inputs  [][]byte // memory of each input
	outputs [][]byte
	bound   map[shape]*spanRun
	scratch []byte
}

// A shape is a number of windows and their length.
type shape struct{ windows, pieces int }

// A spanRun has the values of a run of one shape.
type spanRun struct {
	inputs, outputs []backend.Value
}

func newSpanReader(w *squad, session backend.Session, maxBatch int) (*spanReader, error) {
	r := &spanReader{w: w, session: session, batch: maxBatch, bound: map[shape]*spanRun{}}
	if n := w.batch; n > 0 {
		if maxBatch > n {
			return nil, fmt.Errorf("the model takes batches of %d, expected %d", n, maxBatch)
		}
		r.batch, r.fixed = n, true
	}
	for _, in := range w.inputs {
		r.inputs = append(r.inputs, make([]byte, r.batch*windowLength*in.port.Type.Size()))
	}
	numbers := 1
	if w.outputs.joint {
		numbers = 2
	}
	for range w.outputs.names {
		r.outputs = append(r.outputs, make([]byte, r.batch*windowLength*numbers*tensor.Float32.Size()))
	}
	return r, nil
}

// Use implements workload.Predictor.
func (r *spanReader) Use(store *workload.Store) error {
	r.store = store
	return nil
}

// Predict implements workload.Predictor.
func (r *spanReader) Predict(ctx context.Context, items []workload.Item, reply workload.Reply) error {
	if len(items) == 0 {
		return nil
	}
	if r.store == nil {
		return errors.New("no samples are loaded")
	}
	at := shape{len(items), windowLength}
	if r.fixed {
		at.windows = r.batch
	}
	if r.w.longest {
		longest := 1 // a window that is sent may have no pieces
		for _, item := range items {
			longest = max(longest, r.pieces(item))
		}
		at.pieces = roundedUp(longest)
	}
	run := r.bound[at]
	if run == nil {
		var err error
		if run, err = r.bind(at); err != nil {
			return err
		}
		r.bound[at] = run
	}
	r.gather(items, at)
	if err := r.session.Run(ctx, run.inputs, run.outputs); err != nil {
		return err
	}
	for k, item := range items {
		length := windowLength // as in the reference
		if r.w.longest {
			length = r.pieces(item) // so that it does not depend on the batch
		}
		var err error
		if r.scratch, err = r.respond(r.scratch[:0], run, k, at.pieces, length); err != nil {
			return fmt.Errorf("sample %d: %w", item.Index, err)
		}
		reply.Done(k, r.scratch, 0)
	}
	return nil
}

// pieces is the length of a window: the number of ones in its mask.
func (r *spanReader) pieces(item workload.Item) int {
	mask := r.store.RowBytes(maskSlot, item.Row)
	n := 0
	for 8*n < len(mask) && binary.NativeEndian.Uint64(mask[8*n:]) != 0 {
		n++
	}
	return n
}

// gather copies the windows into the inputs. A short batch is filled up with its last window.
func (r *spanReader) gather(items []workload.Item, at shape) {
	for k, in := range r.w.inputs {
		size := in.port.Type.Size()
		for i := range at.windows {
			row := r.store.RowBytes(in.slot, items[min(i, len(items)-1)].Row)[:8*at.pieces]
			to := r.inputs[k][i*at.pieces*size:][:at.pieces*size]
			switch in.port.Type {
			case tensor.Int64:
				copy(to, row)
			case tensor.Int32:
				for p := range at.pieces {
					copy(to[4*p:4*p+4], row[8*p:])
				}
			default:
				for p := range at.pieces {
					number := float32(int64(binary.NativeEndian.Uint64(row[8*p:])))
					binary.NativeEndian.PutUint32(to[4*p:], math.Float32bits(number))
				}
			}
		}
	}
}

// bind makes the values of a run, over the memory of all runs.
func (r *spanReader) bind(at shape) (_ *spanRun, err error) {
	over := func(t tensor.DType, memory []byte, dims tensor.Shape) (v backend.Value) {
		if err == nil {
			var x tensor.Tensor
			if x, err = tensor.FromBytes(t, memory[:dims.Len()*int64(t.Size())], dims...); err == nil {
				v, err = r.session.Bind(x)
			}
		}
		return v
	}
	run, dims := &spanRun{}, tensor.Shape{int64(at.windows), int64(at.pieces)}
	for k, in := range r.w.inputs {
		if v := over(in.port.Type, r.inputs[k], dims); v != nil {
			run.inputs = append(run.inputs, v)
		}
	}
	if r.w.outputs.joint {
		dims = append(dims, 2)
	}
	for _, memory := range r.outputs {
		if v := over(tensor.Float32, memory, dims); v != nil {
			run.outputs = append(run.outputs, v)
		}
	}
	if err != nil {
		return nil, errors.Join(err, backend.CloseAll(run.inputs, run.outputs))
	}
	return run, nil
}

// respond returns the response of a window in dst, which is empty: pairs of a start and an end logit
// (onnxruntime_SUT.py), or all starts and then all ends.
func (r *spanReader) respond(dst []byte, run *spanRun, k, pieces, length int) ([]byte, error) {
	starts := tensor.Data[float32](run.outputs[0].Tensor())
	ends, stride, second := starts, 2, 1
	if !r.w.outputs.joint {
		ends, stride, second = tensor.Data[float32](run.outputs[1].Tensor()), 1, 0
	}
	dst = slices.Grow(dst, 8*length)[:8*length]
	startAt, endAt, step := 0, 4, 8
	if r.w.transposed {
		endAt, step = 4*length, 4
	}
	for p := range length {
		at := (k*pieces + p) * stride
		start, end := starts[at], ends[at+second]
		if start != start || end != end {
			return dst, fmt.Errorf("the model's logits of place %d are not numbers", p)
		}
		binary.LittleEndian.PutUint32(dst[startAt+p*step:], math.Float32bits(start))
		binary.LittleEndian.PutUint32(dst[endAt+p*step:], math.Float32bits(end))
	}
	return dst, nil
}

// Close implements workload.Predictor.
func (r *spanReader) Close() error {
	var errs []error
	for at, run := range r.bound {
		errs = append(errs, backend.CloseAll(run.inputs, run.outputs))
		delete(r.bound, at)
	}
	return errors.Join(errs...)
}
