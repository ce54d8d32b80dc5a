package arch

import (
	"math"
	"slices"

	"github.com/mlperf-go/mlperf/internal/onnx"
)

// with is an array of the same elements in another shape.
func (a array) with(shape []int64) []array { return []array{{a.elem, shape, a.data}} }

func reshaped(_ *onnx.Node, in []array) []array {
	shape, open, rest := []int64{}, -1, int64(len(in[0].data))
	for i, d := range in[1].data {
		if d == 0 {
			d = float64(in[0].shape[i])
		}
		if shape = append(shape, int64(d)); d < 0 {
			open = i
		} else {
			rest /= int64(d)
		}
	}
	if open >= 0 {
		shape[open] = rest
	}
	return in[0].with(shape)
}

func flattened(_ *onnx.Node, in []array) []array {
	return in[0].with([]int64{in[0].shape[0], product(in[0].shape[1:])})
}

func squeezed(_ *onnx.Node, in []array) []array {
	at := int(in[1].data[0])
	return in[0].with(slices.Delete(slices.Clone(in[0].shape), at, at+1))
}

func unsqueezed(_ *onnx.Node, in []array) []array {
	return in[0].with(slices.Insert(slices.Clone(in[0].shape), int(in[1].data[0]), 1))
}

// each calls f for every place of an array, as it lies in memory.
func (a array) each(f func(index []int, p int)) {
	index, strides := make([]int, len(a.shape)), a.strides()
	for p := range a.data {
		for axis, s := range strides {
			index[axis] = p / s % int(a.shape[axis])
		}
		f(index, p)
	}
}

func transposed(n *onnx.Node, in []array) []array {
	x, perm := in[0], onnx.AttrOr[[]int64](n, "perm", nil)
	y, from := newArray(x.elem, x.shape...), make([]int, len(perm))
	for i, p := range perm {
		y.shape[i] = x.shape[p]
	}
	y.each(func(index []int, p int) {
		for i, axis := range perm {
			from[axis] = index[i]
		}
		y.data[p] = x.at(from...)
	})
	return []array{y}
}

func joined(n *onnx.Node, in []array) []array {
	axis := onnx.AttrOr(n, "axis", int64(0))
	if axis < 0 {
		axis += int64(len(in[0].shape))
	}
	shape := slices.Clone(in[0].shape)
	shape[axis] = 0
	for _, x := range in {
		shape[axis] += x.shape[axis]
	}
	y := array{elem: in[0].elem, shape: shape}
	for block := range int(product(shape[:axis])) {
		for _, x := range in {
			size := int(product(x.shape[axis:]))
			y.data = append(y.data, x.data[block*size:][:size]...)
		}
	}
	return []array{y}
}

// taken is what is left of an array if of one axis the given elements are kept.
func (a array) taken(axis int64, keep []int) array {
	outer, along, inner := a.split(axis)
	y := array{elem: a.elem, shape: slices.Clone(a.shape)}
	y.shape[axis] = int64(len(keep))
	for o := range outer {
		for _, k := range keep {
			if k < 0 {
				k += along
			}
			y.data = append(y.data, a.data[(o*along+k)*inner:][:inner]...)
		}
	}
	return y
}

// sliced keeps a part of one axis, in steps of one.
func sliced(_ *onnx.Node, in []array) []array {
	axis := int64(in[3].data[0])
	n := int(in[0].shape[axis])
	clamp := func(i int) int {
		if i < 0 {
			i += n
		}
		return min(max(i, 0), n)
	}
	var keep []int
	for i := clamp(int(in[1].data[0])); i < clamp(int(in[2].data[0])); i++ {
		keep = append(keep, i)
	}
	return []array{in[0].taken(axis, keep)}
}

// padZeros adds zeros around an array. Of an axis whose padding is negative elements are cut off.
func padZeros(_ *onnx.Node, in []array) []array {
	x, pads := in[0], in[1].data
	axes := len(x.shape)
	y := newArray(x.elem, x.shape...)
	for i := range y.shape {
		y.shape[i] += int64(pads[i] + pads[axes+i])
	}
	y.data = make([]float64, product(y.shape))
	strides := y.strides()
	x.each(func(index []int, p int) {
		at := 0
		for i, k := range index {
			if k += int(pads[i]); k < 0 || k >= int(y.shape[i]) {
				return
			}
			at += (index[i] + int(pads[i])) * strides[i]
		}
		y.data[at] = x.data[p]
	})
	return []array{y}
}

// resized enlarges or shrinks the spatial axes, one after the other.
func resized(n *onnx.Node, in []array) []array {
	y := in[0]
	for axis, scale := range in[2].data {
		if scale != 1 {
			y = y.stretched(n, axis, scale)
		}
	}
	return []array{y}
}

func (a array) stretched(n *onnx.Node, axis int, scale float64) array {
	from, to := float64(a.shape[axis]), math.Floor(float64(a.shape[axis])*scale)
	y := newArray(a.elem, a.shape...)
	y.shape[axis] = int64(to)
	y.data = make([]float64, product(y.shape))
	_, _, inner := a.split(int64(axis))
	a.lines(int64(axis), func(i int, line []float64) []float64 {
		for k := range int(to) {
			y.data[(i/inner*int(to)+k)*inner+i%inner] = lookUp(n, line, sourceOf(n, float64(k), from, to, scale))
		}
		return nil
	})
	return y
}

