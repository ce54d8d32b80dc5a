//go:build ort && cgo

package ort

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/mlperf-go/mlperf/internal/backend"
	"github.com/mlperf-go/mlperf/internal/tensor"
	"github.com/mlperf-go/mlperf/internal/testenv"
)

func TestORTEnginesShareLibrary(t *testing.T) {
	first := openEngine(t)
	second, err := New(first.Library(), nil)
	if err != nil {
		t.Fatal(err)
	}
	testenv.Must(t, second.Close())
	if err := second.Close(); err != nil {
		t.Errorf("closing twice: %v", err)
	}
	if _, err := second.Open(context.Background(), backend.Options{ModelPath: doubled("N").write(t)}); err == nil {
		t.Error("a closed engine opened a model, want an error")
	}
	if all, err := second.Providers(t.Context()); err == nil {
		t.Errorf("a closed engine has the providers %v", all)
	}
	openModel(t, doubled("N"), backend.Options{}) // the first still works

	other := first.Library()
	other.Path = filepath.Join(t.TempDir(), "libonnxruntime.so.1")
	if _, err := New(other, nil); err == nil || !strings.Contains(err.Error(), "can use only one") {
		t.Errorf("a second library: got %v, want an error", err)
	}
}

func TestORTEngineWithOpenSessions(t *testing.T) {
	engine := openEngine(t)
	s := openWith(t, engine, backend.Options{ModelPath: doubled("N").write(t)})
	if err := engine.Close(); err == nil || !strings.Contains(err.Error(), "1 sessions are still open") {
		t.Errorf("got %v, want an error about the open session", err)
	}
	for range 2 { // the second time does nothing
		testenv.Must(t, s.Close())
	}
	if _, err := s.Bind(tensor.New(tensor.Float32, 1, 4)); err == nil {
		t.Error("a closed session bound a tensor, want an error")
	}
	if err := s.Run(t.Context(), make([]backend.Value, 1), make([]backend.Value, 1)); !errors.Is(err, errClosed) {
		t.Errorf("a closed session ran: %v, want %v", err, errClosed)
	}
}

func TestORTBadLibrary(t *testing.T) {
	path := filepath.Join(t.TempDir(), "libonnxruntime.so.1")
	testenv.Must(t, os.WriteFile(path, []byte("no library"), 0o644))
	if _, err := New(Library{Path: path}, nil); err == nil || !strings.Contains(err.Error(), "opening ONNX Runtime library "+path) {
		t.Errorf("got %v, want an error that names the file", err)
	}
	openModel(t, doubled("N"), backend.Options{}) // another can be opened after that
}

func TestORTForgottenSession(t *testing.T) {
	func() { // nothing of this function is referred to after it
		library, _, err := Search{}.Find()
		if err != nil {
			t.Fatal(err)
		}
		engine, err := New(library, nil)
		if err != nil {
			t.Fatal(err)
		}
		s, err := engine.Open(t.Context(), backend.Options{ModelPath: doubled("N").write(t)})
		if err != nil {
			t.Fatal(err)
		}
		bind(t, s, tensor.New(tensor.Float32, 1, 4))
	}()
	runtime.GC()
	runtime.GC()
	for _, engine := range slices.Collect(maps.Keys(environment.users)) {
		for s := range engine.sessions {
			s.Close()
		}
		engine.Close()
	}
}

// resident returns the memory and the files that this process holds.
func resident(t *testing.T) (kilobytes, files int) {
	t.Helper()
	status, err := os.ReadFile("/proc/self/status")
	if err != nil {
		t.Skip("no /proc/self/status")
	}
	for line := range strings.Lines(string(status)) {
		if value, found := strings.CutPrefix(line, "VmRSS:"); found {
			kilobytes, _ = strconv.Atoi(strings.Fields(value)[0])
		}
	}
	open, err := os.ReadDir("/proc/self/fd")
	if err != nil {
		t.Fatal(err)
	}
	return kilobytes, len(open)
}

