package preprocess

// taps says which input pixels make up the output pixels along one axis: output pixel i
// is the sum over count input pixels from first[i] on, times the weights from
// weight[i*count] on. All have the same count, so that loops over them are predictable;
// to those with fewer pixels some of weight zero are added, which changes no sum.
type taps[W float32 | float64 | int32] struct {
	count  int
	first  []int
	weight []W

	ragged []W // the weights before they are brought to one count
	start  []int
}

func (t *taps[W]) reset() {
	t.first, t.ragged, t.start = t.first[:0], t.ragged[:0], t.start[:0]
}

// next begins the next output pixel, whose first input pixel is given.
func (t *taps[W]) next(first int) {
	t.first = append(t.first, first)
	t.start = append(t.start, len(t.ragged))
}

func (t *taps[W]) add(weight W) { t.ragged = append(t.ragged, weight) }

// of returns the weights of output pixel i that have been added.
func (t *taps[W]) of(i int) []W {
	if i+1 < len(t.start) {
		return t.ragged[t.start[i]:t.start[i+1]]
	}
	return t.ragged[t.start[i]:]
}

// finish brings all output pixels to one count. There are n input pixels.
func (t *taps[W]) finish(n int) {
	t.count = 0
	for i := range t.first {
		t.count = max(t.count, len(t.of(i)))
	}
	t.weight = resized(t.weight, t.count*len(t.first))
	clear(t.weight)
	for i, first := range t.first {
		t.first[i] = min(first, n-t.count)
		copy(t.weight[i*t.count+first-t.first[i]:], t.of(i))
	}
}

// weights returns the weights of output pixel i.
func (t *taps[W]) weights(i int) []W {
	return t.weight[i*t.count:][:t.count]
}

// reach returns the first input pixel of all and the one behind the last.
func (t *taps[W]) reach() (from, to int) {
	from = t.first[0]
	for _, first := range t.first {
		from, to = min(from, first), max(to, first+t.count)
	}
	return from, to
}
