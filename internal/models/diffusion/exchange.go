package diffusion

import (
	"fmt"

	"github.com/mlperf-go/mlperf/internal/models/tokenizer/clip"
	"github.com/mlperf-go/mlperf/internal/models/workload"
	"github.com/mlperf-go/mlperf/internal/tensor"
)

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
