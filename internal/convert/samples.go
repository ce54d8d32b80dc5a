package convert

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/mlperf-go/mlperf/internal/backend"
	"github.com/mlperf-go/mlperf/internal/models/workload"
	"github.com/mlperf-go/mlperf/internal/tensor"
)

// defaultSamples is how many samples a calibration takes if nobody says which.
// ResNet-50 and MobileNet gain nothing from more.
const defaultSamples = 64

// prepare loads the samples to calibrate with.
func (c Converter) prepare(ctx context.Context, indices []int) (*workload.Store, error) {
	w, err := c.open()
	if err != nil {
		return nil, err
	}
	if indices == nil {
		indices = firstSamples(min(defaultSamples, w.Samples))
	}
	if i := slices.IndexFunc(indices, func(n int) bool { return n < 0 || n >= w.Samples }); i >= 0 {
		return nil, fmt.Errorf("preparing the calibration samples: there is no sample %d, the data set has %d", indices[i], w.Samples)
	}
	store, err := workload.NewStore(len(indices), func(i int) []workload.Slot { return w.Row(indices[i]) })
	if err != nil {
		return nil, err
	}
	if err := c.fill(ctx, store, w, indices); err != nil {
		return nil, errors.Join(fmt.Errorf("preparing the calibration samples: %w", err), store.Close())
	}
	return store, nil
}

func firstSamples(n int) []int {
	list := make([]int, n)
	for i := range list {
		list[i] = i
	}
	return list
}

// fill has samples prepared in the rows of a store.
func (c Converter) fill(ctx context.Context, store *workload.Store, w *workload.Workload, indices []int) error {
	for i, index := range indices {
		if err := context.Cause(ctx); err != nil {
			return err
		}
		if err := w.Prepare(index, store.Row(i)); err != nil {
			return err
		}
		c.Observer.Loading(i+1, len(indices))
	}
	return nil
}

// open joins the model with its data. Samples have to be what the model takes: those of
// models that run many times for a sample are not.
func (c Converter) open() (*workload.Workload, error) {
	if c.Model.Several() {
		return nil, fmt.Errorf("%s cannot be calibrated here: it has several files", c.Model.Name)
	}
	inputs, outputs, err := backend.ReadPorts(c.Source)
	if err != nil {
		return nil, err
	}
	w, err := c.Model.Open(workload.Setup{
		ModelPath: c.Source, DatasetDir: c.DatasetDir, Ports: map[string]workload.Ports{workload.Only: {Inputs: inputs, Outputs: outputs}}, Options: c.Options,
	})
	if err != nil {
		return nil, err
	}
	row := w.Row(0)
	fits := len(row) == len(inputs)
	for i := 0; fits && i < len(row); i++ {
		fits = takes(inputs[i].Shape, row[i].Shape)
	}
	if !fits {
		return nil, fmt.Errorf("%s cannot be calibrated here: a sample is not one input of the model", c.Model.Name)
	}
	return w, nil
}

// takes says whether a model's input is a batch of samples of a shape.
func takes(input, sample tensor.Shape) bool {
	if len(input) != len(sample)+1 {
		return false
	}
	for i, n := range sample {
		if input[i+1] != n && input[i+1] != -1 {
			return false
		}
	}
	return true
}
