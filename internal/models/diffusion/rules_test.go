package diffusion

import (
	"maps"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/mlperf-go/mlperf/internal/config"
	"github.com/mlperf-go/mlperf/internal/models/workload"
	"github.com/mlperf-go/mlperf/internal/tensor"
)

// TestNumbersAreThoseOfTheRules compares with the table of bandwidths, and with text_to_image,
// backend_pytorch.py.
func TestNumbersAreThoseOfTheRules(t *testing.T) {
	m := stableDiffusionXL()
	want := config.Model{Name: "stable-diffusion-xl", Aliases: []string{"sdxl"}, Sample: &config.SampleSize{InValues: 77, OutValues: 3145728}}
	if diff := cmp.Diff(want, m.Rules); diff != "" || m.PerformanceSampleCount != 5000 || !m.ScoresWithEngine {
		t.Errorf("%d samples in memory; rules (-want +got):\n%s", m.PerformanceSampleCount, diff)
	}
	if steps != 20 || guidance != 8 || latentScale != 0.13025 || negativePrompt != "normal quality, low quality, worst quality, low res, blurry, nsfw, nude" {
		t.Errorf("%d steps, guidance %d, latents of %v, not %q", steps, guidance, latentScale, negativePrompt)
	}
	if diff := cmp.Diff([]int{4475, 3627, 1046, 4937, 3867, 1671, 3789, 1206, 4111, 3093}, officialIDs()); diff != "" {
		t.Errorf("images that are shown (-want +got):\n%s", diff)
	}
	var full []string
	for _, p := range m.BuiltIn.(workload.Recipe).Parts {
		full = append(full, p.Role+": "+p.Full)
	}
	if diff := cmp.Diff([]string{"text_encoder: sdxl-text-encoder", "text_encoder_2: sdxl-text-encoder-2", "unet: sdxl-unet", "vae_decoder: sdxl-vae-decoder"}, full); diff != "" {
		t.Errorf("networks of the real size (-want +got):\n%s", diff)
	}
}

// The decoder makes a square of pixels of each latent: as many as its output has, or eight along a side.
func TestPixelsOfALatentAreThoseOfTheDecoder(t *testing.T) {
	w := newCanvas(t, 2).open()
	for _, c := range []struct {
		height, width int64
		scale         int
		err           string
	}{
		{128, 128, 8, ""}, {64, 64, 4, ""}, {-1, -1, 8, ""}, {16, -1, 1, ""},
		{64, 128, 0, "do not fit each other"}, {100, 100, 0, "the model's vae_decoder.sample is [? 3 100 100], want 96 along axis 2"}, {8, 8, 0, "do not fit each other"},
	} {
		p := maps.Clone(w.ports)
		image := p[vaeDecoder+".sample"]
		image.Shape = tensor.Shape{-1, imageChannels, c.height, c.width}
		p[vaeDecoder+".sample"] = image
		s, err := p.sizesOf(side, side)
		if c.err == "" && (err != nil || s.scale != c.scale || s.imageBytes() != 3*side*side*c.scale*c.scale) || c.err != "" && (err == nil || !strings.Contains(err.Error(), c.err)) {
			t.Errorf("images of %d×%d: %d pixels, %v, want %d, %q", c.height, c.width, s.scale, err, c.scale, c.err)
		}
	}
}
