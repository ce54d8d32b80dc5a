package onnx

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
)

// Fields may lie anywhere to the windows in which a file is read: before, on and behind their ends.
func TestFieldsOfAnyLengthAreReadWholly(t *testing.T) {
	for _, n := range []int{0, 1, 127, 128, 4070, 4080, 4085, 4090, 4095, 4096, 4097, 8191, 8192, 16383, 16384, 70000} {
		m := modelOf(diamond())
		m.Producer, m.Graph.Doc, m.Graph.Nodes[0].Doc = strings.Repeat("p", n), strings.Repeat("g", n), strings.Repeat("n", n)
		m.Graph.Inputs[0].Doc = strings.Repeat("i", n)
		path := writeModel(t, m)
		want := mustEncode(t, m)
		if got := mustEncode(t, mustRead(t, path)); !bytes.Equal(got, want) {
			t.Errorf("texts of %d bytes: the model that was read has %d bytes, want %d", n, len(got), len(want))
		}
		h, err := ReadHead(path)
		if err != nil || len(h.Producer) != n || len(h.Inputs[0].Doc) != n {
			t.Errorf("texts of %d bytes: %v, the producer has %d", n, err, len(h.Producer))
		}
	}
}

// Few elements are in memory at once, many stay in the file; which they are changes nothing else.
func TestElementsStayInTheFileIfTheyAreMany(t *testing.T) {
	for n, stays := range map[int]bool{0: false, 1: false, 4095: false, 4096: true, 4097: true, 100_000: true} {
		content := bytes.Repeat([]byte("0123456789"), n/10+1)[:n]
		m := modelOf(diamond())
		m.Graph.Initializers = append(m.Graph.Initializers, &Tensor{Name: "data", Type: Uint8, Dims: []int64{int64(n)}, Data: Raw(content)})
		read := mustRead(t, writeModel(t, m)).Graph.Index().Initializer("data")
		if _, inFile := read.Data.(*section); inFile != stays {
			t.Errorf("%d bytes are in the file: %t, want %t", n, inFile, stays)
		}
		if read.Data.Size() != int64(n) {
			t.Errorf("%d bytes are said to be %d", n, read.Data.Size())
		}
		if got, err := read.Bytes(); err != nil || !bytes.Equal(got, content) {
			t.Errorf("%d bytes are read as %d, %v", n, len(got), err)
		}
	}
}

func TestElementsAreReadByManyAtOnce(t *testing.T) {
	path := writeModel(t, bigModel())
	big := mustRead(t, path).Graph.Index().Initializer("big")
	want, err := big.Bytes()
	if err != nil {
		t.Fatal(err)
	}
	var readers sync.WaitGroup
	for range 8 {
		readers.Go(func() {
			if got, err := big.Bytes(); err != nil || !bytes.Equal(got, want) {
				t.Errorf("%d bytes, %v", len(got), err)
			}
		})
	}
	readers.Wait()
}

// A reader of a file of which a part cannot be read, as of a disk that is failing.
type failingAt struct {
	io.ReaderAt
	from int64
}

var errDisk = errors.New("input/output error")

func (f failingAt) ReadAt(p []byte, at int64) (int, error) {
	if at+int64(len(p)) > f.from {
		return 0, errDisk
	}
	return f.ReaderAt.ReadAt(p, at)
}

func TestADiskThatFailsIsNotTakenForAnotherFormat(t *testing.T) {
	m := modelOf(diamond())
	m.Graph.Doc = strings.Repeat("long ", 4000)
	data := mustEncode(t, m)
	for _, from := range []int64{0, 1, 4096, 9000, int64(len(data)) - 1} {
		r := &fileReader{file: failingAt{bytes.NewReader(data), from}, size: int64(len(data)), lazyFrom: 4 << 10}
		if _, err := r.model(); !errors.Is(err, errDisk) || !strings.Contains(err.Error(), "at byte ") {
			t.Errorf("a disk that fails from byte %d on: %v", from, err)
		}
		r = &fileReader{file: failingAt{bytes.NewReader(data), from}, size: int64(len(data))}
		if _, err := r.head(); !errors.Is(err, errDisk) {
			t.Errorf("the head, from byte %d on: %v", from, err)
		}
	}
}

// What cannot be read as a file is refused by name, by all who read models.
func TestWhatIsNoFileIsRefusedByAllReaders(t *testing.T) {
	folder := t.TempDir()
	secret := filepath.Join(folder, "model.onnx")
	for _, c := range []struct {
		name, path, want string
	}{
		{"a folder", folder, "is a folder"},
		{"nothing", filepath.Join(folder, "none.onnx"), "no such file"},
		{"a file below a file", filepath.Join(secret, "model.onnx"), ""},
		{"no path", "", ""},
	} {
		if err := os.WriteFile(secret, []byte("x"), 0o600); err != nil {
			t.Fatal(err)
		}
		for reader, read := range map[string]func() error{
			"ReadFile":      func() error { _, err := ReadFile(c.path); return err },
			"ReadWhole":     func() error { _, err := ReadWhole(c.path); return err },
			"ReadHead":      func() error { _, err := ReadHead(c.path); return err },
			"FingerprintOf": func() error { _, err := FingerprintOf(t.Context(), c.path); return err },
		} {
			if err := read(); err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("%s of %s: %v, want %q", reader, c.name, err, c.want)
			}
		}
	}
}

// A model that is read through a link is that to which it leads, with the data files beside the link, as ONNX Runtime looks for them.
func TestAModelMayBeALink(t *testing.T) {
	path := folderOf(t, outside(at("w.data", "4", "8")...))
	link := filepath.Join(filepath.Dir(path), "latest.onnx")
	if err := os.Symlink(filepath.Base(path), link); err != nil {
		t.Fatal(err)
	}
	direct, err := ReadWhole(path)
	if err != nil {
		t.Fatal(err)
	}
	linked, err := ReadWhole(link)
	if err != nil || !bytes.Equal(mustEncode(t, direct), mustEncode(t, linked)) {
		t.Errorf("through a link another model is read: %v", err)
	}
}

// Sizes are compared with the file before anything is made of them, wherever they are claimed.
func TestClaimsOfSizesSayWhereTheyAre(t *testing.T) {
	valid := string(mustEncode(t, modelOf(diamond())))
	for _, c := range []struct {
		name, file string
		begin      int
		claimed    uint64
	}{
		{"a graph", valid + asBytes(modelGraph, 5000, "x"), len(valid) + 3, 5000},
		{"metadata", valid + asBytes(modelMetadataProps, 300, "x"), len(valid) + 3, 300},
		{"something new", valid + asBytes(1000, 2, "x"), len(valid) + 3, 2},
		{"an initializer", valid + asBytes(modelGraph, 4, asBytes(graphInitializer, 77, "xx")), len(valid) + 4, 77},
	} {
		_, err := readBytes([]byte(c.file))
		left := len(c.file) - c.begin
		if want := fmt.Sprintf("a field of %d bytes begins at byte %d, but only %d are left", c.claimed, c.begin, left); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", c.name, err, want)
		}
	}
}
