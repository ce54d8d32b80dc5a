package harness

import (
	"strings"
	"sync/atomic"
	"testing"

	"github.com/mlperf-go/mlperf/internal/dataset"
	"github.com/mlperf-go/mlperf/internal/loadgen"
	"github.com/mlperf-go/mlperf/internal/models/workload"
	"github.com/mlperf-go/mlperf/internal/tensor"
)

// unequal has samples of different sizes: sample i has i+1 bytes, each of them i+1.
func unequal(prepared *atomic.Int64) *workload.Workload { // several goroutines prepare samples
	return &workload.Workload{
		Samples: 10, CacheKey: func() string { return "unequal" },
		Row: func(index int) []workload.Slot {
			return []workload.Slot{{Type: tensor.Uint8, Shape: tensor.Shape{int64(index + 1)}}}
		},
		Prepare: func(index int, row []tensor.Tensor) error {
			prepared.Add(1)
			for i := range index + 1 {
				tensor.Data[uint8](row[0])[i] = uint8(index + 1)
			}
			return nil
		},
	}
}

func TestSamplesOfDifferentSizesTakeWhatTheyNeed(t *testing.T) {
	dir := t.TempDir()
	var count atomic.Int64
	u := unequal(&count)
	for round, prepared := range []int64{3, 3} { // the second time they come from the cache
		cache, err := dataset.OpenSampleCache(dir, "key", func(i int) int64 { return int64(i*(i+1)) / 2 })
		if err != nil {
			t.Fatal(err)
		}
		free := uint64(1 + 5 + 10)
		q := &qsl{
			workload: u, cache: cache, freeMemory: func() uint64 { return free }, use: func(*workload.Store) error { return nil },
			idle: func() bool { return true }, warn: func(err error) { t.Error(err) },
		}
		samples := []loadgen.QuerySampleIndex{0, 4, 9}
		if err := q.LoadSamplesToRAM(t.Context(), samples); err != nil {
			t.Fatal(err)
		}
		for row, i := range samples {
			data := tensor.Data[uint8](q.store.Slot(0, row, 1))
			if len(data) != int(i+1) || data[0] != uint8(i+1) || data[i] != uint8(i+1) {
				t.Errorf("round %d: sample %d is %v", round, i, data)
			}
		}
		if count.Load() != prepared {
			t.Errorf("round %d: %d samples were prepared, want %d", round, count.Load(), prepared)
		}
		free--
		if err := q.LoadSamplesToRAM(t.Context(), samples); err == nil || !strings.Contains(err.Error(), "3 samples need") {
			t.Errorf("with a byte less: %v", err)
		}
		if err := q.Close(); err != nil {
			t.Error(err)
		}
	}
}

func TestACacheThatWouldFillTheDiskIsNotUsed(t *testing.T) {
	for free, warnings := range map[uint64]int{0: 0, 400: 0, 399: 0, 398: 0, 111: 0, 110: 0, 109: 1, 1: 1} {
		r := newRun(Config{CacheDir: t.TempDir(), FreeDisk: func(string) uint64 { return free }})
		r.workload = unequal(new(atomic.Int64)) // 55 bytes in all
		cache := r.openCache()
		if (cache == nil) != (warnings == 1) || len(r.warnings.list) != warnings {
			t.Errorf("%d bytes free: cache %v, warnings %q", free, cache, r.warnings.list)
		}
		if cache != nil {
			if err := cache.Close(); err != nil {
				t.Error(err)
			}
		}
	}
}

// Of a search, each test loads the samples of the one before.
func TestSamplesThatAreKeptAreLoadedOnce(t *testing.T) {
	var count atomic.Int64
	u := unequal(&count)
	var used []*workload.Store
	q := &qsl{
		workload: u, freeMemory: func() uint64 { return 20 }, idle: func() bool { return true }, warn: func(err error) { t.Error(err) }, keep: true,
		use: func(s *workload.Store) error { used = append(used, s); return nil },
	}
	for _, c := range []struct {
		name     string
		samples  []loadgen.QuerySampleIndex
		prepared int64 // in all
		uses     int   // of stores, in all
	}{
		{"the first time", []loadgen.QuerySampleIndex{0, 4, 9}, 3, 1},
		{"the same ones", []loadgen.QuerySampleIndex{0, 4, 9}, 3, 1},
		{"in another order, with no room for both", []loadgen.QuerySampleIndex{9, 4, 0}, 6, 3},
		{"others", []loadgen.QuerySampleIndex{1}, 7, 5},
		{"the same ones once more", []loadgen.QuerySampleIndex{1}, 7, 5},
	} {
		if err := q.LoadSamplesToRAM(t.Context(), c.samples); err != nil {
			t.Fatal(err)
		}
		if count.Load() != c.prepared || len(used) != c.uses || used[len(used)-1] != q.store || q.store.Rows() != len(c.samples) {
			t.Errorf("%s: %d samples were prepared, %d stores were handed over, want %d and %d", c.name, count.Load(), len(used), c.prepared, c.uses)
		}
		for row, i := range c.samples {
			if data := tensor.Data[uint8](q.store.Slot(0, row, 1)); data[0] != uint8(i+1) {
				t.Errorf("%s: row %d is %v", c.name, row, data)
			}
		}
		if err := q.UnloadSamplesFromRAM(c.samples); err != nil || q.store == nil {
			t.Errorf("%s: unloaded: %v, %v", c.name, q.store, err)
		}
	}
	q.keep = false
	if err := q.UnloadSamplesFromRAM(nil); err != nil || q.store != nil || used[len(used)-1] != nil {
		t.Errorf("after the search: %v, %v", q.store, err)
	}
	if err := q.Close(); err != nil {
		t.Error(err)
	}
}
