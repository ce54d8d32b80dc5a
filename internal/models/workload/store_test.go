package workload

import (
	"strings"
	"testing"
	"unsafe"

	"github.com/mlperf-go/mlperf/internal/tensor"
)

func TestAStoreKeepsRowsSideBySide(t *testing.T) {
	row := []Slot{{tensor.Float32, tensor.Shape{2, 3}}, {tensor.Int64, tensor.Shape{}}}
	s, err := NewStore(5, func(int) []Slot { return row })
	if err != nil {
		t.Fatal(err)
	}
	for i := range s.Rows() {
		r := s.Row(i)
		tensor.Data[float32](r[0])[5] = float32(i)
		tensor.Data[int64](r[1])[0] = int64(10 * i)
	}
	if got := s.Slot(0, 2, 2); got.String() != "float32[2 2 3]" || tensor.Data[float32](got)[5] != 2 || tensor.Data[float32](got)[11] != 3 {
		t.Errorf("rows 2 and 3 of the first slot are %v with %v", got, tensor.Data[float32](got))
	}
	if got := s.Slot(1, 0, 5); got.String() != "int64[5]" || tensor.Data[int64](got)[4] != 40 {
		t.Errorf("the second slot is %v with %v", got, tensor.Data[int64](got))
	}
	for i := range s.Rows() {
		for k := range row {
			if got, want := s.RowBytes(k, i), s.Slot(k, i, 1).Bytes(); len(got) != len(want) || &got[0] != &want[0] {
				t.Errorf("slot %d, row %d: RowBytes is another memory than Slot", k, i)
			}
		}
	}
	if got := Bytes(row); got != 24+8 {
		t.Errorf("a row takes %d bytes", got)
	}
	for range 2 {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	}
}

func TestAStoreThatDoesNotFitIsAnError(t *testing.T) {
	for name, slot := range map[string]Slot{
		"too large": {tensor.Float32, tensor.Shape{1 << 40}},
		"strings":   {tensor.String, tensor.Shape{1}},
	} {
		if _, err := NewStore(1000, func(int) []Slot { return []Slot{{tensor.Float32, tensor.Shape{2}}, slot} }); err == nil || !strings.Contains(err.Error(), "memory for 1000 samples") {
			t.Errorf("%s: error %v", name, err)
		}
	}
}

// Shapes come from data sets. An extent that overflows would make room for nothing at all.
func TestAShapeThatNoMemoryHoldsNamesItsSample(t *testing.T) {
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
		{"a negative extent", wrong(tensor.Shape{-1}), "memory for 4 samples: sample 2: float32[?] has an axis of -1, want 0 or more"},
		{"two negative extents, of which the product is positive", wrong(tensor.Shape{-2, -2}), "sample 2: float32[? ?] has an axis of -2"},
		{"an extent that overflows", wrong(tensor.Shape{1 << 62}), "sample 2: float32[4611686018427387904] is more than any memory"},
		{"extents of which the product overflows to 0", wrong(tensor.Shape{1 << 32, 1 << 32}), "sample 2: float32[4294967296 4294967296] is more than any memory"},
		{"all alike, and a negative extent", all(tensor.Shape{2, -1}), "sample 0: int64[2 ?] has an axis of -1"},
		{"rows that overflow only together", all(tensor.Shape{1 << 52}), "sample 1: up to int64[4503599627370496] it is more than any memory"},
	} {
		_, err := NewStore(4, test.row)
		if err == nil || !strings.Contains(err.Error(), test.want) {
			t.Errorf("%s: %v, want %q", test.name, err, test.want)
		}
	}
	s, err := NewStore(2, all(tensor.Shape{0, 1 << 62}))
	if err != nil || s.Rows() != 2 || len(s.RowBytes(0, 1)) != 0 {
		t.Errorf("an axis of 0 beside a large one takes no memory: %v", err)
	}
}

