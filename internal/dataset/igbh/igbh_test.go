package igbh

import (
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/mlperf-go/mlperf/internal/tensor"
	"github.com/mlperf-go/mlperf/internal/tensor/npy"
	"github.com/mlperf-go/mlperf/internal/testenv"
)

// golden is what the official code made of testdata/igbh (testdata/make.py).
type golden struct {
	Before     map[string]int `json:"edges_before_build"`
	Graph      map[string]int `json:"edges_in_graph"`
	Types      []string       `json:"etypes_in_order"`
	Validation []int64        `json:"val_idx"`
	Official   map[string]struct {
		N     int64
		First []int64
		Last  int64
		Len   int
		SHA   string   `json:"sha256_int64le"`
		Perm  []uint32 `json:"perm_first"`
	} `json:"official_val_idx"`
}

func TestValidationIsThatOfTorch(t *testing.T) {
	for size, want := range testenv.JSON[golden](t, "testdata/expected.json").Official {
		if want.N > 1_000_000 && !testenv.Long() {
			continue
		}
		got := Validation(want.N)
		var data []byte
		for _, v := range got {
			data = binary.LittleEndian.AppendUint64(data, uint64(v))
		}
		sum := sha256.Sum256(data)
		if hex.EncodeToString(sum[:]) != want.SHA || len(got) != want.Len || !slices.Equal(got[:8], want.First) || got[len(got)-1] != want.Last {
			t.Errorf("%s: %d papers, %v to %v, SHA-256 %x, want %d, %v to %d, %s", size, len(got), got[:8], got[len(got)-1], sum, want.Len, want.First, want.Last, want.SHA)
		}
		if first := Permutation(int(want.N), 5); !slices.Equal(first, want.Perm) { // calibration/IGBH/calibration.txt begins so
			t.Errorf("%s: the permutation begins with %v, want %v", size, first, want.Perm)
		}
	}
	if n := labelled(fullPapers); n != testenv.JSON[golden](t, "testdata/expected.json").Official["full"].N {
		t.Errorf("%d of %d papers have labels", n, fullPapers)
	}
}

// copyOf copies the golden folder, with some files changed.
func copyOf(t testing.TB, change map[string]func([]byte) []byte) string {
	t.Helper()
	dir := t.TempDir()
	testenv.Must(t, os.CopyFS(dir, os.DirFS("testdata/igbh")))
	for name, f := range change {
		path := filepath.Join(dir, "tiny/processed", filepath.FromSlash(name))
		data := f(testenv.Read(t, path))
		testenv.Must(t, os.Remove(path))
		if data != nil {
			testenv.Must(t, os.WriteFile(path, data, 0o644))
		}
	}
	return dir
}

func TestGraphIsThatOfDGL(t *testing.T) {
	want := testenv.JSON[golden](t, "testdata/expected.json")
	for _, dir := range []string{"testdata/igbh", "testdata/igbh/tiny", "testdata/igbh/tiny/processed"} {
		d, err := Open(dir, "")
		if err != nil {
			t.Fatal(err)
		}
		if !slices.Equal(d.Papers, want.Validation) || d.Drawn || d.Width() != 16 || d.Nodes(Author) != 160 {
			t.Errorf("%s: samples %v, %d numbers, %d authors", dir, d.Papers, d.Width(), d.Nodes(Author))
		}
	}
	d, err := Open("testdata/igbh", "tiny")
	if err != nil {
		t.Fatal(err)
	}
	g, err := d.Graph()
	if err != nil {
		t.Fatal(err)
	}
	counts, names := map[string]int{}, []string{}
	for i, r := range Relations() {
		name := strings.ReplaceAll(r.String(), "__", "/")
		names, counts[name] = append(names, name), len(g[i].sources)
	}
	if diff := cmp.Diff(want.Graph, counts) + cmp.Diff(want.Types, names); diff != "" {
		t.Error(diff)
	}
	for paper := range uint32(d.Nodes(Paper)) {
		loops := 0
		for _, from := range g[slices.Index(names, "paper/cites/paper")].Into(paper) {
			if from == paper {
				loops++
			}
		}
		if loops != 1 {
			t.Errorf("paper %d has %d edges from itself, want 1", paper, loops)
		}
	}
}

