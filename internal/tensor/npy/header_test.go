package npy

import (
	"bytes"
	"errors"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/mlperf-go/mlperf/internal/tensor"
)

func TestHeadersOfAllShapesAreThoseOfNumPy(t *testing.T) {
	for _, s := range samples(t, "headers.json") {
		h := header{types[s.DType[1:]], s.Shape}
		got, err := h.encode()
		if err != nil || !bytes.Equal(got, s.File) {
			t.Errorf("the header of %s%v is %q, %v, want %q", s.DType, s.Shape, got, err, s.File)
		}
		read, bigEndian, err := readHeader(bytes.NewReader(s.File))
		if err != nil || bigEndian || read.Type != h.Type || !slices.Equal(read.Shape, h.Shape) {
			t.Errorf("%q is read as %+v, %v", s.File, read, err)
		}
	}
}

func TestHeadersThatNobodyCanReadAreNotWritten(t *testing.T) {
	for name, c := range map[string]struct {
		header header
		want   string
	}{
		"a free axis":      {header{tensor.Float32, tensor.Shape{2, -1}}, "shape [2 ?] has a negative axis"},
		"too many bytes":   {header{tensor.Float64, tensor.Shape{1 << 31, 1 << 31}}, "shape [2147483648 2147483648] is too large"},
		"65000 axes":       {header{tensor.Uint8, slices.Repeat(tensor.Shape{1}, 65000)}, "shape of 65000 axes is too long for a header"},
		"a type of ours":   {header{tensor.BFloat16, tensor.Shape{1}}, "element type bfloat16 has no NumPy equivalent"},
		"a type of nobody": {header{tensor.Invalid, nil}, "element type invalid has no NumPy equivalent"},
	} {
		if _, err := c.header.encode(); err == nil || err.Error() != c.want {
			t.Errorf("%s: error %v, want %q", name, err, c.want)
		}
	}
	long, err := header{tensor.Uint8, slices.Repeat(tensor.Shape{1}, 20000)}.encode() // 2 bytes each and some
	if err != nil {
		t.Fatal(err)
	}
	if h, _, err := readHeader(bytes.NewReader(long)); err != nil || len(h.Shape) != 20000 {
		t.Errorf("a header of 20000 axes is read as one of %d, %v", len(h.Shape), err)
	}
}

func TestHeadersThatNumPyDoesNotWriteAreRefusedByWhatIsWrong(t *testing.T) {
	with := func(descr, order, shape string) string {
		return "{'descr': " + descr + ", 'fortran_order': " + order + ", 'shape': " + shape + "}"
	}
	for _, c := range []struct{ header, want string }{
		{with("'<f4'", "False", "2"), `shape: want "(", got "2}"`},
		{with("'<f4'", "False", "(2"), "shape: want a comma"},
		{with("'<f4'", "False", "(2, 3"), `shape: want ")", got "}"`},
		{with("'<f4'", "False", "(2 3)"), "shape: want a comma"},
		{with("'<f4'", "False", "(2, x)"), `shape: want a number, got "x)}"`},
		{with("'<f4'", "False", "(99999999999999999999,)"), "shape: want a number"},
		{with("'<f4'", "0", "(2,)"), `fortran_order: want True or False, got "0,`},
		{with("'<f4'", "True", "(2,)"), "array is in Fortran order, want C order"},
		{with("<f4", "False", "(2,)"), `descr: want a quoted string, got "<f4`},
		{with(`'<f\4'`, "False", "(2,)"), "has no end"},
		{with("''", "False", "(2,)"), `element type "" is not supported`},
		{with("'!f4'", "False", "(2,)"), `element type "!f4" is not supported`},
		{with("'<f44'", "False", "(2,)"), `element type "<f44" is not supported`},
		{with("'<q4'", "False", "(2,)"), `element type "<q4" is not supported`},
		{with("[('a', '<f4')]", "False", "(2,)"), "descr: structured types are not supported"},
		{"{'descr' '<f4'}", `want ":", got "'<f4'}"`},
		{"{'descr': '<f4' 'shape': (2,)}", `want "}", got "'shape'`},
		{"{2: 3}", "want a quoted string"},
		{"{}", `key "descr" is missing`},
		{"", `want "{", got ""`},
		{"{", "want a quoted string, got \"\""},
	} {
		_, err := NewReader(strings.NewReader(file(c.header)))
		if err == nil || !strings.Contains(err.Error(), c.want) || !strings.HasPrefix(err.Error(), "header ") {
			t.Errorf("%s: error %v, want %q", c.header, err, c.want)
		}
	}
}

// '=' is the order of the machine that wrote it, which is taken to be one like ours.
func TestTheOrderOfBytesFollowsTheHeader(t *testing.T) {
	for _, c := range []struct {
		descr   string
		swapped bool
	}{{"<i2", !littleEndian()}, {">i2", littleEndian()}, {"=i2", false}, {"|i2", !littleEndian()}} {
		r, err := NewReader(strings.NewReader(file("{'descr': '"+c.descr+"', 'fortran_order': False, 'shape': (1,), }") + "\x01\x02"))
		if err != nil || r.Swapped() != c.swapped {
			t.Errorf("%s: %v, swapped: %v, want %v", c.descr, err, r.Swapped(), c.swapped)
			continue
		}
		dst := tensor.New(tensor.Int16, 1)
		want := int16(0x0201)
		if c.swapped {
			want = 0x0102
		}
		if err := r.Read(dst); err != nil || littleEndian() && tensor.Data[int16](dst)[0] != want {
			t.Errorf("%s is read as %04x, %v, want %04x", c.descr, tensor.Data[int16](dst)[0], err, want)
		}
	}
}

