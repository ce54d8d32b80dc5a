package arch

import (
	"fmt"

	"github.com/mlperf-go/mlperf/internal/onnx"
)

// parallelLayer adds a layer of GPT-J. It returns the sum, that normalised, and keys and values.
func (d *decoderNet) parallelLayer(name string, layer int, x, normed *onnx.Value) (sum, next *onnx.Value, kept []*onnx.Value) {
	attended, key, value := d.attention(name+"/attention", layer, normed)
	kept = []*onnx.Value{d.rename(key, fmt.Sprintf("present.%d.key", layer)), d.rename(value, fmt.Sprintf("present.%d.value", layer))}
	sum = d.Add(name+"/sum", d.Add(name+"/attended", x, attended), d.dense(name, layer, normed))
	return sum, d.norm(name+"/norm_after", sum), kept
}

// dense adds the dense part of a layer of GPT-J.
func (d *decoderNet) dense(name string, layer int, x *onnx.Value) *onnx.Value {
	inner := d.Add(name+"/in/sum", d.linear(name+"/in", x, d.inner, nil), d.Weight(name+"/in/bias", Constant(0), d.inner))
	gelu := d.contrib("FastGelu", name+"/gelu", []*onnx.Value{inner}, nil, inner.Type)[0]
	return d.Add(name+"/out/sum", d.linear(name+"/out", gelu, d.hidden, d.knows.down(layer)), d.Weight(name+"/out/bias", Constant(0), d.hidden))
}