// The edges of a relation and its reverse are those of the file, in its order.
func TestEdgesAreThoseOfTheFile(t *testing.T) {
	d, err := Open("testdata/igbh", "")
	if err != nil {
		t.Fatal(err)
	}
	g, err := d.Graph()
	if err != nil {
		t.Fatal(err)
	}
	list := slices.Index(Relations(), Relation{Paper, "written_by", Author})
	back := slices.Index(Relations(), Relation{Author, "rev_written_by", Paper})
	authors, papers := map[uint32][]uint32{}, map[uint32][]uint32{}
	testenv.Must(t, d.eachEdge(Relations()[list], func(paper, author uint32) {
		authors[author], papers[paper] = append(authors[author], paper), append(papers[paper], author)
	}))
	for author := range uint32(d.Nodes(Author)) {
		if got := g[list].Into(author); !slices.Equal(got, authors[author]) {
			t.Errorf("author %d wrote %v, want %v", author, got, authors[author])
		}
	}
	for paper := range uint32(d.Nodes(Paper)) {
		if got := g[back].Into(paper); !slices.Equal(got, papers[paper]) {
			t.Errorf("paper %d is by %v, want %v", paper, got, papers[paper])
		}
	}
}

// headless takes the header of NumPy away.
func headless(data []byte) []byte { return data[128:] }

func TestFilesWithoutHeader(t *testing.T) {
	dir := copyOf(t, map[string]func([]byte) []byte{"paper/node_label_2K.npy": headless, ValidationFile: func([]byte) []byte { return nil }})
	with, err := OpenTruth("testdata/igbh", "")
	if err != nil {
		t.Fatal(err)
	}
	without, err := OpenTruth(dir, "")
	if err != nil {
		t.Fatal(err)
	}
	a, err := with.Labels()
	b, err2 := without.Labels()
	if err != nil || err2 != nil || len(b) != 1 || !without.Drawn { // half a percent of 240
		t.Fatalf("%d labels, %d labels, %v, %v", len(a), len(b), err, err2)
	}
	if a[0] != b[0] || without.Papers[0] != with.Papers[0] {
		t.Errorf("the label of paper %d is %d, that of paper %d is %d", with.Papers[0], a[0], without.Papers[0], b[0])
	}
	raw, err := parseArray(bytes.NewReader(make([]byte, 3*4*Features)), 3*4*Features, 0)
	if err != nil || raw.rows != 3 || raw.width != Features || raw.first != 0 {
		t.Errorf("features without a header: %+v, %v", raw, err)
	}
}

func TestFeaturesAreRead(t *testing.T) {
	d, err := Open("testdata/igbh", "")
	if err != nil {
		t.Fatal(err)
	}
	f, err := os.Open("testdata/igbh/tiny/processed/fos/node_feat.npy")
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	r, err := npy.NewReader(f)
	if err != nil {
		t.Fatal(err)
	}
	all := tensor.New(tensor.Float32, r.Shape...)
	testenv.Must(t, r.Read(all))
	got := make([]float32, 32)
	features, err := d.Reader()
	testenv.Must(t, err)
	defer features.Close()
	testenv.Must(t, features.Read(Field, []uint32{39, 7}, got))
	if want := slices.Concat(tensor.Data[float32](all)[39*16:], tensor.Data[float32](all)[7*16:8*16]); !slices.Equal(got, want) {
		t.Errorf("rows 39 and 7 are %v, want %v", got, want)
	}
	if err := features.Read(Field, []uint32{40}, got); err == nil || !strings.Contains(err.Error(), "no node 40, it has 40") {
		t.Errorf("a node that is not there: %v", err)
	}
}

