package diffusion

import (
	"cmp"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strconv"

	"github.com/mlperf-go/mlperf/internal/backend"
	"github.com/mlperf-go/mlperf/internal/dataset/vbench"
	"github.com/mlperf-go/mlperf/internal/fileio/mp4"
	"github.com/mlperf-go/mlperf/internal/models/workload"
	"github.com/mlperf-go/mlperf/internal/onnx/arch"
	"github.com/mlperf-go/mlperf/internal/tensor"
	"github.com/mlperf-go/mlperf/internal/tokenizer/clip"
	"github.com/mlperf-go/mlperf/internal/tokenizer/hf"
	"github.com/mlperf-go/mlperf/internal/userinput"
)

// The settings of the reference (text_to_video/wan-2.2-t2v-a14b, inference_config.yaml). Its steps are those of images.
const (
	guidanceHigh, guidanceLow = 4, 3 // of the two experts
	boundaryRatio             = 0.875
	frameRate                 = 16
	videoSeed                 = 42
	videoHeight, videoWidth   = 720, 1280
	videoFrames               = 81
	videoSeconds              = 5.0 // of the requests of mlcommons/endpoints

	videoNegativePrompt = "vivid colors, overexposed, static, blurry details, subtitles, style, work of art, painting, picture, still, overall grayish, " +
		"worst quality, low quality, JPEG artifacts, ugly, deformed, extra fingers, poorly drawn hands, poorly drawn face, deformed, disfigured, " +
		"deformed limbs, fused fingers, static image, cluttered background, three legs, many people in the background, walking backwards"
)

// Means and deviations of the channels of latents (diffusers 0.35.2, AutoencoderKLWan: latents_mean, latents_std).
var (
	latentMean = []float32{-0.7571, -0.7089, -0.9113, 0.1075, -0.1745, 0.9653, -0.1517, 1.5508, 0.4134, -0.0715, 0.5517, -0.3632, -0.1922, -0.9497, 0.2503, -0.2921}
	latentStd  = []float32{2.8184, 1.4541, 2.3275, 2.6558, 1.2196, 1.7708, 2.6052, 2.0743, 3.2687, 2.1526, 2.8652, 1.5579, 1.6382, 1.1253, 2.8251, 1.9160}
)

// The files of the pipeline beside those of images, by role. They are also the names of diffusers' folders.
const (
	transformer  = "transformer"
	transformer2 = "transformer_2"
)

func videoRoles() []string { return []string{textEncoder, transformer, transformer2, vaeDecoder} }

// wanPorts are the ports of the files, with the names of exports.
func wanPorts() portSpecs {
	specs := portSpecs{
		{textEncoder, "input_ids", false, []int{2}, integers},
		{textEncoder, "attention_mask", false, []int{2}, integers},
		{textEncoder, "last_hidden_state", true, []int{3}, floats},
	}
	for _, role := range []string{transformer, transformer2} {
		specs = append(specs, portSpecs{
			{role, "hidden_states", false, []int{5}, floats},
			{role, "timestep", false, []int{1}, numbers},
			{role, "encoder_hidden_states", false, []int{3}, floats},
			{role, "out_hidden_states", true, []int{5}, floats},
		}...)
	}
	return append(specs, portSpec{vaeDecoder, "latent_sample", false, []int{5}, floats}, portSpec{vaeDecoder, "sample", true, []int{5}, floats})
}

// expertOf is the expert of a step, and its guidance.
func expertOf(step float64, trained int) (role string, guidance float32) {
	if step >= boundaryRatio*float64(trained) {
		return transformer, guidanceHigh
	}
	return transformer2, guidanceLow
}

// A videoPipeline is Wan 2.2 with its data set.
type videoPipeline struct {
	prompts   []string
	from      string // file of the prompts
	negative  videoText
	noise     vbench.Noise
	noiseFrom string
	tokenizer *hf.Tokenizer
	ports     ports
	sizes     videoSizes
	schedule  flowSchedule
	steps     *uniPC
}

// A videoText is a prompt as the text encoder reads it.
type videoText struct{ ids, mask []int64 }

