package diffusion

import (
	"cmp"
	"fmt"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/mlperf-go/mlperf/internal/backend"
	"github.com/mlperf-go/mlperf/internal/dataset/vbench"
	"github.com/mlperf-go/mlperf/internal/models/workload"
	"github.com/mlperf-go/mlperf/internal/tokenizer/pytext"
)

// The forms in which servers answer with a video.
const (
	videoPath  = "video_path"
	videoBytes = "video_bytes"
)

// videoPrompts are prompts for servers that make videos. They implement workload.Prompts.
type videoPrompts []backend.Prompt

// openVideoPrompts opens the prompts. Where the answers are scored, servers send the videos themselves, unless an option wants their
// paths.
func openVideoPrompts(s workload.Setup) (*workload.Workload, error) {
	set, err := vbench.Read(s.DatasetDir, s.Count)
	if err != nil {
		return nil, err
	}
	form := videoPath
	if s.Scored {
		form = videoBytes
	}
	form = cmp.Or(s.Options[formOption], form)
	list := make(videoPrompts, len(set.Prompts))
	for i, text := range set.Prompts {
		list[i].Text, list[i].Video = text, &backend.VideoRequest{
			Prompt: text, NegativePrompt: cmp.Or(set.Negative, videoNegativePrompt), Size: fmt.Sprintf("%dx%d", videoHeight, videoWidth),
			Seconds: jsontext.Value(pytext.Float(videoSeconds)), FPS: frameRate, Steps: steps,
			Guidance: jsontext.Value(pytext.Float(guidanceHigh)), Guidance2: jsontext.Value(pytext.Float(guidanceLow)), Seed: videoSeed,
			Frames: videoFrames, Boundary: boundaryRatio, LatentPath: s.Options[latentPathOption], OutputFormat: "auto", ResponseFormat: form,
		}
	}
	return &workload.Workload{Samples: len(list), Prompts: list, Notes: []string{
		fmt.Sprintf("%d prompts of %s, videos of %d×%d, %d frames, %d steps; servers answer with %s", len(list), set.Path, videoWidth, videoHeight,
			videoFrames, steps, form),
	}}, nil
}

// Texts implements workload.Prompts.
func (videoPrompts) Texts() backend.Texts { return backend.Texts{Videos: true} }

// WithoutIDs implements workload.Prompts.
func (videoPrompts) WithoutIDs() error { return nil }

// Prompt implements workload.Prompts.
func (p videoPrompts) Prompt(index int) *backend.Prompt { return &p[index] }

// First implements workload.Prompts: videos come whole.
func (videoPrompts) First(int, []byte, []int32) []byte { return nil }

// Response implements workload.Prompts: the video, or its path.
func (videoPrompts) Response(_ int, a backend.Answer) ([]byte, int) { return a.Text, 0 }