func TestORTLeaks(t *testing.T) {
	t.Run("sessions and values", func(t *testing.T) {
		engine, model := openEngine(t), doubled("N").write(t)
		leakTest(t, 20, func() { openRunClose(t, engine, model) })
	})
	t.Run("closed values", func(t *testing.T) {
		s, err := openEngine(t).Open(t.Context(), backend.Options{ModelPath: doubled("N").write(t)})
		testenv.Must(t, err)
		leakTest(t, 20, func() {
			for range 4000 {
				testenv.Must(t, bind(t, s, tensor.New(tensor.Float32, 1, 4)).Close())
			}
		})
		testenv.Must(t, s.Close())
	})
	t.Run("engines", func(t *testing.T) {
		library, _, err := Search{}.Find()
		if err != nil {
			t.Fatal(err)
		}
		model := doubled("N").write(t)
		leakTest(t, 5, func() { // each round opens and closes the library itself
			engine, err := New(library, nil)
			if err != nil {
				t.Fatal(err)
			}
			openRunClose(t, engine, model)
			testenv.Must(t, engine.Close())
		})
	})
}

// leakTest warms up with as many rounds as it then measures.
func leakTest(t *testing.T, rounds int, round func()) {
	t.Helper()
	for range rounds {
		round()
	}
	runtime.GC()
	kbBefore, filesBefore := resident(t)
	for range rounds {
		round()
	}
	runtime.GC()
	kbAfter, filesAfter := resident(t)
	if filesAfter > filesBefore {
		t.Errorf("%d open files became %d", filesBefore, filesAfter)
	}
	const slack = 4096 // of the allocators
	if kbAfter > kbBefore+slack {
		t.Errorf("%d kB of memory became %d kB after %d more rounds", kbBefore, kbAfter, rounds)
	}
}

// openRunClose uses all kinds of values, with many left for the session to close.
func openRunClose(t *testing.T, engine *Engine, model string) {
	t.Helper()
	s, err := engine.Open(t.Context(), backend.Options{ModelPath: model, IntraThreads: 2})
	testenv.Must(t, err)
	for i := range 50 {
		x := bind(t, s, tensor.New(tensor.Float32, 256, 4))
		given := values(bind(t, s, tensor.New(tensor.Float32, 256, 4)))
		made := make([]backend.Value, 1)
		run(t, s, values(x), given)
		run(t, s, values(x), made)
		if i%2 == 0 {
			for _, v := range []backend.Value{x, given[0], made[0]} {
				testenv.Must(t, v.Close())
			}
		}
	}
	testenv.Must(t, s.Close())
}

func BenchmarkRun(b *testing.B) {
	s := openModel(b, doubled("N"), backend.Options{})
	x, y := values(bind(b, s, tensor.New(tensor.Float32, 1, 4))), values(bind(b, s, tensor.New(tensor.Float32, 1, 4)))
	other := values(bind(b, s, tensor.New(tensor.Float32, 1, 4)))
	b.Run("same values", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			run(b, s, x, y)
		}
	})
	b.Run("changing input", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			x, other = other, x
			run(b, s, x, y)
		}
	})
	b.Run("output allocated", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			made := make([]backend.Value, 1)
			run(b, s, x, made)
			made[0].Close()
		}
	})
	b.Run("without a binding", func(b *testing.B) {
		b.ReportAllocs()
		plain := s.(*session)
		for b.Loop() {
			testenv.Must(b, plain.runPlain(b.Context(), x, y))
		}
	})
}

// BenchmarkLargeOutput has 8 MB of answers in memory that is given, as where all axes are known, and that the run allocates.
func BenchmarkLargeOutput(b *testing.B) {
	s := openModel(b, doubled("N"), backend.Options{IntraThreads: 1})
	x, y := values(bind(b, s, tensor.New(tensor.Float32, 1<<19, 4))), values(bind(b, s, tensor.New(tensor.Float32, 1<<19, 4)))
	made := make([]backend.Value, 1)
	for turn := range 5 {
		b.Run(fmt.Sprint("given ", turn), func(b *testing.B) {
			for b.Loop() {
				run(b, s, x, y)
			}
		})
		b.Run(fmt.Sprint("allocated ", turn), func(b *testing.B) {
			for b.Loop() {
				run(b, s, x, made)
				made[0].Close()
				made[0] = nil
			}
		})
	}
}

func BenchmarkBind(b *testing.B) {
	s := openModel(b, doubled("N"), backend.Options{})
	x := tensor.New(tensor.Float32, 1, 4)
	b.ReportAllocs()
	for b.Loop() {
		bind(b, s, x).Close()
	}
}

func BenchmarkOpen(b *testing.B) {
	engine, model := openEngine(b), doubled("N").write(b)
	for b.Loop() {
		s, err := engine.Open(context.Background(), backend.Options{ModelPath: model, IntraThreads: 1})
		if err != nil {
			b.Fatal(err)
		}
		s.Close()
	}
}