// videoSizes are those of the tensors that go from file to file.
type videoSizes struct {
	text          int          // numbers of a token
	latents       tensor.Shape // channels, frames, height and width
	frames        int          // of the video
	height, width int          // of its frames
	batch         int          // samples that the experts take at once; -1: any number
}

func newVideoPipeline(s workload.Setup) (*videoPipeline, error) {
	own, err := wanPorts().parse(s.Options[portsOption])
	if err != nil {
		return nil, userinput.Wrap(portsOption, err)
	}
	set, err := vbench.Read(s.DatasetDir, s.Count)
	if err != nil {
		return nil, err
	}
	w := &videoPipeline{prompts: set.Prompts, from: set.Path}
	if w.ports, err = wanPorts().find(s.Ports, own); err != nil {
		return nil, err
	}
	if err := w.openNoise(cmp.Or(s.Options[noiseOption], set.Noise)); err != nil {
		return nil, err
	}
	if w.sizes, err = w.ports.videoSizes(w.noise.Shape); err != nil {
		return nil, err
	}
	if w.schedule, err = readSchedule(s.ModelPath, officialFlow(), parseFlow); err != nil {
		return nil, err
	}
	if text := s.Options[shiftOption]; text != "" {
		if w.schedule.Shift, err = strconv.ParseFloat(text, 64); err == nil {
			err = checkShift(w.schedule.Shift)
		}
		if err != nil {
			return nil, userinput.Wrap(shiftOption, err)
		}
	}
	if w.steps, err = newUniPC(w.schedule, steps); err != nil {
		return nil, err
	}
	if err := w.openTokenizer(s); err != nil {
		return nil, err
	}
	w.negative = videoText{make([]int64, arch.WanTextLength), make([]int64, arch.WanTextLength)}
	if err := w.encode(w.negative, cmp.Or(set.Negative, videoNegativePrompt)); err != nil {
		return nil, fmt.Errorf("the negative prompt: %w", err)
	}
	return w, nil
}

// openNoise reads the noise that all videos begin with, or draws it.
func (w *videoPipeline) openNoise(path string) (err error) {
	if path != "" {
		w.noiseFrom = "of " + path
		w.noise, err = vbench.ReadNoise(path)
		return err
	}
	shape := slices.Clone(w.ports[transformer+".hidden_states"].Shape[1:])
	for i, official := range arch.VideoLatents(true) {
		if shape[i] < 1 {
			shape[i] = official
		}
	}
	values := make([]float32, shape.Len())
	rng := rand.New(rand.NewPCG(videoSeed, videoSeed))
	for i := range values {
		values[i] = float32(rng.NormFloat64())
	}
	w.noise, w.noiseFrom = vbench.Noise{Shape: shape, Values: values}, fmt.Sprintf("drawn here (seed %d)", videoSeed)
	return nil
}

// openTokenizer opens the tokenizer of the option, the model or the data set.
func (w *videoPipeline) openTokenizer(s workload.Setup) (err error) {
	path := s.Options[workload.TokenizerOption]
	for _, folder := range []string{filepath.Join(s.ModelPath, "tokenizer"), s.ModelPath, s.DatasetDir, filepath.Dir(w.from)} {
		if beside := filepath.Join(folder, "tokenizer.json"); path == "" && folder != "" {
			if _, err := os.Stat(beside); err == nil {
				path = beside
			}
		}
	}
	if path == "" {
		return userinput.Missing(workload.TokenizerOption, "the prompts need the tokenizer.json of the text encoder, which is beside neither the model nor the prompts")
	}
	if w.tokenizer, err = hf.Open(path); err != nil {
		return userinput.Wrap(workload.TokenizerOption, err)
	}
	return nil
}

// encode writes the tokens of a prompt, as diffusers' WanPipeline does (encode_prompt): cleaned, cut before their end if there are
// too many, and filled with the token 0, <pad>.
func (w *videoPipeline) encode(to videoText, prompt string) error {
	tokens, err := w.tokenizer.Append(nil, clip.Clean(prompt), hf.AddSpecial)
	if err != nil {
		return err
	}
	if n := len(to.ids); len(tokens) > n {
		tokens = append(tokens[:n-1], tokens[len(tokens)-1]) // the last one ends texts
	}
	clear(to.ids)
	clear(to.mask)
	for i, token := range tokens {
		to.ids[i], to.mask[i] = int64(token), 1
	}
	return nil
}

