package arch

import (
	"fmt"

	"github.com/mlperf-go/mlperf/internal/onnx"
)

// The size of DLRM for the Criteo Terabyte data (dlrm/pytorch, the 40M configuration).
const (
	dlrmDense   = 13
	dlrmWidth   = 128
	dlrmBags    = 26
	dlrmLargest = 40_000_000
)

// dlrmRows are the rows of the tables.
var dlrmRows = [dlrmBags]int64{
	39884406, 39043, 17289, 7420, 20263, 3, 7120, 1543, 63, 38532951, 2953546, 403346, 10, 2208, 11938, 155, 4, 976, 14,
	39979771, 25641295, 39664984, 585935, 12972, 108, 36,
}

// DLRMRows returns the rows of the tables of the built-in DLRM, none of which has more than
// the limit.
func DLRMRows(limit int64) []int64 {
	rows := make([]int64, dlrmBags)
	for i, n := range dlrmRows {
		rows[i] = min(n, limit)
	}
	return rows
}

// dlrm is DLRM for the Criteo Terabyte data (Naumov et al., arXiv:1906.00091): numbers go
// through three dense layers, categories through tables; each two of the 27 vectors are
// multiplied, and five dense layers tell from the products how likely a click is. The axis of
// the official inputs for categories is that of the tables first. Options.Rows limits the
// rows of each table.
func dlrm() Architecture {
	bags := onnx.Type{Elem: onnx.Int64, Shape: onnx.Shape{onnx.Fixed(dlrmBags), onnx.Free(onnx.BatchAxis)}}
	return Architecture{
		Name:     "dlrm",
		Title:    "DLRM, Criteo Terabyte, 40M",
		Official: "https://github.com/mlcommons/inference/tree/master/retired_benchmarks/recommendation/dlrm",
		Inputs: []onnx.Value{
			{Name: "dense_x", Type: onnx.Type{Elem: onnx.Float32, Shape: onnx.Batched(dlrmDense)}},
			{Name: "offsets", Type: bags}, {Name: "indices", Type: bags},
		},
		Outputs: []onnx.Value{{Name: "pred", Type: onnx.Type{Elem: onnx.Float32, Shape: onnx.Batched(1)}}},
		Rows:    dlrmLargest,
		Seed:    14,
		layers:  dlrmLayers,
	}
}

func dlrmLayers(b *Builder, o Options) {
	in := dlrm().Inputs
	dense := b.Input(in[0].Name, onnx.Float32, in[0].Type.Shape)
	offsets, indices := b.Input(in[1].Name, onnx.Int64, in[1].Type.Shape), b.Input(in[2].Name, onnx.Int64, in[2].Type.Shape)

	x := dlrmDenseLayers(b, "bottom", dense, He{}, 512, 256, dlrmWidth)
	vectors := []*onnx.Value{b.Unsqueeze("numbers", x, 1)}
	for i, rows := range DLRMRows(o.Rows) {
		name := fmt.Sprintf("table%d", i)
		row := func(what string, v *onnx.Value) *onnx.Value {
			return b.Squeeze(name+"/"+what, b.Slice(name+"/"+what+"/row", v, 0, int64(i), int64(i)+1), 0)
		}
		// A bag has one category: that where it begins.
		first := b.Gather(name+"/first", row("indices", indices), row("offsets", offsets), 0)
		table := b.Weight(name+"/weights", Bell{dlrmSpread}, rows, dlrmWidth)
		vectors = append(vectors, b.Unsqueeze(name+"/vector", b.Gather(name, table, first, 0), 1))
	}
	stacked := b.Concat("vectors", 1, vectors...)
	products := b.Reshape("products/flat", b.MatMul("products", stacked, b.Transpose("vectors/turned", stacked, 0, 2, 1)), 0, (dlrmBags+1)*(dlrmBags+1))
	x = b.Concat("interaction", 1, x, b.Gather("pairs", products, b.ints(lowerTriangle(dlrmBags+1)...), 1))
	x = dlrmDenseLayers(b, "top", x, He{ZeroMean: true}, 1024, 1024, 512, 256)
	x = b.Dense("click", x, Dense{Units: 1, Weights: He{Gain: dlrmGain, ZeroMean: true}, Bias: Constant(dlrmBias)})
	b.Output(b.rename(b.Unary("Sigmoid", "probability", x), "pred"))
}

// How the weights are spread, so that the chance of a click is mostly low and varies as that
// of a trained model does.
const (
	dlrmSpread = 0.15
	dlrmGain   = 1
	dlrmBias   = -1.2
)

// lowerTriangle lists the places below the diagonal of a matrix, row by row.
func lowerTriangle(n int64) []int64 {
	var places []int64
	for i := range n {
		for j := range i {
			places = append(places, i*n+j)
		}
	}
	return places
}