func TestBadFilesAreNamed(t *testing.T) {
	gone := func([]byte) []byte { return nil }
	cut := func(data []byte) []byte { return data[:len(data)-1] }
	set := func(at int, bytes ...byte) func([]byte) []byte {
		return func(data []byte) []byte { copy(data[at:], bytes); return data }
	}
	replace := func(old, new string) func([]byte) []byte {
		return func(data []byte) []byte { return []byte(strings.Replace(string(data), old, new, 1)) }
	}
	nan := []byte{0, 0, 0xc0, 0x7f}
	for _, c := range []struct {
		name, file string
		change     func([]byte) []byte
		want       string
	}{
		{"no features", "fos/node_feat.npy", gone, "no such file"},
		{"features cut off", "paper/node_feat.npy", cut, "is cut off"},
		{"features that are no numbers", "paper/node_feat.npy", set(128+4*(16*199+3), nan...), "number 3 of node 199 is NaN"},
		{"features of another type", "fos/node_feat.npy", replace("<f4", "<f8"), "is float64[40 16]: must be little-endian float32[N 1024]"},
		{"features of another width", "fos/node_feat.npy", replace("(40, 16)", "(80, 8) "), "has 8 numbers of a node"},
		{"features without a header and of another length", "fos/node_feat.npy", headless, "without NumPy's header are not float32[N 1024]"},
		{"an empty file", "fos/node_feat.npy", func([]byte) []byte { return []byte{} }, "0 bytes without NumPy's header"},
		{"labels cut off", "paper/node_label_2K.npy", cut, "is cut off"},
		{"a label that is no class", "paper/node_label_2K.npy", set(128+4*199, nan...), "the label of paper 199 is NaN: must be a class"},
		{"a label below 0", "paper/node_label_2K.npy", set(128+4*199+3, 0xc1), "must be a class"},
		{"no edges", "paper__topic__fos/edge_index.npy", gone, "no such file"},
		{"edges cut off", "paper__topic__fos/edge_index.npy", cut, "the array is cut off"},
		{"edges of another shape", "paper__topic__fos/edge_index.npy", replace("(481, 2)", "(962,)  "), "must be int64[N 2]"},
		{"an edge from nowhere", "paper__topic__fos/edge_index.npy", set(128, 0, 1), "edge 0 goes from paper 256 to fos"},
		{"an edge to nowhere", "paper__topic__fos/edge_index.npy", set(128+16+8, 40), "edge 1 goes from paper"},
		{"a validation set that is no archive", ValidationFile, cut, "val_idx.pt: not an archive of torch.save"},
		{"a paper that is not there", "paper/node_label_2K.npy", replace("(240,)", "(199,)"), "entry 0 is paper 199, "},
	} {
		t.Run(c.name, func(t *testing.T) {
			dir := copyOf(t, map[string]func([]byte) []byte{c.file: c.change})
			d, err := Open(dir, "")
			if err == nil {
				_, err = d.Labels()
			}
			if err == nil {
				var r *Reader
				if r, err = d.Reader(); err == nil {
					err = r.Read(Paper, []uint32{199}, make([]float32, 16))
					testenv.Must(t, r.Close())
				}
			}
			if err == nil {
				_, err = d.Graph()
			}
			if err == nil || !strings.Contains(err.Error(), c.want) || !strings.Contains(err.Error(), filepath.FromSlash(c.file)) {
				t.Errorf("error %v, want %s and %q", err, c.file, c.want)
			}
		})
	}
}

func TestFolders(t *testing.T) {
	dir := copyOf(t, nil)
	testenv.Must(t, os.CopyFS(filepath.Join(dir, "small"), os.DirFS(filepath.Join(dir, "tiny"))))
	for _, c := range []struct{ dir, size, want string }{
		{dir, "", "several sizes"}, {dir, "large", "no folder large/processed/paper"}, {filepath.Join(dir, "tiny"), "small", "no folder small"},
		{t.TempDir(), "", "SIZE being one of tiny, small, medium, large, full"},
	} {
		if _, err := OpenTruth(c.dir, c.size); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s %q: %v, want %q", c.dir, c.size, err, c.want)
		}
	}
	for _, path := range []string{dir, filepath.Join(dir, "small"), filepath.Join(dir, "small", "processed")} {
		if _, err := OpenTruth(path, "small"); err != nil {
			t.Error(err)
		}
	}
}

func FuzzArray(f *testing.F) {
	f.Add(testenv.Read(f, "testdata/igbh/tiny/processed/paper/node_label_2K.npy"), 1)
	f.Add(testenv.Read(f, "testdata/igbh/tiny/processed/fos/node_feat.npy"), 0)
	f.Add(make([]byte, 4096), 0)
	f.Fuzz(func(t *testing.T, data []byte, width int) {
		a, err := parseArray(bytes.NewReader(data), int64(len(data)), width&1)
		if err != nil {
			return
		}
		for _, row := range []int64{0, a.rows - 1} {
			if err := a.read(bytes.NewReader(data), row, make([]float32, a.width)); err != nil {
				t.Errorf("row %d of %+v: %v", row, a, err)
			}
		}
	})
}

func FuzzEdges(f *testing.F) {
	f.Add(testenv.Read(f, "testdata/igbh/tiny/processed/paper__topic__fos/edge_index.npy"))
	f.Fuzz(func(t *testing.T, data []byte) {
		edges := 0
		err := eachEdge(bytes.NewReader(data), Relation{Paper, "topic", Field}, 240, 40, func(from, to uint32) {
			if edges++; from >= 240 || to >= 40 {
				t.Errorf("edge from %d to %d", from, to)
			}
		})
		if err == nil && edges*8 > len(data) {
			t.Errorf("%d edges in %d bytes", edges, len(data))
		}
	})
}
