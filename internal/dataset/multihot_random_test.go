package dataset

import (
	"archive/zip"
	"bytes"
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/mlperf-go/mlperf/internal/tensor"
	"github.com/mlperf-go/mlperf/internal/tensor/npy"
)

// clickTables are pairs in memory, as a plain program holds them.
type clickTables struct {
	pairs   int
	numbers []float32
	labels  []int32
	hot     []int
	ids     [][]int32 // of each table, pair by pair
}

func randomTables(rng *rand.Rand, pairs int) *clickTables {
	c := &clickTables{pairs: pairs}
	for range pairs * CriteoNumbers {
		c.numbers = append(c.numbers, rng.Float32()*10)
	}
	for range pairs {
		c.labels = append(c.labels, int32(rng.IntN(2)))
	}
	for range CriteoCategories {
		hot := 1 + rng.IntN(4)
		ids := make([]int32, pairs*hot)
		for i := range ids {
			ids[i] = rng.Int32()
		}
		c.hot, c.ids = append(c.hot, hot), append(c.ids, ids)
	}
	return c
}

// write writes them as numpy.savez does; members of the archive in an order of their own.
func (c *clickTables) write(t *testing.T, dir, end string, order []int, flat bool) {
	t.Helper()
	shape := func(width int) tensor.Shape {
		if flat && width == 1 {
			return tensor.Shape{int64(c.pairs)} // an axis alone is a column
		}
		return tensor.Shape{int64(c.pairs), int64(width)}
	}
	var archive bytes.Buffer
	z := zip.NewWriter(&archive)
	for _, table := range order {
		w, err := z.CreateHeader(&zip.FileHeader{Name: fmt.Sprintf("%d.npy", table), Method: zip.Store})
		if err == nil {
			err = npy.Write(w, tensor.Of(c.ids[table], shape(c.hot[table])...))
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
	put(t, dir, "day_23_sparse_multi_hot"+end+".npz", archive.String())
	for name, x := range map[string]tensor.Tensor{
		"dense": tensor.Of(c.numbers, int64(c.pairs), CriteoNumbers), "labels": tensor.Of(c.labels, shape(1)...),
	} {
		if err := npy.WriteFile(filepath.Join(dir, "day_23_"+name+end+".npy"), x); err != nil {
			t.Fatal(err)
		}
	}
}

// want is what a run of pairs is, found in memory.
func (c *clickTables) want(r Run) Click {
	click := Click{Numbers: c.numbers[r.First*CriteoNumbers:][:r.Count*CriteoNumbers]}
	for _, label := range c.labels[r.First:][:r.Count] {
		click.Labels = append(click.Labels, float32(label))
	}
	for table, hot := range c.hot {
		for _, id := range c.ids[table][r.First*hot:][:r.Count*hot] {
			click.Categories = append(click.Categories, int64(id))
		}
	}
	return click
}

func TestPairsAreThoseOfTheArrays(t *testing.T) {
	rng := rand.New(rand.NewPCG(54, 1))
	for i := range 12 {
		c := randomTables(rng, 2+rng.IntN(900))
		dir, end := t.TempDir(), []string{"", "_sample"}[i%2]
		c.write(t, dir, end, rng.Perm(CriteoCategories), i%3 == 0)
		d, err := OpenMultiHot(dir)
		if err != nil {
			t.Fatal(err)
		}
		used := c.pairs
		if end == "" {
			used -= used / 2 // the validation set is the first half, and the odd one
		}
		if endOf(d.Runs) != used || !slices.Equal(d.Hot, c.hot) {
			t.Fatalf("%d pairs of %d with %v categories, want %d with %v", endOf(d.Runs), c.pairs, d.Hot, used, c.hot)
		}
		total := 0
		for _, hot := range c.hot {
			total += hot
		}
		for sample, r := range d.Runs {
			got := Click{make([]float32, r.Count*CriteoNumbers), make([]int64, r.Count*total), make([]float32, r.Count)}
			if err := d.Read(sample, got); err != nil {
				t.Fatal(err)
			}
			want := c.want(r)
			if !slices.Equal(got.Numbers, want.Numbers) || !slices.Equal(got.Labels, want.Labels) || !slices.Equal(got.Categories, want.Categories) {
				t.Fatalf("sample %d, %+v, has other pairs", sample, r)
			}
			labels, err := d.Labels(sample)
			if err != nil {
				t.Fatal(err)
			}
			for k, click := range labels {
				if click != (want.Labels[k] == 1) {
					t.Fatalf("pair %d of sample %d is a click: %v", k, sample, click)
				}
			}
		}
		if d.Len() != len(d.Runs) {
			t.Errorf("%d samples of %d runs", d.Len(), len(d.Runs))
		}
	}
}

// Of two members with a name the last one counts, as for NumPy, which looks names up in a dictionary.
func TestOfMembersWithANameTheLastCounts(t *testing.T) {
	rng := rand.New(rand.NewPCG(54, 2))
	dir := t.TempDir()
	c := randomTables(rng, 4)
	c.write(t, dir, "_sample", append([]int{3}, rng.Perm(CriteoCategories)...), false)
	data := string(readAll(t, filepath.Join(dir, "day_23_sparse_multi_hot_sample.npz")))
	// Spoil the first copy of table 3: its numbers are right behind the first head.
	head := strings.Index(data, "NUMPY")
	body := head + strings.Index(data[head:], "\n") + 1
	put(t, dir, "day_23_sparse_multi_hot_sample.npz", data[:body]+"\xff\xff\xff\xff"+data[body+4:])
	d, err := OpenMultiHot(dir)
	if err != nil {
		t.Fatal(err)
	}
	total := 0
	for _, hot := range c.hot {
		total += hot
	}
	got := Click{make([]float32, 4*CriteoNumbers), make([]int64, 4*total), make([]float32, 4)}
	if err := d.Read(0, got); err != nil || !slices.Equal(got.Categories, c.want(Run{0, 4}).Categories) {
		t.Errorf("the first copy was read, %v", err)
	}
}

func TestATraceMayNameFewerPairsThanThereAre(t *testing.T) {
	dir := multiHotFiles(t, "_sample", 5, zip.Store)
	for trace, want := range map[string]string{
		"0, 5, 5\n":          "",
		"0, 2, 2\n":          "",
		"0, 5, 5\n5, 6, 1\n": "names 6 pairs, " + dir + " has 5",
		"1, 5, 4\n":          "line 1: it begins with pair 1, the one before ends with 0",
	} {
		put(t, dir, criteoTrace, trace)
		d, err := OpenMultiHot(dir)
		if (err != nil) != (want != "") || err != nil && (!strings.Contains(err.Error(), want) || !strings.HasPrefix(err.Error(), "opening Criteo: ")) {
			t.Errorf("%q: %+v, %v, want %q", trace, d, err, want)
		}
	}
}

func TestShapesOfArrays(t *testing.T) {
	for _, c := range []struct {
		shape       tensor.Shape
		ok          bool
		rows, width int
	}{
		{tensor.Shape{5}, true, 5, 1}, {tensor.Shape{5, 3}, true, 5, 3}, {tensor.Shape{1, mostHot}, true, 1, mostHot},
		{tensor.Shape{}, false, 0, 0}, {tensor.Shape{0}, false, 0, 0}, {tensor.Shape{5, 0}, false, 0, 0}, {tensor.Shape{0, 5}, false, 0, 0},
		{tensor.Shape{5, mostHot + 1}, false, 0, 0}, {tensor.Shape{5, 1, 1}, false, 0, 0}, {tensor.Shape{1 << 31, 1}, false, 0, 0}, {tensor.Shape{1<<31 - 1, 1}, true, 1<<31 - 1, 1},
	} {
		var a array
		if ok := a.takeShape(c.shape); ok != c.ok || ok && (a.rows != c.rows || a.width != c.width) {
			t.Errorf("%v is taken: %v, as %d rows of %d", c.shape, ok, a.rows, a.width)
		}
	}
}
