package tensor

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
)

// A plain is a tensor the slow way: which elements of a first one it has, by number.
type plain struct {
	shape    []int64
	elements []int
}

// rows is what Rows should be.
func (p plain) rows(first, n int) plain {
	size := 1
	for _, d := range p.shape[1:] {
		size *= int(d)
	}
	return plain{append([]int64{int64(n)}, p.shape[1:]...), p.elements[first*size : (first+n)*size]}
}

// Views of views of one memory see its elements, whatever was asked for before.
func TestViewsOfViewsSeeTheElementsOfTheFirst(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	shapes := [][]int64{{24}, {2, 12}, {2, 3, 4}, {4, 3, 2}, {24, 1}, {1, 24}, {3, 1, 8}}
	for range 300 {
		data, words := make([]int32, 24), make([]string, 24)
		all := make([]int, 24)
		for i := range data {
			data[i], words[i], all[i] = int32(i), fmt.Sprint(i), i
		}
		shape := shapes[random.IntN(len(shapes))]
		numbers, texts, want := Of(data, shape...), OfStrings(words, shape...), plain{shape, all}
		for range random.IntN(4) {
			if random.IntN(2) == 0 && len(want.elements) == 24 {
				want.shape = shapes[random.IntN(len(shapes))]
				numbers, texts = numbers.Reshape(want.shape...), texts.Reshape(want.shape...)
				continue
			}
			first := random.IntN(int(want.shape[0]) + 1)
			n := random.IntN(int(want.shape[0]) - first + 1)
			numbers, texts, want = numbers.Rows(first, n), texts.Rows(first, n), want.rows(first, n)
		}
		if numbers.Len() != len(want.elements) || texts.Len() != len(want.elements) || !slices.Equal(numbers.Shape, want.shape) || !slices.Equal(texts.Shape, want.shape) {
			t.Fatalf("%v and %v have %d and %d elements, want %d in %v", numbers, texts, numbers.Len(), texts.Len(), len(want.elements), want.shape)
		}
		for i, e := range want.elements {
			data[e] += 100 // seen through the view, as it shares the memory
			words[e] += "!"
			if got := Data[int32](numbers)[i]; got != int32(e+100) || texts.Strings()[i] != fmt.Sprint(e)+"!" {
				t.Fatalf("element %d of %v is %d and %q, want %d", i, numbers, got, texts.Strings()[i], e+100)
			}
		}
	}
}

func TestTypesThatThereAreNotAreNamedByTheirNumber(t *testing.T) {
	for d, want := range map[DType]string{String: "string", String + 1: "DType(15)", 255: "DType(255)"} {
		if got := d.String(); got != want {
			t.Errorf("type %d is called %q, want %q", uint8(d), got, want)
		}
		if d.Size() != 0 {
			t.Errorf("an element of %s has %d bytes, want 0", want, d.Size())
		}
	}
	if none := (Tensor{Type: String + 1}); none.Len() != 0 || none.Bytes() != nil {
		t.Errorf("%v has %d elements", none, none.Len())
	}
}

func TestTextsAreMadeEmpty(t *testing.T) {
	x := New(String, 2, 2)
	if got := x.Strings(); len(got) != 4 || x.Len() != 4 || got[3] != "" || x.Bytes() != nil {
		t.Errorf("%v has the texts %q", x, got)
	}
	x.Strings()[3] = "last"
	if got := x.Rows(1, 1).Strings()[1]; got != "last" {
		t.Errorf("the last text is %q", got)
	}
	if got := New(String, 0, 3); got.Len() != 0 || got.Strings() == nil && got.Shape.Len() != 0 {
		t.Errorf("%v has %d texts", got, got.Len())
	}
}
