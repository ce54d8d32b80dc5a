package onnx

import (
	"bytes"
	"context"
	"errors"
	"io"
	"math"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/mlperf-go/mlperf/internal/longtest"
)

// bigModel has one tensor that ReadFile leaves in the file and one that it does not.
func bigModel() *Model {
	m := everything()
	big := make([]float32, 10_000)
	for i := range big {
		big[i] = float32(i)
	}
	m.Graph.Initializers = append(m.Graph.Initializers, TensorOf("big", big, 10, 1000), TensorOf("small", []int64{1, 2}, 2))
	return m
}

func writeModel(t testing.TB, m *Model) (path string) {
	t.Helper()
	path = filepath.Join(t.TempDir(), "model.onnx")
	if err := m.WriteFile(t.Context(), path); err != nil {
		t.Fatal(err)
	}
	return path
}

func mustRead(t testing.TB, path string) *Model {
	t.Helper()
	m, err := ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return m
}

func filesIn(t testing.TB, folder string) []string {
	t.Helper()
	entries, err := os.ReadDir(folder)
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, e := range entries {
		names = append(names, e.Name())
	}
	return names
}

func TestReadFileReturnsWhatWriteFileWrote(t *testing.T) {
	path := writeModel(t, bigModel())
	m := mustRead(t, path)
	big := m.Graph.Index().Initializer("big")
	if _, lazy := big.Data.(*section); !lazy {
		t.Errorf("the elements of a large tensor are in a %T, want them left in the file", big.Data)
	}
	floats, err := Elements[float32](big)
	if err != nil || len(floats) != 10_000 || floats[9_999] != 9_999 {
		t.Errorf("Elements(big) has %d elements, %v", len(floats), err)
	}
	raw, err := big.Bytes()
	if err != nil {
		t.Fatal(err)
	}
	big.Data = Raw(raw)
	if diff := cmp.Diff(bigModel(), m); diff != "" {
		t.Errorf("model differs (-want +got):\n%s", diff)
	}
}

func TestReadFileDoesNotReadWeights(t *testing.T) {
	longtest.Skip(t, "takes long")
	const size = 64 << 20
	path := writeModel(t, &Model{
		IRVersion: 8, Opsets: []Opset{{Version: 17}},
		Graph: &Graph{
			Inputs:       []*Value{{Name: "x"}},
			Initializers: []*Tensor{{Name: "w", Type: Uint8, Dims: []int64{size}, Data: Raw(make([]byte, size))}},
		},
	})
	allocated := allocatedBy(func() { mustRead(t, path) })
	if allocated > 100<<10 {
		t.Errorf("reading the interface of a model of 64 MiB allocates %d bytes", allocated)
	}
}

// allocatedBy returns how many bytes f allocates.
func allocatedBy(f func()) uint64 {
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	f()
	runtime.ReadMemStats(&after)
	return after.TotalAlloc - before.TotalAlloc
}

func TestAModelCanBeRewrittenInPlace(t *testing.T) {
	path := writeModel(t, bigModel())
	m := mustRead(t, path)
	m.Graph.Name = "renamed"
	if err := m.WriteFile(t.Context(), path); err != nil {
		t.Fatal(err)
	}
	want := bigModel()
	want.Graph.Name = "renamed"
	if got := mustEncode(t, mustRead(t, path)); !bytes.Equal(got, mustEncode(t, want)) {
		t.Error("the rewritten file holds another model")
	}
	// The first reader's sections now point into a file that is no longer there.
	if _, err := m.Graph.Index().Initializer("big").Bytes(); err == nil || !strings.Contains(err.Error(), "changed since it was read") {
		t.Errorf("Bytes() after the file changed = %v", err)
	}
}

func TestReadFileRefusesWhatIsNoModel(t *testing.T) {
	folder := t.TempDir()
	valid := mustEncode(t, bigModel())
	for _, c := range []struct {
		name, want string
		data       []byte
	}{
		{"empty.onnx", "reading empty.onnx: not an ONNX model: it is empty", []byte{}},
		{"page.onnx", "reading page.onnx: not an ONNX model: it is a web page", []byte("<html>")},
		{"short.onnx", "a field of 40", valid[:len(valid)/2]},
		{"text.onnx", "reading text.onnx: not an ONNX model: ", []byte("hello, world")},
	} {
		path := filepath.Join(folder, c.name)
		if err := os.WriteFile(path, c.data, 0o600); err != nil {
			t.Fatal(err)
		}
		if _, err := ReadFile(path); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("ReadFile(%s) = %v, want %q", c.name, err, c.want)
		}
	}
	if _, err := ReadFile(folder); err == nil || !strings.Contains(err.Error(), "not a regular file") {
		t.Errorf("ReadFile of a folder = %v", err)
	}
	if _, err := ReadFile(filepath.Join(folder, "none.onnx")); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("ReadFile of no file = %v", err)
	}
}

