//go:build ort

package arch

import (
	"math"
	"slices"
	"testing"
)

// What the network says of the noise is the latents, for the most part; the rest follows from the text.
func TestORTTheSmallUNetPassesTheLatentsOn(t *testing.T) {
	m, _ := build(t, lookup(t, "sdxl-mini-unet"), Options{})
	in := inputsOf(m, 2, 500)
	in["timestep"].data[0] = 501
	half := len(in["sample"].data) / 2
	copy(in["sample"].data[half:], in["sample"].data[:half]) // the same latents with two texts
	out := evaluate(t, m, in)["out_sample"]
	latents, said, other := in["sample"].data[:half], out.data[:half], out.data[half:]
	if likeness := dot(latents, said) / math.Sqrt(dot(latents, latents)*dot(said, said)); likeness < 0.8 || likeness > 0.999 {
		t.Errorf("what is said of the noise is like the latents by %v", likeness)
	}
	apart := 0.0
	for i, v := range said {
		apart += abs(v-other[i]) / float64(half)
	}
	if apart < 0.01 {
		t.Errorf("two texts differ by %v", apart)
	}
}

func dot(a, b []float64) (sum float64) {
	for i, v := range a {
		sum += v * b[i]
	}
	return sum
}

// A decoder of latents doubles their size at each level but the first, and makes each image of a batch alone.
func TestORTADecoderOfLatentsMakesImagesOfThem(t *testing.T) {
	a := sdxlDecoder("tiny", "tiny", "", sdxlVAESize{channels: []int64{4, 4, 8}, layers: 1, groups: 2, side: 3}, 1)
	m, _ := build(t, a, Options{})
	inMemory(t, m)
	in := inputsOf(m, 2, 1)
	both := evaluate(t, m, in)["sample"]
	if !slices.Equal(both.shape, []int64{2, 3, 12, 12}) {
		t.Errorf("images of latents of 3×3 are %v, want 12×12 with three colours", both.shape)
	}
	alone := evaluate(t, m, map[string]array{"latent_sample": in["latent_sample"].sample(0, 1)})["sample"]
	checkArray(t, "the second image", both.sample(0, 1), alone)
	if slices.Equal(both.sample(0, 0).data, alone.data) {
		t.Error("two latents make one image")
	}
}

// The eyes see nothing in their last features but what is added to them, and tell images apart in the others.
func TestORTEyesScaleAndShiftWhatTheySee(t *testing.T) {
	x := normals(3, 2, imageChannels, 24, 24)
	see := func(e Eyes) array {
		e.Input, e.Output, e.Side, e.Seed = "x", "y", 24, 7
		m, err := e.Build()
		if err != nil {
			t.Fatal(err)
		}
		return evaluate(t, m, map[string]array{"x": x})["y"]
	}
	plain, twice := see(Eyes{Scale: 1}), see(Eyes{Scale: 2, Shift: []float32{5}})
	for image := range 2 {
		for i := range EyesFeatures {
			want := 2 * plain.at(image, i)
			if i == 0 {
				want += 5
			}
			if abs(twice.at(image, i)-want) > 1e-5 {
				t.Errorf("image %d, feature %d is %v, want %v", image, i, twice.at(image, i), want)
			}
			if unused := i >= EyesFeatures-EyesUnused; unused && plain.at(image, i) != 0 {
				t.Errorf("image %d, feature %d is %v, want 0", image, i, plain.at(image, i))
			}
		}
	}
	if slices.Equal(plain.sample(0, 0).data, plain.sample(0, 1).data) {
		t.Error("two images have the same features")
	}
}

// A text encoder looks back only, and what stands for the whole text is what it made of its end.
func TestORTATextEncoderLooksBackOnly(t *testing.T) {
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
