//go:build ort && cgo

package ort

import (
	"encoding/binary"
	"testing"

	"github.com/mlperf-go/mlperf/internal/backend"
	"github.com/mlperf-go/mlperf/internal/tensor"
)

// attention is a model of one GroupQueryAttention with two heads of 16, whose lengths are inputs or follow from a mask.
func attention(mask bool) onnxGraph {
	g := onnxGraph{contrib: true,
		inputs:  []message{onnxPort("qkv", tensor.Float32, "N", "S", 64), onnxPort("past_key", tensor.Float32, "N", 1, "P", 16), onnxPort("past_value", tensor.Float32, "N", 1, "P", 16)},
		outputs: []message{onnxPort("y", tensor.Float32, "N", "S", 32), onnxPort("key", tensor.Float32, "N", 1, "T", 16), onnxPort("value", tensor.Float32, "N", 1, "T", 16)},
	}
	node := onnxNode("GroupQueryAttention", []string{"qkv", "", "", "past_key", "past_value", "lengths", "total"}, []string{"y", "key", "value"})
	g.nodes = []message{node.bytes(5, whole("num_heads", 2)).bytes(5, whole("kv_num_heads", 1)).text(7, "com.microsoft")}
	if !mask {
		g.inputs = append(g.inputs, onnxPort("lengths", tensor.Int32, "N"), onnxPort("total", tensor.Int32, 1))
		return g
	}
	g.inputs = append(g.inputs, onnxPort("mask", tensor.Int64, "N", "T"))
	g.weights = []message{wholeNumbers("one", 1), wholeNumbers("two", 2)}
	cast := func(in, out string) message {
		return onnxNode("Cast", []string{in}, []string{out}).text(3, "my_"+out).bytes(5, whole("to", 6))
	}
	g.nodes = append([]message{
		onnxNode("ReduceSum", []string{"mask", "one"}, []string{"sum"}).bytes(5, whole("keepdims", 0)),
		onnxNode("Sub", []string{"sum", "one"}, []string{"less"}), cast("less", "lengths"),
		onnxNode("Shape", []string{"mask"}, []string{"shape"}), onnxNode("Slice", []string{"shape", "one", "two"}, []string{"longest"}), cast("longest", "total"),
	}, g.nodes...)
	return g
}

// whole is an attribute that is a whole number.
func whole(name string, v uint64) message { return message{}.text(1, name).number(3, v).number(20, 2) }

// wholeNumbers is a weight of int64.
func wholeNumbers(name string, v uint64) message {
	return message{}.number(1, 1).number(2, 7).text(8, name).bytes(9, binary.LittleEndian.AppendUint64(nil, v))
}

func TestORTNodesOfADecoderAreCounted(t *testing.T) {
	deep := onnxGraph{ // a depth of zero is an error, as a length of zero is to attention on a GPU
		nodes:   []message{onnxNode("OneHot", []string{"x", "depth", "values"}, []string{"y"})},
		inputs:  []message{onnxPort("x", tensor.Int64, "N"), onnxPort("depth", tensor.Int64, 1)},
		weights: []message{weight("values", []float32{0, 1}, 2)},
		outputs: []message{onnxPort("y", tensor.Float32, "N", "D")},
	}
	for name, c := range map[string]struct {
		graph onnxGraph
		nodes int
	}{"lengths as inputs": {attention(false), 1}, "lengths of a mask": {attention(true), 7}, "a count that may not be zero": {deep, 1}} {
		t.Run(name, func(t *testing.T) {
			info := openModel(t, c.graph, backend.Options{CountDeviceNode: true, OptimizeLevel: "none"}).Info()
			if len(info.Warnings) > 0 || len(info.Devices) != 1 || info.Devices[0].Nodes != c.nodes {
				t.Errorf("Devices = %v, Warnings = %q, want %d nodes", info.Devices, info.Warnings, c.nodes)
			}
		})
	}
}
