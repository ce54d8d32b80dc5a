package diffusion

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/mlperf-go/mlperf/internal/dataset/captions"
	"github.com/mlperf-go/mlperf/internal/fileio"
	"github.com/mlperf-go/mlperf/internal/models/workload"
	"github.com/mlperf-go/mlperf/internal/tensor"
	"github.com/mlperf-go/mlperf/internal/tokenizer/clip"
	"github.com/mlperf-go/mlperf/internal/userinput"
)

// The settings of the reference (text_to_image, backend_pytorch.py).
const (
	steps          = 20
	guidance       = 8
	negativePrompt = "normal quality, low quality, worst quality, low res, blurry, nsfw, nude"

	// latentScale scales latents (vae/config.json: scaling_factor).
	latentScale = 0.13025
)

// A pipeline is Stable Diffusion XL with its data set.
type pipeline struct {
	captions       []string
	latents        captions.Latents
	tokenizers     [2]*clip.Tokenizer
	tokenizersFrom string     // their folder
	negative       [2][]int64 // the negative prompt
	ports          ports
	sizes          sizes
	offsets        [2]int // of either encoder's states in those of a token
	euler          *eulerScheduler
	guidance       float32
}

func newPipeline(s workload.Setup) (*pipeline, error) {
	own, err := sdxlPorts().parse(s.Options[portsOption])
	if err != nil {
		return nil, userinput.Wrap(portsOption, err)
	}
	w := &pipeline{guidance: guidance}
	if w.captions, err = captions.Read(s.DatasetDir, s.Count); err != nil {
		return nil, err
	}
	if w.latents, err = captions.ReadLatents(s.DatasetDir); err != nil {
		return nil, err
	}
	if w.ports, err = sdxlPorts().find(s.Ports, own); err != nil {
		return nil, err
	}
	if w.sizes, err = w.ports.sizesOf(w.latents.Height, w.latents.Width); err != nil {
		return nil, err
	}
	w.offsets = [2]int{0, w.sizes.first}
	schedule, err := readSchedule(s.ModelPath, officialSchedule(), parseSchedule)
	if err != nil {
		return nil, err
	}
	if w.euler, err = newEuler(schedule, steps); err != nil {
		return nil, err
	}
	if w.tokenizers, w.tokenizersFrom, err = openTokenizers(s); err != nil {
		return nil, err
	}
	for i, t := range w.tokenizers {
		w.negative[i] = make([]int64, clip.Length)
		if _, err := t.Encode(w.negative[i], negativePrompt); err != nil {
			return nil, fmt.Errorf("the negative prompt: %w", err)
		}
	}
	return w, nil
}

func (w *pipeline) workload() *workload.Workload {
	row := func(int) []workload.Slot { return tokenRow() }
	out := &workload.Workload{
		Samples: len(w.captions), Row: row, Prepare: w.prepare,
		NewPredictor: func(sessions workload.Sessions, maxBatch int) (workload.Predictor, error) {
			return newPredictor(w, sessions, maxBatch)
		},
		Outputs: func(role string) []string { return sdxlPorts().outputs(w.ports, role) }, Batch: max(w.sizes.batch, 0), PredictorBytes: w.predictorBytes, Notes: w.notes(),
		Exchange: &workload.Exchange{
			Constants: []tensor.Tensor{tensor.Of(w.latents.Values, append([]int64{1}, w.latentSlot().Shape...)...)},
			Complete:  func([]tensor.Shape) ([]workload.Slot, error) { return w.exchangeRow(), nil },
			Check:     w.check,
		},
	}
	for i, slot := range w.exchangeRow() {
		out.Exchange.Inputs = append(out.Exchange.Inputs, workload.Input{Name: exchangeNames[i], Slot: slot})
	}
	return out
}

// notes describe the layout and the settings.
func (w *pipeline) notes() []string {
	s := w.sizes
	return []string{
		fmt.Sprintf("images of %d×%d in %d Euler steps from noise %.4g, guidance %g, latents of %s",
			s.width*s.scale, s.height*s.scale, steps, w.euler.sigmas[0], w.guidance, w.latents.Path),
		fmt.Sprintf("text encoders: %s (%s) and %s (%s, %s), with the tokenizers of %s",
			textEncoder, w.ports[textEncoder+"."+hiddenStates].Name, textEncoder2, w.ports[textEncoder2+"."+hiddenStates].Name,
			w.ports[textEncoder2+".text_embeds"].Name, w.tokenizersFrom),
	}
}

// tokenRow has the tokens of the caption for either encoder, which are made before the test as in the reference.
func tokenRow() []workload.Slot {
	slot := workload.Slot{Type: tensor.Int64, Shape: tensor.Shape{clip.Length}}
	return []workload.Slot{slot, slot}
}

func (w *pipeline) prepare(index int, row []tensor.Tensor) error {
	for i, t := range w.tokenizers {
		if _, err := t.Encode(tensor.Data[int64](row[i]), w.captions[index]); err != nil {
			return fmt.Errorf("the caption of sample %d: %w", index, err)
		}
	}
	return nil
}

