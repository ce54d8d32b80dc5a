package text

import (
	"slices"
	"testing"

	"github.com/mlperf-go/mlperf/internal/models/workload"
	"github.com/mlperf-go/mlperf/internal/tensor"
)

// rowOf is a row of a window: so many pieces that are 7, of which the last ones are of the document.
func rowOf(pieces, document int) []tensor.Tensor {
	row := []tensor.Tensor{tensor.New(tensor.Int64, windowLength), tensor.New(tensor.Int64, windowLength), tensor.New(tensor.Int64, windowLength)}
	for i := range pieces {
		tensor.Data[int64](row[0])[i], tensor.Data[int64](row[1])[i] = 7, 1
		if i >= pieces-document {
			tensor.Data[int64](row[2])[i] = 1
		}
	}
	return row
}

func TestWindowsFromElsewhereAreCheckedPlaceByPlace(t *testing.T) {
	set, err := openSet("testdata/bert")
	if err != nil {
		t.Fatal(err)
	}
	last := int64(set.wordPiece.Vocabulary().Len() - 1)
	w := open(t, officialPorts(), nil)
	for _, c := range []struct {
		name         string
		tensor, at   int
		value        int64
		want         string
		pieces, part int
	}{
		{"as usual", 0, 0, 7, "", 20, 12},
		{"no piece at all", 0, 0, 0, "", 0, 0},
		{"all pieces", 0, 0, 7, "", windowLength, 300},
		{"the last piece of the vocabulary", 0, 3, last, "", 20, 12},
		{"a piece behind the vocabulary", 0, 3, last + 1, "input_ids: place 3 is %d, want 0 to %d", 20, 12},
		{"a negative piece", 0, 3, -1, "input_ids: place 3 is %d, want 0 to %d", 20, 12},
		{"a piece that is one in 32 bits", 0, 383, 1<<32 + 7, "input_ids: place 383 is %d, want 0 to %d", 20, 12},
		{"a piece behind the window's end", 0, 200, 7, "", 20, 12},
		{"a mask of two", 1, 5, 2, "input_mask: place 5 is 2, want 0 to 1", 20, 12},
		{"a mask with a gap", 1, 5, 0, "input_mask: place 6 is 1 behind one that is 0, want ones and then zeros", 20, 12},
		{"a mask that begins late", 1, 0, 0, "input_mask: place 1 is 1 behind one that is 0, want ones and then zeros", 20, 12},
		{"a third segment", 2, 9, 2, "segment_ids: place 9 is 2, want 0 to 1", 20, 12},
		{"segments in any order", 2, 0, 1, "", 20, 12},
	} {
		t.Run(c.name, func(t *testing.T) {
			row := rowOf(c.pieces, c.part)
			tensor.Data[int64](row[c.tensor])[c.at] = c.value
			want := c.want
			if c.tensor == 0 && want != "" {
				want = sprintf(want, c.value, last)
			}
			if err := w.Exchange.Check(row); (err == nil) != (want == "") || err != nil && err.Error() != want {
				t.Errorf("Check() = %v, want %q", err, want)
			}
		})
	}
}

// All windows of the data set are such as may come from elsewhere, of both workloads.
func TestTheWindowsOfTheDataSetPassTheCheck(t *testing.T) {
	ports := officialPorts()
	for i := range ports.Inputs {
		ports.Inputs[i].Shape = tensor.Shape{-1, -1}
	}
	for _, pad := range []string{padFull, padLongest} {
		w := open(t, ports, workload.Values{padOption: pad})
		store, err := workload.NewStore(1, w.Row)
		if err != nil {
			t.Fatal(err)
		}
		for i := range w.Samples {
			if err := w.Prepare(i, store.Row(0)); err != nil {
				t.Fatal(err)
			}
			if err := w.Exchange.Check(store.Row(0)); err != nil {
				t.Errorf("%s: window %d: %v", pad, i, err)
			}
		}
		if err := store.Close(); err != nil {
			t.Error(err)
		}
	}
}

func TestWhatIsSentOfASentenceSaysHowLongItIs(t *testing.T) {
	w := (&translation{sentences: [][]int32{{3, 4}}, known: 10}).workload()
	sent := w.Exchange.Inputs
	if len(sent) != 1 || sent[0].Name != "pieces" || sent[0].String() != "int64[?]" {
		t.Errorf("Inputs = %v", sent)
	}
	for n, want := range map[int64]string{
		0: "a sentence of 0 pieces, want 1 to 1024", -1: "a sentence of -1 pieces, want 1 to 1024", 1025: "a sentence of 1025 pieces, want 1 to 1024", 1: "", 1024: "",
	} {
		slots, err := w.Exchange.Complete([]tensor.Shape{{n}})
		if (err == nil) != (want == "") || err != nil && err.Error() != want {
			t.Errorf("%d pieces: %v, want %q", n, err, want)
		}
		if err == nil && (len(slots) != 1 || !slices.Equal(slots[0].Shape, tensor.Shape{n})) {
			t.Errorf("%d pieces: %v", n, slots)
		}
	}
	if err := w.Exchange.Check([]tensor.Tensor{tensor.Of([]int64{9, 10, -1}, 3)}); err == nil || err.Error() != "piece 1 of the sentence is 10, the vocabulary has 10" {
		t.Errorf("Check() = %v", err)
	}
}
