package synth

import (
	"encoding/binary"
	"math"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/mlperf-go/mlperf/internal/dataset"
)

func criteoRows(limit int64) []int64 {
	rows := make([]int64, criteoTables)
	for i := range rows {
		rows[i] = min(int64(3+i*i*i), limit)
	}
	return rows
}

func TestPairsHaveCategoriesOfTheirTables(t *testing.T) {
	spec := CriteoSpec{Seed: 1, Pairs: 3000, Rows: criteoRows(500)}
	dir := filepath.Join(t.TempDir(), "criteo")
	if err := WriteCriteo(t.Context(), dir, spec, nil); err != nil {
		t.Fatal(err)
	}
	data, err := os.ReadFile(filepath.Join(dir, criteoFile))
	if err != nil || len(data) != spec.Pairs*160 {
		t.Fatalf("%d bytes, %v", len(data), err)
	}
	clicks, seen := 0, make([]map[uint32]bool, criteoTables)
	for i := range spec.Pairs {
		pair := data[160*i:][:160]
		clicks += int(pair[0])
		for table, rows := range spec.Rows {
			v := binary.LittleEndian.Uint32(pair[4*(14+table):])
			if int64(v) >= rows {
				t.Fatalf("pair %d has category %d of the %d in table %d", i, v, rows, table)
			}
			if seen[table] == nil {
				seen[table] = map[uint32]bool{}
			}
			seen[table][v] = true
		}
	}
	if clicks < 50 || clicks > 200 || len(seen[0]) != 3 || len(seen[25]) < 200 {
		t.Errorf("%d clicks; %d and %d different categories in the first and last table", clicks, len(seen[0]), len(seen[25]))
	}
}

func TestLabelsOfPairsAreWrittenInPlace(t *testing.T) {
	spec := CriteoSpec{Seed: 1, Pairs: 30, Rows: criteoRows(500)}
	dir := filepath.Join(t.TempDir(), "criteo")
	if err := WriteCriteo(t.Context(), dir, spec, nil); err != nil {
		t.Fatal(err)
	}
	data, err := os.ReadFile(filepath.Join(dir, criteoFile))
	if err != nil {
		t.Fatal(err)
	}
	labels := make([]bool, spec.Pairs)
	labels[7] = true
	if err := spec.WriteLabels(dir, labels); err != nil {
		t.Fatal(err)
	}
	marked, err := os.ReadFile(filepath.Join(dir, criteoFile))
	if err != nil || marked[160*7] != 1 || marked[160*8] != 0 || marked[160*7+4] != data[160*7+4] {
		t.Errorf("the labels were not written as they are, %v", err)
	}
	if err := spec.WriteLabels(dir, labels[1:]); err == nil {
		t.Error("a label too few is taken")
	}
}

func TestTablesOfPairsHaveToBeThereAndToHaveRows(t *testing.T) {
	for _, spec := range []CriteoSpec{{}, {Pairs: 1, Rows: []int64{1}}, {Pairs: 1, Rows: criteoRows(0)}} {
		if err := WriteCriteo(t.Context(), t.TempDir(), spec, nil); err == nil {
			t.Errorf("made %+v", spec)
		}
	}
}

// The rows are those of tables with 1 to 3 categories of a pair.
func TestPairsOfDLRMv2HaveSeveralCategoriesOfATable(t *testing.T) {
	spec := CriteoSpec{Seed: 1, Pairs: 300, Rows: criteoRows(500)}
	flat := spec.Key()
	for table := range spec.Rows {
		spec.Hot = append(spec.Hot, int64(1+table%3))
	}
	if spec.Key() == flat {
		t.Errorf("with several categories the key is %s, too", flat)
	}
	dir := filepath.Join(t.TempDir(), "criteo")
	labels := make([]bool, spec.Pairs)
	labels[7] = true
	if err := WriteCriteo(t.Context(), dir, spec, func(folder string) (map[string]float64, error) {
		return nil, spec.WriteLabels(folder, labels)
	}); err != nil {
		t.Fatal(err)
	}
	d, err := dataset.OpenMultiHot(dir)
	if err != nil {
		t.Fatal(err)
	}
	first := d.Runs[0].Count
	if truth, err := d.Labels(0); err != nil || !slices.Equal(truth, labels[:first]) {
		t.Errorf("labels %v, %v, want a click of pair 7", truth, err)
	}
	c := dataset.Click{Numbers: make([]float32, first*criteoNumbers), Categories: make([]int64, first*51), Labels: make([]float32, first)}
	if err := d.Read(0, c); err != nil {
		t.Fatal(err)
	}
	at := 0
	for table, rows := range spec.Rows {
		n := first * int(spec.Hot[table])
		if most := slices.Max(c.Categories[at:][:n]); most >= rows || most < min(rows, 20)/2 {
			t.Errorf("table %d has categories up to %d, want less than %d, and many", table, most, rows)
		}
		at += n
	}
	if least := slices.Min(c.Numbers); least < float32(math.Log(3)) {
		t.Errorf("a number is %v, want ln(x+3)", least)
	}
	if err := spec.WriteLabels(dir, labels[1:]); err == nil {
		t.Error("a label too few is taken")
	}
	for _, hot := range [][]int64{{1}, slices.Repeat([]int64{0}, criteoTables), slices.Repeat([]int64{1001}, criteoTables)} {
		spec.Hot = hot
		wantError(t, WriteCriteo(t.Context(), t.TempDir(), spec, nil), "want 26 numbers from 1 to 1000")
	}
}