func TestAStoreOfNoRowsAndAClosedOneHaveNothing(t *testing.T) {
	s, err := NewStore(0, func(int) []Slot { t.Error("a row was asked for"); return nil })
	if err != nil || s.Rows() != 0 || s.Slots() != 0 || s.Close() != nil {
		t.Errorf("a store of no rows: %+v, %v", s, err)
	}
	s, err = NewStore(3, func(int) []Slot { return []Slot{{tensor.Uint8, tensor.Shape{4}}, {tensor.Bool, tensor.Shape{}}} })
	if err != nil || s.Slots() != 2 || s.Rows() != 3 {
		t.Fatalf("a store of three rows has %d of %d slots, %v", s.Rows(), s.Slots(), err)
	}
	if err := s.Close(); err != nil || s.Rows() != 0 || s.Slots() != 0 {
		t.Errorf("a closed store has %d rows, %v", s.Rows(), err)
	}
}

// Engines read vectors: a row that begins another batch begins where they may.
func TestRowsOfAnotherShapeBeginAligned(t *testing.T) {
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

func TestSlotsAndRowsSayTheirMemory(t *testing.T) {
	for _, test := range []struct {
		slot  Slot
		bytes int64
		text  string
	}{
		{Slot{tensor.Float32, tensor.Shape{3, 224, 224}}, 3 * 224 * 224 * 4, "float32[3 224 224]"},
		{Slot{tensor.Int64, tensor.Shape{}}, 8, "int64[]"},
		{Slot{tensor.Float16, tensor.Shape{7, 0}}, 0, "float16[7 0]"},
		{Slot{tensor.String, tensor.Shape{7}}, 0, "string[7]"},
	} {
		if test.slot.Bytes() != test.bytes || test.slot.String() != test.text {
			t.Errorf("%v takes %d bytes, want %s and %d", test.slot, test.slot.Bytes(), test.text, test.bytes)
		}
	}
	if Bytes(nil) != 0 {
		t.Errorf("no slots take %d bytes", Bytes(nil))
	}
}

// Row i has i%3 numbers more than one, so that there are neighbours of the same shape and of
// another.
func TestRowsOfDifferentShapesTakeWhatTheyNeed(t *testing.T) {
	shapes := []int64{3, 3, 1, 0, 7, 7, 7}
	row := func(i int) []Slot {
		return []Slot{{tensor.Int64, tensor.Shape{shapes[i]}}, {tensor.Uint8, tensor.Shape{2, shapes[i]}}}
	}
	s, err := NewStore(len(shapes), row)
	if err != nil {
		t.Fatal(err)
	}
	for i := range shapes {
		r := s.Row(i)
		if got, want := r[0].String()+r[1].String(), row(i)[0].String()+row(i)[1].String(); got != want {
			t.Errorf("row %d is %s, want %s", i, got, want)
		}
		for k := range r {
			for j := range r[k].Bytes() {
				r[k].Bytes()[j] += byte(10*i + 1) // what belongs to another row would be there already
			}
		}
	}
	for i := range shapes {
		for k := range 2 {
			for _, b := range s.RowBytes(k, i) {
				if b != byte(10*i+1) {
					t.Fatalf("row %d, slot %d shares its memory: %d", i, k, b)
				}
			}
		}
	}
	if got := s.Batch(4, 3); got[0].String() != "int64[3 7]" || got[1].String() != "uint8[3 2 7]" || &got[0].Bytes()[0] != &s.RowBytes(0, 4)[0] {
		t.Errorf("rows 4 to 6 are %v", got)
	}
	if err := s.Close(); err != nil {
		t.Error(err)
	}
}

func TestABatchIsOfNeighboursOfTheSameShape(t *testing.T) {
	shapes := []int64{3, 3, 1, 7, 7, 7}
	s, err := NewStore(len(shapes), func(i int) []Slot { return []Slot{{tensor.Int64, tensor.Shape{shapes[i]}}} })
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	for _, test := range []struct {
		rows []int
		want bool
	}{
		{nil, false}, {[]int{2}, true}, {[]int{0, 1}, true}, {[]int{3, 4, 5}, true}, {[]int{4, 5}, true},
		{[]int{1, 2}, false}, {[]int{4, 3}, false}, {[]int{3, 5}, false}, {[]int{3, 3}, false},
	} {
		var items []Item
		for _, row := range test.rows {
			items = append(items, Item{Row: row})
		}
		if got := s.Alike(items); got != test.want {
			t.Errorf("Alike(%v) = %v", test.rows, got)
		}
	}
	defer func() {
		if recover() == nil {
			t.Error("rows of different shapes are a batch")
		}
	}()
	s.Slot(0, 1, 2)
}
