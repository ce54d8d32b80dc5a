package arch

import (
	"math"
	"slices"

	"github.com/mlperf-go/mlperf/internal/onnx"
)

// matMulNBits multiplies with weights of 4 bits, 8 more than their multiples of the scale of a block.
func matMulNBits(n *onnx.Node, in []array) []array {
	inner, units := int(onnx.AttrOr(n, "K", int64(0))), int(onnx.AttrOr(n, "N", int64(0)))
	block := int(onnx.AttrOr(n, "block_size", int64(0)))
	w := newArray(onnx.Float32, int64(inner), int64(units))
	for u := range units {
		for k := range inner {
			w.data[k*units+u] = (nibbleOf(in[1].data, u*inner+k) - 8) * in[2].data[u*inner/block+k/block]
		}
	}
	return matMul(n, []array{in[0], w})
}

// nibbleOf is a number of 4 bits of those that lie two in a byte, the low one first.
func nibbleOf(packed []float64, i int) float64 {
	return float64(int(packed[i/2]) >> (i % 2 * 4) & 15)
}

// groupQueryAttention turns queries and keys by their places, puts keys and values behind those that are kept,
// and lets each query look at those that are not behind it. Its inputs are padded at the end.
func groupQueryAttention(n *onnx.Node, in []array) []array {
	qkv, pastKey, pastValue := in[0], in[3], in[4]
	heads, kvHeads := int(onnx.AttrOr(n, "num_heads", int64(0))), int(onnx.AttrOr(n, "kv_num_heads", int64(0)))
	batch, sequence, size := int(qkv.shape[0]), int(qkv.shape[1]), int(pastKey.shape[3])
	whole := int(in[6].data[0])
	y := newArray(qkv.elem, int64(batch), int64(sequence), int64(heads*size))
	keys, values := newArray(qkv.elem, int64(batch), int64(kvHeads), int64(whole), int64(size)), newArray(qkv.elem, int64(batch), int64(kvHeads), int64(whole), int64(size))
	for b := range batch {
		past := min(int(in[5].data[b])+1-sequence, int(pastKey.shape[2]))
		row := func(s, head int) []float64 {
			return slices.Clone(qkv.data[((b*sequence+s)*(heads+2*kvHeads)+head)*size:][:size])
		}
		kept := func(a array, head, at int) []float64 {
			return a.data[((b*kvHeads+head)*int(a.shape[2])+at)*size:][:size]
		}
		for head := range kvHeads {
			for at := range past {
				copy(kept(keys, head, at), kept(pastKey, head, at))
				copy(kept(values, head, at), kept(pastValue, head, at))
			}
			for s := range sequence {
				copy(kept(keys, head, past+s), turnedBy(n, row(s, heads+head), in[7], in[8], past+s))
				copy(kept(values, head, past+s), row(s, heads+kvHeads+head))
			}
		}
		for head := range heads {
			group := head / (heads / kvHeads)
			for s := range sequence {
				query := turnedBy(n, row(s, head), in[7], in[8], past+s)
				out := y.data[((b*sequence+s)*heads+head)*size:][:size]
				lookAt(out, query, past+s+1, float64(onnx.AttrOr(n, "scale", float32(0))), func(at int) (key, value []float64) { return kept(keys, group, at), kept(values, group, at) })
			}
		}
	}
	return []array{y, keys, values}
}

// lookAt adds up the values of so many places, weighted by how well their keys fit.
func lookAt(out, query []float64, places int, scale float64, at func(int) (key, value []float64)) {
	scores := make([]float64, places)
	for i := range scores {
		key, _ := at(i)
		for k, v := range key {
			scores[i] += v * query[k] * scale
		}
	}
	sum := logSumExp(scores)
	for i, s := range scores {
		_, value := at(i)
		for k, v := range value {
			out[k] += v * math.Exp(s-sum)
		}
	}
}

// turnedBy turns the pairs of numbers of a head by the angles of a place.
func turnedBy(n *onnx.Node, x []float64, cos, sin array, place int) []float64 {
	half := int(cos.shape[1])
	for i := range half {
		a, b := i, i+half
		if onnx.AttrOr(n, "rotary_interleaved", int64(0)) == 1 {
			a, b = 2*i, 2*i+1
		}
		c, s := cos.at(place, i), sin.at(place, i)
		x[a], x[b] = x[a]*c-x[b]*s, x[b]*c+x[a]*s
	}
	return x
}

// experts asks for each row the k experts that the router likes best. Gates and values lie side by side.
func experts(n *onnx.Node, in []array) []array {
	x, router, wide, narrow := in[0], in[1], in[2], in[4]
	k := int(onnx.AttrOr(n, "k", int64(1)))
	hidden, inner := int(narrow.shape[1]), int(narrow.shape[2])
	y := newArray(x.elem, x.shape...)
	count := int(router.shape[1])
	for row := range int(x.shape[0]) {
		scores := router.data[row*count:][:count]
		order := make([]int, count)
		for i := range order {
			order[i] = i
		}
		slices.SortStableFunc(order, func(a, b int) int { return int(math.Copysign(1, scores[b]-scores[a])) })
		shares := 0.0
		for _, e := range order[:k] {
			shares += math.Exp(scores[e])
		}
		for _, e := range order[:k] {
			units := timesRows(wide.data[e*2*inner*hidden:], 2*inner, x.data[row*hidden:][:hidden])
			open := make([]float64, inner)
			for i := range open {
				gate, up := units[2*i], units[2*i+1]
				open[i] = gate * logistic(gate) * up
			}
			for i, v := range timesRows(narrow.data[e*hidden*inner:], hidden, open) {
				y.data[row*hidden+i] += v * math.Exp(scores[e]) / shares
			}
		}
	}
	return []array{y}
}

// timesRows multiplies each of some rows of weights with x.
func timesRows(w []float64, rows int, x []float64) []float64 {
	y := make([]float64, rows)
	for r := range y {
		for i, v := range x {
			y[r] += v * w[r*len(x)+i]
		}
	}
	return y
}
