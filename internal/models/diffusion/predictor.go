package diffusion

import (
	"context"
	"errors"
	"fmt"
	"math"

	"github.com/mlperf-go/mlperf/internal/backend"
	"github.com/mlperf-go/mlperf/internal/models/workload"
	"github.com/mlperf-go/mlperf/internal/tensor"
	"github.com/mlperf-go/mlperf/internal/tokenizer/clip"
)

// A predictor makes the images of a batch together. The text encoders and the VAE run for one sample at a time, which
// needs the least memory; the UNet runs for all latents of the batch twice: without their captions first, then with.
type predictor struct {
	w         *pipeline
	store     *workload.Store
	encoders  [2]*call // of the text encoders
	decoder   *call
	unet      backend.Session
	unetCalls map[int]*call // by the samples of a batch
	maxBatch  int

	// Inputs and outputs of the UNet, two rows for each sample.
	sample, noise, context, pooled, times []float32
	latents                               []float32 // of the samples
	image                                 []byte
}

func newPredictor(w *pipeline, sessions workload.Sessions, maxBatch int) (_ *predictor, err error) {
	p := &predictor{w: w, unet: sessions[unet], unetCalls: map[int]*call{}, maxBatch: maxBatch, image: make([]byte, w.sizes.imageBytes())}
	s, twice := w.sizes, 2*maxBatch
	size := p.latentSize()
	p.sample, p.noise, p.latents = make([]float32, twice*size), make([]float32, twice*size), make([]float32, maxBatch*size)
	p.context = make([]float32, twice*clip.Length*(s.first+s.second))
	p.pooled, p.times = make([]float32, twice*s.pooled), make([]float32, twice*timeNumbers)
	for i := range twice {
		height, width := float32(s.height*s.scale), float32(s.width*s.scale)
		copy(p.times[i*timeNumbers:], []float32{height, width, 0, 0, height, width}) // original size, crop, target size
	}
	if err = p.bindOthers(sessions); err != nil {
		return nil, errors.Join(err, p.Close())
	}
	return p, nil
}

// latentSize is the number of values of a sample's latents.
func (p *predictor) latentSize() int { return latentChannels * p.w.sizes.height * p.w.sizes.width }

// bindOthers binds the text encoders and the VAE for one sample.
func (p *predictor) bindOthers(sessions workload.Sessions) (err error) {
	s := p.w.sizes
	for i, role := range []string{textEncoder, textEncoder2} {
		tensors := map[string]tensor.Tensor{
			role + ".input_ids":       tensor.New(p.w.ports[role+".input_ids"].Type, 1, clip.Length),
			role + "." + hiddenStates: tensor.New(tensor.Float32, 1, clip.Length, int64([]int{s.first, s.second}[i])),
			role + ".text_embeds":     tensor.New(tensor.Float32, 1, int64(s.pooled)),
		}
		if p.encoders[i], err = bind(sessions[role], p.w.ports, role, tensors); err != nil {
			return err
		}
	}
	p.decoder, err = bind(sessions[vaeDecoder], p.w.ports, vaeDecoder, map[string]tensor.Tensor{
		vaeDecoder + ".latent_sample": tensor.New(tensor.Float32, 1, latentChannels, int64(s.height), int64(s.width)),
		vaeDecoder + ".sample":        tensor.New(tensor.Float32, 1, imageChannels, int64(s.height*s.scale), int64(s.width*s.scale)),
	})
	return err
}

// unetCall returns the call of the UNet for a number of samples, which is made once.
func (p *predictor) unetCall(n int) (*call, error) {
	if c := p.unetCalls[n]; c != nil {
		return c, nil
	}
	s, twice := p.w.sizes, int64(2*n)
	planes := []int64{twice, latentChannels, int64(s.height), int64(s.width)}
	step := p.w.ports[unet+".timestep"]
	one := tensor.New(step.Type)
	if len(step.Shape) == 1 {
		one = tensor.New(step.Type, max(step.Shape[0], 1))
	}
	c, err := bind(p.unet, p.w.ports, unet, map[string]tensor.Tensor{
		unet + ".sample": tensor.Of(p.sample[:2*n*p.latentSize()], planes...), unet + ".out_sample": tensor.Of(p.noise[:2*n*p.latentSize()], planes...),
		unet + ".timestep":              one,
		unet + ".encoder_hidden_states": tensor.Of(p.context[:2*n*clip.Length*(s.first+s.second)], twice, clip.Length, int64(s.first+s.second)),
		unet + ".text_embeds":           tensor.Of(p.pooled[:2*n*s.pooled], twice, int64(s.pooled)),
		unet + ".time_ids":              tensor.Of(p.times[:2*n*timeNumbers], twice, timeNumbers),
	})
	if err == nil {
		p.unetCalls[n] = c
	}
	return c, err
}

