package dataset

import (
	"fmt"
	"math"
	"path/filepath"

	"github.com/mlperf-go/mlperf/internal/tensor"
)

// MultiHot is a set of user-item pairs as DLRM-v2 has them: of each table several categories.
// They are read from the files whenever a sample is.
type MultiHot struct {
	Runs []Run
	Hot  []int // categories of each table

	numbers, labels array
	tables          []array
}

// The files of day 23 (python/multihot_criteo.py). Of the official ones the first half is
// the validation set; the sample is used whole.
const (
	multiHotDay    = "day_23"
	multiHotSample = "_sample"
)

// OpenMultiHot opens day_23_dense.npy, day_23_labels.npy and day_23_sparse_multi_hot.npz of a
// folder, or the same with _sample at the end of their names. The runs are those of
// dlrm_trace_of_aggregated_samples.txt if that is there, or else drawn as the reference draws
// them.
func OpenMultiHot(dir string) (*MultiHot, error) {
	d, err := openMultiHot(dir)
	if err != nil {
		return nil, fmt.Errorf("opening Criteo: %w", err)
	}
	return d, nil
}

// checkRows wants as many rows in all arrays.
func (d *MultiHot) checkRows() error {
	for _, a := range append([]array{d.labels}, d.tables...) {
		if a.rows != d.numbers.rows {
			return fmt.Errorf("%s has %d rows, %s has %d", a.path, a.rows, d.numbers.path, d.numbers.rows)
		}
	}
	return nil
}

func openMultiHot(dir string) (*MultiHot, error) {
	end := ""
	if exists(filepath.Join(dir, multiHotDay+"_dense"+multiHotSample+".npy")) {
		end = multiHotSample
	}
	path := func(what, ext string) string { return filepath.Join(dir, multiHotDay+"_"+what+end+ext) }
	d := &MultiHot{}
	var err error
	if d.numbers, err = openArray(path("dense", ".npy"), tensor.Float32, CriteoNumbers); err != nil {
		return nil, err
	}
	if d.labels, err = openArray(path("labels", ".npy"), tensor.Int32, 1); err != nil {
		return nil, err
	}
	if err := d.openTables(path("sparse_multi_hot", ".npz")); err != nil {
		return nil, err
	}
	if err := d.checkRows(); err != nil {
		return nil, err
	}
	pairs := d.numbers.rows
	if end == "" {
		pairs -= pairs / 2
	}
	d.Runs, err = runsOf(dir, pairs)
	return d, err
}

// runsOf returns the runs of a folder with so many pairs.
func runsOf(dir string, pairs int) ([]Run, error) {
	trace := filepath.Join(dir, criteoTrace)
	if !exists(trace) {
		return AggregatePairs(pairs), nil
	}
	runs, err := readRuns(trace)
	if end := endOf(runs); err == nil && end > pairs {
		err = fmt.Errorf("%s names %d pairs, %s has %d", trace, end, dir, pairs)
	}
	return runs, err
}

// Len is the number of samples.
func (d *MultiHot) Len() int { return len(d.Runs) }

// Read fills in the pairs of a sample, whose slices have to fit. A category below 0, a number
// that is none and a label other than 0 and 1 are errors.
func (d *MultiHot) Read(sample int, c Click) error {
	r := d.Runs[sample]
	if err := d.readNumbers(r, c.Numbers); err != nil {
		return err
	}
	if err := d.readLabels(r, c.Labels); err != nil {
		return err
	}
	return d.readTables(r, c.Categories)
}

func (d *MultiHot) readNumbers(r Run, dst []float32) error {
	numbers, err := d.numbers.read(r)
	if err != nil {
		return err
	}
	for i, bits := range numbers {
		v := math.Float32frombits(uint32(bits))
		if v != v || math.IsInf(float64(v), 0) {
			return fmt.Errorf("%s: pair %d: number %d is %v", d.numbers.path, r.First+i/CriteoNumbers, i%CriteoNumbers, v)
		}
		dst[i] = v
	}
	return nil
}

func (d *MultiHot) readLabels(r Run, dst []float32) error {
	labels, err := d.labels.read(r)
	if err != nil {
		return err
	}
	for i, v := range labels {
		if v != 0 && v != 1 {
			return fmt.Errorf("%s: pair %d: the label is %d, want 0 or 1", d.labels.path, r.First+i, v)
		}
		dst[i] = float32(v)
	}
	return nil
}

func (d *MultiHot) readTables(r Run, categories []int64) error {
	at := 0
	for table, a := range d.tables {
		ids, err := a.read(r)
		if err != nil {
			return err
		}
		for i, v := range ids {
			if v < 0 {
				return fmt.Errorf("%s: %d.npy: pair %d: a category is %d, want 0 or more", a.path, table, r.First+i/a.width, v)
			}
			categories[at+i] = int64(v)
		}
		at += len(ids)
	}
	return nil
}

// Labels implements accuracy.ClickTruth.
func (d *MultiHot) Labels(sample int) ([]bool, error) {
	r := d.Runs[sample]
	labels := make([]float32, r.Count)
	if err := d.readLabels(r, labels); err != nil {
		return nil, err
	}
	truth := make([]bool, r.Count)
	for i, v := range labels {
		truth[i] = v == 1
	}
	return truth, nil
}