// videoSizes reads the sizes from the ports, and checks that the files fit each other and the noise.
func (p ports) videoSizes(noise tensor.Shape) (s videoSizes, err error) {
	s = videoSizes{latents: noise, batch: -1}
	var errs []error
	fits := func(port string, extents ...int64) {
		for axis, n := range extents {
			if have := p[port].Shape[axis]; n >= 0 && have >= 0 && have != n {
				errs = append(errs, fmt.Errorf("the model's %s is %v: must be %d along axis %d: the files and the noise do not fit each other",
					port, p[port].Shape, n, axis))
			}
		}
	}
	text := p[textEncoder+".last_hidden_state"].Shape[2]
	if text < 1 {
		errs = append(errs, fmt.Errorf("the model's %s.last_hidden_state has no known size along axis 2", textEncoder))
	}
	s.text = int(text)
	for _, name := range []string{".input_ids", ".attention_mask", ".last_hidden_state"} {
		fits(textEncoder+name, 1, arch.WanTextLength)
	}
	latents := append(tensor.Shape{-1}, noise...)
	for _, role := range []string{transformer, transformer2} {
		fits(role+".hidden_states", latents...)
		fits(role+".out_hidden_states", latents...)
		fits(role+".encoder_hidden_states", -1, arch.WanTextLength, text)
		if n := p[role+".hidden_states"].Shape[0]; n >= 0 {
			if s.batch = int(n) / 2; n%2 != 0 || n == 0 {
				errs = append(errs, fmt.Errorf("the model's %s takes %d at once, expected an even number: guidance runs each sample with its prompt and without", role, n))
			}
		}
	}
	// Each latent frame but the first is four frames, of eight times the sides.
	s.frames, s.height, s.width = int(4*noise[1]-3), int(8*noise[2]), int(8*noise[3])
	fits(vaeDecoder+".latent_sample", append(tensor.Shape{1}, noise...)...)
	fits(vaeDecoder+".sample", 1, imageChannels, int64(s.frames), int64(s.height), int64(s.width))
	if n := len(latentMean); int(noise[0]) != n {
		errs = append(errs, fmt.Errorf("the noise is %v: must have %d channels", noise, n))
	}
	return s, errors.Join(errs...)
}

func (w *videoPipeline) workload() *workload.Workload {
	row := w.exchangeRow()
	out := &workload.Workload{
		Samples: len(w.prompts), Row: func(int) []workload.Slot { return row[:latentSlot] }, Prepare: w.prepare,
		NewPredictor: func(sessions workload.Sessions, maxBatch int) (workload.Predictor, error) {
			return newVideoPredictor(w, sessions, maxBatch)
		},
		Outputs: func(role string) []string { return wanPorts().outputs(w.ports, role) }, Batch: max(w.sizes.batch, 0),
		PredictorBytes: w.predictorBytes, Notes: w.notes(),
		Exchange: &workload.Exchange{
			Constants: []tensor.Tensor{tensor.Of(w.noise.Values, append([]int64{1}, w.noise.Shape...)...)},
			Complete:  func([]tensor.Shape) ([]workload.Slot, error) { return row, nil },
			Check:     w.check,
			Film:      w.film,
		},
	}
	for i, name := range []string{"input_ids", "attention_mask", "latents"} {
		out.Exchange.Inputs = append(out.Exchange.Inputs, workload.Input{Name: name, Slot: row[i]})
	}
	return out
}

// exchangeRow are the tensors that are sent: tokens, which of them are those of the prompt, and the noise.
func (w *videoPipeline) exchangeRow() []workload.Slot {
	tokens := workload.Slot{Type: tensor.Int64, Shape: tensor.Shape{arch.WanTextLength}}
	return []workload.Slot{tokens, tokens, {Type: tensor.Float32, Shape: w.noise.Shape}}
}