// Use implements workload.Predictor.
func (p *predictor) Use(store *workload.Store) error {
	p.store = store
	return nil
}

// Predict implements workload.Predictor.
func (p *predictor) Predict(ctx context.Context, items []workload.Item, reply workload.Reply) error {
	n := len(items)
	switch {
	case n == 0:
		return nil
	case p.store == nil:
		return errors.New("no samples are loaded")
	case n > p.maxBatch:
		return fmt.Errorf("%d samples at once, the predictor was made for %d", n, p.maxBatch)
	}
	if err := p.encodeCaptions(ctx, items); err != nil {
		return err
	}
	if err := p.denoise(ctx, items); err != nil {
		return err
	}
	for i, item := range items {
		if err := p.decode(ctx, i); err != nil {
			return fmt.Errorf("sample %d: %w", item.Index, err)
		}
		reply.Done(item.Ticket, p.image, 0)
	}
	return nil
}

// encodeCaptions runs the text encoders on the captions, and on the negative prompt.
func (p *predictor) encodeCaptions(ctx context.Context, items []workload.Item) error {
	if err := p.encodeText(ctx, p.w.negative, 0); err != nil {
		return err
	}
	n := len(items)
	width, pooled := clip.Length*(p.w.sizes.first+p.w.sizes.second), p.w.sizes.pooled
	for i := 1; i < n; i++ {
		copy(p.context[i*width:][:width], p.context[:width])
		copy(p.pooled[i*pooled:][:pooled], p.pooled[:pooled])
	}
	for i, item := range items {
		var tokens [2][]int64
		for k := range tokens {
			tokens[k] = tensor.Data[int64](p.store.Slot(k, item.Row, 1))
		}
		if err := p.encodeText(ctx, tokens, n+i); err != nil {
			return fmt.Errorf("sample %d: %w", item.Index, err)
		}
	}
	return nil
}

// encodeText runs both text encoders on a text. Their states stand side by side, token by token.
func (p *predictor) encodeText(ctx context.Context, tokens [2][]int64, to int) error {
	s := p.w.sizes
	width := s.first + s.second
	joined := p.context[to*clip.Length*width:][:clip.Length*width]
	for i, c := range p.encoders {
		role, own, at := []string{textEncoder, textEncoder2}[i], []int{s.first, s.second}[i], p.w.offsets[i]
		setIntegers(c.tensors[role+".input_ids"], tokens[i])
		if err := c.run(ctx); err != nil {
			return err
		}
		states := tensor.Data[float32](c.tensors[role+"."+hiddenStates])
		for t := range clip.Length {
			copy(joined[t*width+at:][:own], states[t*own:])
		}
	}
	copy(p.pooled[to*s.pooled:][:s.pooled], tensor.Data[float32](p.encoders[1].tensors[textEncoder2+".text_embeds"]))
	return nil
}

// initialLatents are the latents that an image begins with: those of the data set, or those sent with the sample.
func (p *predictor) initialLatents(item workload.Item) []float32 {
	if p.store.Slots() > latentSlot {
		return tensor.Data[float32](p.store.Slot(latentSlot, item.Row, 1))
	}
	return p.w.latents.Values
}

