package diffusion

import (
	"encoding/json"
	"errors"
	"fmt"
	"math"
)

// A noiseSchedule is scheduler_config.json of an EulerDiscreteScheduler, as far as it is used: the noise at each step of the
// model's training.
type noiseSchedule struct {
	Class       string  `json:"_class_name"`
	BetaStart   float64 `json:"beta_start"`
	BetaEnd     float64 `json:"beta_end"`
	Schedule    string  `json:"beta_schedule"`
	Trained     int     `json:"num_train_timesteps"`
	Spacing     string  `json:"timestep_spacing"`
	Offset      int     `json:"steps_offset"`
	Prediction  string  `json:"prediction_type"`
	Karras      bool    `json:"use_karras_sigmas"`
	Exp         bool    `json:"use_exponential_sigmas"`
	Beta        bool    `json:"use_beta_sigmas"`
	Rescale     bool    `json:"rescale_betas_zero_snr"`
	Betas       []any   `json:"trained_betas"`
	Interpolate string  `json:"interpolation_type"`
	FinalSigma  string  `json:"final_sigmas_type"`
}

// officialSchedule is that of Stable Diffusion XL (scheduler/scheduler_config.json of
// stable-diffusion-xl-base-1.0).
func officialSchedule() noiseSchedule {
	return noiseSchedule{
		Class: "EulerDiscreteScheduler", BetaStart: 0.00085, BetaEnd: 0.012, Schedule: "scaled_linear", Trained: 1000,
		Spacing: "leading", Offset: 1, Prediction: "epsilon", Interpolate: "linear", FinalSigma: "zero",
	}
}

// maxTrained bounds the steps that a model was trained with.
const maxTrained = 1 << 16

// parseSchedule reads scheduler_config.json. Missing keys are as in the official one.
func parseSchedule(text []byte) (noiseSchedule, error) {
	s := officialSchedule()
	if err := json.Unmarshal(text, &s); err != nil {
		return s, err
	}
	return s, s.check()
}

// check refuses settings that are not implemented.
func (s noiseSchedule) check() error {
	var errs []error
	official := officialSchedule()
	for _, text := range []struct{ key, got, want string }{
		{"_class_name", s.Class, official.Class}, {"beta_schedule", s.Schedule, official.Schedule}, {"timestep_spacing", s.Spacing, official.Spacing},
		{"prediction_type", s.Prediction, official.Prediction}, {"interpolation_type", s.Interpolate, official.Interpolate}, {"final_sigmas_type", s.FinalSigma, official.FinalSigma},
	} {
		if text.got != text.want {
			errs = append(errs, fmt.Errorf("%s is %q: must be %q", text.key, text.got, text.want))
		}
	}
	if s.Karras || s.Exp || s.Beta || s.Rescale || len(s.Betas) > 0 {
		errs = append(errs, errors.New("sigmas are Karras, exponential, beta or rescaled: not supported"))
	}
	if !(s.BetaStart > 0 && s.BetaStart < s.BetaEnd && s.BetaEnd < 1) {
		errs = append(errs, fmt.Errorf("beta_start is %v and beta_end %v: must be 0 < beta_start < beta_end < 1", s.BetaStart, s.BetaEnd))
	} else if s.Trained < 2 || s.Trained > maxTrained || s.Offset < 0 || s.Offset >= s.Trained {
		errs = append(errs, fmt.Errorf("num_train_timesteps is %d and steps_offset %d: must be 2 to %d steps and an offset below them", s.Trained,
			s.Offset, maxTrained))
	}
	return errors.Join(errs...)
}

// An eulerScheduler takes noise away step by step, by Euler's method over the amount of noise
// (diffusers 0.30.3, EulerDiscreteScheduler without churn). All arithmetic is on float32, as
// PyTorch's, but for the running product, which PyTorch keeps in float64.
type eulerScheduler struct {
	timesteps []float32 // of the model's training, the noisiest first
	sigmas    []float32 // the noise at each of them, and 0 behind the last
}

// newEuler chooses the steps, which lie evenly and end before the first one of the training.
func newEuler(s noiseSchedule, steps int) (*eulerScheduler, error) {
	if steps < 1 || steps > s.Trained {
		return nil, fmt.Errorf("%d steps, expected 1 to %d, the steps of the model's training", steps, s.Trained)
	}
	noise := s.noise()
	e := &eulerScheduler{}
	ratio := s.Trained / steps
	for i := steps - 1; i >= 0; i-- {
		t := i*ratio + s.Offset
		if t >= len(noise) {
			return nil, fmt.Errorf("step %d is beyond the %d steps of the model's training", t, s.Trained)
		}
		if math.IsInf(float64(noise[t]), 1) {
			return nil, fmt.Errorf("step %d of the training is all noise: beta_start %v and beta_end %v are too large for %d steps", t, s.BetaStart,
				s.BetaEnd, s.Trained)
		}
		e.timesteps, e.sigmas = append(e.timesteps, float32(t)), append(e.sigmas, noise[t])
	}
	e.sigmas = append(e.sigmas, 0)
	return e, nil
}

// noise is the deviation of the noise at each step of the training, where that of the image is 1.
func (s noiseSchedule) noise() []float32 {
	sigmas, product := make([]float32, s.Trained), 1.0
	for i, root := range torchLinspace(float32(math.Sqrt(s.BetaStart)), float32(math.Sqrt(s.BetaEnd)), s.Trained) {
		beta := root * root
		product *= float64(1 - beta)
		kept := float32(product)
		ratio := (1 - kept) / kept
		sigmas[i] = float32(math.Sqrt(float64(ratio)))
	}
	return sigmas
}

// torchLinspace is torch.linspace of float32: the first half counts from the start, the second
// from the end (aten/src/ATen/native/cpu/RangeFactoriesKernel.cpp).
func torchLinspace(start, end float32, n int) []float32 {
	step := (end - start) / float32(n-1)
	values := make([]float32, n)
	for i := range values {
		if i < n/2 {
			values[i] = start + float32(step*float32(i)) // no fused multiply-add
		} else {
			values[i] = end - float32(step*float32(n-1-i))
		}
	}
	return values
}

// steps is how many there are.
func (e *eulerScheduler) steps() int { return len(e.timesteps) }

// initialNoise is the deviation that latents begin with.
func (e *eulerScheduler) initialNoise() float32 { return inputScale(e.sigmas[0]) }

// inputScale is the deviation of an image of deviation 1 with noise.
func inputScale(sigma float32) float32 {
	return float32(math.Sqrt(float64(float32(sigma*sigma) + 1)))
}

// scaled writes latents as the model reads them at a step: with a deviation of 1.
func (e *eulerScheduler) scaled(dst, latents []float32, step int) {
	scale := inputScale(e.sigmas[step])
	for i, v := range latents {
		dst[i] = v / scale
	}
}

// step takes the noise of a step away from latents, in place.
func (e *eulerScheduler) step(latents, noise []float32, step int) {
	sigma := e.sigmas[step]
	dt := e.sigmas[step+1] - sigma
	for i, v := range latents {
		clean := v - float32(sigma*noise[i])
		slope := (v - clean) / sigma
		latents[i] = v + float32(slope*dt)
	}
}

// guide is classifier-free guidance (Ho and Salimans, arXiv:2207.12598): it extrapolates from the noise without a caption to
// that with it. The result is in without.
func guide(without, with []float32, scale float32) {
	for i, v := range without {
		without[i] = v + float32(scale*(with[i]-v))
	}
}
