package arch

import (
	"strings"
	"testing"
)

// The counts of parameters are those of the official checkpoints (diffusers, transformers); of the
// decoder with the convolution before it.
func TestStableDiffusionXLHasThePublishedParameters(t *testing.T) {
	for name, want := range map[string]int64{
		"sdxl-text-encoder": 123_060_480, "sdxl-text-encoder-2": 694_659_840, "sdxl-unet": 2_567_463_684, "sdxl-vae-decoder": 49_490_199,
	} {
		if _, got := build(t, lookup(t, name), Options{}); got.Parameters != want {
			t.Errorf("%s has %d parameters, want %d", name, got.Parameters, want)
		}
	}
}

// The built-in pipeline has every kind of layer that the real one has, and the same ports but for
// their sizes.
func TestTheSmallPipelineIsMadeOfTheSameLayers(t *testing.T) {
	for _, part := range []string{"text-encoder", "text-encoder-2", "unet", "vae-decoder"} {
		sameLayers(t, "sdxl-"+part, "sdxl-mini-"+part)
	}
}

// sameLayers compares a small network with the real one that it stands in for.
func sameLayers(t *testing.T, realName, smallName string) {
	t.Helper()
	real, _ := build(t, lookup(t, realName), Options{})
	small, stats := build(t, lookup(t, smallName), Options{})
	kinds := map[string]bool{}
	for _, n := range small.Graph.Nodes {
		kinds[n.Op] = true
	}
	for _, n := range real.Graph.Nodes {
		if !kinds[n.Op] {
			t.Errorf("%s has no %s", smallName, n.Op)
		}
	}
	if stats.Parameters > 2_000_000 {
		t.Errorf("%s has %d parameters", smallName, stats.Parameters)
	}
	for i, in := range real.Graph.FreeInputs() {
		if got := small.Graph.FreeInputs()[i]; got.Name != in.Name || got.Type.Elem != in.Type.Elem || len(got.Type.Shape) != len(in.Type.Shape) {
			t.Errorf("input %d of %s is %v, want one like %v", i, smallName, got, in)
		}
	}
}

func TestTheLastStatesButOneAreAmongTheOutputs(t *testing.T) {
	m, _ := build(t, lookup(t, "sdxl-text-encoder-2"), Options{})
	var names []string
	for _, v := range m.Graph.Outputs {
		names = append(names, v.Name)
	}
	all := strings.Join(names, " ")
	if !strings.HasPrefix(all, "text_embeds last_hidden_state hidden_states.0 ") || !strings.HasSuffix(all, " hidden_states.31 hidden_states.32") {
		t.Errorf("outputs %s", all)
	}
}

func TestLayersOfImagesRefuseWhatDoesNotFit(t *testing.T) {
	for name, add := range map[string]func(b *Builder){
		"groups that do not divide": func(b *Builder) {
			b.Output(b.groupNorm("norm", b.Input("x", 1, lookup(t, "sdxl-mini-unet").Inputs[0].Type.Shape), 3, 1e-5))
		},
		"a product of nothing": func(b *Builder) { b.Output(b.product("product", b.Input("x", 1, nil), 3, nil)) },
	} {
		b := NewBuilder("test", 1)
		add(b)
		if _, _, err := b.Model(); err == nil {
			t.Errorf("%s: no error", name)
		}
	}
}

func TestEyesSeeFeaturesOfWhichSomeAreAlwaysZero(t *testing.T) {
	m, err := Eyes{Input: "x", Output: "y", Side: 32, Seed: 1, Scale: 2, Shift: []float32{1}}.Build()
	if err != nil {
		t.Fatal(err)
	}
	if got := m.Graph.Outputs[0]; got.Name != "y" || got.Type.Shape[1].Size != EyesFeatures {
		t.Errorf("output %v", got)
	}
}
