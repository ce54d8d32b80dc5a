package arch

import (
	"fmt"
	"math"

	"github.com/mlperf-go/mlperf/internal/onnx"
)

// A whisperNet is a file of Whisper while it is written.
type whisperNet struct {
	*Builder
	whisperSize
	knows *whisperKnowledge
	in    map[string]*onnx.Value
	kept  []*onnx.Value // what the decoder's caches become, in the order of its outputs
}

func newWhisperNet(b *Builder, s whisperSize, role string) *whisperNet {
	n := &whisperNet{Builder: b, whisperSize: s, in: map[string]*onnx.Value{}}
	if s.hidden == whisperSmall.hidden {
		n.knows = &whisperKnowledge{s}
	}
	in, _ := s.ports(role)
	for _, v := range in {
		n.in[v.Name] = b.Input(v.Name, v.Type.Elem, v.Type.Shape)
	}
	return n
}

func (n *whisperNet) build(role string) {
	if role == whisperEncoder {
		n.Output(n.rename(n.encoder(), "last_hidden_state"))
		return
	}
	x := n.embedded()
	for i := range int(n.layers) {
		x = n.decoderLayer(i, x)
	}
	x = n.LayerNorm("norm", x, whisperEpsilon, nil, nil)
	logits := n.MatMul("proj_out", x, n.Weight("proj_out/weights", n.knows.scores(), n.hidden, n.rows))
	n.Output(append([]*onnx.Value{n.rename(logits, "logits")}, n.kept...)...)
}

// encoder adds two convolutions, of which the second takes every other step, places, and layers of attention
// and a dense part.
func (n *whisperNet) encoder() *onnx.Value {
	conv := func(name string, x *onnx.Value, stride int64, knows func(int, []float32), bias func(int, []float32)) *onnx.Value {
		y := n.Conv(name, x, Conv{
			Filters: n.hidden, Kernel: Axes{3}, Strides: Axes{stride}, Pads: Pad(1),
			Weights: n.knows.with(n.noise(3*extentOf(x, 1), whisperLoud), knows), Bias: n.knows.with(Constant(0), bias),
		})
		return n.Gelu(name+"/gelu", y)
	}
	x := conv("conv1", n.in["input_features"], 1, n.knows.listen, n.knows.doubt)
	x = conv("conv2", x, 2, n.knows.pass, n.knows.steady)
	x = n.Add("embedded", n.Transpose("embedded/turned", x, 0, 2, 1), n.fill("positions", auxiliary, Patched{Constant(0), n.sinusoids}, []int64{whisperSteps, n.hidden}))
	for i := range int(n.layers) {
		name := fmt.Sprintf("layer%d", i)
		y := n.LayerNorm(name+"/attention/norm", x, whisperEpsilon, nil, nil)
		key, value := n.keyValue(name+"/attention", y, nil)
		x = n.Add(name+"/attended", x, n.attention(name+"/attention", y, key, value, nil, nil))
		x = n.dense(name, x)
	}
	return n.LayerNorm("norm", x, whisperEpsilon, nil, nil)
}

// sinusoids is what tells a step of the encoder by: sines of its place, and then cosines.
func (n *whisperNet) sinusoids(step int, w []float32) {
	half := len(w) / 2
	for i := range half {
		sin, cos := math.Sincos(float64(step) * n.frequency(i))
		w[i], w[half+i] = float32(sin), float32(cos)
	}
}

// frequency is that of a sine of the encoder's places.
func (s whisperSize) frequency(i int) float64 {
	return math.Pow(10000, -float64(i)/(float64(s.hidden)/2-1))
}

// noise is what fills weights without a meaning.
func (n *whisperNet) noise(inputs int64, strength float64) Filler {
	if n.knows == nil {
		strength = 1
	}
	return Bell{strength / math.Sqrt(float64(inputs))}
}

// linear adds x·W and, unless it is a key, a bias.
func (n *whisperNet) linear(name string, x *onnx.Value, units int64, strength float64, knows func(int, []float32)) *onnx.Value {
	inputs := width(x)
	w := n.knows.with(n.noise(inputs, strength), knows)
	return n.Linear(name, x, units, w, nil)
}

// keyValue adds the keys and values of an attention. Keys have no bias.
func (n *whisperNet) keyValue(name string, x *onnx.Value, part func(string) func(int, []float32)) (key, value *onnx.Value) {
	if part == nil {
		part = func(string) func(int, []float32) { return nil }
	}
	weights := n.Weight(name+"/key/weights", n.knows.with(n.noise(n.hidden, 1), part("key")), n.hidden, n.hidden)
	key = n.heads(name+"/key", n.MatMul(name+"/key", x, weights), n.queryHeads, whisperHeadSize)
	return key, n.heads(name+"/value", n.linear(name+"/value", x, n.hidden, 1, part("value")), n.queryHeads, whisperHeadSize)
}

// attention adds heads that look from x at keys and values.
func (n *whisperNet) attention(name string, x, key, value, mask *onnx.Value, part func(string) func(int, []float32)) *onnx.Value {
	if part == nil {
		part = func(string) func(int, []float32) { return nil }
	}
	q := n.linear(name+"/query", x, n.hidden, 1, part("query"))
	q = n.heads(name+"/query", n.Binary("Mul", name+"/query/scaled", q, n.scalar(1/float32(math.Sqrt(whisperHeadSize)))), n.queryHeads, whisperHeadSize)
	scores := n.MatMul(name+"/scores", q, n.Transpose(name+"/key/turned", key, 0, 1, 3, 2))
	if mask != nil {
		scores = n.Add(name+"/masked", scores, mask)
	}
	y := n.MatMul(name+"/seen", n.Softmax(name+"/weights", scores, -1), value)
	y = n.Reshape(name+"/joined", n.Transpose(name+"/back", y, 0, 2, 1, 3), 0, 0, n.hidden)
	return n.linear(name+"/out", y, n.hidden, whisperNoise, part("out"))
}

// dense adds the dense part of a layer.
func (n *whisperNet) dense(name string, x *onnx.Value) *onnx.Value {
	y := n.LayerNorm(name+"/dense/norm", x, whisperEpsilon, nil, nil)
	y = n.Gelu(name+"/gelu", n.linear(name+"/in", y, 4*n.hidden, 1, nil))
	return n.Add(name+"/fed", x, n.linear(name+"/out", y, n.hidden, whisperNoise, nil))
}
