package npy

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/mlperf-go/mlperf/internal/tensor"
)

// A sample is an array that NumPy has written; see testdata/README.md.
type sample struct {
	Name, DType string
	Shape       tensor.Shape
	File, Bytes []byte
}

func samples(t testing.TB, file string) []sample {
	t.Helper()
	raw, err := os.ReadFile(filepath.Join("testdata", file))
	if err != nil {
		t.Fatal(err)
	}
	var list []sample
	if err := json.Unmarshal(raw, &list); err != nil {
		t.Fatal(err)
	}
	return list
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
	if t.Len() == 0 {
		return t, nil
	}
	return t, r.Read(t)
}

func TestReadGivesWhatNumPyWrote(t *testing.T) {
	for _, s := range samples(t, "numpy.json") {
		t.Run(s.Name, func(t *testing.T) {
			got, err := readAll(s.File)
			if err != nil {
				t.Fatal(err)
			}
			if got.Type.String() != s.DType || !slices.Equal(got.Shape, s.Shape) {
				t.Errorf("Read gives %v, want %s%v", got, s.DType, s.Shape)
			}
			if !bytes.Equal(got.Bytes(), s.Bytes) {
				t.Errorf("elements are % X, want % X", got.Bytes(), s.Bytes)
			}
		})
	}
}

func TestWriteGivesTheBytesThatNumPyWrites(t *testing.T) {
	for _, s := range samples(t, "numpy.json") {
		if s.File[6] != 1 || strings.Contains(s.Name, "big-endian") {
			continue // we write version 1 and little-endian only
		}
		t.Run(s.Name, func(t *testing.T) {
			a, err := readAll(s.File)
			if err != nil {
				t.Fatal(err)
			}
			var got bytes.Buffer
			if err := Write(&got, a); err != nil {
				t.Fatal(err)
			}
			if !bytes.Equal(got.Bytes(), s.File) {
				t.Errorf("write gives %q, want %q", got.Bytes(), s.File)
			}
		})
	}
}

func TestReadRefusesArraysThatATensorCannotHold(t *testing.T) {
	want := map[string]string{
		"Fortran order":     "Fortran order",
		"complex numbers":   `"<c8"`,
		"text":              `"<U2"`,
		"a structured type": "structured types are not supported",
		"objects":           `"|O"`,
		"dates":             `"<M8[D]"`,
		"long doubles":      `"<f16"`,
	}
	for _, s := range samples(t, "refused.json") {
		t.Run(s.Name, func(t *testing.T) {
			_, err := readAll(s.File)
			if err == nil || !strings.Contains(err.Error(), want[s.Name]) {
				t.Errorf("Read fails with %v, want an error with %q", err, want[s.Name])
			}
		})
	}
}

func file(header string) string {
	return magic + "\x01\x00" + string([]byte{byte(len(header)), byte(len(header) >> 8)}) + header
}

func TestReadNamesWhatIsWrongWithAFile(t *testing.T) {
	const good = "{'descr': '<f4', 'fortran_order': False, 'shape': (2,), }"
	tests := []struct{ name, file, want string }{
		{"an empty file", "", "signature"},
		{"another kind of file", "\xFF\xD8\xFF\xE0\x00\x10JFIF", "FF D8 FF"},
		{"an unknown version", magic + "\x09\x00", "version is 9"},
		{"a header cut off", file(good)[:20], "reading the header"},
		{"a header that is too long", magic + "\x02\x00\xFF\xFF\xFF\x7F", "at most 65535"},
		{"elements cut off", file(good) + "1234567", "unexpected EOF"},
		{"more elements than can be counted", file("{'descr': '<f4', 'fortran_order': False, 'shape': (9999999999, 9999999999)}"), "too large"},
		{"a negative axis", file("{'descr': '<f4', 'fortran_order': False, 'shape': (-1,)}"), "want a number"},
		{"no dictionary", file("[1, 2]"), `want "{"`},
		{"a missing key", file("{'descr': '<f4', 'shape': (2,)}"), `"fortran_order" is missing`},
		{"a key twice", file("{'shape': (2,), 'shape': (2,)}"), "twice"},
		{"an unknown key", file("{'order': 'C'}"), "not known"},
		{"text behind the dictionary", file(good + "x"), "behind the dictionary"},
		{"a number instead of a tuple", file("{'descr': '<f4', 'fortran_order': False, 'shape': (2)}"), "comma"},
		{"a string without end", file("{'descr"), "no end"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			_, err := readAll([]byte(tt.file))
			if err == nil || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("Read fails with %v, want an error with %q", err, tt.want)
			}
		})
	}
}

