package vision

import (
	"errors"

	"github.com/mlperf-go/mlperf/internal/backend"
	"github.com/mlperf-go/mlperf/internal/models/workload"
	"github.com/mlperf-go/mlperf/internal/tensor"
)

// inputs returns values over n rows: the store's own if they are there side by side.
func (p *singlePass) inputs(items []workload.Item, n int) ([]backend.Value, error) {
	if len(items) == n && p.store.Alike(items) {
		return p.window(window{items[0].Row, n})
	}
	p.gather(items, n)
	if p.copied[n] == nil {
		values, err := p.bindRows(p.buffer, n)
		if err != nil {
			return nil, err
		}
		p.copied[n] = values
	}
	return p.copied[n], nil
}

// window returns values over the store's own memory.
func (p *singlePass) window(w window) ([]backend.Value, error) {
	if values, ok := p.windows[w]; ok {
		return values, nil
	}
	slots := make([]tensor.Tensor, len(p.buffer))
	for k := range slots {
		slots[k] = p.store.Slot(k, w.first, w.n)
	}
	values, err := backend.BindAll(p.session, slots)
	if err == nil {
		p.windows[w] = values
	}
	return values, err
}

// gather copies the rows of the items to the first n rows of the buffer. A short batch
// is filled up with its last row.
func (p *singlePass) gather(items []workload.Item, n int) {
	for k := range p.buffer {
		mem := p.buffer[k].Bytes()
		size := len(mem) / p.batch
		for i := range n {
			row := items[min(i, len(items)-1)].Row
			copy(mem[i*size:(i+1)*size], p.store.RowBytes(k, row))
		}
	}
}

func (p *singlePass) bindRows(of []tensor.Tensor, n int) ([]backend.Value, error) {
	rows := make([]tensor.Tensor, len(of))
	for i, t := range of {
		rows[i] = t.Rows(0, n)
	}
	return backend.BindAll(p.session, rows)
}

func (p *singlePass) closeWindows() error {
	var errs []error
	for _, values := range p.windows {
		errs = append(errs, backend.CloseAll(values))
	}
	clear(p.windows)
	return errors.Join(errs...)
}

func tensorsOf(values []backend.Value) []tensor.Tensor {
	tensors := make([]tensor.Tensor, len(values))
	for i, v := range values {
		tensors[i] = v.Tensor()
	}
	return tensors
}
