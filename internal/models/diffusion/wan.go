package diffusion

import (
	"github.com/mlperf-go/mlperf/internal/config"
	"github.com/mlperf-go/mlperf/internal/models/workload"
	"github.com/mlperf-go/mlperf/internal/onnx/arch"
)

// wan is Wan 2.2 T2V A14B on prompts of VBench (rules since v6.0).
func wan() workload.Model {
	small, full := arch.SmallWan(), arch.Wan()
	return workload.Model{
		Name:    wanName,
		Title:   "Wan 2.2 T2V A14B, VBench",
		Task:    "videos of prompts, 1280×720, 81 frames, 20 steps of UniPC, guidance 4 and 3",
		Dataset: "vbench-prompts",
		BuiltIn: workload.Recipe{
			Parts: []workload.Part{
				{Role: textEncoder, Network: small.TextEncoder, Full: full.TextEncoder},
				{Role: transformer, Network: small.Transformer, Full: full.Transformer},
				{Role: transformer2, Network: small.Transformer2, Full: full.Transformer2},
				{Role: vaeDecoder, Network: small.VAEDecoder, Full: full.VAEDecoder},
			},
			Samples: 16,
		},
		Source: "https://huggingface.co/Wan-AI/Wan2.2-T2V-A14B-Diffusers (in ONNX: a file for each of its networks)",
		Papers: []string{"Wan Team, Wan: Open and Advanced Large-Scale Video Generative Models, 2025, arXiv:2503.20314"},
		Notes:  []string{"VBench's networks score the videos, and its results become the score: no accuracy is computed here"},

		Rules: config.Model{
			Name: wanName,
			// The product that the rules give, 81·720·1280·3, is 921600 less than their number (inference_rules.adoc, appendix "Datacenter
			// Bandwidth Requirements").
			Sample: &config.SampleSize{OutValues: 224_870_400},
		},
		PerformanceSampleCount: 248,
		Quality:                workload.Quality{Metric: "vbench_score", Fraction: 0.99},
		Roles:                  videoRoles(),
		Files:                  pipelineFiles(videoRoles()),
		Open: func(s workload.Setup) (*workload.Workload, error) {
			w, err := newVideoPipeline(s)
			if err != nil {
				return nil, err
			}
			return w.workload(), nil
		},
		OpenRemote:      openVideoPrompts,
		Score:           scoreVideos,
		ScoredElsewhere: true,

		Options:       videoOptions(),
		RemoteOptions: videoServerOptions(),
		ScoreOptions:  videoScoreOptions(),
	}
}

const wanName = "wan-2.2-t2v-a14b"

// The options of Wan beside those of the family.
const (
	shiftOption  = "flow-shift"
	noiseOption  = "fixed-latent"
	vbenchOption = "vbench-results"
	videosOption = "videos-path"

	latentPathOption = "latent-path"
	formOption       = "response-format"
)

func videoOptions() []workload.Option {
	return []workload.Option{
		pipelineOptions()[0],
		workload.ChooseTokenizer(),
		{Name: shiftOption, Help: "shift of the noise of a video's steps to its beginning (default: that of scheduler/scheduler_config.json beside the model, or 3)"},
		{Name: noiseOption, Aliases: []string{"fixed_latent"}, Kind: workload.Path,
			Help: "file of the noise that all videos begin with, .pt or .npy (default: fixed_latent.pt beside the prompts, or noise of the seed 42)"},
	}
}

func videoServerOptions() []workload.Option {
	return []workload.Option{
		{Name: latentPathOption, Help: "path at the server of the noise that all videos begin with, fixed_latent.pt (default: none, the server draws it)"},
		{Name: formOption, Choices: []string{videoPath, videoBytes}, Help: "how servers answer: with the path of a video or with its bytes (default: video_bytes where answers are scored)"},
	}
}

func videoScoreOptions() []workload.Option {
	return []workload.Option{
		{Name: vbenchOption, Kind: workload.Path, Help: "results of VBench for the videos, NAME_eval_results.json: the score is the mean of its six dimensions"},
		{Name: videosOption, Kind: workload.Path, Help: "folder for all videos, named as VBench expects them: PROMPT-0.mp4"},
	}
}
