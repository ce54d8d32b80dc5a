package dataset

import (
	"encoding/binary"
	"fmt"
	"math"
	"os"
	"path/filepath"

	"github.com/mlperf-go/mlperf/internal/fileio"
)

// What a pair of the Criteo data has.
const (
	CriteoNumbers    = 13
	CriteoCategories = 26

	criteoFields = 1 + CriteoNumbers + CriteoCategories
	criteoBytes  = 4 * criteoFields
)

// Criteo is a set of user-item pairs with labels, in runs that are samples.
type Criteo struct {
	Runs []Run

	path        string
	fingerprint string
}

// The files of the Criteo data: pairs as the DLRM reference keeps them, and perhaps the runs.
const (
	criteoPairs = "terabyte_processed_test.bin"
	criteoTrace = "dlrm_trace_of_aggregated_samples.txt"
)

// OpenCriteo opens terabyte_processed_test.bin of a folder: for each pair 40 little-endian
// int32, the label, 13 numbers and 26 categories. The runs are those of
// dlrm_trace_of_aggregated_samples.txt if that is there, or else drawn as the reference draws
// them.
func OpenCriteo(dir string) (*Criteo, error) {
	d, err := openCriteo(dir)
	if err != nil {
		return nil, fmt.Errorf("opening Criteo: %w", err)
	}
	return d, nil
}

func openCriteo(dir string) (*Criteo, error) {
	d := &Criteo{path: filepath.Join(dir, criteoPairs)}
	info, err := os.Stat(d.path)
	if err != nil {
		return nil, err
	}
	switch size := info.Size(); {
	case !info.Mode().IsRegular():
		return nil, fmt.Errorf("%s is not a file", d.path)
	case size == 0 || size%criteoBytes != 0:
		return nil, fmt.Errorf("%s has %d bytes, want %d for each pair", d.path, size, criteoBytes)
	}
	pairs := int(info.Size() / criteoBytes)
	if d.Runs, err = runsOf(dir, pairs); err != nil {
		return nil, err
	}
	files := newFileCheck()
	if err := files.add(criteoPairs, d.path); err != nil {
		return nil, err
	}
	d.fingerprint = files.fingerprint()
	return d, nil
}

// Len is the number of samples.
func (d *Criteo) Len() int { return len(d.Runs) }

// Fingerprint names the content, as far as size and time of the file tell it.
func (d *Criteo) Fingerprint() string { return d.fingerprint }

// A Click is the input of pairs, row by row.
type Click struct {
	Numbers    []float32 // ln(x+1), 13 of each pair
	Categories []int64   // table by table, of each those of the pairs
	Labels     []float32 // 0 or 1
}

// Read fills in the pairs of a sample, whose slices have to fit. A category below 0, a number
// below 0 and a label other than 0 and 1 are errors.
func (d *Criteo) Read(sample int, c Click) error {
	r := d.Runs[sample]
	f, err := fileio.Open(d.path)
	if err != nil {
		return err
	}
	defer f.Close()
	data := make([]byte, r.Count*criteoBytes)
	if _, err := f.ReadAt(data, int64(r.First)*criteoBytes); err != nil {
		return fmt.Errorf("%s: pairs %d to %d: %w", d.path, r.First, r.First+r.Count-1, err)
	}
	for i := range r.Count {
		if err := c.pair(i, r.Count, data[i*criteoBytes:]); err != nil {
			return fmt.Errorf("%s: pair %d: %w", d.path, r.First+i, err)
		}
	}
	return nil
}

// pair fills in pair i of n.
func (c Click) pair(i, n int, data []byte) error {
	at := func(k int) int32 { return int32(binary.LittleEndian.Uint32(data[4*k:])) }
	if label := at(0); label != 0 && label != 1 {
		return fmt.Errorf("the label is %d, want 0 or 1", label)
	}
	c.Labels[i] = float32(at(0))
	for k := range CriteoNumbers {
		v := at(1 + k)
		if v < 0 {
			return fmt.Errorf("number %d is %d, want 0 or more", k, v)
		}
		c.Numbers[i*CriteoNumbers+k] = float32(math.Log(float64(v) + 1))
	}
	for k := range CriteoCategories {
		v := at(1 + CriteoNumbers + k)
		if v < 0 {
			return fmt.Errorf("category %d is %d, want 0 or more", k, v)
		}
		c.Categories[k*n+i] = int64(v)
	}
	return nil
}

// Labels implements accuracy.ClickTruth.
func (d *Criteo) Labels(sample int) ([]bool, error) {
	n := d.Runs[sample].Count
	c := Click{make([]float32, n*CriteoNumbers), make([]int64, n*CriteoCategories), make([]float32, n)}
	if err := d.Read(sample, c); err != nil {
		return nil, err
	}
	labels := make([]bool, n)
	for i, v := range c.Labels {
		labels[i] = v == 1
	}
	return labels, nil
}
