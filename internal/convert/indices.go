package convert

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/mlperf-go/mlperf/internal/models/workload"
	"github.com/mlperf-go/mlperf/internal/quantize"
	"github.com/mlperf-go/mlperf/internal/tensor"
)

// batches passes the samples of a store one by one, as often as they are asked for.
func batches(ctx context.Context, store *workload.Store) quantize.Samples {
	return func(yield func([]tensor.Tensor, error) bool) {
		for i := range store.Rows() {
			if !yield(store.Batch(i, 1), context.Cause(ctx)) {
				return
			}
		}
	}
}

// Indices returns the samples that a calibration list names: one of each line, by its index
// or its file's name, as in MLPerf's calibration lists. Empty lines do not count.
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
	return parseList(list, name, w.Samples, byName)
}

func parseList(list io.Reader, name string, samples int, byName map[string]int) ([]int, error) {
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
		index, err := indexOf(text, samples, byName)
		if err != nil {
			return nil, fmt.Errorf("%s:%d: %w", name, n, err)
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

// indexOf is the sample that a line names.
func indexOf(text string, samples int, byName map[string]int) (int, error) {
	index, ok := byName[filepath.Base(text)]
	if !ok {
		var err error
		if index, err = strconv.Atoi(text); err != nil {
			return 0, fmt.Errorf("%q is neither a file of the data set nor an index", text)
		}
	}
	if index < 0 || index >= samples {
		return 0, fmt.Errorf("there is no sample %d, the data set has %d", index, samples)
	}
	return index, nil
}