// latentSlot is the slot of the latents in the row of a sample from another LoadGen. Such samples carry their latents, as
// the reference's do, because the system that answers has no data set.
const latentSlot = 2

// exchangeNames are the names of the tensors that are sent.
var exchangeNames = [...]string{"input_tokens", "input_tokens_2", "latents"}

// exchangeRow are the tensors that are sent: all samples have the same shape.
func (w *pipeline) exchangeRow() []workload.Slot { return append(tokenRow(), w.latentSlot()) }

func (w *pipeline) latentSlot() workload.Slot {
	return workload.Slot{Type: tensor.Float32, Shape: tensor.Shape{latentChannels, int64(w.sizes.height), int64(w.sizes.width)}}
}

func (w *pipeline) check(row []tensor.Tensor) error {
	for i, t := range w.tokenizers {
		for k, id := range tensor.Data[int64](row[i]) {
			if id < 0 || id >= int64(t.Size()) {
				return fmt.Errorf("token %d of %s is %d, the vocabulary has %d", k, exchangeNames[i], id, t.Size())
			}
		}
	}
	for k, v := range tensor.Data[float32](row[latentSlot]) {
		if v-v != 0 {
			return fmt.Errorf("number %d of the latents is %v", k, v)
		}
	}
	return nil
}

// predictorBytes is the size of the tensors bound to the ports, and of the image.
func (w *pipeline) predictorBytes(samples int) int64 {
	s := w.sizes
	latents, states := latentChannels*s.height*s.width, clip.Length*(s.first+s.second)
	each := 2*2*latents + latents + 2*(states+s.pooled+timeNumbers)
	alone := states + s.pooled + latents + imageChannels*s.pixels()
	return int64(samples)*int64(each)*4 + int64(alone)*4 + int64(s.imageBytes())
}

// The files of the pipeline, by role. They are also the names of Optimum's folders.
const (
	textEncoder  = "text_encoder"
	textEncoder2 = "text_encoder_2"
	unet         = "unet"
	vaeDecoder   = "vae_decoder"
)

func roles() []string { return []string{textEncoder, textEncoder2, unet, vaeDecoder} }

// pipelineFiles returns a function that finds the files of roles in a folder: each in a folder of its own, as Optimum writes them
// (unet/model.onnx), or side by side (unet.onnx).
func pipelineFiles(roles []string) func(folder string) ([]workload.File, error) {
	return func(folder string) ([]workload.File, error) {
		info, err := os.Stat(folder)
		if err == nil && !info.IsDir() {
			err = fmt.Errorf("%s is a file: must be a folder with %s/model.onnx and %d more", folder, roles[0], len(roles)-1)
		}
		if err != nil {
			return nil, err
		}
		var files []workload.File
		var errs []error
		for _, role := range roles {
			path := filepath.Join(folder, role, "model.onnx")
			if _, err := os.Stat(path); err != nil {
				path = filepath.Join(folder, role+".onnx")
			}
			if _, err := os.Stat(path); err != nil {
				errs = append(errs, fmt.Errorf("the model's %s: %w, and no %s", role, err, filepath.Join(role, "model.onnx")))
			}
			files = append(files, workload.File{Role: role, Path: path})
		}
		return files, errors.Join(errs...)
	}
}

// openTokenizers opens the tokenizers of the two text encoders: of the option, the model or the data set.
func openTokenizers(s workload.Setup) (tokenizers [2]*clip.Tokenizer, from string, err error) {
	folders := []string{s.ModelPath, s.DatasetDir}
	if own := s.Options[tokenizerOption]; own != "" {
		folders = []string{own}
	}
	for _, from = range folders {
		if from == "" {
			continue // the files are at servers
		}
		if _, err := os.Stat(filepath.Join(from, "tokenizer", clip.VocabularyFile)); err == nil {
			break
		}
	}
	for i, kind := range []clip.Kind{clip.First, clip.Second} {
		if tokenizers[i], err = clip.Open(filepath.Join(from, []string{"tokenizer", "tokenizer_2"}[i]), kind); err != nil {
			return tokenizers, from, err
		}
	}
	return tokenizers, from, nil
}

// readSchedule reads scheduler/scheduler_config.json beside a model; without a file it is the official one.
func readSchedule[S any](folder string, official S, parse func(text []byte) (S, error)) (S, error) {
	const maxConfig = 1 << 20
	if folder == "" { // the files are at servers
		return official, nil
	}
	path := filepath.Join(folder, "scheduler", "scheduler_config.json")
	text, err := fileio.ReadFile(path, maxConfig)
	if errors.Is(err, fs.ErrNotExist) {
		return official, nil
	}
	if err != nil {
		return official, err
	}
	s, err := parse(text)
	if err != nil {
		return s, fmt.Errorf("%s: %w", path, err)
	}
	return s, nil
}
