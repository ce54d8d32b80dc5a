package onnx

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// outside is a model whose constant w, two float32, and one in an attribute are in data files.
func outside(entries ...Property) *Model {
	g := diamond()
	w := &Tensor{Name: "w_out", Type: Float32, Dims: []int64{2}, External: entries}
	g.Initializers = append(g.Initializers, w)
	inner := &Tensor{Name: "inner", Type: Int64, Dims: []int64{1}, External: []Property{{Key: "location", Value: "sub/more.data"}}}
	g.Nodes = append(g.Nodes, &Node{Name: "k", Op: "Constant", Outputs: []string{"k_out"}, Attributes: []Attribute{Attr("value", inner)}})
	return modelOf(g)
}

// folderOf writes a model with its data files, and returns its path.
func folderOf(t *testing.T, m *Model) string {
	t.Helper()
	path := writeModel(t, m)
	folder := filepath.Dir(path)
	if err := os.Mkdir(filepath.Join(folder, "sub"), 0o755); err != nil {
		t.Fatal(err)
	}
	for name, content := range map[string]string{"w.data": "....\x00\x00\x80\x3f\x00\x00\x00\x40", "sub/more.data": "\x07\x00\x00\x00\x00\x00\x00\x00"} {
		if err := os.WriteFile(filepath.Join(folder, name), []byte(content), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	return path
}

func at(location, offset, length string) []Property {
	return []Property{{Key: "location", Value: location}, {Key: "offset", Value: offset}, {Key: "length", Value: length}}
}

func TestReadWholeTakesInWhatIsInDataFiles(t *testing.T) {
	for _, entries := range [][]Property{at("w.data", "4", "8"), at("w.data", "4", "8")[:2]} {
		m, err := ReadWhole(folderOf(t, outside(entries...)))
		if err != nil {
			t.Fatal(err)
		}
		again := mustDecode(t, mustEncode(t, m)) // as one file
		w, err := Elements[float32](again.Graph.Index().Initializer("w_out"))
		if err != nil || w[0] != 1 || w[1] != 2 {
			t.Errorf("w_out is %v, %v, want [1 2]", w, err)
		}
		inner := AttrOr[*Tensor](again.Graph.Index().Producer("k_out"), "value", nil)
		if k, err := Elements[int64](inner); err != nil || k[0] != 7 {
			t.Errorf("the constant is %v, %v, want [7]", k, err)
		}
	}
}

func TestDataThatIsNotThereIsAnError(t *testing.T) {
	for want, entries := range map[string][]Property{
		`tensor "w_out": its data file: `:     at("none.data", "0", "8"),
		"is outside the model's folder":       at("../w.data", "0", "8"),
		"sub: is a folder":                    at("sub", "0", "8"),
		"4 bytes are in w.data, want 8":       at("w.data", "4", "4"),
		"0 bytes are in w.data, want 8":       at("w.data", "4", "0"),
		"has 12 bytes, want 8 from byte 6 on": at("w.data", "6", "8"),
		"from byte 99 on":                     at("w.data", "99", "8"),
		`offset "x" is no size`:               at("w.data", "x", "8"),
	} {
		if _, err := ReadWhole(folderOf(t, outside(entries...))); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("got %v, want an error with %q", err, want)
		}
	}
}

func TestElementsWithoutASizeAreNotTakenIn(t *testing.T) {
	for _, typ := range []ElemType{String, 99, Undefined} {
		m := outside(at("w.data", "0", "12")[:1]...) // to the end of the file
		m.Graph.Initializers[1].Type = typ
		_, err := ReadWhole(folderOf(t, m))
		if err == nil || !strings.Contains(err.Error(), `tensor "w_out": elements of type `+typ.String()+" have no size") {
			t.Errorf("ReadWhole with elements of %v = %v", typ, err)
		}
	}
}

func TestTensorsAreThoseOfAllGraphsAndAttributes(t *testing.T) {
	named := func(name string) *Tensor { return TensorOf(name, []float32{1}, 1) }
	body := diamond()
	body.Nodes[1].SetAttr("value", named("in a body"))
	body.SparseInitializers = []*SparseTensor{{Values: named("values"), Indices: named("indices")}}
	g := diamond()
	g.Nodes[0].SetAttr("one", named("attribute"))
	g.Nodes[0].SetAttr("many", []*Tensor{named("first"), named("second")})
	g.Nodes[0].SetAttr("sparse", &SparseTensor{Values: named("alone")})
	g.Nodes[0].SetAttr("sparses", []*SparseTensor{{Values: named("listed")}})
	g.Nodes[3].SetAttr("bodies", []*Graph{body})
	var got []string
	for tensor := range modelOf(g).Tensors() {
		got = append(got, tensor.Name)
	}
	slices.Sort(got)
	want := []string{"alone", "attribute", "first", "in a body", "indices", "listed", "second", "values", "w", "w"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("Tensors() (-want +got):\n%s", diff)
	}
	for range modelOf(g).Tensors() {
		break // must not go on
	}
}

// Elements are read when they are wanted. By then anything may lie where the file was.
func TestElementsOfAFileThatIsNoLongerTheSameAreAnError(t *testing.T) {
	for _, c := range []struct {
		name, want string
		change     func(path string) error
	}{
		{"gone", "no such file", os.Remove},
		{"another size", "has changed since it was read", func(path string) error { return os.Truncate(path, 100) }},
		{"another time", "has changed since it was read", func(path string) error { return os.Chtimes(path, time.Time{}, time.Unix(1, 0)) }},
		{"a pipe that nobody writes to", "is a pipe", func(path string) error {
			return errors.Join(os.Remove(path), syscall.Mkfifo(path, 0o600))
		}},
	} {
		t.Run(c.name, func(t *testing.T) {
			path := writeModel(t, bigModel())
			big := mustRead(t, path).Graph.Index().Initializer("big")
			if err := c.change(path); err != nil {
				t.Fatal(err)
			}
			if _, err := big.Bytes(); err == nil || !strings.Contains(err.Error(), c.want) || !strings.Contains(err.Error(), `tensor "big"`) {
				t.Errorf("Bytes() = %v, want tensor \"big\" and %q", err, c.want)
			}
		})
	}
}

func TestAFingerprintSaysWhichTensorNamesNoFile(t *testing.T) {
	for want, entries := range map[string][]Property{
		`reading model.onnx: tensor "w_out": its data file "../w.data" is outside the model's folder`: at("../w.data", "0", "8"),
		`reading model.onnx: tensor "w_out": its data file "/etc/passwd" is outside`:                  at("/etc/passwd", "0", "8"),
		`reading model.onnx: tensor "w_out": external data without a location`:                        {{Key: "offset", Value: "0"}},
		`reading model.onnx: tensor "w_out": its data file: `:                                         at("none", "0", "8"),
	} {
		if _, err := FingerprintOf(t.Context(), folderOf(t, outside(entries...))); err == nil || !strings.HasPrefix(err.Error(), want) {
			t.Errorf("got %v, want %q", err, want)
		}
	}
}

func sha(text string) string {
	sum := sha256.Sum256([]byte(text))
	return hex.EncodeToString(sum[:])
}

func TestAFingerprintIsThatOfTheFileIfThereIsNoOther(t *testing.T) {
	for _, content := range []string{string(mustEncode(t, modelOf(diamond()))), "no model", ""} {
		path := filepath.Join(t.TempDir(), "model.onnx")
		if err := os.WriteFile(path, []byte(content), 0o644); err != nil {
			t.Fatal(err)
		}
		got, err := FingerprintOf(t.Context(), path)
		if diff := cmp.Diff(Fingerprint{SHA256: sha(content), Bytes: int64(len(content))}, got); diff != "" || err != nil {
			t.Errorf("%v, (-want +got):\n%s", err, diff)
		}
	}
}

func TestAFingerprintIsOfAllFilesOfAModel(t *testing.T) {
	path := folderOf(t, outside(at("w.data", "4", "8")...))
	before, err := FingerprintOf(t.Context(), path)
	if err != nil {
		t.Fatal(err)
	}
	folder := filepath.Dir(path)
	read := func(name string) string {
		content, err := os.ReadFile(filepath.Join(folder, name))
		if err != nil {
			t.Fatal(err)
		}
		return string(content)
	}
	whole, more, w := read(filepath.Base(path)), read("sub/more.data"), read("w.data")
	want := Fingerprint{
		SHA256: sha(fmt.Sprintf("%s\n%s sub/more.data\n%s w.data\n", sha(whole), sha(more), sha(w))),
		Bytes:  int64(len(whole) + len(more) + len(w)), Data: []string{"sub/more.data", "w.data"},
	}
	if diff := cmp.Diff(want, before); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if err := os.WriteFile(filepath.Join(folder, "w.data"), []byte("....\x00\x00\x00\x40\x00\x00\x80\x3f"), 0o644); err != nil {
		t.Fatal(err)
	}
	if after, err := FingerprintOf(t.Context(), path); err != nil || after.SHA256 == before.SHA256 {
		t.Errorf("with other data the fingerprint is %v, %v, the same as before", after, err)
	}
	ctx, cancel := context.WithCancelCause(t.Context())
	enough := errors.New("enough")
	cancel(enough)
	if _, err := FingerprintOf(ctx, path); !errors.Is(err, enough) {
		t.Errorf("got %v, want the context's cause", err)
	}
}

func TestAFingerprintNeedsAllFiles(t *testing.T) {
	for _, path := range []string{t.TempDir(), os.DevNull, filepath.Join(t.TempDir(), "none"), folderOf(t, outside(at("none.data", "0", "8")...))} {
		if f, err := FingerprintOf(t.Context(), path); err == nil {
			t.Errorf("the fingerprint of %s is %+v, want an error", path, f)
		}
	}
}

// Several tensors may lie in one file, beside each other or over each other, and one may have no elements.
func TestTensorsMayShareADataFile(t *testing.T) {
	g := diamond()
	for i, entries := range [][]Property{at("w.data", "4", "4"), at("w.data", "8", "4"), at("w.data", "4", "8"), at("w.data", "12", "0")} {
		dims := []int64{[]int64{1, 1, 2, 0}[i]}
		g.Initializers = append(g.Initializers, &Tensor{Name: fmt.Sprint("part", i), Type: Float32, Dims: dims, External: entries})
	}
	path := folderOf(t, modelOf(g))
	m, err := ReadWhole(path)
	if err != nil {
		t.Fatal(err)
	}
	for i, want := range [][]float32{{1}, {2}, {1, 2}, {}} {
		got, err := Elements[float32](m.Graph.Index().Initializer(fmt.Sprint("part", i)))
		if diff := cmp.Diff(want, got); err != nil || diff != "" {
			t.Errorf("tensor %d: %v (-want +got):\n%s", i, err, diff)
		}
	}
	if f, err := FingerprintOf(t.Context(), path); err != nil || len(f.Data) != 1 {
		t.Errorf("the fingerprint names %v, %v, want one file", f.Data, err)
	}
}

// Places outside of the model's folder are refused in all spellings; a link in the folder may lead anywhere, as the
// caches of model hubs have it.
func TestDataFilesLieInTheFolderOfTheirModel(t *testing.T) {
	for _, location := range []string{"../w.data", "/w.data", "sub/../../w.data", "..", "."} {
		_, err := ReadWhole(folderOf(t, outside(at(location, "4", "8")...)))
		if err == nil || !strings.Contains(err.Error(), `tensor "w_out": `) {
			t.Errorf("ReadWhole with %q = %v", location, err)
		}
	}
	for _, location := range []string{"./w.data", "sub/../w.data", "sub/linked"} {
		path := folderOf(t, outside(at(location, "4", "8")...))
		if err := os.Symlink("../w.data", filepath.Join(filepath.Dir(path), "sub", "linked")); err != nil {
			t.Fatal(err)
		}
		m, err := ReadWhole(path)
		if err != nil {
			t.Fatal(err)
		}
		if w, err := Elements[float32](m.Graph.Index().Initializer("w_out")); err != nil || w[1] != 2 {
			t.Errorf("of %q elements are %v, %v", location, w, err)
		}
	}
}

// A place of many digits must not become another one by overflow.
func TestPlacesBeyondAllFilesAreErrors(t *testing.T) {
	for _, c := range []struct{ offset, length, want string }{
		{"9223372036854775807", "8", "from byte 9223372036854775807 on"},
		{"9223372036854775808", "8", `offset "9223372036854775808" is no size`},
		{"4", "18446744073709551624", `length "18446744073709551624" is no size`},
		{"-4", "8", `offset "-4" is no size`},
		{"0x4", "8", `offset "0x4" is no size`},
		{" 4", "8", `offset " 4" is no size`},
		{"", "8", `offset "" is no size`},
	} {
		_, err := ReadWhole(folderOf(t, outside(at("w.data", c.offset, c.length)...)))
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("offset %q, length %q: %v, want %s", c.offset, c.length, err, c.want)
		}
	}
}
