package diffusion

import (
	"github.com/mlperf-go/mlperf/internal/accuracy"
	"github.com/mlperf-go/mlperf/internal/config"
	"github.com/mlperf-go/mlperf/internal/models/workload"
)

// Models returns the benchmarks of the family, in the order in which they are shown. To
// add one, add a file and a row.
func Models() []workload.Model { return []workload.Model{stableDiffusionXL()} }

// stableDiffusionXL is Stable Diffusion XL on captions of COCO 2014 (rules since v4.0).
func stableDiffusionXL() workload.Model {
	return workload.Model{
		Name:    "stable-diffusion-xl",
		Title:   "Stable Diffusion XL 1.0, COCO 2014",
		Task:    "images of captions, 1024×1024, 20 steps of Euler's method, guidance 8",
		Dataset: "coco-2014-captions",
		BuiltIn: workload.Recipe{
			Parts: []workload.Part{
				{Role: textEncoder, Architecture: "sdxl-mini-text-encoder", Full: "sdxl-text-encoder"},
				{Role: textEncoder2, Architecture: "sdxl-mini-text-encoder-2", Full: "sdxl-text-encoder-2"},
				{Role: unet, Architecture: "sdxl-mini-unet", Full: "sdxl-unet"},
				{Role: vaeDecoder, Architecture: "sdxl-mini-vae-decoder", Full: "sdxl-vae-decoder"},
			},
			Samples: 32,
		},
		Source: "https://huggingface.co/stabilityai/stable-diffusion-xl-base-1.0 (its ONNX files, or an export of Optimum)",

		Rules: config.Model{
			Name:    "stable-diffusion-xl",
			Aliases: []string{"sdxl"},
			Sample:  &config.SampleSize{InValues: 77, OutValues: 3 * 1024 * 1024},
		},
		PerformanceSampleCount: 5000,
		Quality:                workload.Quality{Metric: accuracy.CLIPScore, Fraction: 0.998},
		Roles:                  roles(),
		Files:                  pipelineFiles,
		Open:                   openPipeline,
		Score:                  scoreImages,
		ScoresWithEngine:       true,

		Options:      pipelineOptions(),
		ScoreOptions: scoreOptions(),
	}
}
