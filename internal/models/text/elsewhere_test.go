package text

import (
	"testing"

	"github.com/mlperf-go/mlperf/internal/tensor"
)

func TestSentencesFromElsewhereAreCheckedAndNotThoseOfTheDataSet(t *testing.T) {
	w := &translation{sentences: [][]int32{{3, 4}}, known: 10}
	e := w.forRows(make([]int, 300))
	for i := range e.Samples { // more rows than the data set has
		if e.Row(i)[0].Shape[0] != mostPieces || e.Length(i) <= 0 {
			t.Fatalf("row %d is %v", i, e.Row(i))
		}
	}
	for _, c := range []struct {
		row   []int64
		right bool
	}{{[]int64{3, 9, -1, 77}, true}, {[]int64{-1, -1}, true}, {[]int64{3, 10, -1}, false}} {
		if err := e.Exchange.Check([]tensor.Tensor{tensor.Of(c.row, int64(len(c.row)))}); (err == nil) != c.right {
			t.Errorf("%v: %v", c.row, err)
		}
	}
}
