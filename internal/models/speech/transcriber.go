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

// stacked is how many frames are a step of the encoder.
const stacked = 2

// A transcriber has RNN-T write down recordings. The encoder runs once for a batch; then the
// small networks run for those recordings that are not finished.
type transcriber struct {
	w       *speech
	encoder backend.Session
	greedy  *greedy
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

func newTranscriber(w *speech, sessions workload.Sessions, maxBatch int) (*transcriber, error) {
	g, err := newGreedy(w.sizes, sessions, maxBatch)
	if err != nil {
		return nil, err
	}
	return &transcriber{w: w, encoder: sessions[encoderRole], greedy: g, logMel: audio.NewLogMel()}, nil
}

// Use implements workload.Predictor.
func (t *transcriber) Use(store *workload.Store) error {
	t.store = store
	return nil
}

// Predict implements workload.Predictor.
func (t *transcriber) Predict(ctx context.Context, items []workload.Item, reply workload.Reply) error {
	if len(items) == 0 {
		return nil
	}
	if t.store == nil {
		return errors.New("no samples are loaded")
	}
	if err := t.listen(items); err != nil {
		return err
	}
	if err := t.encoder.Run(ctx, t.bound.inputs, t.bound.outputs); err != nil {
		return err
	}
	steps := t.bound.frames / stacked
	t.greedy.begin()
	for k, item := range items {
		of := t.encoded[k*steps*t.w.sizes.joint:][:steps*t.w.sizes.joint]
		t.greedy.admit(k, item.Index, of[:(int(t.lengths[k])+stacked-1)/stacked*t.w.sizes.joint])
	}
	return t.greedy.run(ctx, reply)
}

// listen makes the features of the recordings, each filled up with zeros to one length.
func (t *transcriber) listen(items []workload.Item) error {
	longest := 0
	for _, item := range items {
		longest = max(longest, audio.Rows(len(t.samples(item))))
	}
	if err := t.bind(len(items), paddedRows(longest)); err != nil {
		return err
	}
	size := t.bound.frames * audio.Features
	for k, item := range items {
		to := t.features[k*size:][:size]
		rows, err := t.logMel.Features(to[:0:size], t.samples(item))
		if err != nil {
			return fmt.Errorf("sample %d: %w", item.Index, err)
		}
		clear(to[len(rows):])
		t.lengths[k] = int32(len(rows) / audio.Features)
	}
	return nil
}

// samples are those of a recording: what is in its row, whoever sent it.
func (t *transcriber) samples(item workload.Item) []float32 {
	return tensor.Data[float32](t.store.Slot(0, item.Row, 1))
}

// bind makes the encoder's values. Memory is used again if it is large enough.
func (t *transcriber) bind(n, frames int) error {
	if t.bound.n == n && t.bound.frames == frames {
		return nil
	}
	if err := t.unbind(); err != nil {
		return err
	}
	t.features, t.encoded = tensor.Grown(t.features, n*frames*audio.Features), tensor.Grown(t.encoded, n*frames/stacked*t.w.sizes.joint)
	t.lengths = tensor.Grown(t.lengths, n)
	tensors := map[string]tensor.Tensor{
		"features": tensor.Of(t.features, int64(n), int64(frames), audio.Features), "lengths": tensor.Of(t.lengths, int64(n)),
		"encoded": tensor.Of(t.encoded, int64(n), int64(frames/stacked), int64(t.w.sizes.joint)),
	}
	var err error
	info := t.encoder.Info()
	if t.bound.inputs, err = backend.BindPorts(t.encoder, info.Inputs, tensors); err == nil {
		t.bound.outputs, err = backend.BindPorts(t.encoder, info.Outputs, tensors)
	}
	if err != nil {
		return errors.Join(err, t.unbind())
	}
	t.bound.n, t.bound.frames = n, frames
	return nil
}

func (t *transcriber) unbind() error {
	err := backend.CloseAll(t.bound.inputs, t.bound.outputs)
	t.bound = bindings{}
	return err
}

// Close implements workload.Predictor.
func (t *transcriber) Close() error { return errors.Join(t.unbind(), t.greedy.close()) }
