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

// maxPerStep is the reference's limit (pytorch/decoders.py): a blank ends a step, and so do this many characters.
const maxPerStep = 30

// labelCount is the number of labels. The last is the blank, which also is the start of the prediction network.
const labelCount = 29

// A greedyDecoder takes, at each step of a recording, the likeliest characters until the blank. The recordings of a batch
// are decoded together, each at its own step, without those that are finished. The prediction network runs only for
// recordings with a new character.
type greedyDecoder struct {
	sizes             sizes
	prediction, joint backend.Session

	rows    []transcript // of the recordings
	active  []int        // rows that are not finished
	emitted []int        // active rows with a new character

	predicted, state []float32 // of the rows

	// Inputs and outputs of the networks.
	encodedIn, predictedIn, logits  []float32
	labels                          []int64
	stateIn, predictedOut, stateOut []float32
	jointValues, predictionValues   map[int]*bindings
	response                        []byte
}

// A transcript is the text so far of a recording.
type transcript struct {
	ticket, index int
	encoded       []float32 // steps to come
	inStep        int       // characters of the step
	text          []int64
}

func newGreedyDecoder(s sizes, sessions workload.Sessions, maxBatch int) (*greedyDecoder, error) {
	if s.labels != labelCount {
		return nil, fmt.Errorf("the model's %s has %d labels, expected %d characters and the blank", jointRole, s.labels, labelCount-1)
	}
	return &greedyDecoder{
		sizes: s, prediction: sessions[predictionRole], joint: sessions[jointRole],
		rows:      make([]transcript, 0, maxBatch),
		predicted: make([]float32, maxBatch*s.joint), state: make([]float32, maxBatch*s.state),
		encodedIn: make([]float32, maxBatch*s.joint), predictedIn: make([]float32, maxBatch*s.joint), logits: make([]float32, maxBatch*s.labels),
		labels: make([]int64, maxBatch), stateIn: make([]float32, maxBatch*s.state), stateOut: make([]float32, maxBatch*s.state),
		predictedOut: make([]float32, maxBatch*s.joint),
		jointValues:  make(map[int]*bindings), predictionValues: make(map[int]*bindings),
	}, nil
}

// reset removes the recordings of the batch before.
func (g *greedyDecoder) reset() {
	g.rows, g.active, g.emitted = g.rows[:0], g.active[:0], g.emitted[:0]
}

// add adds a recording of at least one step.
func (g *greedyDecoder) add(ticket, index int, encoded []float32) {
	row := len(g.rows)
	g.rows = g.rows[:row+1]
	r := &g.rows[row]
	r.ticket, r.index, r.encoded, r.inStep, r.text = ticket, index, encoded, 0, r.text[:0]
	clear(g.state[row*g.sizes.state:][:g.sizes.state])
	g.active, g.emitted = append(g.active, row), append(g.emitted, row)
}

// run decodes and answers all recordings.
func (g *greedyDecoder) run(ctx context.Context, reply workload.Reply) error {
	for len(g.active) > 0 {
		if err := context.Cause(ctx); err != nil {
			return err
		}
		if err := g.runPrediction(ctx); err != nil {
			return err
		}
		if err := g.runJoint(ctx); err != nil {
			return err
		}
		if err := g.takeLabels(reply); err != nil {
			return err
		}
	}
	return nil
}

// runPrediction runs the prediction network for the rows with a new character.
func (g *greedyDecoder) runPrediction(ctx context.Context) error {
	if len(g.emitted) == 0 {
		return nil
	}
	size, width := g.sizes.state, g.sizes.joint
	for k, row := range g.emitted {
		g.labels[k] = labelCount - 1
		if text := g.rows[row].text; len(text) > 0 {
			g.labels[k] = text[len(text)-1]
		}
		copy(g.stateIn[k*size:][:size], g.state[row*size:])
	}
	v, err := g.predictionBindings(len(g.emitted))
	if err != nil {
		return err
	}
	if err := g.prediction.Run(ctx, v.inputs, v.outputs); err != nil {
		return err
	}
	for k, row := range g.emitted {
		copy(g.state[row*size:][:size], g.stateOut[k*size:])
		copy(g.predicted[row*width:][:width], g.predictedOut[k*width:])
	}
	return nil
}

