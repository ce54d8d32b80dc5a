package diffusion

import (
	"encoding/json"
	"errors"
	"fmt"
	"math"
)

// A flowSchedule is scheduler_config.json of a UniPCMultistepScheduler, as far as it is used.
type flowSchedule struct {
	Class      string  `json:"_class_name"`
	Shift      float64 `json:"flow_shift"`
	Flow       bool    `json:"use_flow_sigmas"`
	Prediction string  `json:"prediction_type"`
	Order      int     `json:"solver_order"`
	Solver     string  `json:"solver_type"`
	X0         bool    `json:"predict_x0"`
	LowerFinal bool    `json:"lower_order_final"`
	FinalSigma string  `json:"final_sigmas_type"`
	Trained    int     `json:"num_train_timesteps"`
	Threshold  bool    `json:"thresholding"`
	Disabled   []int   `json:"disable_corrector"`
	Dynamic    bool    `json:"use_dynamic_shifting"`
	Karras     bool    `json:"use_karras_sigmas"`
	Exp        bool    `json:"use_exponential_sigmas"`
	Beta       bool    `json:"use_beta_sigmas"`
}

// officialFlow is that of Wan 2.2, whose shift the benchmark's reference leaves to the checkpoint.
func officialFlow() flowSchedule {
	return flowSchedule{
		Class: "UniPCMultistepScheduler", Shift: 3, Flow: true, Prediction: "flow_prediction", Order: 2, Solver: "bh2", X0: true, LowerFinal: true,
		FinalSigma: "zero", Trained: 1000,
	}
}

// parseFlow reads scheduler_config.json. Missing keys are as in the official one.
func parseFlow(text []byte) (flowSchedule, error) {
	s := officialFlow()
	if err := json.Unmarshal(text, &s); err != nil {
		return s, err
	}
	return s, s.check()
}

// check refuses settings that are not implemented.
func (s flowSchedule) check() error {
	var errs []error
	official := officialFlow()
	for _, v := range []struct {
		key       string
		got, want any
	}{
		{"_class_name", s.Class, official.Class}, {"use_flow_sigmas", s.Flow, true}, {"prediction_type", s.Prediction, official.Prediction},
		{"solver_order", s.Order, official.Order}, {"solver_type", s.Solver, official.Solver}, {"predict_x0", s.X0, true},
		{"lower_order_final", s.LowerFinal, true}, {"final_sigmas_type", s.FinalSigma, official.FinalSigma},
	} {
		if v.got != v.want {
			errs = append(errs, fmt.Errorf("%s is %v: must be %v", v.key, v.got, v.want))
		}
	}
	if s.Threshold || len(s.Disabled) > 0 || s.Dynamic || s.Karras || s.Exp || s.Beta {
		errs = append(errs, errors.New("sigmas are Karras, exponential, beta or shifted dynamically, or thresholding or disable_corrector is set: not supported"))
	}
	if s.Trained < 2 || s.Trained > maxTrained {
		errs = append(errs, fmt.Errorf("num_train_timesteps is %d: must be 2 to %d", s.Trained, maxTrained))
	}
	return errors.Join(append(errs, checkShift(s.Shift))...)
}

// maxShift is far above all shifts of published models, which are 1 to 17.
const maxShift = 100

func checkShift(shift float64) error {
	if !(shift > 0 && shift <= maxShift) {
		return fmt.Errorf("the flow shift is %v: must be above 0 and at most %d", shift, maxShift)
	}
	return nil
}

// A uniPC takes noise away step by step by UniPC of order 2 (Zhao et al., arXiv:2302.04867; diffusers 0.35.2, UniPCMultistepScheduler
// with bh2, predict_x0, flow_prediction and flow sigmas). All arithmetic on latents is on float32, as PyTorch's.
type uniPC struct {
	timesteps []int64   // of the model's training, the noisiest first
	sigmas    []float32 // the share of noise at each of them, and 0 behind the last
}

