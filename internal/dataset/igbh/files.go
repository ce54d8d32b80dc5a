package igbh

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"strings"

	"github.com/mlperf-go/mlperf/internal/fileio"
	"github.com/mlperf-go/mlperf/internal/tensor"
	"github.com/mlperf-go/mlperf/internal/tensor/npy"
	"github.com/mlperf-go/mlperf/internal/tensor/pickle"
)

// A Kind is a kind of nodes.
type Kind int

// The kinds, in the order of their names, as DGL has them.
const (
	Author Kind = iota
	Conference
	Field
	Institute
	Journal
	Paper
	Kinds = iota
)

// String returns the name of the kind's folder.
func (k Kind) String() string {
	return [Kinds]string{"author", "conference", "fos", "institute", "journal", "paper"}[k]
}

// Features is how many numbers a node has.
const Features = 1024

// Sizes are the sizes of IGBH, which name its folders.
func Sizes() []string { return []string{"tiny", "small", "medium", "large", "full"} }

// Files of a folder.
const (
	FeatureFile    = "node_feat.npy"     // of each kind
	LabelFile      = "node_label_2K.npy" // of papers
	EdgeFile       = "edge_index.npy"    // of each relation
	ValidationFile = "val_idx.pt"
	TrainingFile   = "train_idx.pt"
)

const maxIndices = 4 << 30 // bytes: the training set of the full size has 757 MB

// folder finds the folder with the files below that which the user named: igbh/tiny/processed of igbh, of igbh/tiny, or
// itself. Size is needed where several are there.
func folder(dir, size string) (string, error) {
	there := func(dir string) bool {
		_, err := os.Stat(filepath.Join(dir, Paper.String()))
		return err == nil
	}
	if size != "" {
		for _, path := range []string{filepath.Join(dir, size, "processed"), filepath.Join(dir, size)} {
			if there(path) {
				return path, nil
			}
		}
		if own := filepath.Base(filepath.Clean(dir)); own != size && filepath.Base(filepath.Dir(filepath.Clean(dir))) != size {
			return "", fmt.Errorf("%s has no folder %s/processed/%v", dir, size, Paper)
		}
	}
	for _, path := range []string{dir, filepath.Join(dir, "processed")} {
		if there(path) {
			return path, nil
		}
	}
	var found []string
	for _, size := range Sizes() {
		if path := filepath.Join(dir, size, "processed"); there(path) {
			found = append(found, path)
		}
	}
	switch len(found) {
	case 0:
		return "", fmt.Errorf("%s has no folder SIZE/processed/%v, SIZE being one of %s", dir, Paper, strings.Join(Sizes(), ", "))
	case 1:
		return found[0], nil
	}
	return "", fmt.Errorf("%s has several sizes: expected the folder of one of %s", dir, strings.Join(found, ", "))
}

// A Truth is the validation set: the papers that are samples, and their labels.
type Truth struct {
	Papers []int64 // of each sample
	// Drawn says that there is no val_idx.pt: the samples were drawn as split_seeds.py draws them.
	Drawn bool

	labels array
}

// OpenTruth opens the validation set of a folder. Size is one of Sizes, empty where the folder has one.
func OpenTruth(dir, size string) (*Truth, error) {
	home, err := folder(dir, size)
	if err == nil {
		var t *Truth
		if t, err = openTruth(home); err == nil {
			return t, nil
		}
	}
	return nil, fmt.Errorf("opening IGBH: %w", err)
}

func openTruth(home string) (*Truth, error) {
	labels, err := openArray(filepath.Join(home, Paper.String(), LabelFile), 1)
	if err != nil {
		return nil, err
	}
	t := &Truth{labels: labels}
	path := filepath.Join(home, ValidationFile)
	if t.Papers, err = readIndices(path); errors.Is(err, fs.ErrNotExist) {
		t.Papers, t.Drawn, err = Validation(labelled(labels.rows)), true, nil
	}
	if err == nil && len(t.Papers) == 0 {
		err = fmt.Errorf("%s: no papers", path)
	}
	for i, paper := range t.Papers {
		if err == nil && (paper < 0 || paper >= labels.rows) {
			err = fmt.Errorf("%s: entry %d is paper %d, %s has %d", path, i, paper, labels.path, labels.rows)
		}
	}
	return t, err
}

// readIndices reads a list of integers that torch.save wrote.
func readIndices(path string) ([]int64, error) {
	data, err := fileio.ReadFile(path, maxIndices)
	if err != nil {
		return nil, err
	}
	a, err := pickle.ReadTorch(data)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	if a.Type != "i8" || len(a.Shape) != 1 {
		return nil, fmt.Errorf("%s: the tensor is %s%v: must be a list of int64", path, a.Type, a.Shape)
	}
	list := make([]int64, a.Shape[0])
	_, err = binary.Decode(a.Data, binary.LittleEndian, list)
	return list, err
}

