package arch

import (
	"fmt"
	"math"

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

// DLRM is DLRM for the Criteo Terabyte data (Naumov et al., arXiv:1906.00091): numbers go
// through three dense layers, categories through tables; each two of the 27 vectors are
// multiplied, and five dense layers tell from the products how likely a click is. The axis of
// the official inputs for categories is that of the tables first. Options.Rows limits the
// rows of each table.
func DLRM() Architecture {
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
	in := DLRM().Inputs
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

// The size of DLRM-v2 (recommendation/dlrm_v2/pytorch, python/main.py).
const (
	dcnLayers = 3
	dcnRank   = 512
)

// dlrmV2Rows are the rows of the tables, and DLRMv2Hot how many categories each has of a pair
// (tools/make_fake_criteo.sh).
var dlrmV2Rows = [dlrmBags]int64{
	40000000, 39060, 17295, 7424, 20265, 3, 7122, 1543, 63, 40000000, 3067956, 405282, 10, 2209, 11938, 155, 4, 976, 14,
	40000000, 40000000, 40000000, 590152, 12973, 108, 36,
}

// DLRMv2Rows returns the rows of the tables of the built-in DLRM-v2, none of which has more than
// the limit.
func DLRMv2Rows(limit int64) []int64 {
	rows := make([]int64, dlrmBags)
	for i, n := range dlrmV2Rows {
		rows[i] = min(n, limit)
	}
	return rows
}

// DLRMv2Hot returns how many categories of a pair each table has.
func DLRMv2Hot() []int64 {
	return []int64{3, 2, 1, 2, 6, 1, 1, 1, 1, 7, 3, 8, 1, 6, 9, 5, 1, 1, 1, 12, 100, 27, 10, 3, 1, 1}
}

// DLRMv2 is DLRM-DCN for the Criteo Terabyte data with several categories a table (Wang et al.,
// arXiv:2008.13535): the rows of a pair's categories are added up, and three layers cross
// the vectors with each other, of low rank. There is no official ONNX file: names follow
// those of DLRM, with one input for each table.
func DLRMv2() Architecture {
	a := Architecture{
		Name:     "dlrm-v2",
		Title:    "DLRM-v2, Criteo Terabyte, multi-hot",
		Official: "https://github.com/mlcommons/inference/tree/master/recommendation/dlrm_v2/pytorch",
		Inputs:   []onnx.Value{{Name: "dense_x", Type: onnx.Type{Elem: onnx.Float32, Shape: onnx.Batched(dlrmDense)}}},
		Outputs:  []onnx.Value{{Name: "pred", Type: onnx.Type{Elem: onnx.Float32, Shape: onnx.Batched(1)}}},
		Rows:     dlrmLargest,
		Seed:     19,
		layers:   dlrmV2Layers,
	}
	for i, hot := range DLRMv2Hot() {
		a.Inputs = append(a.Inputs, onnx.Value{Name: fmt.Sprintf("indices_%d", i), Type: onnx.Type{Elem: onnx.Int64, Shape: onnx.Batched(hot)}})
	}
	return a
}

func dlrmV2Layers(b *Builder, o Options) {
	var in []*onnx.Value
	for _, v := range DLRMv2().Inputs {
		in = append(in, b.Input(v.Name, v.Type.Elem, v.Type.Shape))
	}
	vectors := []*onnx.Value{dlrmDenseLayers(b, "bottom", in[0], He{}, 512, 256, dlrmWidth)}
	for i, rows := range DLRMv2Rows(o.Rows) {
		name := fmt.Sprintf("table%d", i)
		// A sum over many rows is spread as one row is.
		spread := dlrmV2Spread / math.Sqrt(float64(DLRMv2Hot()[i]))
		table := b.Weight(name+"/weights", Bell{spread}, rows, dlrmWidth)
		vectors = append(vectors, b.Reduce("ReduceSum", name+"/bag", b.Gather(name, table, in[1+i], 0), 1))
	}
	first := b.Concat("vectors", 1, vectors...)
	x := first
	for i := range dcnLayers {
		name := fmt.Sprintf("cross%d", i)
		narrow := b.MatMul(name+"/narrow", x, b.Weight(name+"/v", He{Gain: dcnGain}, (dlrmBags+1)*dlrmWidth, dcnRank))
		wide := b.Linear(name+"/wide", narrow, (dlrmBags+1)*dlrmWidth, He{Gain: dcnGain}, Constant(0))
		x = b.Add(name, b.Binary("Mul", name+"/product", first, wide), x)
	}
	x = dlrmDenseLayers(b, "top", x, He{ZeroMean: true}, 1024, 1024, 512, 256)
	x = b.Dense("click", x, Dense{Units: 1, Weights: He{Gain: dlrmV2Gain, ZeroMean: true}, Bias: Constant(dlrmV2Bias)})
	b.Output(b.rename(b.Unary("Sigmoid", "probability", x), "pred"))
}

// dlrmDenseLayers adds dense layers, each with a ReLU.
func dlrmDenseLayers(b *Builder, name string, x *onnx.Value, weights Filler, units ...int64) *onnx.Value {
	for i, n := range units {
		layer := fmt.Sprintf("%s%d", name, i)
		x = b.Relu(layer+"/relu", b.Dense(layer, x, Dense{Units: n, Weights: weights, Bias: Uniform{-0.05, 0.05}}))
	}
	return x
}

// How the weights are spread, so that the chance of a click is mostly low and varies.
const (
	dlrmV2Spread = 0.5
	dlrmV2Gain   = 0.9
	dlrmV2Bias   = -1.5
	dcnGain      = 0.7
)
