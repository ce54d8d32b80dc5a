package quantize

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"

	"github.com/mlperf-go/mlperf/internal/backend"
	"github.com/mlperf-go/mlperf/internal/onnx"
	"github.com/mlperf-go/mlperf/internal/scratch"
	"github.com/mlperf-go/mlperf/internal/tensor"
)

// pass runs a model over all samples and shows its outputs to visit.
func (c *Calibration) pass(ctx context.Context, name string, m *onnx.Model, visit func(outputs []tensor.Tensor, batch int) error) error {
	session, err := open(ctx, c.Engine, c.Backend, m)
	if err != nil {
		return err
	}
	err = c.stream(ctx, name, session, visit)
	return errors.Join(err, session.Close())
}

func (c *Calibration) stream(ctx context.Context, name string, s backend.Session, visit func([]tensor.Tensor, int) error) error {
	seen := 0
	for inputs, err := range c.Samples {
		if err != nil {
			return fmt.Errorf("sample %d: %w", seen, err)
		}
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		batch := batchOf(inputs)
		if err := run(ctx, s, inputs, func(outputs []tensor.Tensor) error { return visit(outputs, batch) }); err != nil {
			return fmt.Errorf("sample %d: %w", seen, err)
		}
		seen += batch
		if c.Progress != nil {
			c.Progress(name, seen)
		}
	}
	if seen == 0 {
		return errors.New("there are no samples")
	}
	return nil
}

// batchOf returns how many samples a batch holds.
func batchOf(inputs []tensor.Tensor) int {
	if len(inputs) == 0 || len(inputs[0].Shape) == 0 {
		return 1
	}
	return int(inputs[0].Shape[0])
}

// open opens a model by way of a file, which is gone again when it is open.
func open(ctx context.Context, engine backend.Engine, o backend.Options, m *onnx.Model) (backend.Session, error) {
	folder, err := scratch.Folder("quantize")
	if err != nil {
		return nil, err
	}
	defer folder.Remove()
	o.ModelPath, o.Outputs = filepath.Join(folder.Path, "model.onnx"), nil
	if err := m.WriteFile(ctx, o.ModelPath); err != nil {
		return nil, err
	}
	return engine.Open(ctx, o)
}

// run runs a model once. The outputs are valid until visit returns.
func run(ctx context.Context, s backend.Session, inputs []tensor.Tensor, visit func([]tensor.Tensor) error) (err error) {
	var bound []backend.Value
	outputs := make([]backend.Value, len(s.Info().Outputs))
	defer func() {
		for _, v := range append(bound, outputs...) {
			if v != nil {
				err = errors.Join(err, v.Close())
			}
		}
	}()
	for _, t := range inputs {
		v, err := s.Bind(t)
		if err != nil {
			return err
		}
		bound = append(bound, v)
	}
	if err := s.Run(ctx, bound, outputs); err != nil {
		return err
	}
	tensors := make([]tensor.Tensor, len(outputs))
	for i, v := range outputs {
		tensors[i] = v.Tensor()
	}
	return visit(tensors)
}