// runJoint runs the joint network for the active rows.
func (g *greedyDecoder) runJoint(ctx context.Context) error {
	width := g.sizes.joint
	for k, row := range g.active {
		copy(g.encodedIn[k*width:][:width], g.rows[row].encoded)
		copy(g.predictedIn[k*width:][:width], g.predicted[row*width:])
	}
	v, err := g.jointBindings(len(g.active))
	if err != nil {
		return err
	}
	return g.joint.Run(ctx, v.inputs, v.outputs)
}

// takeLabels takes the likeliest labels, and answers the recordings that are finished.
func (g *greedyDecoder) takeLabels(reply workload.Reply) error {
	kept := 0
	g.emitted = g.emitted[:0]
	for k, row := range g.active {
		r := &g.rows[row]
		label, ok := likeliest(g.logits[k*labelCount:][:labelCount])
		if !ok {
			return fmt.Errorf("sample %d: the model's scores are not numbers", r.index)
		}
		if emitted := r.take(label, g.sizes.joint); len(r.encoded) == 0 {
			reply.Done(r.ticket, g.respond(r.text), 0)
			continue
		} else if emitted {
			g.emitted = append(g.emitted, row)
		}
		g.active[kept] = row
		kept++
	}
	g.active = g.active[:kept]
	return nil
}

// take adds a label, and reports whether it is a character. A blank, or too many characters, end the step.
func (r *transcript) take(label, width int) (emitted bool) {
	if emitted = label != labelCount-1; emitted {
		r.text = append(r.text, int64(label))
		r.inStep++
	}
	if !emitted || r.inStep == maxPerStep {
		r.encoded, r.inStep = r.encoded[width:], 0
	}
	return emitted
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
func (g *greedyDecoder) respond(text []int64) []byte {
	g.response = g.response[:0]
	for _, label := range text {
		g.response = binary.LittleEndian.AppendUint64(g.response, uint64(label))
	}
	return g.response
}

// jointBindings and predictionBindings return the values for a number of rows, which are made once.
func (g *greedyDecoder) jointBindings(rows int) (*bindings, error) {
	if v := g.jointValues[rows]; v != nil {
		return v, nil
	}
	n, width := int64(rows), g.sizes.joint
	return bindRows(g.jointValues, g.joint, rows, map[string]tensor.Tensor{
		"encoded": tensor.Of(g.encodedIn[:rows*width], n, int64(width)), "predicted": tensor.Of(g.predictedIn[:rows*width], n, int64(width)),
		"logits": tensor.Of(g.logits[:rows*labelCount], n, labelCount),
	})
}

func (g *greedyDecoder) predictionBindings(rows int) (*bindings, error) {
	if v := g.predictionValues[rows]; v != nil {
		return v, nil
	}
	n, width, size := int64(rows), g.sizes.joint, g.sizes.state
	return bindRows(g.predictionValues, g.prediction, rows, map[string]tensor.Tensor{
		"labels": tensor.Of(g.labels[:rows], n), "state": tensor.Of(g.stateIn[:rows*size], n, int64(size)),
		"predicted": tensor.Of(g.predictedOut[:rows*width], n, int64(width)), "next_state": tensor.Of(g.stateOut[:rows*size], n, int64(size)),
	})
}

func bindRows(made map[int]*bindings, s backend.Session, rows int, tensors map[string]tensor.Tensor) (*bindings, error) {
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
func (g *greedyDecoder) close() error {
	var errs []error
	for _, made := range []map[int]*bindings{g.jointValues, g.predictionValues} {
		for rows, v := range made {
			errs = append(errs, backend.CloseAll(v.inputs, v.outputs))
			delete(made, rows)
		}
	}
	return errors.Join(errs...)
}
