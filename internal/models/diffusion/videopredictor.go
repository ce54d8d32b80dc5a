package diffusion

import (
	"context"
	"errors"
	"fmt"

	"github.com/mlperf-go/mlperf/internal/fileio/mp4"
	"github.com/mlperf-go/mlperf/internal/models/workload"
	"github.com/mlperf-go/mlperf/internal/onnx/arch"
	"github.com/mlperf-go/mlperf/internal/tensor"
)

// A videoPredictor makes the videos of a batch together. The text encoder and the decoder run for one sample at a time, which needs
// the least memory; an expert runs for all latents of the batch twice: without their prompts first, then with.
type videoPredictor struct {
	w        *videoPipeline
	store    *workload.Store
	sessions workload.Sessions
	encoder  *call
	decoder  *call
	experts  map[expertKey]*call
	maxBatch int

	// Inputs and outputs of the experts, two rows for each sample.
	sample, speed, context []float32
	latents                []float32 // of the samples
	state                  *uniPCState
	frame                  []byte
	video                  *mp4.Writer
}

// An expertKey is an expert with the samples of a batch.
type expertKey struct {
	role    string
	samples int
}

func newVideoPredictor(w *videoPipeline, sessions workload.Sessions, maxBatch int) (_ *videoPredictor, err error) {
	s, size, twice := w.sizes, int(w.noise.Shape.Len()), 2*maxBatch
	p := &videoPredictor{
		w: w, sessions: sessions, experts: map[expertKey]*call{}, maxBatch: maxBatch,
		sample: make([]float32, twice*size), speed: make([]float32, twice*size), context: make([]float32, twice*arch.WanTextLength*s.text),
		latents: make([]float32, maxBatch*size), state: newUniPCState(maxBatch * size),
		frame: make([]byte, imageChannels*s.height*s.width), video: s.newVideo(),
	}
	const states = textEncoder + ".last_hidden_state"
	ids, mask := textEncoder+".input_ids", textEncoder+".attention_mask"
	p.encoder, err = bind(sessions[textEncoder], w.ports, textEncoder, map[string]tensor.Tensor{
		ids: tensor.New(w.ports[ids].Type, 1, arch.WanTextLength), mask: tensor.New(w.ports[mask].Type, 1, arch.WanTextLength),
		states: tensor.New(tensor.Float32, 1, arch.WanTextLength, int64(s.text)),
	})
	if err == nil {
		p.decoder, err = bind(sessions[vaeDecoder], w.ports, vaeDecoder, map[string]tensor.Tensor{
			vaeDecoder + ".latent_sample": tensor.New(tensor.Float32, append([]int64{1}, w.noise.Shape...)...),
			vaeDecoder + ".sample":        tensor.New(tensor.Float32, 1, imageChannels, int64(s.frames), int64(s.height), int64(s.width)),
		})
	}
	if err != nil {
		return nil, errors.Join(err, p.Close())
	}
	return p, nil
}

// expert returns the call of an expert for a number of samples, which is made once.
func (p *videoPredictor) expert(role string, n int) (*call, error) {
	key := expertKey{role, n}
	if c := p.experts[key]; c != nil {
		return c, nil
	}
	size, states, twice := 2*n*int(p.w.noise.Shape.Len()), 2*n*arch.WanTextLength*p.w.sizes.text, int64(2*n)
	shape := append([]int64{twice}, p.w.noise.Shape...)
	c, err := bind(p.sessions[role], p.w.ports, role, map[string]tensor.Tensor{
		role + ".hidden_states": tensor.Of(p.sample[:size], shape...), role + ".out_hidden_states": tensor.Of(p.speed[:size], shape...),
		role + ".timestep":              tensor.New(p.w.ports[role+".timestep"].Type, twice),
		role + ".encoder_hidden_states": tensor.Of(p.context[:states], twice, arch.WanTextLength, int64(p.w.sizes.text)),
	})
	if err == nil {
		p.experts[key] = c
	}
	return c, err
}

// Use implements workload.Predictor.
func (p *videoPredictor) Use(store *workload.Store) error {
	p.store = store
	return nil
}

// Predict implements workload.Predictor.
func (p *videoPredictor) Predict(ctx context.Context, items []workload.Item, reply workload.Reply) error {
	n := len(items)
	switch {
	case n == 0:
		return nil
	case p.store == nil:
		return errors.New("no samples are loaded")
	case n > p.maxBatch:
		return fmt.Errorf("%d samples at once, the predictor was made for %d", n, p.maxBatch)
	}
	if err := p.encodePrompts(ctx, items); err != nil {
		return err
	}
	if err := p.denoise(ctx, items); err != nil {
		return err
	}
	for i, item := range items {
		file, err := p.decode(ctx, i)
		if err != nil {
			return fmt.Errorf("sample %d: %w", item.Index, err)
		}
		reply.Done(item.Ticket, file, 0)
	}
	return nil
}

