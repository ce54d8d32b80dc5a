package dataset

import (
	"bufio"
	"bytes"
	"cmp"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"path/filepath"

	"gonum.org/v1/gonum/mathext/prng"

	"github.com/mlperf-go/mlperf/internal/fileio"
)

// Numbers and categories of a user-item pair of the Criteo data.
const (
	CriteoNumbers    = 13
	CriteoCategories = 26

	criteoFields = 1 + CriteoNumbers + CriteoCategories // with the label
	criteoBytes  = 4 * criteoFields
)

// Criteo is a set of user-item pairs with labels, in runs that are samples.
type Criteo struct {
	Runs []Run
	path string
}

// The files of the Criteo data: pairs as the DLRM reference writes them, and perhaps the runs.
const (
	criteoPairs = "terabyte_processed_test.bin"
	criteoTrace = "dlrm_trace_of_aggregated_samples.txt"
)

// OpenCriteo opens terabyte_processed_test.bin of a folder: for each pair 40 little-endian
// int32, the label, 13 numbers and 26 categories. The runs are those of
// dlrm_trace_of_aggregated_samples.txt if that exists, or else drawn as the reference draws
// them.
func OpenCriteo(dir string) (_ *Criteo, err error) {
	defer opening("Criteo", &err)
	d := &Criteo{path: filepath.Join(dir, criteoPairs)}
	info, err := fileio.Stat(d.path)
	if err != nil {
		return nil, err
	}
	if size := info.Size(); size == 0 || size%criteoBytes != 0 {
		return nil, fmt.Errorf("%s has %d bytes, expected %d for each pair", d.path, size, criteoBytes)
	}
	d.Runs, err = runsOf(dir, int(info.Size()/criteoBytes))
	return d, err
}

// A Click is the model's input for pairs.
type Click struct {
	Numbers    []float32 // pair by pair, for Criteo as ln(x+1)
	Categories []int64   // table by table, of each table pair by pair
	Labels     []float32 // 0 or 1
}

// Read fills in the pairs of a sample; the lengths of the slices must fit. A category below 0, a number
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
		field := func(k int) int32 { return int32(binary.LittleEndian.Uint32(data[i*criteoBytes+4*k:])) }
		if label := field(0); label != 0 && label != 1 {
			return fmt.Errorf("%s: pair %d: the label is %d: must be 0 or 1", d.path, r.First+i, label)
		}
		c.Labels[i] = float32(field(0))
		for k := 1; k < criteoFields; k++ {
			v := field(k)
			if v < 0 {
				return fmt.Errorf("%s: pair %d: field %d is %d: must be 0 or more", d.path, r.First+i, k, v)
			}
			if k <= CriteoNumbers {
				c.Numbers[i*CriteoNumbers+k-1] = float32(math.Log(float64(v) + 1))
			} else {
				c.Categories[(k-1-CriteoNumbers)*r.Count+i] = int64(v)
			}
		}
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
	return clicked(c.Labels), nil
}

func clicked(labels []float32) []bool {
	b := make([]bool, len(labels))
	for i, v := range labels {
		b[i] = v == 1
	}
	return b
}

// A Run is a run of user-item pairs that makes one sample of the recommendation benchmarks.
type Run struct{ First, Count int }

func (r Run) end() int { return r.First + r.Count }

// runSizes are the sizes from which the reference draws (tools/dist_quantile.txt): 100 to
// 700 pairs, 270 on average.
var runSizes = [20]int{100, 100, 200, 200, 200, 200, 200, 200, 200, 200, 200, 200, 200, 200, 300, 300, 400, 500, 600, 700}

// AggregatePairs divides pairs into runs as the reference does: it draws sizes evenly from runSizes
// with NumPy's RandomState(123).randint; the last run has the rest.
func AggregatePairs(pairs int) []Run {
	random := prng.NewMT19937()
	random.Seed(123)
	var runs []Run
	for first := 0; first < pairs; {
		i := random.Uint32() & 31 // randint(0, 20) draws five bits until they are below 20
		if i < 20 {
			n := min(runSizes[i], pairs-first)
			runs = append(runs, Run{first, n})
			first += n
		}
	}
	return runs
}

