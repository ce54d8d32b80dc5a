//go:build ort && cgo

package ort

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/mlperf-go/mlperf/internal/backend"
	"github.com/mlperf-go/mlperf/internal/machine/priority"
	"github.com/mlperf-go/mlperf/internal/tensor"
	"github.com/mlperf-go/mlperf/internal/testenv"
)

// threadsOf maps the threads of this process to a value in a file that the system has for each.
func threadsOf(t *testing.T, file, key string) map[string]string {
	t.Helper()
	threads := map[string]string{}
	paths, _ := filepath.Glob("/proc/self/task/*/" + file)
	if len(paths) == 0 {
		t.Skip("threads are not listed here")
	}
	for _, path := range paths {
		text, _ := os.ReadFile(path)
		for line := range strings.Lines(string(text)) {
			if value, found := strings.CutPrefix(line, key); found {
				threads[filepath.Base(filepath.Dir(path))] = strings.TrimSpace(value)
			}
		}
	}
	return threads
}

// started returns the values of the threads that f starts.
func started(t *testing.T, file, key string, f func()) []string {
	t.Helper()
	before := threadsOf(t, file, key)
	f()
	return since(before, threadsOf(t, file, key))
}

// since returns the values of new threads.
func since(before, now map[string]string) []string {
	var values []string
	for id, value := range now {
		if _, old := before[id]; !old {
			values = append(values, value)
		}
	}
	slices.Sort(values)
	return values
}

func TestORTThreadsOnProcessors(t *testing.T) {
	engine, model := openEngine(t), doubled("N").write(t)
	allowed := threadsOf(t, "status", "Cpus_allowed_list:")
	for _, core := range []int{0, 1} {
		if !strings.HasPrefix(allowed[fmt.Sprint(os.Getpid())], "0-") {
			t.Skip("the first two processors are not both ours")
		}
		before := threadsOf(t, "status", "Cpus_allowed_list:")
		s := openWith(t, engine, backend.Options{ModelPath: model, IntraThreads: 2, Cores: []int{1 - core, core}})
		var got []string // a thread moves itself, once it runs
		for range 1000 {
			if got = since(before, threadsOf(t, "status", "Cpus_allowed_list:")); slices.Contains(got, fmt.Sprint(core)) {
				break
			}
			time.Sleep(10 * time.Millisecond)
		}
		if !slices.Contains(got, fmt.Sprint(core)) {
			t.Errorf("the session's thread may run on %q, want %d", got, core)
		}
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	}
}

func TestORTParallelExecution(t *testing.T) {
	engine, model := openEngine(t), doubled("N").write(t)
	open := func(o backend.Options) (threads int, facts map[string]string) {
		o.ModelPath, o.IntraThreads = model, 1
		var s backend.Session
		threads = len(started(t, "status", "Name:", func() {
			var err error
			if s, err = engine.Open(t.Context(), o); err != nil {
				t.Fatal(err)
			}
		}))
		defer s.Close()
		return threads, s.Info().Facts
	}
	one, facts := open(backend.Options{})
	if facts["inter_threads"] != "1" {
		t.Errorf("sequential: inter_threads is %q", facts["inter_threads"])
	}
	all, facts := open(backend.Options{Parallel: true})
	if facts["inter_threads"] != "default" || all <= one {
		t.Errorf("parallel: inter_threads is %q, %d threads are started, %d without", facts["inter_threads"], all, one)
	}
}

// TestORTThreadsStayOrdinary has a load generator raise the threads of the program while a session with threads of its own runs.
func TestORTThreadsStayOrdinary(t *testing.T) {
	s := openModel(t, slow(3), backend.Options{IntraThreads: 3})
	restore := priority.Raise()
	defer restore()
	compute(t, s, tensor.New(tensor.Float32, 2, 256))
	policies := threadsOf(t, "sched", "policy")
	engine := 0
	for thread, name := range threadsOf(t, "status", "Name:") {
		if name != threadName {
			continue
		}
		engine++
		if policy := strings.Fields(policies[thread]); len(policy) > 0 && policy[len(policy)-1] != "0" {
			t.Errorf("a thread of ONNX Runtime has scheduling policy %v, want 0 (SCHED_OTHER)", policy)
		}
	}
	if engine < 2 {
		t.Errorf("%d threads have the name of the engine, want the two that the session starts", engine)
	}
}

func TestORTPoolBesideOtherThreads(t *testing.T) {
	library := openEngine(t).Library()
	if _, err := New(library, &Pool{IntraThreads: 2}); err == nil || !strings.Contains(err.Error(), "other threads") {
		t.Errorf("a pool beside sessions with threads of their own: %v, want an error", err)
	}
}

func TestORTPool(t *testing.T) {
	library, _, err := Search{}.Find()
	if err != nil {
		t.Fatal(err)
	}
	engine, err := New(library, &Pool{IntraThreads: 3, InterThreads: 1, NoSpinning: true})
	if err != nil {
		t.Fatal(err)
	}
	model := slow(3).write(t)
	var sessions []backend.Session
	threads := started(t, "status", "Name:", func() {
		for range 3 {
			s := openWith(t, engine, backend.Options{ModelPath: model, IntraThreads: 4})
			sessions = append(sessions, s)
		}
	})
	if len(threads) > 3 { // Go may start some
		t.Errorf("three sessions started %d threads beside the pool", len(threads))
	}
	for _, s := range sessions {
		x := tensor.New(tensor.Float32, 2, 256)
		tensor.Data[float32](x)[5] = 3
		if got := compute(t, s, x)[5]; got != 3 {
			t.Errorf("the result is %v, want 3", got)
		}
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	}
	second, err := New(library, &Pool{IntraThreads: 3, InterThreads: 1, NoSpinning: true})
	if err != nil {
		t.Errorf("a second engine with the same pool: %v", err)
	}
	if err := errors.Join(second.Close(), engine.Close()); err != nil {
		t.Error(err)
	}
}

