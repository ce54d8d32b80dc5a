package dataset

import (
	"archive/zip"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math"
	"path/filepath"

	"github.com/mlperf-go/mlperf/internal/fileio"
	"github.com/mlperf-go/mlperf/internal/tensor"
	"github.com/mlperf-go/mlperf/internal/tensor/npy"
)

// MultiHot is the Criteo data of DLRM-v2, with several categories of each table in a pair.
// Each sample is read from the files.
type MultiHot struct {
	Runs []Run
	Hot  []int // categories of each table

	numbers, labels array
	tables          []array
}

// OpenMultiHot opens day_23_dense.npy, day_23_labels.npy and day_23_sparse_multi_hot.npz of a
// folder (python/multihot_criteo.py), or the same with _sample at the end of their names. Of the former the first half is
// the validation set. The runs are those of dlrm_trace_of_aggregated_samples.txt if that exists, or else drawn as the
// reference draws them.
func OpenMultiHot(dir string) (_ *MultiHot, err error) {
	defer opening("Criteo", &err)
	end := ""
	if fileio.Exists(filepath.Join(dir, "day_23_dense_sample.npy")) {
		end = "_sample"
	}
	d := &MultiHot{}
	if d.numbers, err = openArray(filepath.Join(dir, "day_23_dense"+end+".npy"), tensor.Float32, CriteoNumbers); err != nil {
		return nil, err
	}
	if d.labels, err = openArray(filepath.Join(dir, "day_23_labels"+end+".npy"), tensor.Int32, 1); err != nil {
		return nil, err
	}
	if d.tables, err = openTables(filepath.Join(dir, "day_23_sparse_multi_hot"+end+".npz")); err != nil {
		return nil, err
	}
	for _, a := range append([]array{d.labels}, d.tables...) {
		if a.rows != d.numbers.rows {
			return nil, fmt.Errorf("%s has %d rows, %s has %d", a.path, a.rows, d.numbers.path, d.numbers.rows)
		}
	}
	for _, a := range d.tables {
		d.Hot = append(d.Hot, a.width)
	}
	pairs := d.numbers.rows
	if end == "" {
		pairs -= pairs / 2
	}
	d.Runs, err = runsOf(dir, pairs)
	return d, err
}

// Read fills in the pairs of a sample; the lengths of the slices must fit. A category below 0, a number
// that is not finite and a label other than 0 and 1 are errors.
func (d *MultiHot) Read(sample int, c Click) error {
	r := d.Runs[sample]
	numbers, err := d.numbers.read(r)
	if err != nil {
		return err
	}
	for i, bits := range numbers {
		v := math.Float32frombits(uint32(bits))
		if v-v != 0 {
			return fmt.Errorf("%s: pair %d: number %d is %v", d.numbers.path, r.First+i/CriteoNumbers, i%CriteoNumbers, v)
		}
		c.Numbers[i] = v
	}
	if err := d.readLabels(r, c.Labels); err != nil {
		return err
	}
	categories := c.Categories
	for table, a := range d.tables {
		ids, err := a.read(r)
		if err != nil {
			return err
		}
		for i, v := range ids {
			if v < 0 {
				return fmt.Errorf("%s: %d.npy: pair %d: a category is %d: must be 0 or more", a.path, table, r.First+i/a.width, v)
			}
			categories[i] = int64(v)
		}
		categories = categories[len(ids):]
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
			return fmt.Errorf("%s: pair %d: the label is %d: must be 0 or 1", d.labels.path, r.First+i, v)
		}
		dst[i] = float32(v)
	}
	return nil
}

// Labels implements accuracy.ClickTruth.
func (d *MultiHot) Labels(sample int) ([]bool, error) {
	labels := make([]float32, d.Runs[sample].Count)
	if err := d.readLabels(d.Runs[sample], labels); err != nil {
		return nil, err
	}
	return clicked(labels), nil
}

// An array is the place of a NumPy array with one or two axes in a file.
type array struct {
	path  string
	first int64 // byte
	rows  int
	width int
}

func openArray(path string, dtype tensor.DType, width int) (array, error) {
	f, err := fileio.Open(path)
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

// openTables opens 0.npy to 25.npy of an archive without compression.
func openTables(path string) (tables []array, err error) {
	f, err := fileio.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return nil, err
	}
	z, err := zip.NewReader(f, info.Size())
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	members := map[string]*zip.File{} // the last one of a name, as in NumPy
	for _, m := range z.File {
		members[m.Name] = m
	}
	for table := range CriteoCategories {
		name := fmt.Sprintf("%d.npy", table)
		member := members[name]
		if member == nil {
			return nil, fmt.Errorf("%s has no %s", path, name)
		}
		start, err := member.DataOffset()
		if err == nil && member.Method != zip.Store {
			err = errors.New("compressed, expected an archive of numpy.savez")
		}
		var a array
		if err == nil {
			size := int64(min(member.UncompressedSize64, uint64(info.Size()))) // the archive may claim more
			a, err = parseArray(io.NewSectionReader(f, start, size), size, tensor.Int32, 0)
		}
		if err != nil {
			return nil, fmt.Errorf("%s: %s: %w", path, name, err)
		}
		a.path, a.first = path, a.first+start
		tables = append(tables, a)
	}
	return tables, nil
}

// maxHot limits the categories of a table in a pair; the official data have up to 100.
const maxHot = 1 << 12

// parseArray reads the header of an array of a type and width; width 0: any.
func parseArray(r io.ReadSeeker, size int64, dtype tensor.DType, width int) (a array, err error) {
	header, err := npy.NewReader(r)
	if err != nil {
		return a, err
	}
	if a.first, err = r.Seek(0, io.SeekCurrent); err != nil {
		return a, err
	}
	shape, want := header.Shape, "K"
	if len(shape) == 1 {
		shape = tensor.Shape{shape[0], 1}
	}
	if width > 0 {
		want = fmt.Sprint(width)
	}
	if len(shape) != 2 || header.Type != dtype || header.Swapped || shape[0] < 1 || shape[0] > math.MaxInt32 ||
		shape[1] < 1 || shape[1] > maxHot || width > 0 && shape[1] != int64(width) {
		return a, fmt.Errorf("the array is %v%v: must be little-endian %v[N %s]", header.Type, header.Shape, dtype, want)
	}
	a.rows, a.width = int(shape[0]), int(shape[1])
	if want := a.first + shape[0]*shape[1]*4; size < want {
		return a, fmt.Errorf("%d bytes, expected %d: the array is cut off", size, want)
	}
	return a, nil
}

// read returns the elements of some rows as their bits.
func (a array) read(r Run) ([]int32, error) {
	f, err := fileio.Open(a.path)
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
