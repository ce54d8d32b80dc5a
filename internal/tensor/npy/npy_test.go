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

	"github.com/mlperf-go/mlperf/internal/tensor"
	"github.com/mlperf-go/mlperf/internal/testenv"
)

// A sample is an array that NumPy has written; see testdata/README.md.
type sample struct {
	Name, DType string
	Shape       tensor.Shape
	File, Bytes []byte
	Texts       []string
}

// readAll reads a whole array from the bytes of a file.
func readAll(file []byte) (tensor.Tensor, error) {
	r, err := NewReader(bytes.NewReader(file))
	if err != nil {
		return tensor.Tensor{}, err
	}
	if r.left > 1<<24 {
		return tensor.Tensor{}, errors.New("more than these tests have memory for")
	}
	t := tensor.New(r.Type, r.Shape...)
	return t, r.Read(t)
}

func TestReadAndWriteAsNumPy(t *testing.T) {
	for _, s := range testenv.JSON[[]sample](t, "testdata/numpy.json") {
		got, err := readAll(s.File)
		if err != nil {
			t.Fatalf("%s: %v", s.Name, err)
		}
		if got.Type.String() != s.DType || !slices.Equal(got.Shape, s.Shape) || !bytes.Equal(got.Bytes(), s.Bytes) {
			t.Errorf("%s: Read gives %v with % X, want %s%v with % X", s.Name, got, got.Bytes(), s.DType, s.Shape, s.Bytes)
		}
		if s.File[6] != 1 || strings.Contains(s.Name, "big-endian") {
			continue // Write writes version 1, little-endian
		}
		var written bytes.Buffer
		if err := Write(&written, got); err != nil || !bytes.Equal(written.Bytes(), s.File) {
			t.Errorf("%s: Write gives %q, %v, want %q", s.Name, written.Bytes(), err, s.File)
		}
	}
}

// Texts as NumPy writes them: bytes and Unicode, of either byte order.
func TestReadTexts(t *testing.T) {
	for _, s := range testenv.JSON[[]sample](t, "testdata/texts.json") {
		r, err := NewTextReader(bytes.NewReader(s.File))
		testenv.Must(t, err)
		got := tensor.New(r.Type, r.Shape...)
		testenv.Must(t, r.Read(got))
		if !slices.Equal(got.Strings(), s.Texts) || !slices.Equal(got.Shape, s.Shape) || r.Bytes() != 0 {
			t.Errorf("%s: %v %q, want %v %q", s.Name, got.Shape, got.Strings(), s.Shape, s.Texts)
		}
		if err := r.Read(tensor.New(tensor.String, 1)); !errors.Is(err, io.EOF) {
			t.Errorf("%s: behind the last text: %v", s.Name, err)
		}
		r, err = NewTextReader(bytes.NewReader(s.File[:len(s.File)-1]))
		testenv.Must(t, err)
		if err := r.Read(got); !errors.Is(err, io.ErrUnexpectedEOF) {
			t.Errorf("%s: of a file that is cut off: %v", s.Name, err)
		}
		if _, err := NewReader(bytes.NewReader(s.File)); !testenv.Names(err, "element type") {
			t.Errorf("%s: as numbers: %v", s.Name, err)
		}
	}
}

func TestHeadersAsNumPy(t *testing.T) {
	for _, s := range testenv.JSON[[]sample](t, "testdata/headers.json") {
		for d, code := range codes {
			if code != s.DType[1:] {
				continue
			}
			if got, err := encodeHeader(d, s.Shape); err != nil || !bytes.Equal(got, s.File) {
				t.Errorf("the header of %s%v is %q, %v, want %q", s.DType, s.Shape, got, err, s.File)
			}
		}
	}
}

func file(header string) string {
	return magic + "\x01\x00" + string([]byte{byte(len(header)), byte(len(header) >> 8)}) + header
}

func TestReadErrors(t *testing.T) {
	const good = "{'descr': '<f4', 'fortran_order': False, 'shape': (2,), }"
	tests := []struct{ name, file, want string }{
		{"empty file", "", "reading the NumPy signature"},
		{"JPEG", "\xFF\xD8\xFF\xE0\x00\x10JFIF", "FF D8 FF"},
		{"version", magic + "\x09\x00", "version is 9: must be 1 to 3"},
		{"no length", magic + "\x01\x00\x10", "reading the length of the header"},
		{"truncated header", file(good)[:20], "reading the header: unexpected EOF"},
		{"long header", magic + "\x02\x00\xFF\xFF\xFF\x7F", "expected at most 65536"},
		{"no elements", file(good), "reading float32[2]: unexpected EOF"},
		{"truncated elements", file(good) + "1234567", "reading float32[2]: unexpected EOF"},
		{"too many elements", file("{'descr': '<f4', 'fortran_order': False, 'shape': (9999999999, 9999999999)}"), "shape [9999999999 9999999999] is too large"},
		{"axis too long", file("{'descr': '<f4', 'fortran_order': False, 'shape': (99999999999999999999,)}"), "value out of range"},
		{"negative axis", file("{'descr': '<f4', 'fortran_order': False, 'shape': (-1,)}"), "expected the keys"},
		{"no fortran_order", file("{'descr': '<f4', 'shape': (2,)}"), "expected the keys"},
	}
	for _, s := range testenv.JSON[[]sample](t, "testdata/refused.json") {
		want := map[string]string{
			"Fortran order": "Fortran order: must be C order", "complex numbers": `"<c8"`, "text": `"<U2"`,
			"objects": `"|O"`, "long doubles": `"<f16"`,
			"a structured type": `element type "" is not supported`, "dates": "expected the keys",
		}[s.Name]
		tests = append(tests, struct{ name, file, want string }{s.Name, string(s.File), want})
	}
	for _, c := range tests {
		if _, err := readAll([]byte(c.file)); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: error %v, want %q", c.name, err, c.want)
		}
	}
}