// WriteRuns writes runs in the form of the official trace (dlrm_trace_of_aggregated_samples.txt):
// first pair, pair after the last, and count.
func WriteRuns(w io.Writer, runs []Run) error {
	b := bufio.NewWriter(w)
	for _, r := range runs {
		fmt.Fprintf(b, "%d, %d, %d\n", r.First, r.First+r.Count, r.Count)
	}
	return b.Flush()
}

// runsOf returns the runs of a folder with some pairs.
func runsOf(dir string, pairs int) ([]Run, error) {
	path := filepath.Join(dir, criteoTrace)
	runs, err := openRuns(path)
	if errors.Is(err, os.ErrNotExist) {
		return AggregatePairs(pairs), nil
	}
	if err != nil {
		return nil, err
	}
	if end := runs[len(runs)-1].end(); end > pairs {
		return nil, fmt.Errorf("%s lists %d pairs, %s has %d", path, end, dir, pairs)
	}
	return runs, nil
}

// openRuns reads a trace, which has at least one run.
func openRuns(path string) ([]Run, error) {
	f, err := fileio.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	runs, err := readRuns(f)
	switch {
	case err != nil:
		return nil, fmt.Errorf("%s: line %d: %w", path, len(runs)+1, err)
	case len(runs) == 0:
		return nil, fmt.Errorf("%s is empty, expected first pair, end and count of each sample", path)
	}
	return runs, nil
}

// readRuns reads a trace. With an error it returns the runs before it.
func readRuns(r io.Reader) (runs []Run, err error) {
	lines := bufio.NewScanner(r)
	for end := 0; lines.Scan(); {
		var r Run
		var next int
		if n, err := fmt.Sscanf(lines.Text(), "%d, %d, %d\n", &r.First, &next, &r.Count); err != nil {
			return runs, fmt.Errorf("expected first pair, end and count, got %d numbers in %q", n, lines.Text())
		}
		switch {
		case r.First != end:
			return runs, fmt.Errorf("the sample begins with pair %d, the one before ends with %d", r.First, end)
		case r.Count < 1 || next != r.First+r.Count:
			return runs, errors.New("the count is not the end less the first pair")
		}
		runs, end = append(runs, r), next
	}
	return runs, lines.Err()
}

// Clicks are the labels of samples, as accuracy-dlrm.py reads them.
type Clicks [][]bool

// Labels implements accuracy.ClickTruth.
func (c Clicks) Labels(sample int) ([]bool, error) { return c[sample], nil }

// ReadClicks reads the labels of the samples of a trace from the published text of day 23, where each line is a pair and
// begins with its label and a tab.
func ReadClicks(day, trace string) (labels Clicks, err error) {
	defer opening("Criteo", &err)
	runs, err := openRuns(trace)
	if err != nil {
		return nil, err
	}
	f, err := fileio.Open(day)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	lines := bufio.NewScanner(f)
	for _, r := range runs {
		var list []bool
		for len(list) < r.Count {
			before := r.First + len(list)
			if !lines.Scan() {
				err := cmp.Or(lines.Err(), fmt.Errorf("%s lists %d pairs", trace, runs[len(runs)-1].end()))
				return nil, fmt.Errorf("%s has %d lines, %w", day, before, err)
			}
			label, _, _ := bytes.Cut(lines.Bytes(), []byte("\t"))
			if s := string(label); s != "0" && s != "1" {
				return nil, fmt.Errorf("%s: line %d: the label is %.20q: must be 0 or 1 and a tab", day, before+1, s)
			}
			list = append(list, label[0] == '1')
		}
		labels = append(labels, list)
	}
	return labels, nil
}
