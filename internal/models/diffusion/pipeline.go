package diffusion

import (
	"fmt"

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

	// latentScale scales latents (vae/config.json: scaling_factor).
	latentScale = 0.13025
)

// A pipeline is Stable Diffusion XL joined with its captions.
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

// openPipeline joins captions with the files of a model.
func openPipeline(s workload.Setup) (*workload.Workload, error) {
	w, err := newPipeline(s)
	if err != nil {
		return nil, err
	}
	return w.workload(), nil
}

func newPipeline(s workload.Setup) (*pipeline, error) {
	own, err := parsePorts(s.Options[portsOption])
	if err != nil {
		return nil, userinput.Wrap(portsOption, err)
	}
	w := &pipeline{guidance: guidance}
	if err := w.readData(s.DatasetDir, s.Count); err != nil {
		return nil, err
	}
	if err := w.readPorts(s.Ports, own); err != nil {
		return nil, err
	}
	schedule, err := readSchedule(s.ModelPath)
	if err != nil {
		return nil, err
	}
	if w.euler, err = newEuler(schedule, steps); err != nil {
		return nil, err
	}
	if w.tokenizers, w.tokenizersFrom, err = openTokenizers(s); err != nil {
		return nil, err
	}
	return w, w.readNegative()
}

func (w *pipeline) workload() *workload.Workload {
	row := func(int) []workload.Slot { return tokenRow() }
	out := &workload.Workload{
		Samples: len(w.captions), Row: row, Prepare: w.prepare,
		NewPredictor: func(sessions workload.Sessions, maxBatch int) (workload.Predictor, error) {
			return newPredictor(w, sessions, maxBatch)
		},
		Outputs: w.outputs, Batch: max(w.sizes.batch, 0), PredictorBytes: w.predictorBytes, Notes: w.notes(),
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

// readData reads the captions, and the noise that images begin with.
func (w *pipeline) readData(folder string, count int) (err error) {
	if w.captions, err = captions.Read(folder, count); err != nil {
		return err
	}
	w.latents, err = captions.ReadLatents(folder)
	return err
}

// readPorts finds the ports of the files and their sizes.
func (w *pipeline) readPorts(files map[string]workload.Ports, own map[string]string) (err error) {
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

// notes say how the files were understood.
func (w *pipeline) notes() []string {
	s := w.sizes
	return []string{
		fmt.Sprintf("images of %d×%d in %d steps of Euler's method from noise %.4g on, guidance %g, latents of %s",
			s.width*s.scale, s.height*s.scale, steps, w.euler.sigmas[0], w.guidance, w.latents.Path),
		fmt.Sprintf("captions are read by %s (%s) and %s (%s, %s), with the tokenizers of %s",
			textEncoder, w.ports[textEncoder+"."+hiddenStates].Name, textEncoder2, w.ports[textEncoder2+"."+hiddenStates].Name, w.ports[textEncoder2+".text_embeds"].Name, w.tokenizersFrom),
	}
}

// tokenRow has the tokens of the caption for either encoder. As in the reference, they are made before the test.
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

func (w *pipeline) outputs(role string) (names []string) {
	for _, want := range portSpecs() {
		if want.role == role && want.output {
			names = append(names, w.ports[want.role+"."+want.name].Name)
		}
	}
	return names
}
