package workload

import (
	"strings"
	"testing"

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