func TestWriteFileReplacesTheOldFileOnlyWhenDone(t *testing.T) {
	path := writeModel(t, everything())
	old, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	broken := everything()
	broken.Graph.Initializers[0].Data = brokenSource{}
	cancelled, cancel := context.WithCancelCause(t.Context())
	cancel(errors.New("interrupted by the user"))
	for _, c := range []struct {
		name, want string
		ctx        context.Context
		model      *Model
	}{
		{"a source that fails", "creating model.onnx: writing ONNX model: unexpected EOF", t.Context(), broken},
		{"an interrupt", "creating model.onnx: writing ONNX model: interrupted by the user", cancelled, everything()},
		{"a model without encoding", "no encoding", t.Context(), &Model{Graph: &Graph{Nodes: []*Node{{Attributes: []Attribute{{Value: 1}}}}}}},
	} {
		t.Run(c.name, func(t *testing.T) {
			err := c.model.WriteFile(c.ctx, path)
			if err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("WriteFile() = %v, want %q", err, c.want)
			}
			if got, err := os.ReadFile(path); err != nil || !bytes.Equal(got, old) {
				t.Errorf("the old file is gone: %d bytes, %v", len(got), err)
			}
			if names := filesIn(t, filepath.Dir(path)); len(names) != 1 {
				t.Errorf("the folder holds %q, want only the model", names)
			}
		})
	}
}

// stopAfter is a Source that ends a context on its way.
type stopAfter struct {
	bytes int64
	stop  func()
	wrote *int64
}

func (s stopAfter) Size() int64 { return 1 << 30 }

func (s stopAfter) WriteTo(w io.Writer) (int64, error) {
	buf := make([]byte, 64<<10)
	for *s.wrote < s.Size() {
		if *s.wrote == s.bytes {
			s.stop()
		}
		n, err := w.Write(buf)
		*s.wrote += int64(n)
		if err != nil {
			return *s.wrote, err
		}
	}
	return *s.wrote, nil
}

func TestAnInterruptStopsWritingInTheMiddle(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	folder := t.TempDir()
	var wrote int64
	m := &Model{Graph: &Graph{Initializers: []*Tensor{{Data: stopAfter{1 << 20, cancel, &wrote}}}}}
	err := m.WriteFile(ctx, filepath.Join(folder, "m.onnx"))
	if !errors.Is(err, context.Canceled) || wrote > 2<<20 {
		t.Errorf("WriteFile() = %v after %d bytes, want it to stop after 1 MiB", err, wrote)
	}
	if names := filesIn(t, folder); len(names) != 0 {
		t.Errorf("the folder still holds %q", names)
	}
}

func TestWriteFileNamesTheFolderThatIsInTheWay(t *testing.T) {
	folder := t.TempDir()
	missing := filepath.Join(folder, "none", "m.onnx")
	err := everything().WriteFile(t.Context(), missing)
	want := "creating m.onnx: in folder " + filepath.Dir(missing) + ": no such file or directory"
	if err == nil || err.Error() != want || !errors.Is(err, os.ErrNotExist) {
		t.Errorf("WriteFile() = %v, want %s", err, want)
	}
	full := &os.PathError{Op: "write", Path: filepath.Join(folder, "m.onnx.123.tmp"), Err: syscall.ENOSPC}
	if got, want := plain(full).Error(), "in folder "+folder+": no space left on device"; got != want {
		t.Errorf("a full disk is reported as %q, want %q", got, want)
	}
}

func TestWriteFileDoesNotReplaceAFolder(t *testing.T) {
	folder := t.TempDir()
	path := filepath.Join(folder, "m.onnx")
	if err := os.Mkdir(path, 0o700); err != nil {
		t.Fatal(err)
	}
	err := everything().WriteFile(t.Context(), path)
	if err == nil || !strings.HasPrefix(err.Error(), "creating m.onnx: in folder "+folder+": ") {
		t.Errorf("WriteFile() onto a folder = %v", err)
	}
	if names := filesIn(t, folder); len(names) != 1 {
		t.Errorf("the folder holds %q, want only the folder that was there", names)
	}
}

func TestWriteFileRefusesAReadOnlyFolder(t *testing.T) {
	if os.Geteuid() == 0 {
		t.Skip("root may write into any folder")
	}
	folder := t.TempDir()
	if err := os.Chmod(folder, 0o500); err != nil {
		t.Fatal(err)
	}
	err := everything().WriteFile(t.Context(), filepath.Join(folder, "m.onnx"))
	if !errors.Is(err, os.ErrPermission) || !strings.Contains(err.Error(), folder) {
		t.Errorf("WriteFile() = %v, want a permission error that names %s", err, folder)
	}
}

func TestWritersOfOneFileDoNotDisturbEachOther(t *testing.T) {
	path := filepath.Join(t.TempDir(), "m.onnx")
	var group sync.WaitGroup
	errs := make([]error, 8)
	for i := range errs {
		group.Go(func() { errs[i] = bigModel().WriteFile(t.Context(), path) })
	}
	group.Wait()
	if err := errors.Join(errs...); err != nil {
		t.Fatal(err)
	}
	if got := mustEncode(t, mustRead(t, path)); !bytes.Equal(got, mustEncode(t, bigModel())) {
		t.Error("the file holds another model")
	}
	if names := filesIn(t, filepath.Dir(path)); len(names) != 1 {
		t.Errorf("the folder holds %q, want only the model", names)
	}
}

func TestWrittenFilesAreReadableByOthers(t *testing.T) {
	info, err := os.Stat(writeModel(t, everything()))
	if err != nil || info.Mode().Perm() != 0o644 {
		t.Errorf("the file has mode %v (%v), want 0644", info.Mode(), err)
	}
}

// readBytes reads a model as ReadFile does, but from memory and with all weights.
func readBytes(data []byte) (*Model, error) {
	r := &fileReader{file: bytes.NewReader(data), size: int64(len(data)), changed: time.Time{}, lazyFrom: math.MaxInt64}
	return r.model()
}
