package convert

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/mlperf-go/mlperf/internal/backend"
	"github.com/mlperf-go/mlperf/internal/convert/quantize"
	"github.com/mlperf-go/mlperf/internal/models/workload"
	"github.com/mlperf-go/mlperf/internal/tensor"
)

// defaultSamples is how many samples a calibration takes by default. ResNet-50 and MobileNet gain
// nothing from more.
const defaultSamples = 64

// samples are inputs of a model in memory, for one run after another.
type samples struct {
	*workload.Store
	fit
}

// A fit is how samples are inputs of a model.
type fit struct {
	batch int  // samples in a run
	whole bool // a sample is all of the inputs: they have no batch axis
}

// prepare loads samples, the first ones unless indices are given, at most so many. A model that takes several at a time gets
// the first ones again where the last are too few.
func (c Converter) prepare(ctx context.Context, indices []int, most int) (s *samples, err error) {
	w, f, err := c.open()
	if err != nil {
		return nil, err
	}
	if indices == nil {
		for i := range min(most, w.Samples) {
			indices = append(indices, i)
		}
	}
	indices = slices.Clone(indices[:min(most, len(indices))])
	for given := len(indices); given > 0 && len(indices)%f.batch != 0; {
		indices = append(indices, indices[len(indices)-given])
	}
	if i := slices.IndexFunc(indices, func(n int) bool { return n < 0 || n >= w.Samples }); i >= 0 {
		return nil, fmt.Errorf("preparing the calibration samples: there is no sample %d, the data set has %d", indices[i], w.Samples)
	}
	alike := func(a, b workload.Slot) bool { return slices.Equal(a.Shape, b.Shape) }
	if i := slices.IndexFunc(indices, func(n int) bool { return f.batch > 1 && !slices.EqualFunc(w.Row(n), w.Row(indices[0]), alike) }); i >= 0 {
		return nil, fmt.Errorf("preparing the calibration samples: %d and %d differ in shape, and the model takes %d at once", indices[0],
			indices[i], f.batch)
	}
	store, err := workload.NewStore(len(indices), func(i int) []workload.Slot { return w.Row(indices[i]) })
	if err != nil {
		return nil, err
	}
	for i, index := range indices {
		err := context.Cause(ctx)
		if err == nil {
			err = w.Prepare(index, store.Row(i))
		}
		if err != nil {
			return nil, errors.Join(fmt.Errorf("preparing the calibration samples: %w", err), store.Close())
		}
		c.Observer.Loading(i+1, len(indices))
	}
	return &samples{store, f}, nil
}

// calibration gives the samples to the engine.
func (c Converter) calibration(ctx context.Context, s *samples) quantize.Calibration {
	return quantize.Calibration{
		Engine: c.Engine, Backend: backend.Options{IntraThreads: c.Threads}, Batch: s.batch,
		Samples: func(yield func([]tensor.Tensor, error) bool) {
			for i := 0; i < s.Rows(); i += s.batch {
				inputs := s.Row(i)
				if !s.whole {
					inputs = s.Batch(i, s.batch)
				}
				if !yield(inputs, context.Cause(ctx)) {
					return
				}
			}
		},
	}
}

// errNoInput says that a sample is not an input of the model, as that of a model that runs many times for a sample.
var errNoInput = errors.New("a sample is not one input of the model")

// open joins the model with its data.
func (c Converter) open() (*workload.Workload, fit, error) {
	if c.Model.Several() {
		return nil, fit{}, fmt.Errorf("%s cannot be calibrated here: it has several files", c.Model.Name)
	}
	inputs, outputs, err := backend.ReadPorts(c.Source)
	if err != nil {
		return nil, fit{}, err
	}
	w, err := c.Model.Open(workload.Setup{
		ModelPath: c.Source, DatasetDir: c.DatasetDir, Ports: map[string]workload.Ports{workload.Only: {Inputs: inputs, Outputs: outputs}},
		Options: c.Options,
	})
	if err != nil {
		return nil, fit{}, err
	}
	var row []workload.Slot
	if w.Row != nil {
		row = w.Row(0)
	}
	f, ok := fitOf(inputs, row)
	if !ok {
		return nil, fit{}, fmt.Errorf("%s cannot be calibrated here: %w", c.Model.Name, errNoInput)
	}
	return w, f, nil
}

// fitOf returns how a sample is an input of the model, and whether it is one. Axes of an input may be free.
func fitOf(inputs []backend.Port, row []workload.Slot) (f fit, ok bool) {
	if len(inputs) == 0 || len(row) != len(inputs) {
		return f, false
	}
	first := inputs[0]
	if f.whole = !first.AnyShape && len(first.Shape) == len(row[0].Shape); f.whole {
		f.batch = 1
	} else {
		f.batch = max(1, first.Batch())
	}
	for i, p := range inputs {
		shape := row[i].Shape
		if !f.whole {
			shape = append(tensor.Shape{int64(f.batch)}, shape...)
		}
		if !p.Fits(row[i].Type, shape) {
			return f, false
		}
	}
	return f, true
}

// Indices returns the samples that a calibration list names, one in each line, by index or by the name
// of a file, as in MLPerf's calibration lists. Empty lines do not count.
func (c Converter) Indices(list io.Reader, name string) ([]int, error) {
	w, _, err := c.open()
	if err != nil {
		return nil, err
	}
	byName := map[string]int{}
	if w.Path != nil {
		for i := range w.Samples {
			byName[filepath.Base(w.Path(i))] = i
		}
	}
	var indices []int
	lines := bufio.NewScanner(list)
	for n := 1; lines.Scan(); n++ {
		text := lines.Text()
		if n == 1 {
			text = strings.TrimPrefix(text, "\ufeff")
		}
		if text = strings.TrimSpace(text); text == "" {
			continue
		}
		index, ok := byName[filepath.Base(text)]
		if !ok {
			var err error
			if index, err = strconv.Atoi(text); err != nil {
				return nil, fmt.Errorf("%s:%d: %q is neither a file of the data set nor an index", name, n, text)
			}
		}
		if index < 0 || index >= w.Samples {
			return nil, fmt.Errorf("%s:%d: there is no sample %d, the data set has %d", name, n, index, w.Samples)
		}
		indices = append(indices, index)
	}
	if err := lines.Err(); err != nil {
		return nil, fmt.Errorf("reading %s: %w", name, err)
	}
	if len(indices) == 0 {
		return nil, fmt.Errorf("%s names no samples", name)
	}
	return indices, nil
}
