package arch

import (
	"fmt"
	"math"

	"github.com/mlperf-go/mlperf/internal/onnx"
)

// captionLength is how many tokens the text encoders read.
const captionLength = 77

// A clipTextSize is what a text encoder of CLIP consists of (Radford et al., arXiv:2103.00020).
type clipTextSize struct {
	layers, hidden, attentions, rows int64

	// projected is the form of the second encoder of Stable Diffusion XL: it has GELU instead of its
	// quick form, and what it makes of the whole text is projected.
	projected bool
}

// Sizes of text encoders: those of Stable Diffusion XL (text_encoder/config.json and
// text_encoder_2/config.json of stable-diffusion-xl-base-1.0), and small ones that take their
// place in the built-in pipeline.
var (
	sdxlText     = clipTextSize{layers: 12, hidden: 768, attentions: 12, rows: 49408}
	sdxlText2    = clipTextSize{layers: 32, hidden: 1280, attentions: 20, rows: 49408, projected: true}
	sdxlMiniText = clipTextSize{layers: 2, hidden: 32, attentions: 2, rows: sdxlMiniRows}
	sdxlMiniTwo  = clipTextSize{layers: 3, hidden: 64, attentions: 4, rows: sdxlMiniRows, projected: true}
)

// sdxlMiniRows is how many tokens the built-in text encoders know: 512 bytes, and what is joined of
// them.
const sdxlMiniRows = 1024

// sdxlTextEncoder is a text encoder with the names that Optimum exports. What the pipeline reads
// are the hidden states before the last layer, and of the second encoder the projected text.
func sdxlTextEncoder(name, title, official string, s clipTextSize, seed uint64) Architecture {
	state := onnx.Type{Elem: onnx.Float32, Shape: onnx.Batched(captionLength, s.hidden)}
	outputs := []onnx.Value{{Name: "text_embeds", Type: onnx.Type{Elem: onnx.Float32, Shape: onnx.Batched(s.hidden)}}, {Name: "last_hidden_state", Type: state}}
	if !s.projected {
		outputs[0], outputs[1] = outputs[1], onnx.Value{Name: "pooler_output", Type: outputs[0].Type}
	}
	for i := range s.layers + 1 {
		outputs = append(outputs, onnx.Value{Name: fmt.Sprintf("hidden_states.%d", i), Type: state})
	}
	return Architecture{
		Name: name, Title: title, Official: official, Seed: seed,
		Inputs:  []onnx.Value{{Name: "input_ids", Type: onnx.Type{Elem: onnx.Int64, Shape: onnx.Batched(captionLength)}}},
		Outputs: outputs,
		Rows:    s.rows,
		layers: func(b *Builder, o Options) {
			s := s
			s.rows = o.Rows
			clipTextNet{b, s}.build(outputs)
		},
	}
}

type clipTextNet struct {
	*Builder
	clipTextSize
}

const clipEpsilon = 1e-5

func (n clipTextNet) build(outputs []onnx.Value) {
	ids := n.Input("input_ids", onnx.Int64, onnx.Batched(captionLength))
	tokens := n.Gather("embeddings/token", n.Weight("embeddings/token/weights", Bell{1}, n.rows, n.hidden), ids, 0)
	x := n.Add("embeddings", tokens, n.Weight("embeddings/position", Bell{0.3}, captionLength, n.hidden))
	values := map[string]*onnx.Value{}
	for i := range n.layers {
		values[fmt.Sprintf("hidden_states.%d", i)] = x
		x = n.layer(fmt.Sprintf("layer%d", i), x)
	}
	values[fmt.Sprintf("hidden_states.%d", n.layers)] = n.Unary("Identity", "last", x)
	last := n.LayerNorm("final_norm", x, clipEpsilon, nil, nil)
	whole := n.pooled(ids, last)
	if n.projected {
		whole = n.product("text_projection", whole, n.hidden, Bell{1 / math.Sqrt(float64(n.hidden))})
	}
	values["last_hidden_state"], values["text_embeds"], values["pooler_output"] = last, whole, whole
	for _, out := range outputs {
		n.Output(n.rename(values[out.Name], out.Name))
	}
}

// pooled is the state at the end of the text, the token with the largest number.
func (n clipTextNet) pooled(ids, states *onnx.Value) *onnx.Value {
	return n.GatherND("pooled", states, n.Unsqueeze("pooled/at", n.ArgMax("pooled/end", ids, 1), 1), 1)
}

// layer adds an attention that looks back only, and two dense layers.
func (n clipTextNet) layer(name string, x *onnx.Value) *onnx.Value {
	y := n.LayerNorm(name+"/norm1", x, clipEpsilon, nil, nil)
	part := func(what string) *onnx.Value {
		return n.Linear(name+"/attention/"+what, y, n.hidden, Bell{1 / math.Sqrt(float64(n.hidden))}, nil)
	}
	size := n.hidden / n.attentions
	y = n.attend(name+"/attention", n.attentions, size, part("q"), part("k"), part("v"), n.causal(), float32(1/math.Sqrt(float64(size))))
	x = n.Add(name+"/attended", x, n.Linear(name+"/attention/out", y, n.hidden, Bell{1 / math.Sqrt(float64(n.hidden))}, nil))
	y = n.Linear(name+"/fc1", n.LayerNorm(name+"/norm2", x, clipEpsilon, nil, nil), 4*n.hidden, Bell{1 / math.Sqrt(float64(n.hidden))}, nil)
	if n.projected {
		y = n.Gelu(name+"/gelu", y)
	} else {
		y = n.silu(name+"/gelu", y, 1.702)
	}
	return n.Add(name+"/fed", x, n.Linear(name+"/fc2", y, n.hidden, Bell{0.5 / math.Sqrt(float64(n.hidden))}, nil))
}

// causal is a mask that lets no token see those behind it.
func (n clipTextNet) causal() *onnx.Value {
	const name = "causal"
	if v := n.values[name]; v != nil {
		return v
	}
	mask := make([]float32, captionLength*captionLength)
	for i := range mask {
		if i%captionLength > i/captionLength {
			mask[i] = -math.MaxFloat32
		}
	}
	return n.Constant(onnx.TensorOf(name, mask, 1, 1, captionLength, captionLength))
}
