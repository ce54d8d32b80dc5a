package synth

import (
	"encoding/binary"
	"os"
	"path/filepath"
	"testing"
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
	for _, spec := range []CriteoSpec{{}, {Pairs: 1, Rows: []int64{1}}, {Pairs: 1, Rows: criteoRows(0)}} {
		if err := WriteCriteo(t.Context(), t.TempDir(), spec, nil); err == nil {
			t.Errorf("made %+v", spec)
		}
	}
}
