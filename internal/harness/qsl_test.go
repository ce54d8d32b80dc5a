package harness

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/mlperf-go/mlperf/internal/backend"
	"github.com/mlperf-go/mlperf/internal/dataset"
	"github.com/mlperf-go/mlperf/internal/loadgen"
	"github.com/mlperf-go/mlperf/internal/loadgen/mlperflog"
	"github.com/mlperf-go/mlperf/internal/models/workload"
	"github.com/mlperf-go/mlperf/internal/report"
	"github.com/mlperf-go/mlperf/internal/tensor"
	"github.com/mlperf-go/mlperf/internal/testenv"
)

// accurate runs an accuracy run over numbers with a cache and returns how many samples it
// prepared.
func accurate(t *testing.T, n *numbers, cache string) (prepared int64, r *report.Results) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		cfg := configOf(t, n, loadgen.Offline, loadgen.AccuracyOnly)
		cfg.CacheDir = cache
		r = mustRun(t, n, cfg)
		if r.Accuracy.Value != 100 {
			t.Errorf("the accuracy is %v", r.Accuracy.Value)
		}
	})
	return n.prepared.Load(), r
}

func TestSampleCache(t *testing.T) {
	cache := filepath.Join(t.TempDir(), "new", "samples")
	if got, _ := accurate(t, newNumbers(100), cache); got != 100 {
		t.Errorf("the first run prepared %d samples", got)
	}
	if got, r := accurate(t, newNumbers(100), cache); got != 0 || len(r.Warnings) > 0 {
		t.Errorf("the second run prepared %d samples, warnings %q", got, r.Warnings)
	}
	other := newNumbers(100)
	other.key = "other numbers"
	if got, _ := accurate(t, other, cache); got != 100 {
		t.Errorf("other data took %d samples of the cache", 100-got)
	}
}

func TestDamagedSampleCache(t *testing.T) {
	cache := t.TempDir()
	accurate(t, newNumbers(100), cache)
	files, err := filepath.Glob(filepath.Join(cache, "*.rows"))
	if err != nil || len(files) != 1 {
		t.Fatalf("files %v, %v", files, err)
	}
	f, err := os.OpenFile(files[0], os.O_RDWR, 0)
	testenv.Must(t, err)
	if _, err := f.WriteAt([]byte("bad!"), 17*4); err != nil {
		t.Fatal(err)
	}
	testenv.Must(t, f.Close())
	for _, want := range []int64{1, 0} {
		if got, _ := accurate(t, newNumbers(100), cache); got != want {
			t.Errorf("%d samples were prepared, want %d", got, want)
		}
	}
	if err := os.Truncate(files[0], 60*4+2); err != nil { // as a crash might leave it
		t.Fatal(err)
	}
	if got, _ := accurate(t, newNumbers(100), cache); got != 40 {
		t.Errorf("of a file that was cut off, %d samples were prepared, want 40", got)
	}
}

func TestUnusableSampleCache(t *testing.T) {
	file := filepath.Join(t.TempDir(), "file")
	write(t, file, "")
	got, r := accurate(t, newNumbers(100), file)
	if got != 100+4 || len(r.Warnings) != 1 || !testenv.Tells(r.Warnings[0], "samples … not kept") {
		t.Errorf("%d samples were prepared, warnings %q", got, r.Warnings)
	}
}

func TestSamplesMustFitInMemory(t *testing.T) {
	for _, test := range []struct {
		free uint64
		want string
	}{
		{0, ""},
		{400, ""},
		{399, "traffic … 100 samples … 0 MiB … 0 MiB … performance_sample_count"},
	} {
		synctest.Test(t, func(t *testing.T) {
			n := newNumbers(100)
			cfg := configOf(t, n, loadgen.Server, loadgen.PerformanceOnly)
			cfg.FreeMemory = func() uint64 { return test.free }
			cfg.PerformanceSampleCount = 100
			_, err := measure(t.Context(), cfg)
			if !testenv.Names(err, test.want) {
				t.Errorf("with %d bytes free: %v, want %q", test.free, err, test.want)
			}
			checkClosed(t, n, cfg)
		})
	}
}

