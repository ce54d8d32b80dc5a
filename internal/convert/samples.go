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
	"github.com/mlperf-go/mlperf/internal/models/workload"
	"github.com/mlperf-go/mlperf/internal/tensor"
)

// defaultSamples is how many samples a calibration takes by default. ResNet-50 and MobileNet gain
// nothing from more.
const defaultSamples = 64

// prepare loads the samples to calibrate with.
func (c Converter) prepare(ctx context.Context, indices []int) (*workload.Store, error) {
	w, err := c.open()
	if err != nil {
		return nil, err
	}
	if indices == nil {
		for i := range min(defaultSamples, w.Samples) {
			indices = append(indices, i)
		}
	}
	if i := slices.IndexFunc(indices, func(n int) bool { return n < 0 || n >= w.Samples }); i >= 0 {
		return nil, fmt.Errorf("preparing the calibration samples: there is no sample %d, the data set has %d", indices[i], w.Samples)
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
	return store, nil
}

// open joins the model with its data. A sample must be the input of the model: that of a model that
// runs many times for a sample is not.
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
	// An input is a batch of samples, whose axes may be free.
	takes := func(input, sample tensor.Shape) bool {
		return len(input) == len(sample)+1 && slices.EqualFunc(input[1:], sample, func(have, want int64) bool { return have == want || have == -1 })
	}
	row := w.Row(0)
	fits := len(row) == len(inputs)
	for i := 0; fits && i < len(row); i++ {
		fits = takes(inputs[i].Shape, row[i].Shape)
	}
	if !fits {
		return nil, fmt.Errorf("%s cannot be calibrated here: a sample is not one input of the model; the method dynamic needs no samples", c.Model.Name)
	}
	return w, nil
}

// Indices returns the samples that a calibration list names, one in each line, by index or by the name
// of a file, as in MLPerf's calibration lists. Empty lines do not count.
func (c Converter) Indices(list io.Reader, name string) ([]int, error) {
	w, err := c.open()
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
