package diffusion

import (
	"cmp"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strconv"

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
		r := videoRequest(text, cmp.Or(set.Negative, videoNegativePrompt))
		r.LatentPath, r.ResponseFormat = s.Options[latentPathOption], form
		list[i].Text, list[i].Video = text, &r
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

// videoRequest is the request of the benchmark for a video.
func videoRequest(prompt, negative string) backend.VideoRequest {
	return backend.VideoRequest{
		Prompt: prompt, NegativePrompt: negative, Size: fmt.Sprintf("%dx%d", videoHeight, videoWidth), Seconds: jsontext.Value(pytext.Float(videoSeconds)),
		FPS: frameRate, Steps: steps, Guidance: jsontext.Value(pytext.Float(guidanceHigh)), Guidance2: jsontext.Value(pytext.Float(guidanceLow)),
		Seed: videoSeed, Frames: videoFrames, Boundary: boundaryRatio, OutputFormat: "auto", ResponseFormat: videoPath,
	}
}

// sameRequest compares the settings of a request with the benchmark's. Those that are left out are the benchmark's.
func sameRequest(got, want backend.VideoRequest) error {
	number := func(v jsontext.Value) any {
		n, err := strconv.ParseFloat(string(v), 64)
		if err != nil && len(v) > 0 {
			return string(v)
		}
		return n
	}
	for _, f := range []struct {
		name      string
		got, want any
	}{
		{"size", got.Size, want.Size}, {"seconds", number(got.Seconds), number(want.Seconds)}, {"fps", got.FPS, want.FPS},
		{"num_inference_steps", got.Steps, want.Steps}, {"guidance_scale", number(got.Guidance), number(want.Guidance)},
		{"guidance_scale_2", number(got.Guidance2), number(want.Guidance2)}, {"seed", got.Seed, want.Seed}, {"num_frames", got.Frames, want.Frames},
		{"boundary_ratio", got.Boundary, want.Boundary},
	} {
		if !reflect.ValueOf(f.got).IsZero() && f.got != f.want {
			return fmt.Errorf("%s is %v: must be %v, the benchmark's", f.name, f.got, f.want)
		}
	}
	switch {
	case pytext.TrimSpace(got.Prompt) == "":
		return errors.New("prompt is empty or missing: must be a text")
	case got.LatentPath != "":
		return errors.New("latent_path: this server has the noise of its own data, and must be left out")
	case !slices.Contains([]string{"", "auto", "mp4"}, got.OutputFormat):
		return fmt.Errorf("output_format is %q: must be auto or mp4", got.OutputFormat)
	case !slices.Contains([]string{"", videoPath, videoBytes}, got.ResponseFormat):
		return fmt.Errorf("response_format is %q: must be %s or %s", got.ResponseFormat, videoPath, videoBytes)
	}
	return nil
}