// denoise takes the noise away, step by step.
func (p *predictor) denoise(ctx context.Context, items []workload.Item) error {
	n := len(items)
	c, err := p.unetCall(n)
	if err != nil {
		return err
	}
	size, euler := p.latentSize(), p.w.euler
	for i, item := range items {
		for k, v := range p.initialLatents(item) {
			p.latents[i*size+k] = v * euler.initialNoise()
		}
	}
	latents, half := p.latents[:n*size], n*size
	for step := range euler.steps() {
		if err := context.Cause(ctx); err != nil {
			return err
		}
		euler.scaled(p.sample, latents, step)
		copy(p.sample[half:2*half], p.sample[:half])
		fill(c.tensors[unet+".timestep"], euler.timesteps[step])
		if err := c.run(ctx); err != nil {
			return fmt.Errorf("step %d: %w", step, err)
		}
		guide(p.noise[:half], p.noise[half:2*half], p.w.guidance)
		euler.step(latents, p.noise[:half], step)
	}
	return nil
}

// decode runs the VAE on the latents of a sample and writes the pixels to p.image.
func (p *predictor) decode(ctx context.Context, i int) error {
	size := p.latentSize()
	to := tensor.Data[float32](p.decoder.tensors[vaeDecoder+".latent_sample"])
	for k, v := range p.latents[i*size:][:size] {
		to[k] = v / latentScale
	}
	if err := p.decoder.run(ctx); err != nil {
		return err
	}
	return toBytes(p.image, tensor.Data[float32](p.decoder.tensors[vaeDecoder+".sample"]))
}

// toBytes writes planes from −1 to 1 as pixels from 0 to 255, rounded to the even one of two
// (diffusers' VaeImageProcessor, and PostProcessCoco of coco.py).
func toBytes(dst []byte, planes []float32) error {
	pixels := len(planes) / imageChannels
	for i, v := range planes {
		v = min(max(float32(v/2)+0.5, 0), 1) * 255
		if v != v {
			return fmt.Errorf("the image is not a number at pixel %d of plane %d", i%pixels, i/pixels)
		}
		dst[i%pixels*imageChannels+i/pixels] = byte(math.RoundToEven(float64(v)))
	}
	return nil
}

// Close implements workload.Predictor.
func (p *predictor) Close() error {
	errs := []error{p.encoders[0].close(), p.encoders[1].close(), p.decoder.close()}
	for n, c := range p.unetCalls {
		errs = append(errs, c.close())
		delete(p.unetCalls, n)
	}
	return errors.Join(errs...)
}

// A call is a session with the tensors of its ports, by role.name.
type call struct {
	session         backend.Session
	tensors         map[string]tensor.Tensor
	inputs, outputs []backend.Value
}

// bind binds tensors to the ports of a role, in the session's own order.
func bind(s backend.Session, all ports, role string, tensors map[string]tensor.Tensor) (*call, error) {
	c := &call{session: s, tensors: tensors}
	info := s.Info()
	for _, side := range []struct {
		output bool
		ports  []backend.Port
		values *[]backend.Value
	}{{false, info.Inputs, &c.inputs}, {true, info.Outputs, &c.outputs}} {
		for _, port := range side.ports {
			t, ok := tensors[all.key(role, port.Name, side.output)]
			if !ok {
				return nil, errors.Join(fmt.Errorf("the model's %s has an unknown port %s", role, port.Name), c.close())
			}
			v, err := s.Bind(t)
			if err != nil {
				return nil, errors.Join(fmt.Errorf("the model's %s, %s: %w", role, port.Name, err), c.close())
			}
			*side.values = append(*side.values, v)
		}
	}
	return c, nil
}

func (c *call) run(ctx context.Context) error { return c.session.Run(ctx, c.inputs, c.outputs) }

func (c *call) close() error {
	if c == nil {
		return nil
	}
	var errs []error
	for _, v := range append(c.inputs, c.outputs...) {
		errs = append(errs, v.Close())
	}
	return errors.Join(errs...)
}

// setIntegers writes integers into a tensor of int64 or int32.
func setIntegers(t tensor.Tensor, values []int64) {
	if t.Type == tensor.Int64 {
		copy(tensor.Data[int64](t), values)
		return
	}
	for i, v := range values {
		tensor.Data[int32](t)[i] = int32(v)
	}
}

// fill writes a number into all elements of a tensor.
func fill(t tensor.Tensor, v float32) {
	for i := range t.Len() {
		switch t.Type {
		case tensor.Int64:
			tensor.Data[int64](t)[i] = int64(v)
		case tensor.Int32:
			tensor.Data[int32](t)[i] = int32(v)
		default:
			tensor.Data[float32](t)[i] = v
		}
	}
}
