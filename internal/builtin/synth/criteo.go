package synth

import (
	"archive/zip"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"path/filepath"
	"slices"

	"github.com/mlperf-go/mlperf/internal/fileio"
	"github.com/mlperf-go/mlperf/internal/tensor"
	"github.com/mlperf-go/mlperf/internal/tensor/npy"
)

// A CriteoSpec says everything about a built-in data set of user-item pairs, in the binary
// form in which the DLRM reference keeps the Criteo Terabyte data. Equal specs make equal
// pairs.
type CriteoSpec struct {
	Seed  uint64  `json:"seed"`
	Pairs int     `json:"pairs"`
	Rows  []int64 `json:"rows"` // of each of the 26 tables of categories
	// Hot is how many categories each table has of a pair, in the form of DLRM-v2. Without it
	// they are one, in the form of DLRM.
	Hot []int64 `json:"hot,omitempty"`
	// Truth names the way in which the Judge draws labels. It may be empty.
	Truth string `json:"truth,omitempty"`
}

const (
	criteoFile    = "terabyte_processed_test.bin"
	criteoNumbers = 13
	criteoTables  = 26
	criteoFields  = 1 + criteoNumbers + criteoTables
)

func (s CriteoSpec) check() error {
	switch {
	case s.Pairs < 1 || s.Pairs > 10_000_000:
		return fmt.Errorf("pairs is %d: must be 1 to 10000000", s.Pairs)
	case !perTable(s.Rows, math.MaxInt32):
		return fmt.Errorf("rows is %v: must be %d numbers from 1 to %d", s.Rows, criteoTables, math.MaxInt32)
	case len(s.Hot) > 0 && !perTable(s.Hot, 1000):
		return fmt.Errorf("hot is %v: must be %d numbers from 1 to 1000", s.Hot, criteoTables)
	}
	return nil
}

// perTable reports whether a list has a number from 1 to most for each table.
func perTable(list []int64, most int64) bool {
	return len(list) == criteoTables && slices.Min(list) >= 1 && slices.Max(list) <= most
}

// Key returns a name for the data set, fit for a folder: equal keys mean equal pairs.
func (s CriteoSpec) Key() string {
	if len(s.Hot) > 0 {
		return "criteo-multihot-" + keyOf("criteo seed %d pairs %d rows %v hot %v truth %q", s.Seed, s.Pairs, s.Rows, s.Hot, s.Truth)
	}
	return "criteo-" + keyOf("criteo seed %d pairs %d rows %v truth %q", s.Seed, s.Pairs, s.Rows, s.Truth)
}

// WriteCriteo makes a data set: terabyte_processed_test.bin and the Manifest. Labels are
// drawn, one of 30 is a click, until the judge, if there is one, writes others.
//
// Folder, errors and ctx are as with WriteImageNet.
func WriteCriteo(ctx context.Context, dir string, spec CriteoSpec, judge Judge) error {
	return publish(ctx, dir, "Criteo", &spec, spec.fill, judge)
}

// fill writes the pairs.
func (s CriteoSpec) fill(folder string) error {
	if len(s.Hot) > 0 {
		return s.fillMultiHot(folder)
	}
	return fileio.WriteFile(filepath.Join(folder, criteoFile), s.pairs(), 0o644)
}

// pairs are the content of the file.
func (s CriteoSpec) pairs() []byte {
	r := newStream("criteo", s.Seed)
	data := make([]byte, 0, s.Pairs*criteoFields*4)
	for range s.Pairs {
		label := int32(0)
		if r.below(30) == 0 {
			label = 1
		}
		data = binary.LittleEndian.AppendUint32(data, uint32(label))
		for range criteoNumbers {
			data = binary.LittleEndian.AppendUint32(data, uint32(count(r)))
		}
		for _, rows := range s.Rows {
			data = binary.LittleEndian.AppendUint32(data, uint32(category(r, rows)))
		}
	}
	return data
}

// category draws one of so many. Small numbers are frequent, as those of popular items are.
func category(r *stream, rows int64) int32 {
	u := r.uniform()
	return int32(float64(rows) * float64(u*float64(u*u)))
}

// count draws a number of the kind that is counted: often 0, seldom thousands.
func count(r *stream) int {
	bits := r.below(14)
	return r.below(1 << bits)
}

// WriteLabels replaces the labels, one for each pair.
func (s CriteoSpec) WriteLabels(folder string, labels []bool) error {
	if len(s.Hot) > 0 {
		return s.writeMultiHotLabels(folder, labels)
	}
	path := filepath.Join(folder, criteoFile)
	data, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	if want := len(data) / (4 * criteoFields); len(labels) != want {
		return fmt.Errorf("%d labels for %d pairs", len(labels), want)
	}
	for i, click := range labels {
		data[i*4*criteoFields] = 0
		if click {
			data[i*4*criteoFields] = 1
		}
	}
	return fileio.WriteAtomic(path, 0o644, func(f io.Writer) error {
		_, err := f.Write(data)
		return err
	})
}

// The files of DLRM-v2 (recommendation/dlrm_v2/pytorch, multihot_criteo.py).
const (
	multiHotDense  = "day_23_dense_sample.npy"
	multiHotLabels = "day_23_labels_sample.npy"
	multiHotSparse = "day_23_sparse_multi_hot_sample.npz"
)

// logs draws the numbers of the pairs in the form of DLRM-v2: ln(x+3), as torchrec keeps them.
func (s CriteoSpec) logs(r *stream) []float32 {
	numbers := make([]float32, s.Pairs*criteoNumbers)
	for i := range numbers {
		numbers[i] = float32(math.Log(float64(count(r) + 3)))
	}
	return numbers
}

// fillMultiHot writes the pairs in the form of DLRM-v2.
func (s CriteoSpec) fillMultiHot(folder string) error {
	r := newStream("multi-hot", s.Seed)
	numbers := s.logs(r)
	labels := make([]bool, s.Pairs)
	for i := range labels {
		labels[i] = r.below(30) == 0
	}
	return errors.Join(
		npy.WriteFile(filepath.Join(folder, multiHotDense), tensor.Of(numbers, int64(s.Pairs), criteoNumbers)),
		s.writeMultiHotLabels(folder, labels),
		fileio.WriteAtomic(filepath.Join(folder, multiHotSparse), 0o644, s.writeTables),
	)
}

// writeTables writes an archive as numpy.savez does: 0.npy to 25.npy, stored as they are.
func (s CriteoSpec) writeTables(to io.Writer) error {
	z := zip.NewWriter(to)
	for table, hot := range s.Hot {
		r := newStream("table", s.Seed, uint64(table))
		ids := make([]int32, int64(s.Pairs)*hot)
		for i := range ids {
			ids[i] = category(r, s.Rows[table])
		}
		w, err := z.CreateHeader(&zip.FileHeader{Name: fmt.Sprintf("%d.npy", table), Method: zip.Store})
		if err != nil {
			return err
		}
		if err := npy.Write(w, tensor.Of(ids, int64(s.Pairs), hot)); err != nil {
			return err
		}
	}
	return z.Close()
}

func (s CriteoSpec) writeMultiHotLabels(folder string, labels []bool) error {
	if len(labels) != s.Pairs {
		return fmt.Errorf("%d labels for %d pairs", len(labels), s.Pairs)
	}
	numbers := make([]int32, len(labels))
	for i, click := range labels {
		if click {
			numbers[i] = 1
		}
	}
	return npy.WriteFile(filepath.Join(folder, multiHotLabels), tensor.Of(numbers, int64(s.Pairs), 1))
}
