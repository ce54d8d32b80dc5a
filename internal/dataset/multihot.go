package dataset

import (
	"archive/zip"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math"
	"path/filepath"
	"slices"

	"github.com/mlperf-go/mlperf/internal/regular"
	"github.com/mlperf-go/mlperf/internal/tensor"
	"github.com/mlperf-go/mlperf/internal/tensor/npy"
)

// MultiHot is a set of user-item pairs as DLRM-v2 has them: of each table several categories.
// They are read from the files whenever a sample is.
type MultiHot struct {
	Runs []Run
	Hot  []int // categories of each table

	numbers, labels array
	tables          []array
}

// An array is where the elements of a NumPy array lie.
type array struct {
	path  string
	first int64 // byte
	rows  int
	width int
	dtype tensor.DType
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

// openTables opens 0.npy to 25.npy of an archive, which are stored as they are.
func (d *MultiHot) openTables(path string) error {
	f, err := regular.Open(path)
	if err != nil {
		return err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return err
	}
	z, err := zip.NewReader(f, info.Size())
	if err != nil {
		return fmt.Errorf("%s: %w", path, err)
	}
	for table := range CriteoCategories {
		name := fmt.Sprintf("%d.npy", table)
		i := slices.IndexFunc(z.File, func(m *zip.File) bool { return m.Name == name })
		if i < 0 {
			return fmt.Errorf("%s has no %s", path, name)
		}
		a, err := openMember(f, z.File[i], info.Size())
		if err != nil {
			return fmt.Errorf("%s: %s: %w", path, name, err)
		}
		a.path = path
		d.tables, d.Hot = append(d.tables, a), append(d.Hot, a.width)
	}
	return nil
}

// openMember opens an array in an archive of so many bytes.
func openMember(f io.ReaderAt, member *zip.File, archive int64) (array, error) {
	start, err := member.DataOffset()
	if err != nil {
		return array{}, err
	}
	if member.Method != zip.Store {
		return array{}, errors.New("it is compressed, want an archive of numpy.savez")
	}
	size := int64(min(member.UncompressedSize64, uint64(archive))) // what the archive says need not be so
	a, err := parseArray(io.NewSectionReader(f, start, size), size, tensor.Int32, 0)
	a.first += start
	return a, err
}

func openArray(path string, dtype tensor.DType, width int) (array, error) {
	f, err := regular.Open(path)
	if err != nil {
		return array{}, err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return array{}, err
	}
	a, err := parseArray(f, info.Size(), dtype, width)
	if err != nil {
		return a, fmt.Errorf("%s: %w", path, err)
	}
	a.path = path
	return a, nil
}

// mostHot bounds the categories that a table may have of a pair; the official data have up to
// 100.
const mostHot = 1 << 12

// parseArray reads the head of an array of one or two axes; width 0: any.
func parseArray(r io.Reader, size int64, dtype tensor.DType, width int) (array, error) {
	counted := &counter{r: r}
	head, err := npy.NewReader(counted)
	if err != nil {
		return array{}, err
	}
	a := array{first: counted.n, dtype: head.Type}
	rightType := head.Type == dtype && !head.Swapped()
	if !a.takeShape(head.Shape) || !rightType || width != 0 && a.width != width {
		return a, fmt.Errorf("the array is %v%v, want little-endian %v[N %s]", head.Type, head.Shape, dtype, widthText(width))
	}
	if want := a.first + int64(a.rows)*int64(a.width)*4; size < want {
		return a, fmt.Errorf("there are %d bytes, want %d: the array is cut off", size, want)
	}
	return a, nil
}

// takeShape takes rows and width of one or two axes, if there may be so many.
func (a *array) takeShape(shape tensor.Shape) bool {
	if len(shape) == 1 {
		shape = tensor.Shape{shape[0], 1}
	}
	if len(shape) != 2 || shape[1] < 1 || shape[1] > mostHot {
		return false
	}
	a.rows, a.width = int(shape[0]), int(shape[1])
	return shape[0] >= 1 && shape[0] <= math.MaxInt32
}

func widthText(width int) string {
	if width == 0 {
		return "K"
	}
	return fmt.Sprint(width)
}

// A counter counts what is read.
type counter struct {
	r io.Reader
	n int64
}

// Read implements io.Reader.
func (c *counter) Read(p []byte) (int, error) {
	n, err := c.r.Read(p)
	c.n += int64(n)
	return n, err
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

// read returns the elements of some rows as their bits.
func (a array) read(r Run) ([]int32, error) {
	f, err := regular.Open(a.path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	data := make([]byte, 4*a.width*r.Count)
	if _, err := f.ReadAt(data, a.first+int64(r.First)*int64(a.width)*4); err != nil {
		return nil, fmt.Errorf("%s: pairs %d to %d: %w", a.path, r.First, r.First+r.Count-1, err)
	}
	out := make([]int32, len(data)/4)
	for i := range out {
		out[i] = int32(binary.LittleEndian.Uint32(data[4*i:]))
	}
	return out, nil
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