func (w *videoPipeline) prepare(index int, row []tensor.Tensor) error {
	if err := w.encode(videoText{tensor.Data[int64](row[0]), tensor.Data[int64](row[1])}, w.prompts[index]); err != nil {
		return fmt.Errorf("the prompt of sample %d: %w", index, err)
	}
	return nil
}

// film fills a row for a request for a video. Its settings must be those of the benchmark; the size and the length of the video are
// those of the model.
func (w *videoPipeline) film(r *backend.VideoRequest, row []tensor.Tensor) error {
	official := videoRequest(r.Prompt, r.NegativePrompt)
	official.ResponseFormat, official.OutputFormat = r.ResponseFormat, r.OutputFormat
	if err := sameRequest(*r, official); err != nil {
		return err
	}
	negative := videoText{make([]int64, arch.WanTextLength), make([]int64, arch.WanTextLength)}
	if err := w.encode(negative, cmp.Or(r.NegativePrompt, videoNegativePrompt)); err != nil {
		return err
	}
	if !slices.Equal(negative.ids, w.negative.ids) {
		return fmt.Errorf("negative_prompt is another one than the benchmark's: must be that one, or left out")
	}
	copy(tensor.Data[float32](row[latentSlot]), w.noise.Values)
	return w.encode(videoText{tensor.Data[int64](row[0]), tensor.Data[int64](row[1])}, r.Prompt)
}

func (w *videoPipeline) check(row []tensor.Tensor) error {
	ids, mask := tensor.Data[int64](row[0]), tensor.Data[int64](row[1])
	for i, id := range ids {
		if id < 0 || id >= int64(w.tokenizer.Size()) {
			return fmt.Errorf("token %d of input_ids is %d, the vocabulary has %d", i, id, w.tokenizer.Size())
		}
		if mask[i] != 0 && mask[i] != 1 {
			return fmt.Errorf("number %d of attention_mask is %d: must be 0 or 1", i, mask[i])
		}
	}
	for i, v := range tensor.Data[float32](row[latentSlot]) {
		if v-v != 0 {
			return fmt.Errorf("number %d of the latents is %v", i, v)
		}
	}
	return nil
}

// notes describe the files and the settings.
func (w *videoPipeline) notes() []string {
	s, high := w.sizes, 0
	for _, step := range w.steps.timesteps {
		if role, _ := expertOf(float64(step), w.schedule.Trained); role == transformer {
			high++
		}
	}
	return []string{
		fmt.Sprintf("videos of %d×%d, %d frames at %d/s, in %d UniPC steps with flow shift %g: %d of the high-noise expert (guidance %d), %d of the low-noise one (guidance %d)",
			s.width, s.height, s.frames, frameRate, w.steps.steps(), w.schedule.Shift, high, guidanceHigh, w.steps.steps()-high, guidanceLow),
		fmt.Sprintf("prompts of %s, noise %s", w.from, w.noiseFrom),
	}
}

// predictorBytes is the size of the tensors bound to the ports, and of the video.
func (w *videoPipeline) predictorBytes(samples int) int64 {
	latents, states := w.noise.Shape.Len(), int64(arch.WanTextLength*w.sizes.text)
	video := int64(imageChannels * w.sizes.frames * w.sizes.height * w.sizes.width)
	return 4*(int64(samples)*(2*2*latents+2*states+4*latents)+states+latents+video) + video
}

// newVideo returns a writer of the frames of a video.
func (s videoSizes) newVideo() *mp4.Writer { return mp4.NewWriter(s.width, s.height, frameRate) }

// frameBytes writes a frame of planes from −1 to 1 as pixels from 0 to 255, cut off (diffusers 0.35.2: VaeImageProcessor.denormalize and
// export_to_video). Planes of a channel have all frames.
func (s videoSizes) frameBytes(dst []byte, video []float32, frame int) error {
	pixels := s.height * s.width
	for c := range imageChannels {
		for i, v := range video[(c*s.frames+frame)*pixels:][:pixels] {
			v = min(max(float32(v*0.5)+0.5, 0), 1) * 255
			if v != v {
				return fmt.Errorf("frame %d is not a number at pixel %d of plane %d", frame, i, c)
			}
			dst[imageChannels*i+c] = byte(math.Floor(float64(v)))
		}
	}
	return nil
}
