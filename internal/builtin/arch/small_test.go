package arch

import (
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/mlperf-go/mlperf/internal/onnx"
)

// inputsOf are random inputs of a model: numbers where it reads numbers, and small indices elsewhere.
func inputsOf(m *onnx.Model, batch int64, below int) map[string]array {
	rng := rand.New(rand.NewPCG(11, 11))
	in := map[string]array{}
	for _, v := range m.Graph.Inputs {
		var shape []int64
		for _, d := range v.Type.Shape {
			if !d.Known() {
				d.Size = batch
			}
			shape = append(shape, d.Size)
		}
		a := newArray(v.Type.Elem, shape...)
		for i := range a.data {
			if a.data[i] = float64(float32(rng.NormFloat64())); a.elem != onnx.Float32 {
				a.data[i] = float64(rng.IntN(below))
			}
		}
		in[v.Name] = a
	}
	return in
}

// sample is one of a batch; of inputs whose batch comes second, one of those.
func (a array) sample(axis int64, i int) array { return a.taken(axis, []int{i}) }

// All values of a graph have the types that it says, at any batch size, and samples of a batch do not touch each other.
func TestSmallNetworksTreatSamplesOfABatchAlone(t *testing.T) {
	for _, c := range []struct {
		name  string
		rows  int64
		below int
	}{
		{"dlrm", 3, 1}, {"rnnt-joint", 0, 28}, {"rnnt-prediction", 0, 29}, {"sdxl-mini-text-encoder", 64, 64}, {"sdxl-mini-text-encoder-2", 64, 64},
	} {
		t.Run(c.name, func(t *testing.T) {
			m, _ := build(t, lookup(t, c.name), Options{Rows: c.rows})
			inMemory(t, m)
			both := inputsOf(m, 2, c.below)
			together := evaluate(t, m, both)
			for i := range 2 {
				one := map[string]array{}
				for _, v := range m.Graph.Inputs {
					axis := slices.IndexFunc(v.Type.Shape, func(d onnx.Dim) bool { return !d.Known() })
					one[v.Name] = both[v.Name].sample(int64(axis), i)
				}
				alone := evaluate(t, m, one)
				for _, out := range m.Graph.Outputs {
					checkArray(t, out.Name, together[out.Name].sample(0, i), alone[out.Name])
				}
			}
			first, second := together[m.Graph.Outputs[0].Name].sample(0, 0), together[m.Graph.Outputs[0].Name].sample(0, 1)
			if slices.Equal(first.data, second.data) {
				t.Error("two samples have the same answers")
			}
		})
	}
}

// A text encoder looks back only, and what stands for the whole text is what it made of its end.
func TestATextEncoderLooksBackOnly(t *testing.T) {
	m, _ := build(t, lookup(t, "sdxl-mini-text-encoder"), Options{Rows: 64})
	inMemory(t, m)
	in := inputsOf(m, 1, 60)
	in["input_ids"].data[10] = 63 // the largest number ends the text
	before := evaluate(t, m, in)
	later := map[string]array{"input_ids": in["input_ids"].of(func(x float64) float64 { return x })}
	later["input_ids"].data[11] = 7 + 50*float64(1-min(1, int(in["input_ids"].data[11])/50))
	after := evaluate(t, m, later)
	states := func(values map[string]array, to int) []float64 {
		last := values["last_hidden_state"]
		return last.data[:to*int(last.shape[2])]
	}
	if !slices.Equal(states(before, 11), states(after, 11)) || slices.Equal(states(before, 12), states(after, 12)) {
		t.Error("a token changes what is in front of it, or not what is behind")
	}
	checkArray(t, "pooler_output", after["pooler_output"], before["pooler_output"])
	width := int(before["pooler_output"].shape[1])
	if !slices.Equal(before["pooler_output"].data, states(before, 11)[10*width:]) {
		t.Error("what stands for the text is not what was made of its end")
	}
}
