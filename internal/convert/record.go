package convert

import (
	"context"
	"errors"
	"fmt"

	"github.com/mlperf-go/mlperf/internal/backend"
	"github.com/mlperf-go/mlperf/internal/models/workload"
	"github.com/mlperf-go/mlperf/internal/tensor"
)

// record has a predictor of the model answer its first samples, and returns what it gave each of the files, run by run, by their roles.
func (c Converter) record(ctx context.Context, files []workload.File) (given map[string][][]tensor.Tensor, err error) {
	c.Observer.Phase("recording what the files of the model are given")
	options := backend.Options{IntraThreads: c.Threads}
	ports, err := workload.PortsOf(ctx, c.Engine, files, options)
	if err != nil {
		return nil, err
	}
	w, err := c.Model.Open(workload.Setup{ModelPath: c.Source, DatasetDir: c.DatasetDir, Ports: ports, Options: c.Options})
	if err != nil {
		return nil, err
	}
	given = map[string][][]tensor.Tensor{}
	sessions := workload.Sessions{}
	defer func() {
		for _, s := range sessions {
			err = errors.Join(err, s.Close())
		}
	}()
	for _, f := range files {
		options.ModelPath, options.Outputs = f.Path, w.OutputsOf(f.Role)
		session, err := c.Engine.Open(ctx, options)
		if err != nil {
			return nil, err
		}
		sessions[f.Role] = recording{session, func(inputs []tensor.Tensor) { given[f.Role] = append(given[f.Role], inputs) }}
	}
	answerer, err := w.Answerer(sessions)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, answerer.Close()) }()
	n := min(c.Model.Recorded, w.Samples)
	for i := range n {
		if _, err := answerer.Answer(ctx, i); err != nil && !errors.Is(err, workload.ErrNoAnswer) { // whatever it says
			return nil, fmt.Errorf("sample %d: %w", i, err)
		}
		c.Observer.Items(i+1, n)
	}
	return given, nil
}

// A recording is a session that copies what it is given.
type recording struct {
	backend.Session
	keep func(inputs []tensor.Tensor)
}

// Run implements backend.Session.
func (r recording) Run(ctx context.Context, inputs, outputs []backend.Value) error {
	copies := make([]tensor.Tensor, len(inputs))
	for i, v := range inputs {
		t := v.Tensor()
		copies[i] = tensor.New(t.Type, t.Shape...)
		copy(copies[i].Bytes(), t.Bytes())
	}
	r.keep(copies)
	return r.Session.Run(ctx, inputs, outputs)
}
