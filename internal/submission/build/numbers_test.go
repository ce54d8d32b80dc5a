package build

import (
	"context"
	"encoding/binary"
	"math"

	"github.com/mlperf-go/mlperf/internal/accuracy"
	"github.com/mlperf-go/mlperf/internal/backend"
	"github.com/mlperf-go/mlperf/internal/loadgen"
	"github.com/mlperf-go/mlperf/internal/models/workload"
	"github.com/mlperf-go/mlperf/internal/tensor"
)

// numbers stands in for ImageNet and ResNet-50: sample i is the number i, and so is its
// class, for as many of the 50,000 as make the score.
type numbers struct{ right int }

const imagenet = 50_000

func (n numbers) workload() *workload.Workload {
	return &workload.Workload{
		Samples: imagenet, Notes: []string{"images go in as float32"},
		Row: func(int) []workload.Slot {
			return []workload.Slot{{Type: tensor.Float32, Shape: tensor.Shape{1}}}
		},
		Prepare: func(index int, row []tensor.Tensor) error {
			tensor.Data[float32](row[0])[0] = float32(index)
			return nil
		},
		NewPredictor: func(sessions workload.Sessions, _ int) (workload.Predictor, error) {
			return &predictor{session: sessions[workload.Only]}, nil
		},
	}
}

func (n numbers) score(ctx context.Context, log accuracy.Input, _ workload.Scoring) (*accuracy.Score, error) {
	truth := make([]accuracy.LabeledImage, imagenet)
	for i := range truth {
		if truth[i].Label = int64(i); i >= n.right {
			truth[i].Label = -1
		}
	}
	return accuracy.ScoreImageNet(log, truth, accuracy.ImageNetOptions{})
}

// A predictor asks a session for the classes of a batch.
type predictor struct {
	session backend.Session
	store   *workload.Store
}

func (p *predictor) Use(store *workload.Store) error { p.store = store; return nil }
func (p *predictor) Close() error                    { return nil }

func (p *predictor) Predict(ctx context.Context, items []workload.Item, reply workload.Reply) error {
	in, out := tensor.New(tensor.Float32, int64(len(items)), 1), tensor.New(tensor.Float32, int64(len(items)))
	var values [2]backend.Value
	for i, t := range []tensor.Tensor{in, out} {
		v, err := p.session.Bind(t)
		if err != nil {
			return err
		}
		defer v.Close()
		values[i] = v
	}
	for k, item := range items {
		copy(in.Rows(k, 1).Bytes(), p.store.Row(item.Row)[0].Bytes())
	}
	if err := p.session.Run(ctx, values[:1], values[1:]); err != nil {
		return err
	}
	for k, class := range tensor.Data[float32](out) {
		reply.Done(k, binary.LittleEndian.AppendUint32(nil, math.Float32bits(class)), 0)
	}
	return nil
}

// A renamed engine is one that results do not call simulated.
type renamed struct{ backend.Engine }

type renamedSession struct{ backend.Session }

func (e renamed) Open(ctx context.Context, o backend.Options) (backend.Session, error) {
	s, err := e.Engine.Open(ctx, o)
	return renamedSession{s}, err
}

func (s renamedSession) Info() backend.Info {
	info := s.Session.Info()
	info.Engine = "onnxruntime 1.24"
	return info
}

// quiet is an observer that says nothing.
type quiet struct{}

func (quiet) Phase(string)             {}
func (quiet) Loading(int, int)         {}
func (quiet) Items(int, int)           {}
func (quiet) Traffic(loadgen.Progress) {}
func (quiet) Note(string)              {}
