package diffusion

import (
	"github.com/mlperf-go/mlperf/internal/accuracy"
	"github.com/mlperf-go/mlperf/internal/config"
	"github.com/mlperf-go/mlperf/internal/models/workload"
	"github.com/mlperf-go/mlperf/internal/onnx/arch"
)

// Models returns the benchmarks of the family, in the order in which they are shown. To
// add one, add a file and a row.
func Models() []workload.Model { return []workload.Model{stableDiffusionXL(), wan()} }

// stableDiffusionXL is Stable Diffusion XL on captions of COCO 2014 (rules since v4.0).
func stableDiffusionXL() workload.Model {
	small, full := arch.SmallSDXL(), arch.SDXL()
	return workload.Model{
		Name:    "stable-diffusion-xl",
		Title:   "Stable Diffusion XL 1.0, COCO 2014",
		Task:    "images of captions, 1024×1024, 20 steps of Euler's method, guidance 8",
		Dataset: "coco-2014-captions",
		BuiltIn: workload.Recipe{
			Parts: []workload.Part{
				{Role: textEncoder, Network: small.TextEncoder, Full: full.TextEncoder},
				{Role: textEncoder2, Network: small.TextEncoder2, Full: full.TextEncoder2},
				{Role: unet, Network: small.UNet, Full: full.UNet},
				{Role: vaeDecoder, Network: small.VAEDecoder, Full: full.VAEDecoder},
			},
			Samples: 32,
		},
		Source: "https://huggingface.co/stabilityai/stable-diffusion-xl-base-1.0 (its ONNX files, or an export of Optimum)",
		Papers: []string{
			"Podell et al., SDXL: Improving Latent Diffusion Models for High-Resolution Image Synthesis, ICLR 2024, arXiv:2307.01952",
		},

		Rules: config.Model{
			Name:    "stable-diffusion-xl",
			Aliases: []string{"sdxl"},
			Sample:  &config.SampleSize{InValues: 77, OutValues: 3 * 1024 * 1024},
		},
		PerformanceSampleCount: 5000,
		Quality:                workload.Quality{Metric: accuracy.CLIPScore, Fraction: 0.998},
		Roles:                  roles(),
		Files:                  pipelineFiles(roles()),
		Open: func(s workload.Setup) (*workload.Workload, error) {
			w, err := newPipeline(s)
			if err != nil {
				return nil, err
			}
			return w.workload(), nil
		},
		Score:            scoreImages,
		ScoresWithEngine: true,

		Options:      pipelineOptions(),
		ScoreOptions: scoreOptions(),
	}
}

// The options of the family.
const (
	portsOption     = "pipeline-ports"
	tokenizerOption = "tokenizers"

	clipImageOption     = "clip-image-model"
	clipTextOption      = "clip-text-model"
	clipTokenizerOption = "clip-tokenizer"
	inceptionOption     = "inception-model"
	statisticsOption    = "statistics-path"
	imagesOption        = "compliance-images-path"
	idsOption           = "ids-path"
)

func pipelineOptions() []workload.Option {
	return []workload.Option{
		{Name: portsOption, Help: "names of a pipeline's ports that are not the usual ones, as role.usual=own, separated by commas: " +
			"unet.sample=x,text_encoder.hidden_states=hidden_states.11 (default: those of Optimum's exports)"},
		{Name: tokenizerOption, Kind: workload.Path, Help: "folder with tokenizer and tokenizer_2, each with vocab.json and merges.txt (default: the model's, or that of the data)"},
	}
}

func scoreOptions() []workload.Option {
	return []workload.Option{
		{Name: clipImageOption, Kind: workload.Path, Help: "ONNX file of CLIP's image tower (default: scoring/clip_image.onnx beside the data)"},
		{Name: clipTextOption, Kind: workload.Path, Help: "ONNX file of CLIP's text tower, or its features of all captions as .npy (default: scoring/clip_text.onnx or .npy beside the data)"},
		{Name: clipTokenizerOption, Kind: workload.Path, Help: "folder of vocab.json and merges.txt of CLIP's text tower (default: scoring beside the data)"},
		{Name: inceptionOption, Kind: workload.Path, Help: "ONNX file of Inception-v3 with 2048 features (default: scoring/inception.onnx beside the data)"},
		{Name: statisticsOption, Aliases: []string{"statistics_path"}, Kind: workload.Path, Help: "statistics of the photographs (default: val2014.npz beside the data)"},
		{Name: imagesOption, Aliases: []string{"compliance_images_path"}, Kind: workload.Path, Help: "folder for the images that a submission shows, and their captions"},
		{Name: idsOption, Aliases: []string{"ids_path"}, Kind: workload.Path, Help: "file with the indices of these images, one a line (default: the official ten)"},
	}
}