// sourceOf is where an element of a resized axis comes from.
func sourceOf(n *onnx.Node, k, from, to, scale float64) float64 {
	switch onnx.AttrOr(n, "coordinate_transformation_mode", "half_pixel") {
	case "align_corners":
		return k * (from - 1) / (to - 1)
	case "asymmetric":
		return k / scale
	}
	return (k+0.5)/scale - 0.5
}

func lookUp(n *onnx.Node, line []float64, x float64) float64 {
	last := len(line) - 1
	at := func(i float64) float64 { return line[min(max(int(i), 0), last)] }
	switch {
	case onnx.AttrOr(n, "mode", "nearest") != "nearest":
		low := math.Floor(x)
		return at(low)*(1-(x-low)) + at(low+1)*(x-low)
	case onnx.AttrOr(n, "nearest_mode", "round_prefer_floor") == "floor":
		return at(math.Floor(x))
	}
	return at(math.Ceil(x - 0.5))
}

func gathered(n *onnx.Node, in []array) []array {
	x, axis := in[0], onnx.AttrOr(n, "axis", int64(0))
	keep := make([]int, len(in[1].data))
	for i, k := range in[1].data {
		keep[i] = int(k)
	}
	y := x.taken(axis, keep)
	y.shape = slices.Concat(x.shape[:axis], in[1].shape, x.shape[axis+1:])
	return []array{y}
}

// entry finds where the element begins, or what is below it, that a list of indices means.
func (a array) entry(index []float64) (begin, size int) {
	strides := a.strides()
	for i, k := range index {
		if k < 0 {
			k += float64(a.shape[i])
		}
		begin += int(k) * strides[i]
	}
	return begin, int(product(a.shape[len(index):]))
}

func gatheredND(n *onnx.Node, in []array) []array {
	x, indices, batch := in[0], in[1], int(onnx.AttrOr(n, "batch_dims", int64(0)))
	width := int(indices.shape[len(indices.shape)-1])
	y := array{elem: x.elem, shape: slices.Concat(indices.shape[:len(indices.shape)-1], x.shape[batch+width:])}
	each := len(indices.data) / width / int(product(indices.shape[:batch])) // lists of a batch
	part := array{elem: x.elem, shape: x.shape[batch:]}
	size := int(product(part.shape))
	for i := 0; i < len(indices.data); i += width {
		part.data = x.data[i/width/each*size:][:size]
		begin, n := part.entry(indices.data[i:][:width])
		y.data = append(y.data, part.data[begin:][:n]...)
	}
	return []array{y}
}

func scatteredND(_ *onnx.Node, in []array) []array {
	y, indices := in[0].of(func(x float64) float64 { return x }), in[1]
	width := int(indices.shape[len(indices.shape)-1])
	for i := 0; i < len(indices.data); i += width {
		begin, n := y.entry(indices.data[i:][:width])
		copy(y.data[begin:][:n], in[2].data[i/width*n:][:n])
	}
	return []array{y}
}

func nonZeros(_ *onnx.Node, in []array) []array {
	rows := make([][]float64, len(in[0].shape))
	in[0].each(func(index []int, p int) {
		for axis, k := range index {
			if in[0].data[p] != 0 {
				rows[axis] = append(rows[axis], float64(k))
			}
		}
	})
	return []array{{onnx.Int64, []int64{int64(len(rows)), int64(len(rows[0]))}, slices.Concat(rows...)}}
}

// suppressed lists boxes, class by class, that no better one of the class overlaps too much.
func suppressed(_ *onnx.Node, in []array) []array {
	boxes, scores, limit, iou, least := in[0], in[1], int(in[2].data[0]), in[3].data[0], in[4].data[0]
	kept := array{elem: onnx.Int64, shape: []int64{0, 3}}
	for line := range int(scores.shape[0] * scores.shape[1]) {
		batch, class := line/int(scores.shape[1]), line%int(scores.shape[1])
		n := int(scores.shape[2])
		list := scores.data[line*n:][:n]
		var chosen []int
		for len(chosen) < limit {
			next := -1
			for i, s := range list {
				overlaps := slices.ContainsFunc(chosen, func(c int) bool { return intersectionOverUnion(boxes.box(batch, i), boxes.box(batch, c)) > iou })
				if s > least && !overlaps && !slices.Contains(chosen, i) && (next < 0 || s > list[next]) {
					next = i
				}
			}
			if next < 0 {
				break
			}
			chosen = append(chosen, next)
			kept.data = append(kept.data, float64(batch), float64(class), float64(next))
			kept.shape[0]++
		}
	}
	return []array{kept}
}

func (a array) box(batch, i int) []float64 { return a.data[(batch*int(a.shape[1])+i)*4:][:4] }

// intersectionOverUnion is the intersection of two boxes over their union.
func intersectionOverUnion(a, b []float64) float64 {
	side := func(low, high, low2, high2 float64) float64 { return max(0, min(high, high2)-max(low, low2)) }
	inner := side(a[0], a[2], b[0], b[2]) * side(a[1], a[3], b[1], b[3])
	area := func(c []float64) float64 { return (c[2] - c[0]) * (c[3] - c[1]) }
	return inner / (area(a) + area(b) - inner)
}