// Labels returns the class of each sample. One that is not a whole number from 0 on is an error.
func (t *Truth) Labels() ([]int64, error) {
	f, err := fileio.Open(t.labels.path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	labels := make([]int64, len(t.Papers))
	row := make([]float32, 1)
	for i, paper := range t.Papers {
		if err := t.labels.read(f, paper, row); err != nil {
			return nil, err
		}
		v := row[0]
		if v != float32(math.Trunc(float64(v))) || v < 0 || v > math.MaxInt32 {
			return nil, fmt.Errorf("%s: the label of paper %d is %v: must be a class", t.labels.path, paper, v)
		}
		labels[i] = int64(v)
	}
	return labels, nil
}

// A Data is a folder of IGBH.
type Data struct {
	Truth
	home     string
	features [Kinds]array
}

// Open opens a folder. Size is as in OpenTruth.
func Open(dir, size string) (_ *Data, err error) {
	defer func() {
		if err != nil {
			err = fmt.Errorf("opening IGBH: %w", err)
		}
	}()
	d := &Data{}
	if d.home, err = folder(dir, size); err != nil {
		return nil, err
	}
	truth, err := openTruth(d.home)
	if err != nil {
		return nil, err
	}
	d.Truth = *truth
	for kind := range Kinds {
		if d.features[kind], err = openArray(filepath.Join(d.home, Kind(kind).String(), FeatureFile), 0); err != nil {
			return nil, err
		}
		if a := d.features[kind]; a.width != d.features[0].width {
			return nil, fmt.Errorf("%s has %d numbers of a node, %s has %d", a.path, a.width, d.features[0].path, d.features[0].width)
		}
	}
	papers := d.features[Paper]
	for i, paper := range d.Papers {
		if paper >= papers.rows {
			return nil, fmt.Errorf("%s: entry %d is paper %d, %s has %d", filepath.Join(d.home, ValidationFile), i, paper, papers.path, papers.rows)
		}
	}
	return d, nil
}

// Width is how many numbers a node has.
func (d *Data) Width() int { return d.features[Paper].width }

// Nodes is how many nodes there are of a kind.
func (d *Data) Nodes(kind Kind) int64 { return d.features[kind].rows }

// A Reader reads features. It must be closed.
type Reader struct {
	features [Kinds]array
	files    [Kinds]*os.File
}

// Reader opens the files of features.
func (d *Data) Reader() (_ *Reader, err error) {
	r := &Reader{features: d.features}
	for kind, a := range d.features {
		if r.files[kind], err = fileio.Open(a.path); err != nil {
			return nil, errors.Join(err, r.Close())
		}
	}
	return r, nil
}

// Close closes the files.
func (r *Reader) Close() error {
	var errs []error
	for _, f := range r.files {
		if f != nil {
			errs = append(errs, f.Close())
		}
	}
	return errors.Join(errs...)
}

// Read reads the features of some nodes of a kind into rows of Width numbers. A number that is not finite is an error.
func (r *Reader) Read(kind Kind, nodes []uint32, dst []float32) error {
	a := r.features[kind]
	for i, node := range nodes {
		row := dst[i*a.width:][:a.width]
		if err := a.read(r.files[kind], int64(node), row); err != nil {
			return err
		}
		for k, v := range row {
			if v-v != 0 {
				return fmt.Errorf("%s: number %d of node %d is %v", a.path, k, node, v)
			}
		}
	}
	return nil
}

// An array is the place of rows of float32 in a file.
type array struct {
	path  string
	first int64 // byte
	rows  int64
	width int
}

// openArray opens an array of float32 with or without NumPy's header. Without one it has the width of its kind: one number a row
// of labels, Features otherwise, where width is 0 and a header may say something else.
func openArray(path string, width int) (a array, err error) {
	f, err := fileio.Open(path)
	if err != nil {
		return a, err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return a, err
	}
	if a, err = parseArray(f, info.Size(), width); err != nil {
		return a, fmt.Errorf("%s: %w", path, err)
	}
	a.path = path
	return a, nil
}

// signature is that of NumPy. As a number it is 2.2e8, which no feature or label is.
var signature = []byte("\x93NUMPY")

func parseArray(r io.ReadSeeker, size int64, width int) (a array, err error) {
	start := make([]byte, len(signature))
	if n, err := io.ReadFull(r, start); err != nil || !bytes.Equal(start, signature) {
		a.width = width
		if width == 0 {
			a.width = Features
		}
		if a.rows = size / (4 * int64(a.width)); n == 0 || a.rows*4*int64(a.width) != size {
			return a, fmt.Errorf("%d bytes without NumPy's header are not float32[N %d]", size, a.width)
		}
		return a, nil
	}
	if _, err := r.Seek(0, io.SeekStart); err != nil {
		return a, err
	}
	header, err := npy.NewReader(r)
	if err != nil {
		return a, err
	}
	if a.first, err = r.Seek(0, io.SeekCurrent); err != nil {
		return a, err
	}
	shape := header.Shape
	if width == 1 && len(shape) == 1 {
		shape = tensor.Shape{shape[0], 1}
	}
	if len(shape) != 2 || header.Type != tensor.Float32 || header.Swapped || shape[0] < 1 || shape[1] < 1 || shape[1] > maxWidth || width > 0 &&
		shape[1] != int64(width) {
		want := fmt.Sprint("N ", width)
		if width < 2 {
			want = [2]string{fmt.Sprint("N ", Features), "N"}[width]
		}
		return a, fmt.Errorf("the array is %v%v: must be little-endian float32[%s]", header.Type, header.Shape, want)
	}
	a.rows, a.width = shape[0], int(shape[1])
	if want := a.first + 4*shape[0]*shape[1]; size < want {
		return a, fmt.Errorf("%d bytes, expected %d: the array is cut off", size, want)
	}
	return a, nil
}

// maxWidth bounds the numbers of a node that a header may claim.
const maxWidth = 1 << 16

// read reads a row. The memory of numbers is that of the file, little-endian.
func (a array) read(f io.ReaderAt, row int64, dst []float32) error {
	if row < 0 || row >= a.rows {
		return fmt.Errorf("%s: there is no node %d, it has %d", a.path, row, a.rows)
	}
	if _, err := f.ReadAt(tensor.Of(dst, int64(len(dst))).Bytes(), a.first+row*4*int64(a.width)); err != nil {
		return fmt.Errorf("%s: node %d: %w", a.path, row, err)
	}
	return nil
}
