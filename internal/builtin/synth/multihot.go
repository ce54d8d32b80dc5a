package synth

import (
	"archive/zip"
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"

	"github.com/mlperf-go/mlperf/internal/tensor"
	"github.com/mlperf-go/mlperf/internal/tensor/npy"
)

// The files of DLRM-v2 (recommendation/dlrm_v2/pytorch, multihot_criteo.py).
const (
	multiHotDense  = "day_23_dense_sample.npy"
	multiHotLabels = "day_23_labels_sample.npy"
	multiHotSparse = "day_23_sparse_multi_hot_sample.npz"
)

// fillMultiHot writes the pairs in the form of DLRM-v2. Numbers are ln(x+3), as torchrec keeps
// them.
func (s CriteoSpec) fillMultiHot(folder string) error {
	r := newStream("multi-hot", s.Seed)
	numbers := make([]float32, s.Pairs*criteoNumbers)
	for i := range numbers {
		numbers[i] = float32(math.Log(float64(count(r) + 3)))
	}
	labels := make([]bool, s.Pairs)
	for i := range labels {
		labels[i] = r.below(30) == 0
	}
	return errors.Join(
		npy.WriteFile(filepath.Join(folder, multiHotDense), tensor.Of(numbers, int64(s.Pairs), criteoNumbers)),
		s.writeMultiHotLabels(folder, labels),
		s.writeTables(filepath.Join(folder, multiHotSparse)),
	)
}

// writeTables writes an archive as numpy.savez does: 0.npy to 25.npy, stored as they are.
func (s CriteoSpec) writeTables(path string) (err error) {
	f, err := os.Create(path)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	z := zip.NewWriter(f)
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
