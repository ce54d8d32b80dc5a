package workload

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"testing"
	"unsafe"

	"github.com/mlperf-go/mlperf/internal/tensor"
	"github.com/mlperf-go/mlperf/internal/testenv"
)

// drawRows are random rows of some slots: of one shape each, or of shapes that differ here and there.
func drawRows(draw *rand.Rand) [][]Slot {
	types := []tensor.DType{tensor.Float32, tensor.Int64, tensor.Uint8, tensor.Bool, tensor.Float16}
	rows := make([][]Slot, 1+draw.IntN(12))
	for range 1 + draw.IntN(3) {
		kind, differ := types[draw.IntN(len(types))], draw.IntN(2) == 0
		var shape tensor.Shape
		for i := range rows {
			if i == 0 || differ && draw.IntN(3) == 0 {
				shape = make(tensor.Shape, draw.IntN(3))
				for axis := range shape {
					shape[axis] = int64(draw.IntN(6))
				}
			}
			rows[i] = append(rows[i], Slot{kind, shape})
		}
	}
	return rows
}

// TestStoreKeepsRows compares a store with a slice of bytes for each row of each slot, through every one of
// its methods.
func TestStoreKeepsRows(t *testing.T) {
	draw := rand.New(rand.NewPCG(9, 3))
	for range 150 {
		rows := drawRows(draw)
		s, err := NewStore(len(rows), func(i int) []Slot { return rows[i] })
		if err != nil {
			t.Fatal(err)
		}
		if s.Rows() != len(rows) || s.Slots() != len(rows[0]) {
			t.Fatalf("%d rows of %d slots, want %d of %d", s.Rows(), s.Slots(), len(rows), len(rows[0]))
		}
		want := fill(s, rows, draw)
		for i := range rows {
			for k, got := range s.Row(i) {
				if got.Type != rows[i][k].Type || !bytes.Equal(got.Bytes(), want[i][k]) || !bytes.Equal(s.RowBytes(k, i), want[i][k]) {
					t.Errorf("row %d of slot %d, %v, has %d bytes that are not its own", i, k, rows[i][k], len(got.Bytes()))
				}
			}
		}
		checkBatches(t, s, rows, want)
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	}
}

// fill writes random bytes into all rows, in any order, and returns them.
func fill(s *Store, rows [][]Slot, draw *rand.Rand) [][][]byte {
	want := make([][][]byte, len(rows))
	for _, i := range draw.Perm(len(rows)) {
		for _, t := range s.Row(i) {
			mem := t.Bytes()
			for j := range mem {
				mem[j] = byte(draw.Uint32() & 1) // which a Bool can be, too
			}
			want[i] = append(want[i], bytes.Clone(mem))
		}
	}
	return want
}

// checkBatches takes every range of rows: alike ones are a batch without a copy, and others are known to be none.
func checkBatches(t *testing.T, s *Store, rows [][]Slot, want [][][]byte) {
	t.Helper()
	for first := range rows {
		items := []Item{}
		alike := true
		for n := 1; first+n <= len(rows); n++ {
			row := first + n - 1
			items = append(items, Item{Row: row})
			alike = alike && fmt.Sprint(rows[row]) == fmt.Sprint(rows[first])
			if got := s.Alike(items); got != alike {
				t.Errorf("rows %d to %d of %v are alike: %t, want %t", first, row, rows, got, alike)
			}
			if !alike {
				continue
			}
			for k, batch := range s.Batch(first, n) {
				var all []byte
				for i := first; i <= row; i++ {
					all = append(all, want[i][k]...)
				}
				if batch.Shape[0] != int64(n) || !bytes.Equal(batch.Bytes(), all) {
					t.Errorf("rows %d to %d of slot %d are %v", first, row, k, batch)
				}
				if len(all) > 0 && unsafe.SliceData(batch.Bytes()) != unsafe.SliceData(s.RowBytes(k, firstWithBytes(want, first, k))) {
					t.Errorf("rows %d to %d of slot %d are a copy", first, row, k)
				}
			}
		}
	}
}

// firstWithBytes is the first row from one on that has any: rows of nothing have no place.
func firstWithBytes(want [][][]byte, from, slot int) int {
	for len(want[from][slot]) == 0 {
		from++
	}
	return from
}