func TestORTFreeDimensions(t *testing.T) {
	engine, model := openEngine(t), doubled("N").write(t)
	options := backend.Options{ModelPath: model, FreeDimensions: map[string]int64{"N": 3}}
	in, out, err := engine.Ports(t.Context(), options)
	if err != nil || in[0].Batch() != 3 || out[0].Batch() != 3 {
		t.Errorf("the ports are %v and %v, %v, want batches of 3", in, out, err)
	}
	s := openWith(t, engine, options)
	run(t, s, values(bind(t, s, tensor.New(tensor.Float32, 3, 4))), make([]backend.Value, 1))
	if err := s.Run(t.Context(), values(bind(t, s, tensor.New(tensor.Float32, 2, 4))), make([]backend.Value, 1)); err == nil {
		t.Error("a batch of another size was accepted")
	}
	if s.Info().Facts["extent N"] != "3" {
		t.Errorf("facts are %v", s.Info().Facts)
	}
	for axis, extent := range map[string]int64{"M": 3, "N": 0} {
		options.FreeDimensions = map[string]int64{axis: extent}
		if _, err := engine.Open(t.Context(), options); err == nil || !strings.Contains(err.Error(), fmt.Sprintf("axis %q", axis)) {
			t.Errorf("%s = %d: %v, want an error that names the axis", axis, extent, err)
		}
	}
}

func TestORTBadCustomOps(t *testing.T) {
	path := filepath.Join(t.TempDir(), "libops.so")
	testenv.Must(t, os.WriteFile(path, []byte("no library"), 0o644))
	_, err := openEngine(t).Open(t.Context(), backend.Options{ModelPath: doubled("N").write(t), CustomOps: []string{path}})
	if err == nil || !strings.Contains(err.Error(), "operators of "+path) {
		t.Errorf("got %v, want an error that names the library", err)
	}
}

func TestORTRunConfig(t *testing.T) {
	for key, value := range map[string]string{"memory.enable_memory_arena_shrinkage": "cpu:0", "session.use_env_allocators": "1"} {
		s := openModel(t, doubled("N"), backend.Options{Config: map[string]string{key: value}})
		if w := s.Info().Warnings; len(w) != 0 || s.Info().Facts["config "+key] != value {
			t.Errorf("%s: warnings %q, facts %v", key, w, s.Info().Facts)
		}
		for _, out := range [][]backend.Value{make([]backend.Value, 1), values(bind(t, s, tensor.New(tensor.Float32, 1, 4)))} {
			run(t, s, values(bind(t, s, tensor.New(tensor.Float32, 1, 4))), out)
		}
	}
	s := openModel(t, doubled("N"), backend.Options{Config: map[string]string{"memory.enable_memory_arena_shrinkage": "moon:1"}})
	err := s.Run(t.Context(), values(bind(t, s, tensor.New(tensor.Float32, 1, 4))), make([]backend.Value, 1))
	if err == nil {
		t.Error("a memory that is none was accepted: the entry does not reach the run")
	}
}

func TestORTDamagedOptimisedModel(t *testing.T) {
	engine, model := openEngine(t), doubled("N").write(t)
	kept := filepath.Join(t.TempDir(), "kept.onnx")
	open := func() backend.Info {
		t.Helper()
		s := openWith(t, engine, backend.Options{ModelPath: model, OptimizedModel: kept})
		defer s.Close()
		return s.Info()
	}
	open()
	info, err := os.Stat(kept)
	if err != nil || info.Mode().Perm() != 0o644 {
		t.Fatalf("the file is %v, %v, want mode 0644", info.Mode(), err)
	}
	whole, err := os.ReadFile(kept)
	if err != nil {
		t.Fatal(err)
	}
	damaged := slices.Clone(whole)
	for i := range damaged {
		damaged[i] = 0xff
	}
	testenv.Must(t, os.WriteFile(kept, damaged, 0o644))
	if err := os.Chtimes(kept, time.Time{}, info.ModTime()); err != nil { // as if untouched
		t.Fatal(err)
	}
	if w := open().Warnings; len(w) != 1 || !strings.Contains(w[0], kept) || !strings.Contains(w[0], "made again") {
		t.Errorf("warnings are %q, want one that names the file", w)
	}
	if again, err := os.ReadFile(kept); err != nil || !slices.Equal(again, whole) {
		t.Errorf("the file was not made again: %v", err)
	}
	if w := open().Warnings; len(w) != 0 {
		t.Errorf("the next time there are warnings: %q", w)
	}
}

func TestORTNodeCountRemovesProfile(t *testing.T) {
	folder := filepath.Join(t.TempDir(), "a[1]")
	testenv.Must(t, os.Mkdir(folder, 0o755))
	t.Setenv("TMPDIR", folder)
	if info := openModel(t, doubled("N"), backend.Options{CountDeviceNode: true}).Info(); len(info.Warnings) > 0 {
		t.Errorf("warnings %q", info.Warnings)
	}
	if left, err := os.ReadDir(folder); err != nil || len(left) != 0 {
		t.Errorf("%v are left, %v", left, err)
	}
}

func TestORTContextEndsLoading(t *testing.T) {
	engine, model := openEngine(t), slow(20000).write(t)
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	begin := time.Now()
	s, err := engine.Open(ctx, backend.Options{ModelPath: model, IntraThreads: 1})
	if err == nil {
		s.Close()
		t.Skip("the model was loaded in time")
	}
	if !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("got %v after %v, want %v", err, time.Since(begin), context.DeadlineExceeded)
	}
}
