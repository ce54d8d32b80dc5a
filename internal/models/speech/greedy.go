package speech

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"

	"github.com/mlperf-go/mlperf/internal/backend"
	"github.com/mlperf-go/mlperf/internal/models/workload"
	"github.com/mlperf-go/mlperf/internal/tensor"
)

// What the reference sets (pytorch/decoders.py): a blank ends a step, as do so many characters
// without one.
const maxPerStep = 30

// labelCount is how many labels there are, of which the last is the blank. To the prediction
// network the blank is the start.
const labelCount = 29

// A greedy writes, at each step of a recording, the likeliest character until that is none.
// All recordings of a batch go on together, each at its own step; those that are finished
// are left out. The prediction network runs for those only that wrote something.
type greedy struct {
	sizes             sizes
	prediction, joint backend.Session

	rows    []transcript // of the recordings
	active  []int        // rows that are not finished
	written []int        // of them those that wrote something

	predicted, state []float32 // of the rows

	// What the networks read and write.
	heard, before, logits         []float32
	labels                        []int64
	stateIn, next, stateOut       []float32
	jointValues, predictionValues map[int]*bindings
	response                      []byte
}

// A transcript is what is written of a recording.
type transcript struct {
	ticket, index int
	encoded       []float32 // what is left of it
	inStep        int       // characters of the step
	text          []int64
}

func newGreedy(s sizes, sessions workload.Sessions, maxBatch int) (*greedy, error) {
	if s.labels != labelCount {
		return nil, fmt.Errorf("the model's %s tells %d labels apart, want %d characters and the blank", jointRole, s.labels, labelCount-1)
	}
	return &greedy{
		sizes: s, prediction: sessions[predictionRole], joint: sessions[jointRole],
		rows:      make([]transcript, 0, maxBatch),
		predicted: make([]float32, maxBatch*s.joint), state: make([]float32, maxBatch*s.state),
		heard: make([]float32, maxBatch*s.joint), before: make([]float32, maxBatch*s.joint), logits: make([]float32, maxBatch*s.labels),
		labels: make([]int64, maxBatch), stateIn: make([]float32, maxBatch*s.state), stateOut: make([]float32, maxBatch*s.state),
		next:        make([]float32, maxBatch*s.joint),
		jointValues: make(map[int]*bindings), predictionValues: make(map[int]*bindings),
	}, nil
}

// begin forgets the recordings of the batch before.
func (g *greedy) begin() { g.rows, g.active, g.written = g.rows[:0], g.active[:0], g.written[:0] }

// admit adds a recording of at least one step.
func (g *greedy) admit(ticket, index int, encoded []float32) {
	row := len(g.rows)
	g.rows = g.rows[:row+1]
	r := &g.rows[row]
	r.ticket, r.index, r.encoded, r.inStep, r.text = ticket, index, encoded, 0, r.text[:0]
	clear(g.state[row*g.sizes.state:][:g.sizes.state])
	g.active, g.written = append(g.active, row), append(g.written, row)
}

// run answers all recordings.
func (g *greedy) run(ctx context.Context, reply workload.Reply) error {
	for len(g.active) > 0 {
		if err := context.Cause(ctx); err != nil {
			return err
		}
		if err := g.predict(ctx); err != nil {
			return err
		}
		if err := g.listen(ctx); err != nil {
			return err
		}
		if err := g.write(reply); err != nil {
			return err
		}
	}
	return nil
}

// predict runs the prediction network for the rows that wrote something.
func (g *greedy) predict(ctx context.Context) error {
	if len(g.written) == 0 {
		return nil
	}
	size, width := g.sizes.state, g.sizes.joint
	for k, row := range g.written {
		g.labels[k] = labelCount - 1
		if text := g.rows[row].text; len(text) > 0 {
			g.labels[k] = text[len(text)-1]
		}
		copy(g.stateIn[k*size:][:size], g.state[row*size:])
	}
	v, err := g.predictionFor(len(g.written))
	if err != nil {
		return err
	}
	if err := g.prediction.Run(ctx, v.inputs, v.outputs); err != nil {
		return err
	}
	for k, row := range g.written {
		copy(g.state[row*size:][:size], g.stateOut[k*size:])
		copy(g.predicted[row*width:][:width], g.next[k*width:])
	}
	return nil
}