// newUniPC chooses the steps.
func newUniPC(s flowSchedule, steps int) (*uniPC, error) {
	if steps < 1 || steps > s.Trained {
		return nil, fmt.Errorf("%d steps, expected 1 to %d, the steps of the model's training", steps, s.Trained)
	}
	u := &uniPC{}
	for i := steps; i > 0; i-- { // numpy.linspace(1, 1/trained, steps + 1), from its end
		least := 1 / float64(s.Trained)
		alpha := float64(float64(i)*((least-1)/float64(steps))) + 1
		if i == steps {
			alpha = least
		}
		sigma := 1 - alpha
		sigma = s.Shift * sigma / (1 + float64((s.Shift-1)*sigma))
		u.timesteps, u.sigmas = append(u.timesteps, int64(sigma*float64(s.Trained))), append(u.sigmas, float32(sigma))
	}
	u.sigmas = append(u.sigmas, 0)
	return u, nil
}

// steps is how many there are.
func (u *uniPC) steps() int { return len(u.timesteps) }

// logSNR is the logarithm of the ratio of image and noise, in float32.
func (u *uniPC) logSNR(step int) float32 {
	sigma := u.sigmas[step]
	return float32(math.Log(float64(1-sigma))) - float32(math.Log(float64(sigma)))
}

// A uniPCState is what the steps of a video keep: latents and clean latents of the steps before.
type uniPCState struct {
	last          []float32 // latents before the last prediction
	clean, before []float32 // as the model saw them clean at the last step, and at the one before
	order         int       // of the last prediction
}

// newUniPCState makes room for latents of a size.
func newUniPCState(size int) *uniPCState {
	return &uniPCState{last: make([]float32, size), clean: make([]float32, size), before: make([]float32, size)}
}

// step corrects latents by the speed that the model found at a step, and goes on to the next step, in place.
func (u *uniPC) step(s *uniPCState, latents, speed []float32, step int) {
	sigma := u.sigmas[step]
	now := speed // the clean latents take its place
	for i, v := range latents {
		now[i] = v - float32(sigma*speed[i])
	}
	if step > 0 {
		u.correct(s, latents, now, step)
	}
	s.clean, s.before = s.before, s.clean
	copy(s.clean, now)
	s.order = min(2, step+1, u.steps()-step)
	copy(s.last, latents)
	u.predict(s, latents, step)
}

// A uniPCStep has the factors of a step from one share of noise to another.
type uniPCStep struct {
	keep  float32 // of the latents
	clean float32 // of the clean latents, and of their changes
	ratio float32 // of the logSNR of the step before, by that of this one; of order 2
	b     [2]float32
}

func (u *uniPC) between(from, to, order int) uniPCStep {
	h := u.logSNR(to) - u.logSNR(from)
	hh := -h
	phi := float32(math.Expm1(float64(hh)))
	s := uniPCStep{keep: u.sigmas[to] / u.sigmas[from], clean: (1 - u.sigmas[to]) * phi}
	if order == 2 {
		s.ratio = (u.logSNR(from-1) - u.logSNR(from)) / h
	}
	k, factorial := phi/hh-1, float32(1)
	for i := range s.b {
		s.b[i] = k * factorial / phi
		factorial *= float32(i + 2)
		k = k/hh - 1/factorial
	}
	return s
}

// predict goes on from a step to the next (UniP).
func (u *uniPC) predict(s *uniPCState, latents []float32, step int) {
	f := u.between(step, step+1, s.order)
	for i, v := range latents {
		change := float32(0)
		if s.order == 2 {
			change = 0.5 * ((s.before[i] - s.clean[i]) / f.ratio)
		}
		latents[i] = float32(f.keep*v) - float32(f.clean*s.clean[i]) - float32(f.clean*change)
	}
}

// correct repeats the way to a step with what the model found there (UniC).
func (u *uniPC) correct(s *uniPCState, latents, now []float32, step int) {
	f := u.between(step-1, step, s.order)
	before, after := float32(0), float32(0.5) // the weights of the two changes
	if s.order == 2 {                         // [1 1; ratio 1]·[before after] = b
		before = (f.b[1] - f.b[0]) / (f.ratio - 1)
		after = f.b[0] - before
	}
	for i := range latents {
		change := float32(after * (now[i] - s.clean[i]))
		if s.order == 2 {
			change = float32(before*((s.before[i]-s.clean[i])/f.ratio)) + change
		}
		latents[i] = float32(f.keep*s.last[i]) - float32(f.clean*s.clean[i]) - float32(f.clean*change)
	}
}
