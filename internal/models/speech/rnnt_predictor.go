package speech

import (
	"context"
	"errors"
	"fmt"

	"github.com/mlperf-go/mlperf/internal/backend"
	"github.com/mlperf-go/mlperf/internal/models/workload"
	"github.com/mlperf-go/mlperf/internal/preprocess/audio"
	"github.com/mlperf-go/mlperf/internal/tensor"
)

// stacked is the number of frames in a step of the encoder.
const stacked = 2

// An rnntPredictor runs the encoder once for a batch, and then decodes greedily.
type rnntPredictor struct {
	w       *rnntWorkload
	encoder backend.Session
	greedy  *greedyDecoder
	logMel  *audio.LogMel
	store   *workload.Store

	features, encoded []float32
	lengths           []int32
	bound             bindings
}

// bindings are the values of the encoder for a number of recordings and frames.
type bindings struct {
	n, frames       int
	inputs, outputs []backend.Value
}

func newRNNTPredictor(w *rnntWorkload, sessions workload.Sessions, maxBatch int) (*rnntPredictor, error) {
	g, err := newGreedyDecoder(w.sizes, sessions, maxBatch)
	if err != nil {
		return nil, err
	}
	return &rnntPredictor{w: w, encoder: sessions[encoderRole], greedy: g, logMel: audio.NewLogMel()}, nil
}

// Use implements workload.Predictor.
func (p *rnntPredictor) Use(store *workload.Store) error {
	p.store = store
	return nil
}

// Predict implements workload.Predictor.
func (p *rnntPredictor) Predict(ctx context.Context, items []workload.Item, reply workload.Reply) error {
	if len(items) == 0 {
		return nil
	}
	if p.store == nil {
		return errors.New("no samples are loaded")
	}
	if err := p.extract(items); err != nil {
		return err
	}
	if err := p.encoder.Run(ctx, p.bound.inputs, p.bound.outputs); err != nil {
		return err
	}
	steps := p.bound.frames / stacked
	p.greedy.reset()
	for k, item := range items {
		of := p.encoded[k*steps*p.w.sizes.joint:][:steps*p.w.sizes.joint]
		p.greedy.add(k, item.Index, of[:(int(p.lengths[k])+stacked-1)/stacked*p.w.sizes.joint])
	}
	return p.greedy.run(ctx, reply)
}

// extract makes the features of the recordings, each filled up with zeros to one length.
func (p *rnntPredictor) extract(items []workload.Item) error {
	longest := 0
	for _, item := range items {
		longest = max(longest, audio.Rows(len(p.samples(item))))
	}
	if err := p.bind(len(items), paddedRows(longest)); err != nil {
		return err
	}
	size := p.bound.frames * audio.Features
	for k, item := range items {
		to := p.features[k*size:][:size]
		rows, err := p.logMel.Features(to[:0:size], p.samples(item))
		if err != nil {
			return fmt.Errorf("sample %d: %w", item.Index, err)
		}
		clear(to[len(rows):])
		p.lengths[k] = int32(len(rows) / audio.Features)
	}
	return nil
}

// samples are the samples of a recording, from the data set or sent.
func (p *rnntPredictor) samples(item workload.Item) []float32 {
	return tensor.Data[float32](p.store.Slot(0, item.Row, 1))
}

// bind makes the encoder's values. Memory is used again if it is large enough.
func (p *rnntPredictor) bind(n, frames int) error {
	if p.bound.n == n && p.bound.frames == frames {
		return nil
	}
	if err := p.unbind(); err != nil {
		return err
	}
	p.features, p.encoded = tensor.Grown(p.features, n*frames*audio.Features), tensor.Grown(p.encoded, n*frames/stacked*p.w.sizes.joint)
	p.lengths = tensor.Grown(p.lengths, n)
	tensors := map[string]tensor.Tensor{
		"features": tensor.Of(p.features, int64(n), int64(frames), audio.Features), "lengths": tensor.Of(p.lengths, int64(n)),
		"encoded": tensor.Of(p.encoded, int64(n), int64(frames/stacked), int64(p.w.sizes.joint)),
	}
	var err error
	info := p.encoder.Info()
	if p.bound.inputs, err = backend.BindPorts(p.encoder, info.Inputs, tensors); err == nil {
		p.bound.outputs, err = backend.BindPorts(p.encoder, info.Outputs, tensors)
	}
	if err != nil {
		return errors.Join(err, p.unbind())
	}
	p.bound.n, p.bound.frames = n, frames
	return nil
}

func (p *rnntPredictor) unbind() error {
	err := backend.CloseAll(p.bound.inputs, p.bound.outputs)
	p.bound = bindings{}
	return err
}

// Close implements workload.Predictor.
func (p *rnntPredictor) Close() error { return errors.Join(p.unbind(), p.greedy.close()) }
