package models

import (
	"strings"
	"testing"

	"github.com/mlperf-go/mlperf/internal/tensor"
)

func TestAStoreKeepsRowsSideBySide(t *testing.T) {
	row := []Slot{{tensor.Float32, tensor.Shape{2, 3}}, {tensor.Int64, tensor.Shape{}}}
	s, err := NewStore(row, 5)
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
			if got, want := s.rowBytes(k, i), s.Slot(k, i, 1).Bytes(); len(got) != len(want) || &got[0] != &want[0] {
				t.Errorf("slot %d, row %d: rowBytes is another memory than Slot", k, i)
			}
		}
	}
	if got := Bytes(row, 5); got != 5*(24+8) {
		t.Errorf("five rows take %d bytes", got)
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
		if _, err := NewStore([]Slot{{tensor.Float32, tensor.Shape{2}}, slot}, 1000); err == nil || !strings.Contains(err.Error(), "memory for 1000 samples") {
			t.Errorf("%s: error %v", name, err)
		}
	}
}
