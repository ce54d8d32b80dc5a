//go:build ort

package arch

import (
	"encoding/binary"
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/mlperf-go/mlperf/internal/onnx"
	"github.com/mlperf-go/mlperf/internal/testenv"
)

// goldenWan has what the networks of diffusers 0.35.2 make of stated weights (testdata/make_wan.py).
type goldenWan struct {
	DiT, VAE struct {
		Parameters  []goldenParameter
		OutputShape []int64   `json:"output_shape"`
		Output      []float64 // of the transformer
		First       []float64 `json:"output_first_64"`
		Frames      []float64 `json:"frame_sums"`
		Rope        []float64 `json:"rope_cos"`
	}
}

// A goldenParameter is a name and extents.
type goldenParameter [2]any

// stated are the weights that make_wan.py states, for the tensors of an architecture by the checkpoint's names. Dense layers have
// theirs turned round.
func stated(t testing.TB, parameters []goldenParameter) (weights func(name string, dims []int64) (onnx.Source, error), used map[string]bool) {
	used = map[string]bool{}
	return func(name string, dims []int64) (onnx.Source, error) {
		theirs := strings.ReplaceAll(name, "/", ".")
		for ours, official := range map[string]string{"weights": "weight", "beta": "bias"} {
			if before, ok := strings.CutSuffix(theirs, "."+ours); ok {
				theirs = before + "." + official
			}
		}
		k := slices.IndexFunc(parameters, func(p goldenParameter) bool { return p[0] == theirs })
		if k < 0 { // the transformer's norms call it weight, the decoder's gamma
			theirs = strings.TrimSuffix(theirs, ".gamma") + ".weight"
			k = slices.IndexFunc(parameters, func(p goldenParameter) bool { return p[0] == theirs })
		}
		if k < 0 {
			return nil, fmt.Errorf("the checkpoint has no %s", theirs)
		}
		used[theirs] = true
		var shape []int64
		n := int64(1)
		for _, extent := range parameters[k][1].([]any) {
			shape = append(shape, int64(extent.(float64)))
			n *= shape[len(shape)-1]
		}
		if n != product(dims) {
			return nil, fmt.Errorf("%s has %v, the architecture asks for %v", theirs, shape, dims)
		}
		table := theirs == "shared.weight" || strings.HasSuffix(theirs, "relative_attention_bias.weight") // rows are looked up
		values := make([]float32, n)
		scale := 0.4 / math.Sqrt(float64(max(1, n/shape[0])))
		for i := range values {
			v := scale * math.Sin(0.37*float64(i)+1.3*float64(k)+0.5)
			if strings.HasSuffix(theirs, "gamma") || strings.Contains(theirs, "norm") && strings.HasSuffix(theirs, "weight") {
				v = 1 + 0.1*v
			}
			at := i
			if len(shape) == 2 && len(dims) == 2 && strings.HasSuffix(theirs, "weight") && !table { // [units inputs] → [inputs units]
				at = i%int(shape[1])*int(shape[0]) + i/int(shape[1])
			}
			values[at] = float32(v)
		}
		raw, err := binary.Append(nil, binary.LittleEndian, values)
		return onnx.Raw(raw), err
	}, used
}

func wave(frequency, phase float64, shape ...int64) array {
	a := newArray(onnx.Float32, shape...)
	for i := range a.data {
		a.data[i] = float64(float32(math.Sin(frequency*float64(i) + phase)))
	}
	return a
}

func buildStated(t testing.TB, a Architecture, parameters []goldenParameter, all bool) *onnx.Model {
	t.Helper()
	weights, used := stated(t, parameters)
	m, _ := build(t, a, Options{Weights: weights})
	inMemory(t, m)
	for _, p := range parameters {
		if name := p[0].(string); !used[name] && (all || strings.HasPrefix(name, "decoder.") || strings.HasPrefix(name, "post_quant")) {
			t.Errorf("the architecture does not ask for %s", name)
		}
	}
	return m
}

func near(t testing.TB, what string, got, want []float64, most float64) {
	t.Helper()
	if len(got) != len(want) {
		t.Fatalf("%s: %d numbers, want %d", what, len(got), len(want))
	}
	for i, w := range want {
		if !(abs(got[i]-w) <= most) {
			t.Fatalf("%s: number %d of %d is %v, want %v", what, i, len(want), got[i], w)
		}
	}
}

