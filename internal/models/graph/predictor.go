package graph

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"

	"github.com/mlperf-go/mlperf/internal/backend"
	"github.com/mlperf-go/mlperf/internal/dataset/igbh"
	"github.com/mlperf-go/mlperf/internal/models/workload"
	"github.com/mlperf-go/mlperf/internal/tensor"
)

// A predictor draws the neighbours of all samples of a batch, reads their features and runs the model.
type predictor struct {
	w       *graphWorkload
	session backend.Session
	sampler *sampler
	reader  *igbh.Reader
	store   *workload.Store

	papers   []int64
	features [igbh.Kinds][]float32
	tables   [][]int64 // of each input that is one
	tensors  []tensor.Tensor
	scores   []float32
	scratch  []byte
}

// Use implements workload.Predictor.
func (p *predictor) Use(store *workload.Store) error {
	p.store = store
	return nil
}

// Predict implements workload.Predictor.
func (p *predictor) Predict(ctx context.Context, items []workload.Item, reply workload.Reply) (err error) {
	if len(items) == 0 {
		return nil
	}
	if p.store == nil {
		return errors.New("no samples are loaded")
	}
	p.papers = p.papers[:0]
	for _, item := range items {
		p.papers = append(p.papers, tensor.Data[int64](p.store.Slot(0, item.Row, 1))[0])
	}
	if err := p.gather(); err != nil {
		return err
	}
	inputs, err := backend.BindAll(p.session, p.tensors)
	if err != nil {
		return err
	}
	outputs := make([]backend.Value, 1)
	defer func() { err = errors.Join(err, backend.CloseAll(inputs, outputs)) }()
	if p.w.classes > 0 { // else only the run knows how many
		p.scores = tensor.Grown(p.scores, len(items)*p.w.classes)
		if outputs[0], err = p.session.Bind(tensor.Of(p.scores, int64(len(items)), int64(p.w.classes))); err != nil {
			return err
		}
	}
	if err := p.session.Run(ctx, inputs, outputs); err != nil {
		return err
	}
	scores := outputs[0].Tensor()
	if scores.Type != tensor.Float32 || len(scores.Shape) != 2 || scores.Shape[0] != int64(len(items)) || scores.Shape[1] < 1 {
		return fmt.Errorf("the output of the model is %v: must be float32[%d classes]", scores, len(items))
	}
	for k, item := range items {
		class, err := best(tensor.Data[float32](scores.Rows(k, 1)))
		if err != nil {
			return fmt.Errorf("sample %d: %w", item.Index, err)
		}
		p.scratch = binary.LittleEndian.AppendUint64(p.scratch[:0], uint64(class))
		reply.Done(k, p.scratch, 0)
	}
	return nil
}

// best is the class with the highest score, the first of equal ones.
func best(scores []float32) (class int, err error) {
	for i, v := range scores {
		if v != v {
			return 0, fmt.Errorf("the model's score of class %d is not a number", i)
		}
		if v > scores[class] {
			class = i
		}
	}
	return class, nil
}

// gather makes the inputs of the model for the papers.
func (p *predictor) gather() error {
	p.sampler.draw(p.papers)
	p.tensors = p.tensors[:0]
	for i, in := range p.w.inputs {
		switch in.what {
		case features:
			nodes, width := p.sampler.nodes[in.kind], p.w.data.Width()
			p.features[in.kind] = tensor.Grown(p.features[in.kind], len(nodes)*width)
			rows := p.features[in.kind]
			clear(rows[:width])
			if err := p.reader.Read(in.kind, nodes[1:], rows[width:]); err != nil {
				return err
			}
			p.tensors = append(p.tensors, tensor.Of(rows, int64(len(nodes)), int64(width)))
		case neighbors:
			table, width := p.sampler.table(p.tables[i][:0], in.layer, in.relation)
			p.tables[i] = table
			p.tensors = append(p.tensors, tensor.Of(table, int64(len(table)/width), int64(width)))
		default:
			rows := p.sampler.sources(in.layer, in.relation)
			p.tensors = append(p.tensors, tensor.Of(rows, int64(len(rows))))
		}
	}
	return nil
}

// Close implements workload.Predictor.
func (p *predictor) Close() error { return p.reader.Close() }
