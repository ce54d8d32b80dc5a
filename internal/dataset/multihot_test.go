package dataset

import (
	"archive/zip"
	"bytes"
	"fmt"
	"io"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/mlperf-go/mlperf/internal/tensor"
	"github.com/mlperf-go/mlperf/internal/tensor/npy"
)

// multiHotFiles writes pairs with 1+k%3 categories in table k: category j of pair i is
// 100i+j. Number k of pair i is i+k/100.
func multiHotFiles(t *testing.T, end string, pairs int, method uint16) string {
	t.Helper()
	dir := t.TempDir()
	numbers, labels := make([]float32, pairs*CriteoNumbers), make([]int32, pairs)
	for i := range numbers {
		numbers[i] = float32(i/CriteoNumbers) + float32(i%CriteoNumbers)/100
	}
	for i := range labels {
		labels[i] = int32(i % 2)
	}
	for name, x := range map[string]tensor.Tensor{
		"dense": tensor.Of(numbers, int64(pairs), CriteoNumbers), "labels": tensor.Of(labels, int64(pairs)), // one axis
	} {
		if err := npy.WriteFile(filepath.Join(dir, "day_23_"+name+end+".npy"), x); err != nil {
			t.Fatal(err)
		}
	}
	var archive bytes.Buffer
	z := zip.NewWriter(&archive)
	for table := range CriteoCategories {
		hot := 1 + table%3
		ids := make([]int32, pairs*hot)
		for i := range ids {
			ids[i] = int32(100*(i/hot) + i%hot)
		}
		w, err := z.CreateHeader(&zip.FileHeader{Name: fmt.Sprintf("%d.npy", table), Method: method})
		if err == nil {
			err = npy.Write(w, tensor.Of(ids, int64(pairs), int64(hot)))
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
	put(t, dir, "day_23_sparse_multi_hot"+end+".npz", archive.String())
	return dir
}

func TestMultiHotReadsTableByTable(t *testing.T) {
	dir := multiHotFiles(t, "_sample", 5, zip.Store)
	put(t, dir, "dlrm_trace_of_aggregated_samples.txt", "0, 3, 3\n3, 5, 2\n")
	d, err := OpenMultiHot(dir)
	if err != nil || len(d.Runs) != 2 || d.Hot[2] != 3 || d.Hot[3] != 1 {
		t.Fatalf("%+v, %v", d, err)
	}
	c := Click{make([]float32, 2*CriteoNumbers), make([]int64, 2*51), make([]float32, 2)}
	if err := d.Read(1, c); err != nil {
		t.Fatal(err)
	}
	// Tables 0, 1 and 2 of pairs 3 and 4, and then table 3.
	if diff := cmp.Diff([]int64{300, 400, 300, 301, 400, 401, 300, 301, 302, 400, 401, 402, 300, 400}, c.Categories[:14]); diff != "" {
		t.Errorf("categories (-want +got):\n%s", diff)
	}
	if c.Numbers[0] != 3 || c.Numbers[CriteoNumbers+2] != 4.02 || c.Labels[0] != 1 || c.Labels[1] != 0 {
		t.Errorf("numbers %v, labels %v", c.Numbers, c.Labels)
	}
	if labels, err := d.Labels(1); err != nil || !labels[0] || labels[1] {
		t.Errorf("labels %v, %v", labels, err)
	}
}

func TestMultiHotUsesTheFirstHalfOfTheOfficialFiles(t *testing.T) {
	d, err := OpenMultiHot(multiHotFiles(t, "", 7, zip.Store))
	if err != nil || len(d.Runs) != 1 || d.Runs[0].Count != 4 {
		t.Errorf("%+v, %v", d, err)
	}
}

func TestOpenMultiHotErrors(t *testing.T) {
	path := func(dir, name string) string { return filepath.Join(dir, "day_23_"+name) }
	array := func(dir, name string, x tensor.Tensor) error { return npy.WriteFile(path(dir, name), x) }
	for _, test := range []struct {
		name   string
		change func(dir string) error
		want   string
	}{
		{"no labels", func(dir string) error { return os.Remove(path(dir, "labels_sample.npy")) }, "labels_sample.npy"},
		{"12 numbers", func(dir string) error { return array(dir, "dense_sample.npy", tensor.New(tensor.Float32, 5, 12)) }, "dense_sample.npy: the array is float32[5 12]: must be little-endian float32[N 13]"},
		{"other labels", func(dir string) error { return array(dir, "labels_sample.npy", tensor.New(tensor.Int64, 5)) }, "the array is int64[5]"},
		{"three axes", func(dir string) error { return array(dir, "labels_sample.npy", tensor.New(tensor.Int32, 5, 1, 1)) }, "the array is int32[5 1 1]"},
		{"fewer labels", func(dir string) error { return array(dir, "labels_sample.npy", tensor.New(tensor.Int32, 4, 1)) }, "has 4 rows"},
		{"cut off", func(dir string) error { return os.Truncate(path(dir, "dense_sample.npy"), 300) }, "the array is cut off"},
		{"no tables", func(dir string) error { return os.Remove(path(dir, "sparse_multi_hot_sample.npz")) }, "sparse_multi_hot_sample.npz"},
		{"no table 25", func(dir string) error { return patch(path(dir, "sparse_multi_hot_sample.npz"), "25.npy", "26.npy") }, "has no 25.npy"},
		{"a table of another kind", func(dir string) error { return patch(path(dir, "sparse_multi_hot_sample.npz"), "'<i4'", "'<f4'") }, "0.npy: the array is float32[5 1]: must be little-endian int32[N K]"},
		{"no array", func(dir string) error { return os.WriteFile(path(dir, "labels_sample.npy"), []byte("<html>"), 0o644) }, "labels_sample.npy: "},
		{"no archive", func(dir string) error { return os.Truncate(path(dir, "sparse_multi_hot_sample.npz"), 100) }, "sparse_multi_hot_sample.npz"},
		{"a trace of more", func(dir string) error {
			return os.WriteFile(filepath.Join(dir, criteoTrace), []byte("0, 100, 100\n"), 0o644)
		}, "lists 100 pairs"},
	} {
		dir := multiHotFiles(t, "_sample", 5, zip.Store)
		if err := test.change(dir); err != nil {
			t.Fatal(err)
		}
		if _, err := OpenMultiHot(dir); err == nil || !strings.Contains(err.Error(), test.want) {
			t.Errorf("%s: error %v, want %q", test.name, err, test.want)
		}
	}
	if _, err := OpenMultiHot(multiHotFiles(t, "_sample", 5, zip.Deflate)); err == nil || !strings.Contains(err.Error(), "0.npy: compressed") {
		t.Errorf("compressed: error %v", err)
	}
}

// patch replaces bytes of a file by as many others.
func patch(path, from, to string) error {
	data, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	return os.WriteFile(path, bytes.ReplaceAll(data, []byte(from), []byte(to)), 0o644)
}

func TestMultiHotReadErrors(t *testing.T) {
	const pairs = 5
	one := func(at int, v int32) tensor.Tensor {
		x := tensor.New(tensor.Int32, pairs, 1)
		tensor.Data[int32](x)[at] = v
		return x
	}
	number := func(v float64) tensor.Tensor {
		x := tensor.New(tensor.Float32, pairs, CriteoNumbers)
		tensor.Data[float32](x)[2*CriteoNumbers+7] = float32(v)
		return x
	}
	for _, test := range []struct {
		name, file string
		x          tensor.Tensor
		want       string
	}{
		{"an infinite number", "dense", number(math.Inf(1)), "day_23_dense_sample.npy: pair 2: number 7 is +Inf"},
		{"a negative infinite number", "dense", number(math.Inf(-1)), "day_23_dense_sample.npy: pair 2: number 7 is -Inf"},
		{"not a number", "dense", number(math.NaN()), "day_23_dense_sample.npy: pair 2: number 7 is NaN"},
		{"a label of 2", "labels", one(4, 2), "day_23_labels_sample.npy: pair 4: the label is 2: must be 0 or 1"},
	} {
		dir := multiHotFiles(t, "_sample", pairs, zip.Store)
		if err := npy.WriteFile(filepath.Join(dir, "day_23_"+test.file+"_sample.npy"), test.x); err != nil {
			t.Fatal(err)
		}
		wantUnreadable(t, test.name, dir, nil, test.want)
		d, err := OpenMultiHot(dir)
		if err != nil {
			t.Fatal(err)
		}
		if truth, err := d.Labels(0); test.file == "labels" && (err == nil || !strings.Contains(err.Error(), test.want)) {
			t.Errorf("%s: labels %v, %v, want %q", test.name, truth, err, test.want)
		}
	}
	dir := multiHotFiles(t, "_sample", pairs, zip.Store)
	tables := filepath.Join(dir, "day_23_sparse_multi_hot_sample.npz")
	// Category 301 stands for pair 3 of tables with two and more.
	if err := patch(tables, "\x2d\x01\x00\x00", "\xff\xff\xff\xff"); err != nil {
		t.Fatal(err)
	}
	wantUnreadable(t, "a negative category", dir, nil, "sparse_multi_hot_sample.npz: 1.npy: pair 3: a category is -1: must be 0 or more")
}

// wantUnreadable opens pairs, and reads them after a change.
func wantUnreadable(t *testing.T, name, dir string, change func() error, want string) {
	t.Helper()
	d, err := OpenMultiHot(dir)
	if err == nil && change != nil {
		err = change()
	}
	if err != nil {
		t.Fatal(err)
	}
	c := Click{make([]float32, 5*CriteoNumbers), make([]int64, 5*51), make([]float32, 5)}
	if err := d.Read(0, c); err == nil || !strings.Contains(err.Error(), want) {
		t.Errorf("%s: error %v, want %q", name, err, want)
	}
}

func TestMultiHotFilesThatShrink(t *testing.T) {
	for _, file := range []string{"dense_sample.npy", "labels_sample.npy", "sparse_multi_hot_sample.npz"} {
		dir := multiHotFiles(t, "_sample", 5, zip.Store)
		shrink := func() error { return os.Truncate(filepath.Join(dir, "day_23_"+file), 100) }
		wantUnreadable(t, "shorter", dir, shrink, file+": pairs 0 to 4: EOF")
	}
}

func FuzzParseArray(f *testing.F) {
	var good bytes.Buffer
	if err := npy.Write(&good, tensor.New(tensor.Int32, 3, 2)); err != nil {
		f.Fatal(err)
	}
	f.Add(good.Bytes())
	f.Fuzz(func(t *testing.T, data []byte) {
		a, err := parseArray(bytes.NewReader(data), int64(len(data)), tensor.Int32, 0)
		if err != nil {
			return
		}
		if end := a.first + int64(a.rows)*int64(a.width)*4; a.rows < 1 || a.width < 1 || end > int64(len(data)) {
			t.Errorf("%+v of %d bytes", a, len(data))
		}
		if _, err := io.ReadFull(bytes.NewReader(data[a.first:]), make([]byte, 4)); err != nil {
			t.Error(err)
		}
	})
}