// encodePrompts runs the text encoder on the prompts, and on the negative prompt.
func (p *videoPredictor) encodePrompts(ctx context.Context, items []workload.Item) error {
	if err := p.encode(ctx, p.w.negative, 0); err != nil {
		return err
	}
	n, width := len(items), arch.WanTextLength*p.w.sizes.text
	for i, item := range items {
		if i > 0 {
			copy(p.context[i*width:][:width], p.context[:width])
		}
		text := videoText{tensor.Data[int64](p.store.Slot(0, item.Row, 1)), tensor.Data[int64](p.store.Slot(1, item.Row, 1))}
		if err := p.encode(ctx, text, n+i); err != nil {
			return fmt.Errorf("sample %d: %w", item.Index, err)
		}
	}
	return nil
}

// encode runs the text encoder. States behind the text become 0.
func (p *videoPredictor) encode(ctx context.Context, text videoText, to int) error {
	c := p.encoder
	setIntegers(c.tensors[textEncoder+".input_ids"], text.ids)
	setIntegers(c.tensors[textEncoder+".attention_mask"], text.mask)
	if err := c.run(ctx); err != nil {
		return err
	}
	width := p.w.sizes.text
	states := p.context[to*arch.WanTextLength*width:][:arch.WanTextLength*width]
	copy(states, tensor.Data[float32](c.tensors[textEncoder+".last_hidden_state"]))
	used := 0
	for _, is := range text.mask {
		used += int(is)
	}
	clear(states[used*width:])
	return nil
}

// initialLatents are the noise that a video begins with: that of the data set, or that sent with the sample.
func (p *videoPredictor) initialLatents(item workload.Item) []float32 {
	if p.store.Slots() > latentSlot {
		return tensor.Data[float32](p.store.Slot(latentSlot, item.Row, 1))
	}
	return p.w.noise.Values
}

// denoise takes the noise away, step by step.
func (p *videoPredictor) denoise(ctx context.Context, items []workload.Item) error {
	n, size := len(items), int(p.w.noise.Shape.Len())
	for i, item := range items {
		copy(p.latents[i*size:], p.initialLatents(item))
	}
	latents, half := p.latents[:n*size], n*size
	for step, at := range p.w.steps.timesteps {
		if err := context.Cause(ctx); err != nil {
			return err
		}
		role, guidance := expertOf(float64(at), p.w.schedule.Trained)
		c, err := p.expert(role, n)
		if err != nil {
			return err
		}
		copy(p.sample, latents)
		copy(p.sample[half:], latents)
		fill(c.tensors[role+".timestep"], float32(at))
		if err := c.run(ctx); err != nil {
			return fmt.Errorf("step %d: %w", step, err)
		}
		guide(p.speed[:half], p.speed[half:2*half], guidance)
		p.w.steps.step(p.state, latents, p.speed[:half], step)
	}
	return nil
}

// decode makes a video of the latents of a sample. The next call overwrites nothing of it.
func (p *videoPredictor) decode(ctx context.Context, i int) ([]byte, error) {
	size := int(p.w.noise.Shape.Len())
	to := tensor.Data[float32](p.decoder.tensors[vaeDecoder+".latent_sample"])
	each := size / len(latentMean)
	for k, v := range p.latents[i*size:][:size] {
		inverse := 1 / latentStd[k/each]
		to[k] = v/inverse + latentMean[k/each]
	}
	if err := p.decoder.run(ctx); err != nil {
		return nil, err
	}
	p.video.Reset()
	for frame := range p.w.sizes.frames {
		if err := p.w.sizes.frameBytes(p.frame, tensor.Data[float32](p.decoder.tensors[vaeDecoder+".sample"]), frame); err != nil {
			return nil, err
		}
		if err := p.video.Add(p.frame); err != nil {
			return nil, err
		}
	}
	return p.video.File()
}

// Close implements workload.Predictor.
func (p *videoPredictor) Close() error {
	errs := []error{p.encoder.close(), p.decoder.close()}
	for key, c := range p.experts {
		errs = append(errs, c.close())
		delete(p.experts, key)
	}
	return errors.Join(errs...)
}
