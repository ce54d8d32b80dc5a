package arch

import "testing"

// The counts of parameters are those of the official checkpoint's classes (diffusers 0.35.2, transformers).
func TestWanHasThePublishedParameters(t *testing.T) {
	for name, want := range map[string]int64{
		"wan-text-encoder": 5_680_910_336, "wan-transformer": 14_288_491_584, "wan-transformer-2": 14_288_491_584,
	} {
		if _, got := build(t, lookup(t, name), Options{}); got.Parameters != want {
			t.Errorf("%s has %d parameters, want %d", name, got.Parameters, want)
		}
	}
}

// The built-in pipeline has every kind of layer that the real one has, and the same ports but for their sizes.
func TestSmallWanHasTheSameLayers(t *testing.T) {
	for _, part := range []string{"text-encoder", "transformer", "transformer-2", "vae-decoder"} {
		sameLayers(t, "wan-"+part, "wan-mini-"+part)
	}
}
