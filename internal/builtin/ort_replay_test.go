//go:build ort && linux

package builtin

import (
	"bytes"
	"context"
	"encoding/binary"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"testing"
	"unsafe"

	"github.com/mlperf-go/mlperf/internal/backend"
	"github.com/mlperf-go/mlperf/internal/backend/ort"
	"github.com/mlperf-go/mlperf/internal/harness"
	"github.com/mlperf-go/mlperf/internal/onnx"
)

// A recorder is an engine that notes every run of its sessions, for replay.c. One worker at a time may
// use it.
type recorder struct {
	backend.Engine
	mu       sync.Mutex
	on       bool // the traffic has begun
	sessions []*recordedSession
	buffers  map[uintptr]*recordedBuffer
	sizes    []int
	runs     int
	warmUp   int // runs before the traffic
	log      bytes.Buffer
}

// A recordedBuffer is memory that runs read or write, and what is in it as far as replay.c knows.
type recordedBuffer struct {
	number int
	known  []byte
}

type recordedSession struct {
	backend.Session
	r       *recorder
	number  int
	path    string
	threads int
}

func (r *recorder) Open(ctx context.Context, o backend.Options) (backend.Session, error) {
	s, err := r.Engine.Open(ctx, o)
	if err != nil {
		return nil, err
	}
	recorded := &recordedSession{s, r, len(r.sessions), o.ModelPath, o.IntraThreads}
	r.sessions = append(r.sessions, recorded)
	return recorded, nil
}

func (s *recordedSession) Run(ctx context.Context, inputs, outputs []backend.Value) error {
	s.r.mu.Lock()
	defer s.r.mu.Unlock()
	if s.r.runs++; !s.r.on {
		s.r.warmUp++
	}
	s.r.number(s.number)
	for _, v := range inputs {
		s.r.value(v, true)
	}
	if err := s.Session.Run(ctx, inputs, outputs); err != nil {
		return err
	}
	for _, v := range outputs {
		s.r.value(v, false)
	}
	return nil
}

func (r *recorder) number(n int) { binary.Write(&r.log, binary.LittleEndian, int64(n)) }

func (r *recorder) text(s string) {
	r.number(len(s))
	r.log.WriteString(s)
}

// value notes where a tensor is, and of an input what replay.c does not find there.
func (r *recorder) value(v backend.Value, read bool) {
	t := v.Tensor()
	content := t.Bytes()
	b := r.buffer(content)
	r.number(b.number)
	r.number(int(onnx.ElemTypeOf(t.Type)))
	r.number(len(t.Shape))
	r.number(len(content))
	for _, n := range t.Shape {
		r.number(int(n))
	}
	changed := content
	if !read || bytes.HasPrefix(b.known, content) {
		changed = nil
	}
	r.number(len(changed))
	r.log.Write(changed)
	if len(b.known) < len(content) {
		b.known = make([]byte, len(content))
	}
	copy(b.known, content)
}

func (r *recorder) buffer(content []byte) *recordedBuffer {
	at := uintptr(unsafe.Pointer(unsafe.SliceData(content)))
	b := r.buffers[at]
	if b == nil {
		b = &recordedBuffer{number: len(r.sizes)}
		r.buffers[at], r.sizes = b, append(r.sizes, 0)
	}
	r.sizes[b.number] = max(r.sizes[b.number], len(content))
	return b
}

// write writes the recording.
func (r *recorder) write(path string) error {
	runs := r.log
	r.log = bytes.Buffer{}
	r.number(len(r.sessions))
	for _, s := range r.sessions {
		r.number(s.threads)
		r.text(s.path)
		for _, ports := range [][]backend.Port{s.Info().Inputs, s.Info().Outputs} {
			r.number(len(ports))
			for _, p := range ports {
				r.text(p.Name)
			}
		}
	}
	r.number(len(r.sizes))
	for _, n := range r.sizes {
		r.number(n)
	}
	r.number(r.runs)
	r.number(r.warmUp)
	f, err := os.Create(path)
	if err != nil {
		return err
	}
	defer f.Close()
	for _, part := range []*bytes.Buffer{&r.log, &runs} {
		if _, err := part.WriteTo(f); err != nil {
			return err
		}
	}
	return nil
}

// onTraffic is an observer that sets a switch while the test runs.
type onTraffic struct {
	harness.Observer
	on *bool
}

func (o onTraffic) Phase(name string) {
	*o.on = name == "traffic"
	o.Observer.Phase(name)
}

// record runs a benchmark with a recorder, and returns the program that replays it.
func record(b *testing.B, cfg harness.Config) (replay func() float64) {
	b.Helper()
	dir := b.TempDir()
	program, path := filepath.Join(dir, "replay"), filepath.Join(dir, "recording")
	if out, err := exec.Command("cc", "-O2", "-w", "-o", program, "testdata/replay/replay.c", "-ldl").CombinedOutput(); err != nil {
		b.Skipf("the C program cannot be compiled: %v: %s", err, out)
	}
	r := &recorder{Engine: cfg.Engine, buffers: map[uintptr]*recordedBuffer{}}
	cfg.Engine, cfg.Observer = r, onTraffic{cfg.Observer, &r.on}
	if _, err := harness.Run(b.Context(), cfg); err != nil {
		b.Fatal(err)
	}
	if err := r.write(path); err != nil {
		b.Fatal(err)
	}
	return func() (seconds float64) {
		out, err := exec.CommandContext(b.Context(), program, os.Getenv(ort.LibraryVariable), path).CombinedOutput()
		if err != nil {
			b.Fatalf("the C program: %v: %s", err, out)
		}
		if _, err := fmt.Sscan(string(out), &seconds); err != nil {
			b.Fatalf("the C program says %q: %v", out, err)
		}
		return seconds
	}
}