func TestPerformanceSampleCount(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		samples, given int
		want           uint64
	}{{100, 0, 40}, {10, 0, 10}, {100, 25, 25}, {100, 100, 100}} {
		synctest.Test(t, func(t *testing.T) {
			n := newNumbers(test.samples)
			cfg := configOf(t, n, loadgen.Server, loadgen.PerformanceOnly)
			cfg.PerformanceSampleCount = test.given
			mustRun(t, n, cfg)
			detail, err := mlperflog.ReadDetail(filepath.Join(cfg.OutputDir, mlperflog.DetailFile))
			testenv.Must(t, err)
			if e, err := detail.Effective(); err != nil || e.PerformanceSampleCount != test.want {
				t.Errorf("of %d samples, with %d asked for, %d are kept in memory, want %d (%v)",
					test.samples, test.given, e.PerformanceSampleCount, test.want, err)
			}
		})
	}
}

// library returns a QSL over numbers, and what it had its users do.
func library(n *numbers) (*qsl, *[]string) {
	var calls []string
	q := &qsl{name: "numbers", workload: n.workload(), performance: 40, freeMemory: func() uint64 { return 0 }, idle: func() bool { return true }}
	q.use = func(s *workload.Store) error {
		calls = append(calls, fmt.Sprintf("use %d rows", rowsOf(s)))
		return nil
	}
	q.progress = func(done, of int) { calls = append(calls, fmt.Sprintf("%d of %d", done, of)) }
	return q, &calls
}

func rowsOf(s *workload.Store) int {
	if s == nil {
		return 0
	}
	return s.Rows()
}

func TestSamplesAreLoadedInOrder(t *testing.T) {
	q, calls := library(newNumbers(100))
	order := []loadgen.QuerySampleIndex{7, 99, 3, 0, 7, 99} // MultiStream repeats the first ones
	testenv.Must(t, q.LoadSamplesToRAM(t.Context(), order))
	for i, index := range order {
		if got := tensor.Data[float32](q.store.Row(i)[0])[0]; got != float32(index) {
			t.Errorf("row %d holds %v, want %d", i, got, index)
		}
	}
	want := []string{"1 of 6", "2 of 6", "3 of 6", "4 of 6", "5 of 6", "6 of 6", "use 6 rows", "use 0 rows"}
	if err := q.UnloadSamplesFromRAM(order); err != nil || !slices.Equal(*calls, want) {
		t.Errorf("unloading: %v; calls %q, want %q", err, *calls, want)
	}
	if q.store != nil || q.Close() != nil {
		t.Error("something is still loaded")
	}
}

func TestRowsOfRepeatedSamples(t *testing.T) {
	var r rows
	r.reset([]loadgen.QuerySampleIndex{7, 9, 3, 0, 7, 9}, 10)
	for _, test := range []struct {
		prev  int
		index loadgen.QuerySampleIndex
		want  int
	}{
		{-1, 7, 0}, {0, 9, 1}, {1, 3, 2}, {3, 7, 4}, {4, 9, 5}, // as they were loaded
		{2, 9, 1}, {-1, 9, 1}, {5, 7, 0}, {0, 7, 0}, // elsewhere, the first
	} {
		if got, err := r.after(test.prev, test.index); err != nil || got != test.want {
			t.Errorf("after(%d, %d) = %d, %v; want %d", test.prev, test.index, got, err, test.want)
		}
	}
	for _, index := range []loadgen.QuerySampleIndex{1, 8, 10, 1 << 30} {
		if _, err := r.after(-1, index); !errors.Is(err, errNotLoaded) || !strings.Contains(err.Error(), fmt.Sprintf("data index %d", index)) {
			t.Errorf("after(-1, %d): error %v", index, err)
		}
	}
}

func TestFailedLoadKeepsTheOldSamples(t *testing.T) {
	n := newNumbers(100)
	q, _ := library(n)
	testenv.Must(t, q.LoadSamplesToRAM(t.Context(), []loadgen.QuerySampleIndex{1, 2}))
	damaged := errors.New("damaged")
	n.prepare = func(i int) error {
		if i == 50 {
			return damaged
		}
		return nil
	}
	err := q.LoadSamplesToRAM(t.Context(), []loadgen.QuerySampleIndex{10, 50, 20})
	if !errors.Is(err, damaged) || tensor.Data[float32](q.store.Row(1)[0])[0] != 2 {
		t.Errorf("error %v", err)
	}
	if row, err := q.rows.after(-1, 2); err != nil || row != 1 {
		t.Errorf("sample 2 is in row %d, %v", row, err)
	}
	ctx, cancel := context.WithCancelCause(t.Context())
	cancel(errStopped)
	if err := q.LoadSamplesToRAM(ctx, []loadgen.QuerySampleIndex{1}); !errors.Is(err, errStopped) {
		t.Errorf("error %v, want the interruption", err)
	}
	testenv.Must(t, q.Close())
}