func TestAFileThatEndsInItsHeadSaysWhere(t *testing.T) {
	whole := file("{'descr': '<f4', 'fortran_order': False, 'shape': (2,), }") + "12345678"
	for n := range whole {
		a, err := readAll([]byte(whole[:n]))
		want := "reading float32[2]: unexpected EOF"
		switch {
		case n < 8:
			want = "reading the NumPy signature: "
		case n < 10:
			want = "reading the length of the header: "
		case n < len(whole)-8:
			want = "reading the header: "
		}
		if err == nil || !strings.HasPrefix(err.Error(), want) {
			t.Errorf("the first %d bytes are %v, %v, want an error with %q", n, a, err, want)
		}
	}
	if _, err := readAll([]byte(whole + "more")); err != nil {
		t.Errorf("bytes behind the array: %v", err)
	}
}

// A reader may give what it has in pieces, and none of it twice.
func TestReadTakesNoMoreThanTheArray(t *testing.T) {
	stream := strings.NewReader(file("{'descr': '<i2', 'fortran_order': False, 'shape': (2,), }") + "\x01\x00\x02\x00next")
	r, err := NewReader(iotest.OneByteReader(stream))
	if err != nil {
		t.Fatal(err)
	}
	dst := tensor.New(tensor.Int16, 2)
	if err := r.Read(dst); err != nil || !slices.Equal(tensor.Data[int16](dst), []int16{1, 2}) {
		t.Errorf("Read gives %v, %v", tensor.Data[int16](dst), err)
	}
	if rest, _ := io.ReadAll(stream); string(rest) != "next" {
		t.Errorf("behind the array there is %q, want %q", rest, "next")
	}
	if err := r.Read(tensor.New(tensor.Int16, 0)); err != nil {
		t.Errorf("no elements from the end: %v", err)
	}
}

func TestAReadThatAsksForTooMuchNamesWhatIsLeft(t *testing.T) {
	var buf bytes.Buffer
	if err := Write(&buf, tensor.Of([]int32{1, 2, 3}, 3)); err != nil {
		t.Fatal(err)
	}
	r, err := NewReader(&buf)
	if err != nil {
		t.Fatal(err)
	}
	if err := r.Read(tensor.New(tensor.Int32, 4)); err == nil || err.Error() != "array has 3 elements left, want 4" {
		t.Errorf("error %v", err)
	}
	if err := r.Read(tensor.New(tensor.Uint32, 3)); err == nil || err.Error() != "array has elements of type int32, want uint32" {
		t.Errorf("error %v", err)
	}
}

// full is a disk that has room for n bytes.
type full struct{ n int }

var errFull = errors.New("no space left")

func (f *full) Write(p []byte) (int, error) {
	if len(p) > f.n {
		return 0, errFull
	}
	f.n -= len(p)
	return len(p), nil
}

func TestErrorsOfWritingAreReturned(t *testing.T) {
	a := tensor.New(tensor.Float32, 2)
	for room, want := range map[int]string{0: "writing the header: no space left", 128: "writing float32[2]: no space left"} {
		if err := Write(&full{room}, a); !errors.Is(err, errFull) || err.Error() != want {
			t.Errorf("with room for %d bytes: %v, want %q", room, err, want)
		}
	}
	if err := Write(&full{136}, a); err != nil {
		t.Errorf("with room for all: %v", err)
	}
	name := filepath.Join(t.TempDir(), "no such folder", "a.npy")
	if err := WriteFile(name, a); err == nil || !strings.Contains(err.Error(), name) {
		t.Errorf("WriteFile = %v, want an error with %s", err, name)
	}
	name = filepath.Join(t.TempDir(), "a.npy")
	if err := WriteFile(name, tensor.New(tensor.String, 1)); err == nil || !strings.HasPrefix(err.Error(), name+": element type string") {
		t.Errorf("WriteFile of texts = %v", err)
	}
}

func TestAFileThatCannotBeReplacedStays(t *testing.T) {
	dir := t.TempDir()
	name := filepath.Join(dir, "a.npy")
	if err := WriteFile(name, tensor.New(tensor.Float32, 2)); err != nil {
		t.Fatal(err)
	}
	before, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	if err := WriteFile(name, tensor.New(tensor.String, 1)); err == nil {
		t.Error("texts are written")
	}
	if after, err := os.ReadFile(name); err != nil || !bytes.Equal(after, before) {
		t.Errorf("the file has become %q, %v", after, err)
	}
	if left, err := os.ReadDir(dir); err != nil || len(left) != 1 {
		t.Errorf("the folder has %v, %v", left, err)
	}
}
