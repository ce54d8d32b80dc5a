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
	"testing"
	"testing/synctest"
	"time"

	"github.com/mlperf-go/mlperf/internal/loadgen"
	"github.com/mlperf-go/mlperf/internal/loadgen/mlperflog"
	"github.com/mlperf-go/mlperf/internal/models/workload"
	"github.com/mlperf-go/mlperf/internal/report"
	"github.com/mlperf-go/mlperf/internal/tensor"
)

// accurate runs an accuracy run over numbers with a cache and returns how many samples it
// prepared.
func accurate(t *testing.T, n *numbers, cache string) (prepared int64, r *report.Results) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		cfg := config(t, n, loadgen.Offline, loadgen.AccuracyOnly)
		cfg.CacheDir = cache
		r = mustRun(t, n, cfg)
		if r.Accuracy.Value != 100 {
			t.Errorf("the accuracy is %v", r.Accuracy.Value)
		}
	})
	return n.prepared.Load(), r
}

func TestPreparedSamplesAreKept(t *testing.T) {
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

func TestADamagedRowOfTheCacheIsPreparedAgain(t *testing.T) {
	cache := t.TempDir()
	accurate(t, newNumbers(100), cache)
	files, err := filepath.Glob(filepath.Join(cache, "*.rows"))
	if err != nil || len(files) != 1 {
		t.Fatalf("files %v, %v", files, err)
	}
	f, err := os.OpenFile(files[0], os.O_RDWR, 0)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := f.WriteAt([]byte("bad!"), 17*4); err != nil {
		t.Fatal(err)
	}
	if err := f.Close(); err != nil {
		t.Fatal(err)
	}
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

func TestACacheThatCannotBeUsedIsAWarning(t *testing.T) {
	file := filepath.Join(t.TempDir(), "file")
	write(t, file, "")
	got, r := accurate(t, newNumbers(100), file)
	if got != 100+4 || len(r.Warnings) != 1 || !strings.HasPrefix(r.Warnings[0], "pre-processed samples are not kept: ") {
		t.Errorf("%d samples were prepared, warnings %q", got, r.Warnings)
	}
}

func TestSamplesThatDoNotFitInMemoryAreRefused(t *testing.T) {
	for _, test := range []struct {
		free uint64
		want string
	}{
		{0, ""},
		{400, ""},
		{399, "traffic: 100 samples need 0 MiB of memory, 0 MiB are free: lower performance_sample_count"},
	} {
		synctest.Test(t, func(t *testing.T) {
			n := newNumbers(100)
			cfg := config(t, n, loadgen.Server, loadgen.PerformanceOnly)
			cfg.FreeMemory = func() uint64 { return test.free }
			cfg.PerformanceSampleCount = 100
			_, err := Run(t.Context(), cfg)
			if test.want == "" && err != nil || test.want != "" && (err == nil || err.Error() != strings.Replace(test.want, "traffic: ", "traffic: loading 100 samples: ", 1)) {
				t.Errorf("with %d bytes free: %v, want %q", test.free, err, test.want)
			}
			checkClosed(t, n, cfg)
		})
	}
}

func TestThePerformanceSampleCountIsTheModelsUnlessItIsSaid(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		samples, said int
		want          uint64
	}{{100, 0, 40}, {10, 0, 10}, {100, 25, 25}, {100, 100, 100}} {
		synctest.Test(t, func(t *testing.T) {
			n := newNumbers(test.samples)
			cfg := config(t, n, loadgen.Server, loadgen.PerformanceOnly)
			cfg.PerformanceSampleCount = test.said
			mustRun(t, n, cfg)
			detail, err := mlperflog.ReadDetail(filepath.Join(cfg.OutputDir, mlperflog.DetailFile))
			if err != nil {
				t.Fatal(err)
			}
			if e, err := detail.Effective(); err != nil || e.PerformanceSampleCount != test.want {
				t.Errorf("of %d samples, with %d asked for, %d are kept in memory, want %d (%v)",
					test.samples, test.said, e.PerformanceSampleCount, test.want, err)
			}
		})
	}
}

// library returns a QSL over numbers, and what it had its users do.
func library(n *numbers) (*qsl, *[]string) {
	var said []string
	q := &qsl{name: "numbers", workload: n.workload(), performance: 40, freeMemory: func() uint64 { return 0 }, idle: func() bool { return true }}
	q.use = func(s *workload.Store) error {
		said = append(said, fmt.Sprintf("use %d rows", rowsOf(s)))
		return nil
	}
	q.progress = func(done, of int) { said = append(said, fmt.Sprintf("%d of %d", done, of)) }
	return q, &said
}

func rowsOf(s *workload.Store) int {
	if s == nil {
		return 0
	}
	return s.Rows()
}

func TestSamplesAreLoadedInTheOrderThatTheTestGives(t *testing.T) {
	q, said := library(newNumbers(100))
	order := []loadgen.QuerySampleIndex{7, 99, 3, 0, 7, 99} // MultiStream repeats the first ones
	if err := q.LoadSamplesToRAM(t.Context(), order); err != nil {
		t.Fatal(err)
	}
	for i, index := range order {
		if got := tensor.Data[float32](q.store.Row(i)[0])[0]; got != float32(index) {
			t.Errorf("row %d holds %v, want %d", i, got, index)
		}
	}
	want := []string{"1 of 6", "2 of 6", "3 of 6", "4 of 6", "5 of 6", "6 of 6", "use 6 rows", "use 0 rows"}
	if err := q.UnloadSamplesFromRAM(order); err != nil || !slices.Equal(*said, want) {
		t.Errorf("unloading: %v; said %q, want %q", err, *said, want)
	}
	if q.store != nil || q.Close() != nil {
		t.Error("something is still loaded")
	}
}

func TestRowsOfNeighboursAreNeighbours(t *testing.T) {
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

func TestAFailureToLoadLeavesTheOldSamples(t *testing.T) {
	n := newNumbers(100)
	q, _ := library(n)
	if err := q.LoadSamplesToRAM(t.Context(), []loadgen.QuerySampleIndex{1, 2}); err != nil {
		t.Fatal(err)
	}
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
	if err := q.Close(); err != nil {
		t.Error(err)
	}
}

func TestSamplesInUseAreNotUnloaded(t *testing.T) {
	q, _ := library(newNumbers(100))
	if err := q.LoadSamplesToRAM(t.Context(), []loadgen.QuerySampleIndex{1, 2}); err != nil {
		t.Fatal(err)
	}
	q.idle = func() bool { return false }
	if err := q.UnloadSamplesFromRAM(nil); err != nil || q.store == nil || tensor.Data[float32](q.store.Row(0)[0])[0] != 1 {
		t.Errorf("error %v, store %v", err, q.store)
	}
	if err := q.Close(); err != nil {
		t.Error(err)
	}
}

// TestWarningsAreKeptOnce gathers them from several goroutines.
func TestWarningsAreKeptOnce(t *testing.T) {
	var w warnings
	done := make(chan bool)
	for i := range 8 {
		go func() {
			for range 100 {
				w.add(fmt.Errorf("warning %d", i%2))
			}
			done <- true
		}()
	}
	for range 8 {
		<-done
	}
	slices.Sort(w.list)
	if !slices.Equal(w.list, []string{"warning 0", "warning 1"}) {
		t.Errorf("warnings %q", w.list)
	}
}

// TestSamplesAreLoadedInParallel has samples that take their time.
func TestSamplesAreLoadedInParallel(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n := newNumbers(1000)
		n.prepareTime = time.Second
		q, said := library(n)
		order := make([]loadgen.QuerySampleIndex, 64)
		for i := range order {
			order[i] = loadgen.QuerySampleIndex(rand.IntN(1000))
		}
		began := time.Now()
		if err := q.LoadSamplesToRAM(t.Context(), order); err != nil {
			t.Fatal(err)
		}
		if took := time.Since(began); took > 64*time.Second/time.Duration(runtime.GOMAXPROCS(0))+time.Second || len(*said) != 65 {
			t.Errorf("it took %v on %d cores, said %d things", took, runtime.GOMAXPROCS(0), len(*said))
		}
		if err := q.Close(); err != nil {
			t.Error(err)
		}
	})
}