func TestSamplesInUseAreNotUnloaded(t *testing.T) {
	q, _ := library(newNumbers(100))
	testenv.Must(t, q.LoadSamplesToRAM(t.Context(), []loadgen.QuerySampleIndex{1, 2}))
	q.idle = func() bool { return false }
	if err := q.UnloadSamplesFromRAM(nil); err != nil || q.store == nil || tensor.Data[float32](q.store.Row(0)[0])[0] != 1 {
		t.Errorf("error %v, store %v", err, q.store)
	}
	testenv.Must(t, q.Close())
}

// TestSamplesAreLoadedInParallel has samples that take their time.
func TestSamplesAreLoadedInParallel(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n := newNumbers(1000)
		n.prepareTime = time.Second
		q, calls := library(n)
		order := make([]loadgen.QuerySampleIndex, 64)
		for i := range order {
			order[i] = loadgen.QuerySampleIndex(rand.IntN(1000))
		}
		began := time.Now()
		testenv.Must(t, q.LoadSamplesToRAM(t.Context(), order))
		if took := time.Since(began); took > 64*time.Second/time.Duration(runtime.GOMAXPROCS(0))+time.Second || len(*calls) != 65 {
			t.Errorf("it took %v on %d cores, %d calls", took, runtime.GOMAXPROCS(0), len(*calls))
		}
		testenv.Must(t, q.Close())
	})
}

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

func TestSamplesOfDifferentSizes(t *testing.T) {
	dir := t.TempDir()
	var count atomic.Int64
	u := unequal(&count)
	for round, prepared := range []int64{3, 3} { // the second time they come from the cache
		cache, err := dataset.OpenSampleCache(dir, "key", func(i int) int64 { return int64(i*(i+1)) / 2 })
		testenv.Must(t, err)
		free := uint64(1 + 5 + 10)
		q := &qsl{
			workload: u, cache: cache, freeMemory: func() uint64 { return free }, use: func(*workload.Store) error { return nil },
			idle: func() bool { return true }, warn: func(err error) { t.Error(err) },
		}
		samples := []loadgen.QuerySampleIndex{0, 4, 9}
		testenv.Must(t, q.LoadSamplesToRAM(t.Context(), samples))
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
		testenv.Must(t, q.Close())
	}
}

func TestCacheTakesHalfOfTheDisk(t *testing.T) {
	for free, warnings := range map[uint64]int{0: 0, 400: 0, 399: 0, 398: 0, 111: 0, 110: 0, 109: 1, 1: 1} {
		r := newRun(Config{CacheDir: t.TempDir(), FreeDisk: func(string) uint64 { return free }})
		r.workload = unequal(new(atomic.Int64)) // 55 bytes in all
		cache := r.openCache()
		if (cache == nil) != (warnings == 1) || len(r.warnings.list) != warnings {
			t.Errorf("%d bytes free: cache %v, warnings %q", free, cache, r.warnings.list)
		}
		if cache != nil {
			testenv.Must(t, cache.Close())
		}
	}
}