func TestORTWanTextEncoderEqualsTransformers(t *testing.T) {
	golden := testenv.JSON[struct {
		Parameters []goldenParameter
		Rows       map[int][]float64
		Sums       []float64
	}](t, "testdata/umt5.json")
	a := wanTextEncoder("tiny", "tiny", "", umt5Size{layers: 2, hidden: 8, attentions: 2, headSize: 4, inner: 20, rows: 32}, 1)
	m := buildStated(t, a, golden.Parameters, true)
	const prompt = 300
	ids, mask := newArray(onnx.Int64, 1, WanTextLength), newArray(onnx.Int64, 1, WanTextLength)
	for i := range ids.data {
		ids.data[i] = float64(i * 7 % 32)
		if i < prompt {
			mask.data[i] = 1
		}
	}
	out := evaluate(t, m, map[string]array{"input_ids": ids, "attention_mask": mask})["last_hidden_state"]
	for r, want := range golden.Rows {
		near(t, fmt.Sprintf("state of token %d", r), out.data[r*8:][:8], want, 2e-6)
	}
	sums := make([]float64, 8)
	for i, v := range out.data[:prompt*8] {
		sums[i%8] += v
	}
	near(t, "sums of states", sums, golden.Sums, 1e-4)
}

func TestORTWanTransformerEqualsDiffusers(t *testing.T) {
	golden := testenv.JSON[goldenWan](t, "testdata/wan.json").DiT
	a := wanTransformer("tiny", "tiny", "", wanDiTSize{layers: 2, attentions: 2, headSize: 12, inner: 40, text: 8, step: 16, channels: 4, frames: 3,
		height: 4, width: 6, tokens: 5}, 1)
	m := buildStated(t, a, golden.Parameters, true)
	text := wave(0.33, 0.2, 1, 5, 8)
	clear(text.data[3*8:])
	step := newArray(onnx.Int64, 1)
	step.data[0] = 937
	values := evaluate(t, m, map[string]array{"hidden_states": wave(0.21, 0.1, 1, 4, 3, 4, 6), "timestep": step, "encoder_hidden_states": text})
	out := values["out_hidden_states"]
	if !slices.Equal(out.shape, golden.OutputShape) {
		t.Errorf("the speed is %v, want %v", out.shape, golden.OutputShape)
	}
	near(t, "speed", out.data, golden.Output, 2e-6)

	for _, c := range m.Graph.Initializers { // of the first four places
		if c.Name == "rope/cos" {
			raw, err := c.Bytes()
			if err != nil {
				t.Fatal(err)
			}
			var cos []float64
			for i := range golden.Rope {
				cos = append(cos, float64(math.Float32frombits(binary.LittleEndian.Uint32(raw[4*i:]))))
			}
			near(t, "cosines of places", cos, golden.Rope, 1e-7)
		}
	}
}

// All frames at once are what diffusers decodes one by one.
func TestORTWanDecoderEqualsDiffusers(t *testing.T) {
	golden := testenv.JSON[goldenWan](t, "testdata/wan.json").VAE
	a := wanDecoder("tiny", "tiny", "", wanVAESize{base: 4, multipliers: []int64{1, 2, 2, 2}, longer: []bool{true, true, false}, blocks: 1, channels: 4,
		frames: 3, height: 2, width: 2}, 1)
	m := buildStated(t, a, golden.Parameters, false)
	out := evaluate(t, m, map[string]array{"latent_sample": wave(0.4, 0.3, 1, 4, 3, 2, 2)})["sample"]
	if !slices.Equal(out.shape, golden.OutputShape) {
		t.Fatalf("the video is %v, want %v", out.shape, golden.OutputShape)
	}
	near(t, "video", out.data[:64], golden.First, 2e-6)
	frames := make([]float64, len(golden.Frames))
	for i, v := range out.data {
		frames[i/(16*16)%9] += v
	}
	near(t, "sums of frames", frames, golden.Frames, 1e-3)
}

// The built-in experts make something of all that they read, for each sample of a batch alone.
func TestORTSmallWanReadsAllInputs(t *testing.T) {
	size := miniDiT
	size.frames, size.height, size.width, size.tokens = 2, 4, 4, 8
	m, _ := build(t, wanTransformer("small", "small", "", size, 42), Options{})
	inMemory(t, m)
	in := inputsOf(m, 2, 900)
	both := evaluate(t, m, in)["out_hidden_states"]
	for _, name := range []string{"hidden_states", "timestep", "encoder_hidden_states"} {
		other := map[string]array{}
		for k, v := range in {
			other[k] = v.sample(0, 1)
		}
		checkArray(t, "the second sample", evaluate(t, m, other)["out_hidden_states"], both.sample(0, 1))
		other[name] = in[name].sample(0, 0)
		changed, most := evaluate(t, m, other)["out_hidden_states"], 0.0
		for i, v := range changed.data {
			most = max(most, abs(v-both.sample(0, 1).data[i]))
		}
		if most < 0.01 {
			t.Errorf("another %s changes the speed by %v", name, most)
		}
	}
}
