package diffusion

import (
	"fmt"

	"github.com/mlperf-go/mlperf/internal/models/tokenizer/clip"
	"github.com/mlperf-go/mlperf/internal/models/workload"
	"github.com/mlperf-go/mlperf/internal/tensor"
)

// latentSlot is where the latents are in the row of a sample from elsewhere: that has its own, as the reference's
// samples have them, because who answers it has no data set.
const latentSlot = 2

// Decode implements workload.Portable: a sample is its tokens and the latents.
func (*pipeline) Decode([]byte, []tensor.Tensor) error { return workload.ErrNoFile }

// Stamp implements workload.Portable: images have no index.
func (*pipeline) Stamp([]byte, int, []tensor.Tensor) {}

// Sent implements workload.Varied.
func (w *pipeline) Sent() (list []workload.Sent) {
	for i, slot := range append(w.Row(0), w.latentSlot()) {
		list = append(list, workload.Sent{Name: []string{"input_tokens", "input_tokens_2", "latents"}[i], Slot: slot})
	}
	return list
}

func (w *pipeline) latentSlot() workload.Slot {
	return workload.Slot{Type: tensor.Float32, Shape: tensor.Shape{latentChannels, int64(w.sizes.height), int64(w.sizes.width)}}
}

// Complete implements workload.Varied: all samples are alike.
func (w *pipeline) Complete([]tensor.Shape) ([]workload.Slot, error) {
	return append(w.Row(0), w.latentSlot()), nil
}

// Constants implements workload.Constant.
func (w *pipeline) Constants() []tensor.Tensor {
	return []tensor.Tensor{tensor.Of(w.latents.Values, append([]int64{1}, w.latentSlot().Shape...)...)}
}

// Check implements workload.Checking.
func (w *pipeline) Check(row []tensor.Tensor) error {
	for i, t := range w.tokenizers {
		for k, id := range tensor.Data[int64](row[i]) {
			if id < 0 || id >= int64(t.Size()) {
				return fmt.Errorf("token %d of %s is %d, the vocabulary has %d", k, w.Sent()[i].Name, id, t.Size())
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

// PredictorBytes implements workload.Heavy: what is bound to the ports, and the image.
func (w *pipeline) PredictorBytes(samples int) int64 {
	s := w.sizes
	latents, states := latentChannels*s.height*s.width, clip.Length*(s.first+s.second)
	each := 2*2*latents + latents + 2*(states+s.pooled+timeNumbers)
	alone := states + s.pooled + latents + imageChannels*s.pixels()
	return int64(samples)*int64(each)*4 + int64(alone)*4 + int64(s.imageBytes())
}