func TestReadHeadersOfOtherWriters(t *testing.T) {
	for _, header := range []string{
		`{"shape":(2,),"fortran_order":False,"descr":"<f4"}`,
		" { 'descr' : '<f4' , 'fortran_order' : False , 'shape' : ( 2L , ) } \n",
	} {
		got, err := readAll([]byte(file(header) + "12345678"))
		if err != nil || got.String() != "float32[2]" {
			t.Errorf("Read of %q gives %v, %v", header, got, err)
		}
	}
}

func TestReadInPieces(t *testing.T) {
	var buf bytes.Buffer
	if err := Write(&buf, tensor.Of([]int32{1, 2, 3, 4, 5, 6}, 3, 2)); err != nil {
		t.Fatal(err)
	}
	buf.WriteString("next")
	r, err := NewReader(&buf)
	if err != nil {
		t.Fatal(err)
	}
	two := tensor.New(tensor.Int32, 2, 2)
	if err := r.Read(two); err != nil || !slices.Equal(tensor.Data[int32](two), []int32{1, 2, 3, 4}) {
		t.Errorf("Read of two rows gives %v, %v", tensor.Data[int32](two), err)
	}
	if err := r.Read(two); !testenv.Names(err, "2 elements … 4") {
		t.Errorf("Read of too many rows: error %v", err)
	}
	if err := r.Read(tensor.New(tensor.Float32, 2)); !testenv.Names(err, "int32 … float32") {
		t.Errorf("Read of another type: error %v", err)
	}
	if err := r.Read(two.Rows(0, 1)); err != nil || tensor.Data[int32](two)[1] != 6 {
		t.Errorf("Read of the last row gives %v, %v", tensor.Data[int32](two), err)
	}
	if err := r.Read(two.Rows(0, 1)); !errors.Is(err, io.EOF) || buf.String() != "next" {
		t.Errorf("Read at the end gives %v, want %v; %q follows the array, want next", err, io.EOF, buf.String())
	}
}

func TestWriteFile(t *testing.T) {
	name := filepath.Join(t.TempDir(), "a.npy")
	want := tensor.Of([]float32{1, 2, 3}, 3)
	if err := WriteFile(name, want); err != nil {
		t.Fatal(err)
	}
	if err := WriteFile(name, tensor.New(tensor.BFloat16, 1)); !testenv.Names(err, name+" … bfloat16") {
		t.Errorf("WriteFile of bfloat16: error %v", err)
	}
	data, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	if got, err := readAll(data); err != nil || !bytes.Equal(got.Bytes(), want.Bytes()) {
		t.Errorf("the file holds %v, %v, want %v", got, err, want)
	}
}

// What Read accepts survives a round trip.
func FuzzRead(f *testing.F) {
	for _, s := range append(testenv.JSON[[]sample](f, "testdata/numpy.json"), testenv.JSON[[]sample](f, "testdata/refused.json")...) {
		f.Add(s.File)
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		if r, err := NewTextReader(bytes.NewReader(data)); err == nil && r.Type == tensor.String && r.Bytes() <= int64(len(data)) {
			texts := tensor.New(tensor.String, r.Shape...)
			if err := r.Read(texts); err == nil && r.Bytes() != 0 {
				t.Errorf("%d bytes are left of %v", r.Bytes(), texts)
			}
		}
		a, err := readAll(data)
		if err != nil || len(a.Shape) > 64 { // NumPy's limit
			return
		}
		var buf bytes.Buffer
		if err := Write(&buf, a); err != nil {
			t.Fatal(err)
		}
		b, err := readAll(buf.Bytes())
		if err != nil || a.String() != b.String() || !bytes.Equal(a.Bytes(), b.Bytes()) {
			t.Fatalf("%v became %v, %v", a, b, err)
		}
	})
}

func BenchmarkRead(b *testing.B) {
	var buf bytes.Buffer
	if err := Write(&buf, tensor.New(tensor.Float32, 3, 224, 224)); err != nil {
		b.Fatal(err)
	}
	dst := tensor.New(tensor.Float32, 3, 224, 224)
	b.ReportAllocs()
	b.SetBytes(int64(buf.Len()))
	for b.Loop() {
		r, err := NewReader(bytes.NewReader(buf.Bytes()))
		if err != nil {
			b.Fatal(err)
		}
		if err := r.Read(dst); err != nil {
			b.Fatal(err)
		}
	}
}