func TestReadUnderstandsHeadersOfOtherWriters(t *testing.T) {
	for _, header := range []string{
		`{"shape":(2,),"fortran_order":False,"descr":"<f4"}`,
		" { 'descr' : '<f4' , 'fortran_order' : False , 'shape' : ( 2L , ) } \n",
	} {
		got, err := readAll([]byte(file(header) + "12345678"))
		if err != nil || got.Type != tensor.Float32 || !slices.Equal(got.Shape, tensor.Shape{2}) {
			t.Errorf("Read of %q gives %v, %v", header, got, err)
		}
	}
}

func TestReadWorksInPieces(t *testing.T) {
	rows := tensor.Of([]int32{1, 2, 3, 4, 5, 6}, 3, 2)
	var buf bytes.Buffer
	if err := Write(&buf, rows); err != nil {
		t.Fatal(err)
	}
	r, err := NewReader(&buf)
	if err != nil {
		t.Fatal(err)
	}
	two := tensor.New(tensor.Int32, 2, 2)
	if err := r.Read(two); err != nil || !slices.Equal(tensor.Data[int32](two), []int32{1, 2, 3, 4}) {
		t.Errorf("Read of two rows gives %v, %v", tensor.Data[int32](two), err)
	}
	if err := r.Read(two); err == nil {
		t.Error("Read of two rows where one is left does not fail")
	}
	if err := r.Read(tensor.New(tensor.Float32, 2)); err == nil {
		t.Error("Read of another type does not fail")
	}
	if err := r.Read(two.Rows(0, 1)); err != nil || tensor.Data[int32](two)[1] != 6 {
		t.Errorf("Read of the last row gives %v, %v", tensor.Data[int32](two), err)
	}
	if err := r.Read(two.Rows(0, 1)); !errors.Is(err, io.EOF) {
		t.Errorf("Read at the end gives %v, want %v", err, io.EOF)
	}
}

func TestFilesSurviveARoundTrip(t *testing.T) {
	name := filepath.Join(t.TempDir(), "a.npy")
	want := tensor.New(tensor.Float32, 700, 1000) // more than is read in one step
	for i, data := 0, tensor.Data[float32](want); i < len(data); i++ {
		data[i] = float32(i)
	}
	if err := WriteFile(name, want); err != nil {
		t.Fatal(err)
	}
	data, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	got, err := readAll(data)
	if err != nil || got.String() != want.String() || !bytes.Equal(got.Bytes(), want.Bytes()) {
		t.Errorf("the file holds %v, %v, want %v", got, err, want)
	}
}

func TestWriteRefusesTypesThatNumPyLacks(t *testing.T) {
	for _, d := range []tensor.DType{tensor.BFloat16, tensor.String} {
		err := Write(io.Discard, tensor.New(d, 1))
		if err == nil || !strings.Contains(err.Error(), d.String()) {
			t.Errorf("write of %v fails with %v", d, err)
		}
	}
}

// What Read accepts survives a round trip.
func FuzzRead(f *testing.F) {
	for _, s := range append(samples(f, "numpy.json"), samples(f, "refused.json")...) {
		f.Add(s.File)
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		a, err := readAll(data)
		if err != nil {
			return
		}
		var buf bytes.Buffer
		if err := Write(&buf, a); err != nil {
			if strings.Contains(err.Error(), "too long for a header") {
				return
			}
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
