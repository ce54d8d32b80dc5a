//go:build ort

package builtin

import (
	"testing"

	"github.com/mlperf-go/mlperf/internal/builtin/arch"
	"github.com/mlperf-go/mlperf/internal/models/workload"
	"github.com/mlperf-go/mlperf/internal/tensor"
	"github.com/mlperf-go/mlperf/internal/testenv"
)

// The built-in decoder's answers are marked by ROUGE, of which it has some and not all. What goes wrong on the
// way, and fewer bits, each cost some of that. Long tests have more prompts, and the whole decoder.
func TestORTFaultsAndFewerBitsLowerROUGE(t *testing.T) {
	t.Parallel()
	m, part := ortMaker(t), workload.Part{Role: workload.Only, Architecture: "llama-60m", Layers: 4, Rows: 16000}
	if m.count = 6; testenv.Long() {
		m.count, part.Layers, part.Rows = 32, 0, 0
	}
	fp32 := decoderOf(t, part)
	part.Architecture += "-int4"
	int4 := decoderOf(t, part)
	dir, err := m.Dataset(t.Context(), fp32)
	if err != nil {
		t.Fatal(err)
	}
	good, err := m.Reference(t.Context(), fp32)
	if err != nil || good < 25 || good > 75 {
		t.Errorf("ROUGE-1 of FP32 is %v, %v", good, err)
	}
	for _, c := range []struct {
		name  string
		model workload.Model
		spoil func(r spoiledRun) error
		least float64 // by which it is lower, as a share
	}{
		{"nothing wrong", fp32, func(spoiledRun) error { return errGoOn }, 0},
		{"a hole in the cache", fp32, holeInCache, 0.1},
		{"a prompt that is cut", fp32, cutPrompt, 0.1},
		{"a cache that is not advanced", fp32, unadvancedSlab, 0.1},
		{"weights of 4 bits", int4, func(spoiledRun) error { return errGoOn }, 0.01},
	} {
		spoiled := m
		spoiled.Engine = spoiledEngine{m.Engine, c.spoil}
		responses, err := spoiled.answers(t.Context(), c.model, dir)
		if err != nil {
			t.Fatal(err)
		}
		scores, err := m.scores(t.Context(), c.model, dir, responses)
		if err != nil {
			t.Fatal(err)
		}
		for _, got := range scores {
			t.Logf("with %s ROUGE-1 is %.2f", c.name, got)
			if got > good*(1-c.least) || c.least == 0 && got != good {
				t.Errorf("with %s ROUGE-1 is %v, the stored one %v", c.name, got, good)
			}
		}
	}
}

// decoderOf is Llama 3.1 8B with another built-in decoder.
func decoderOf(t *testing.T, part workload.Part) workload.Model {
	t.Helper()
	model := lookup(t, "llama3.1-8b")
	recipe := model.BuiltIn.(workload.Recipe)
	recipe.Parts = []workload.Part{part}
	model.BuiltIn = recipe
	return model
}

// decoding reports whether a run reads one token of each of its sequences, and the lengths of these in the cache, less
// one, of which the token is the last.
func decoding(r spoiledRun) (lengths []int32, ok bool) {
	return tensor.Data[int32](r.port("seqlens_k")), r.port("input_ids").Shape[1] == 1
}

// holeInCache loses what the cache has of the second token before the one that is read.
func holeInCache(r spoiledRun) error {
	lengths, ok := decoding(r)
	if !ok {
		return errGoOn
	}
	for i, p := range r.session.Info().Inputs {
		if len(p.Shape) != 4 {
			continue
		}
		slab := r.in[i].Tensor()
		heads, context, size := int(slab.Shape[1]), int(slab.Shape[2]), int(slab.Shape[3])
		for slot, length := range lengths {
			for head := range heads {
				clear(tensor.Data[float32](slab)[((slot*heads+head)*context+int(length)-1)*size:][:size])
			}
		}
	}
	return errGoOn
}

// cutPrompt has the model read another token in the place of each of the first third of a prompt.
func cutPrompt(r spoiledRun) error {
	if _, ok := decoding(r); !ok {
		ids := tensor.Data[int64](r.port("input_ids"))
		for i := range len(ids) / 3 {
			ids[i] = arch.DecoderFirstWord
		}
	}
	return errGoOn
}

// unadvancedSlab has each token written where the one before it is.
func unadvancedSlab(r spoiledRun) error {
	lengths, ok := decoding(r)
	if !ok {
		return errGoOn
	}
	for i := range lengths {
		lengths[i]--
	}
	return errGoOn
}
