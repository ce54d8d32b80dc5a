//go:build ort

package arch

import (
	"math"
	"testing"

	ort "github.com/yalue/onnxruntime_go"
)

// floatsIn makes a value of float32.
func floatsIn(t *testing.T, data []float32, shape ...int64) ort.Value {
	t.Helper()
	v, err := ort.NewTensor(ort.NewShape(shape...), data)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { v.Destroy() })
	return v
}

// wholeIn makes a value of int64.
func wholeIn(t *testing.T, data []int64, shape ...int64) ort.Value {
	t.Helper()
	v, err := ort.NewTensor(ort.NewShape(shape...), data)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { v.Destroy() })
	return v
}

// outputsOf runs a network of several inputs.
func (n network) outputsOf(inputs ...ort.Value) [][]float32 {
	n.t.Helper()
	outputs := make([]ort.Value, len(n.model.Graph.Outputs))
	if err := n.session.Run(inputs, outputs); err != nil {
		n.t.Fatal(err)
	}
	var all [][]float32
	for _, v := range outputs {
		all = append(all, floatsOf(v))
		v.Destroy()
	}
	return all
}

// The built-in UNet says that most of the latents is noise; the rest follows from the text.
func TestORTTheBuiltInUNetPassesTheLatentsOn(t *testing.T) {
	useRuntime(t)
	m, _ := build(t, lookup(t, "sdxl-mini-unet"), Options{})
	n := load(t, m)
	const size = latentChannels * sdxlMiniSide * sdxlMiniSide
	latents := noise(1, 1)[:size]
	both := append(append([]float32{}, latents...), latents...)
	texts := append(noise(2, 1)[:captionLength*96], noise(3, 1)[:captionLength*96]...)
	whole := append(noise(4, 1)[:64], noise(5, 1)[:64]...)
	out := n.outputsOf(floatsIn(t, both, 2, latentChannels, sdxlMiniSide, sdxlMiniSide), wholeIn(t, []int64{501}, 1),
		floatsIn(t, texts, 2, captionLength, 96), floatsIn(t, whole, 2, 64), floatsIn(t, []float32{128, 128, 0, 0, 128, 128, 128, 128, 0, 0, 128, 128}, 2, 6))[0]
	var product, left, right, apart float64
	for i, v := range latents {
		product += float64(v) * float64(out[i])
		left += float64(v) * float64(v)
		right += float64(out[i]) * float64(out[i])
		apart += math.Abs(float64(out[i] - out[size+i]))
	}
	if likeness := product / math.Sqrt(left*right); likeness < 0.8 || likeness > 0.999 {
		t.Errorf("what is said of the noise is like the latents by %v", likeness)
	}
	if apart/size < 0.01 {
		t.Errorf("two texts differ by %v", apart/size)
	}
}

// A text encoder looks back only, and the text as a whole is what it is at its end.
func TestORTTextEncodersLookBackOnly(t *testing.T) {
	useRuntime(t)
	m, _ := build(t, lookup(t, "sdxl-mini-text-encoder-2"), Options{})
	n := load(t, m)
	ids := make([]int64, 2*captionLength)
	for i := range ids {
		ids[i] = int64(i * 37 % 1000)
	}
	copy(ids[captionLength:], ids[:40])
	ids[5], ids[captionLength+5] = sdxlMiniRows-1, sdxlMiniRows-1 // the end of both
	out := n.outputsOf(wholeIn(t, ids, 2, captionLength))
	whole, last := out[0], out[1]
	const hidden = 64
	for k := range hidden {
		if math.Abs(float64(whole[k]-whole[hidden+k])) > 1e-4 {
			t.Fatal("texts that differ behind their end differ as a whole")
		}
	}
	same, other := 0.0, 0.0
	for at := range captionLength {
		d := math.Abs(float64(last[at*hidden] - last[(captionLength+at)*hidden]))
		if at < 40 {
			same = max(same, d)
		} else {
			other = max(other, d)
		}
	}
	if same > 1e-4 || other < 0.01 {
		t.Errorf("before the first token that differs states are %v apart, behind it %v", same, other)
	}
}