// Samples are counted by their content, however many names they have.
func TestCopiesAreCounted(t *testing.T) {
	same := func(int) float32 { return 1 }
	each := func(i int) float32 { return float32(i) }
	for _, c := range []struct {
		name     string
		size     int64 // numbers of a row
		value    func(index int) float32
		distinct int
	}{
		{"all", 1, each, 100},
		{"eight", 1, func(i int) float32 { return float32(i % 8) }, 8},
		{"one", 1, same, 1},
		{"large rows", 150528, each, 100},
		{"pairs of large rows", wholeRow/4 + 1, func(i int) float32 { return float32(i / 2) }, 50},
		{"one large row", 150528, same, 1},
	} {
		w := newNumbers(100).workload()
		w.Row = func(int) []workload.Slot {
			return []workload.Slot{{Type: tensor.Float32, Shape: tensor.Shape{c.size}}}
		}
		w.Prepare = func(i int, row []tensor.Tensor) error {
			for k := range tensor.Data[float32](row[0]) {
				tensor.Data[float32](row[0])[k] = c.value(i)
			}
			return nil
		}
		q := &qsl{workload: w, freeMemory: func() uint64 { return 0 }, idle: func() bool { return true }, use: func(*workload.Store) error { return nil }}
		for from := range loadgen.QuerySampleIndex(10) { // as accuracy does, set by set, and the last twice
			var set []loadgen.QuerySampleIndex
			for i := range loadgen.QuerySampleIndex(10) {
				set = append(set, 10*from+i)
			}
			testenv.Must(t, q.LoadSamplesToRAM(t.Context(), append(set, set[9])))
		}
		if seen, distinct := q.contents.count(); seen != 100 || distinct != c.distinct {
			t.Errorf("%s: %d distinct of %d, want %d of 100", c.name, distinct, seen, c.distinct)
		}
		testenv.Must(t, q.Close())
	}
}

// promptList are prompts without a server.
type promptList struct {
	workload.Prompts
	list []backend.Prompt
}

func (p promptList) Prompt(i int) *backend.Prompt { return &p.list[i] }

func TestCopiesOfPromptsAreCounted(t *testing.T) {
	said := func(role, text string) backend.Prompt {
		return backend.Prompt{Messages: []backend.Message{{Role: role, Content: text}}}
	}
	list := promptList{list: []backend.Prompt{
		{IDs: []int32{1, 2}}, {IDs: []int32{1, 2}, MaxTokens: 9}, {IDs: []int32{2, 1}}, {Text: "a"}, {Text: "a", Told: 3}, said("user", "a"), said("user", "a"), said("user", "b"),
		{Messages: []backend.Message{{Role: "user", Content: "a", Raw: []byte(`{"picture": 1}`)}}}, {Messages: []backend.Message{{Role: "user", Content: "a", Raw: []byte(`{"picture": 2}`)}}},
	}}
	w := &workload.Workload{Samples: len(list.list), Prompts: list}
	q := &qsl{workload: w, freeMemory: func() uint64 { return 0 }, idle: func() bool { return true }, use: func(*workload.Store) error { return nil }}
	testenv.Must(t, q.LoadSamplesToRAM(t.Context(), []loadgen.QuerySampleIndex{0, 1, 2, 3, 4, 5, 6, 7, 8, 9}))
	if seen, distinct := q.contents.count(); seen != 10 || distinct != 7 {
		t.Errorf("%d distinct of %d, want 7 of 10", distinct, seen)
	}
}

// Of a search, each test loads the samples of the one before.
func TestKeptSamplesAreLoadedOnce(t *testing.T) {
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
		{"the same ones again", []loadgen.QuerySampleIndex{1}, 7, 5},
	} {
		testenv.Must(t, q.LoadSamplesToRAM(t.Context(), c.samples))
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
	testenv.Must(t, q.Close())
}

// Samples that are read one second each are not part of the traffic, and those that no one looks at are not read.
func TestLoadingIsAPhase(t *testing.T) {
	for _, c := range []struct {
		name  string
		mode  loadgen.Mode
		blank bool
		reads bool
	}{
		{"performance", loadgen.PerformanceOnly, false, true},
		{"of an engine that looks at no sample", loadgen.PerformanceOnly, true, false},
		{"accuracy", loadgen.AccuracyOnly, true, true},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				n := newNumbers(8)
				n.prepareTime = time.Second
				cfg := configOf(t, n, loadgen.Offline, c.mode)
				cfg.Blank = c.blank
				r, err := Run(t.Context(), cfg)
				testenv.Must(t, err)
				seconds := map[string]float64{}
				for _, phase := range r.Phases {
					seconds[phase.Name] += phase.Seconds
				}
				if loading := seconds["loading samples"]; (loading >= 1) != c.reads || c.mode == loadgen.PerformanceOnly && (seconds["traffic"] < 4 || seconds["traffic"] > 6) {
					t.Errorf("phases %v", r.Phases)
				}
				if read := n.prepared.Load() > 0; read != c.reads {
					t.Errorf("%d samples were read", n.prepared.Load())
				}
			})
		})
	}
}
