package diffusion

import (
	"fmt"
	"slices"

	"github.com/mlperf-go/mlperf/internal/dataset/captions"
	"github.com/mlperf-go/mlperf/internal/models/tokenizer/clip"
	"github.com/mlperf-go/mlperf/internal/models/workload"
	"github.com/mlperf-go/mlperf/internal/tensor"
	"github.com/mlperf-go/mlperf/internal/userinput"
)

// What the reference sets (text_to_image, backend_pytorch.py).
const (
	steps          = 20
	guidance       = 8
	negativePrompt = "normal quality, low quality, worst quality, low res, blurry, nsfw, nude"

	// latentScale is what latents are multiples of (vae/config.json: scaling_factor).
	latentScale = 0.13025
)

// A pipeline is Stable Diffusion XL joined with its captions.
type pipeline struct {
	captions   []string
	latents    captions.Latents
	tokenizers [2]*clip.Tokenizer
	negative   [2][]int64 // the negative prompt
	ports      ports
	sizes      sizes
	offsets    [2]int // of either encoder's states in those of a token
	euler      *eulerScheduler
	guidance   float32
	notes      []string
}

// openPipeline joins captions with the files of a model.
func openPipeline(s workload.Setup) (workload.Workload, error) {
	own, err := parsePorts(s.Options[portsOption])
	if err != nil {
		return nil, userinput.Wrap(portsOption, err)
	}
	w := &pipeline{guidance: guidance}
	if err := w.readData(s.DatasetDir, s.Count); err != nil {
		return nil, err
	}
	if err := w.join(s.Ports, own); err != nil {
		return nil, err
	}
	schedule, err := readSchedule(s.ModelPath)
	if err != nil {
		return nil, err
	}
	if w.euler, err = newEuler(schedule, steps); err != nil {
		return nil, err
	}
	var from string
	if w.tokenizers, from, err = openTokenizers(s); err != nil {
		return nil, err
	}
	w.describe(from)
	return w, w.readNegative()
}

// readData reads the captions, and the noise that images begin with.
func (w *pipeline) readData(folder string, count int) (err error) {
	if w.captions, err = captions.Read(folder, count); err != nil {
		return err
	}
	w.latents, err = captions.ReadLatents(folder)
	return err
}

// join finds out how the files go together.
func (w *pipeline) join(files map[string]workload.Ports, own map[string]string) (err error) {
	if w.ports, err = findPorts(files, own); err != nil {
		return err
	}
	w.sizes, err = w.ports.sizesOf(w.latents.Height, w.latents.Width)
	w.offsets = [2]int{0, w.sizes.first}
	return err
}

// readNegative makes tokens of the negative prompt.
func (w *pipeline) readNegative() error {
	for i, t := range w.tokenizers {
		w.negative[i] = make([]int64, clip.Length)
		if _, err := t.Encode(w.negative[i], negativePrompt); err != nil {
			return fmt.Errorf("the negative prompt: %w", err)
		}
	}
	return nil
}

// describe notes how the files were understood.
func (w *pipeline) describe(tokenizers string) {
	s := w.sizes
	w.notes = []string{
		fmt.Sprintf("images of %d×%d in %d steps of Euler's method from noise %.4g on, guidance %g, latents of %s",
			s.width*s.scale, s.height*s.scale, steps, w.euler.sigmas[0], w.guidance, w.latents.Path),
		fmt.Sprintf("captions are read by %s (%s) and %s (%s, %s), with the tokenizers of %s",
			textEncoder, w.ports[textEncoder+"."+hiddenStates].Name, textEncoder2, w.ports[textEncoder2+"."+hiddenStates].Name, w.ports[textEncoder2+".text_embeds"].Name, tokenizers),
	}
}

// Len implements workload.Workload.
func (w *pipeline) Len() int { return len(w.captions) }

// Row implements workload.Workload: the tokens of the caption for either encoder. As in the
// reference, they are made before the test.
func (w *pipeline) Row(int) []workload.Slot {
	slot := workload.Slot{Type: tensor.Int64, Shape: tensor.Shape{clip.Length}}
	return []workload.Slot{slot, slot}
}

// CacheKey implements workload.Workload. Tokens are made as quickly as they are read.
func (w *pipeline) CacheKey() string { return "" }

// Prepare implements workload.Workload.
func (w *pipeline) Prepare(index int, row []tensor.Tensor) error {
	for i, t := range w.tokenizers {
		if _, err := t.Encode(tensor.Data[int64](row[i]), w.captions[index]); err != nil {
			return fmt.Errorf("the caption of sample %d: %w", index, err)
		}
	}
	return nil
}

// Outputs implements workload.Workload.
func (w *pipeline) Outputs(role string) (names []string) {
	for _, want := range wants() {
		if want.role == role && want.output {
			names = append(names, w.ports[want.role+"."+want.name].Name)
		}
	}
	return names
}

// Batch implements workload.Workload.
func (w *pipeline) Batch() int { return w.sizes.batch }

// NewPredictor implements workload.Workload.
func (w *pipeline) NewPredictor(sessions workload.Sessions, maxBatch int) (workload.Predictor, error) {
	return newPainter(w, sessions, maxBatch)
}

// Notes implements workload.Workload.
func (w *pipeline) Notes() []string { return slices.Clone(w.notes) }