// listen runs the joint network for the active rows.
func (g *greedy) listen(ctx context.Context) error {
	width := g.sizes.joint
	for k, row := range g.active {
		copy(g.heard[k*width:][:width], g.rows[row].encoded)
		copy(g.before[k*width:][:width], g.predicted[row*width:])
	}
	v, err := g.jointFor(len(g.active))
	if err != nil {
		return err
	}
	return g.joint.Run(ctx, v.inputs, v.outputs)
}

// write takes the likeliest labels, and answers the recordings that are finished.
func (g *greedy) write(reply workload.Reply) error {
	kept := 0
	g.written = g.written[:0]
	for k, row := range g.active {
		r := &g.rows[row]
		label, ok := likeliest(g.logits[k*labelCount:][:labelCount])
		if !ok {
			return fmt.Errorf("sample %d: the model's scores are not numbers", r.index)
		}
		if wrote := r.take(label, g.sizes.joint); len(r.encoded) == 0 {
			reply.Done(r.ticket, g.respond(r.text), 0)
			continue
		} else if wrote {
			g.written = append(g.written, row)
		}
		g.active[kept] = row
		kept++
	}
	g.active = g.active[:kept]
	return nil
}

// take writes a label, and reports whether it is a character. A blank, or too many characters,
// end the step.
func (r *transcript) take(label, width int) (wrote bool) {
	if wrote = label != labelCount-1; wrote {
		r.text = append(r.text, int64(label))
		r.inStep++
	}
	if !wrote || r.inStep == maxPerStep {
		r.encoded, r.inStep = r.encoded[width:], 0
	}
	return wrote
}

// likeliest returns the first of the largest scores; false if one is not a number.
func likeliest(scores []float32) (at int, ok bool) {
	for i, v := range scores {
		if v != v {
			return 0, false
		}
		if v > scores[at] {
			at = i
		}
	}
	return at, true
}

// respond is the response: int64 numbers of the characters.
func (g *greedy) respond(text []int64) []byte {
	g.response = g.response[:0]
	for _, label := range text {
		g.response = binary.LittleEndian.AppendUint64(g.response, uint64(label))
	}
	return g.response
}

// jointFor and predictionFor return the values for a number of rows, which are made once.
func (g *greedy) jointFor(rows int) (*bindings, error) {
	if v := g.jointValues[rows]; v != nil {
		return v, nil
	}
	n, width := int64(rows), g.sizes.joint
	return valuesFor(g.jointValues, g.joint, rows, map[string]tensor.Tensor{
		"encoded": tensor.Of(g.heard[:rows*width], n, int64(width)), "predicted": tensor.Of(g.before[:rows*width], n, int64(width)),
		"logits": tensor.Of(g.logits[:rows*labelCount], n, labelCount),
	})
}

func (g *greedy) predictionFor(rows int) (*bindings, error) {
	if v := g.predictionValues[rows]; v != nil {
		return v, nil
	}
	n, width, size := int64(rows), g.sizes.joint, g.sizes.state
	return valuesFor(g.predictionValues, g.prediction, rows, map[string]tensor.Tensor{
		"labels": tensor.Of(g.labels[:rows], n), "state": tensor.Of(g.stateIn[:rows*size], n, int64(size)),
		"predicted": tensor.Of(g.next[:rows*width], n, int64(width)), "next_state": tensor.Of(g.stateOut[:rows*size], n, int64(size)),
	})
}

func valuesFor(made map[int]*bindings, s backend.Session, rows int, tensors map[string]tensor.Tensor) (*bindings, error) {
	v, info := &bindings{n: rows}, s.Info()
	var err error
	if v.inputs, err = backend.BindPorts(s, info.Inputs, tensors); err == nil {
		v.outputs, err = backend.BindPorts(s, info.Outputs, tensors)
	}
	if err != nil {
		return nil, errors.Join(err, backend.CloseAll(v.inputs, v.outputs))
	}
	made[rows] = v
	return v, nil
}

// close frees the values.
func (g *greedy) close() error {
	var errs []error
	for _, made := range []map[int]*bindings{g.jointValues, g.predictionValues} {
		for rows, v := range made {
			errs = append(errs, backend.CloseAll(v.inputs, v.outputs))
			delete(made, rows)
		}
	}
	return errors.Join(errs...)
}