// Engines read vectors: a row that begins another batch begins where they may.
func TestRowsOfAnotherShapeAreAligned(t *testing.T) {
	lengths := []int64{3, 5, 5, 0, 64, 1, 65, 2}
	s, err := NewStore(len(lengths), func(i int) []Slot { return []Slot{{tensor.Uint8, tensor.Shape{lengths[i]}}} })
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	base := s.RowBytes(0, 0)
	for i, n := range lengths {
		row := s.RowBytes(0, i)
		if len(row) != int(n) {
			t.Errorf("row %d has %d bytes, want %d", i, len(row), n)
		}
		if n == 0 {
			continue
		}
		from := int(uintptr(unsafe.Pointer(&row[0])) - uintptr(unsafe.Pointer(&base[0])))
		if i != 2 && from%64 != 0 {
			t.Errorf("row %d begins at %d, want a multiple of 64", i, from)
		}
		if i == 2 && from != 64+5 {
			t.Errorf("row 2 begins at %d, want right behind row 1, which is of its shape", from)
		}
	}
}

// Shapes come from data sets. An extent that overflows would make room for nothing at all.
func TestImpossibleShapesAreRefused(t *testing.T) {
	wrong := func(s tensor.Shape) func(int) []Slot {
		return func(i int) []Slot {
			if i == 2 {
				return []Slot{{tensor.Float32, s}}
			}
			return []Slot{{tensor.Float32, tensor.Shape{3}}}
		}
	}
	all := func(s tensor.Shape) func(int) []Slot { return func(int) []Slot { return []Slot{{tensor.Int64, s}} } }
	for _, test := range []struct {
		name string
		row  func(int) []Slot
		want string
	}{
		{"a negative extent", wrong(tensor.Shape{-1}), "4 samples … sample 2 … float32[?] … -1 … 0"},
		{"two negative extents with a positive product", wrong(tensor.Shape{-2, -2}), "sample 2 … float32[? ?] … -2"},
		{"an extent that overflows", wrong(tensor.Shape{1 << 62}), "sample 2 … float32[4611686018427387904] … memory"},
		{"extents whose product overflows to 0", wrong(tensor.Shape{1 << 32, 1 << 32}), "sample 2 … float32[4294967296 4294967296] … memory"},
		{"all alike, and a negative extent", all(tensor.Shape{2, -1}), "sample 0 … int64[2 ?] … -1"},
		{"rows that overflow only together", all(tensor.Shape{1 << 52}), "sample 1 … int64[4503599627370496] … memory"},
	} {
		_, err := NewStore(4, test.row)
		if !testenv.Names(err, test.want) {
			t.Errorf("%s: %v, want %q", test.name, err, test.want)
		}
	}
	s, err := NewStore(2, all(tensor.Shape{0, 1 << 62}))
	if err != nil || s.Rows() != 2 || len(s.RowBytes(0, 1)) != 0 {
		t.Errorf("an axis of 0 beside a large one takes no memory: %v", err)
	}
}

func TestReadingRowsAllocatesNothing(t *testing.T) {
	for name, slot := range map[string]func(i int) []Slot{
		"of one shape":    func(int) []Slot { return []Slot{{tensor.Float32, tensor.Shape{4}}} },
		"of their shapes": func(i int) []Slot { return []Slot{{tensor.Float32, tensor.Shape{int64(1 + i)}}} },
	} {
		s, err := NewStore(8, slot)
		if err != nil {
			t.Fatal(err)
		}
		sum := 0
		if n := testing.AllocsPerRun(100, func() {
			for i := range s.Rows() {
				sum += len(s.RowBytes(0, i))
			}
		}); n != 0 || sum == 0 {
			t.Errorf("rows %s: %g allocations", name, n)
		}
		items := []Item{{Row: 2}, {Row: 3}}
		if n := testing.AllocsPerRun(100, func() { s.Alike(items) }); n != 0 {
			t.Errorf("rows %s: to compare them takes %g allocations", name, n)
		}
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	}
}

func ExampleNewStore() {
	lengths := []int64{2, 2, 5}
	s, err := NewStore(len(lengths), func(i int) []Slot { return []Slot{{tensor.Int64, tensor.Shape{lengths[i]}}} })
	if err != nil {
		fmt.Println(err)
		return
	}
	defer s.Close()
	for i := range lengths {
		row := tensor.Data[int64](s.Row(i)[0])
		for k := range row {
			row[k] = int64(10*i + k)
		}
	}
	fmt.Println(s.Alike([]Item{{Row: 0}, {Row: 1}}), s.Alike([]Item{{Row: 1}, {Row: 2}}))
	batch := s.Slot(0, 0, 2)
	fmt.Println(batch, tensor.Data[int64](batch))
	// Output:
	// true false
	// int64[2 2] [0 1 10 11]
}
