package diffusion

import (
	"github.com/mlperf-go/mlperf/internal/models/workload"
)

// A Damage is something that a pipeline may do wrong.
type Damage func(w *pipeline)

// Damages are such things, by name.
func Damages() map[string]Damage {
	return map[string]Damage{
		"a step less": func(w *pipeline) {
			w.euler.timesteps, w.euler.sigmas = w.euler.timesteps[1:], w.euler.sigmas[1:]
		},
		"a little guidance less":    func(w *pipeline) { w.guidance = 7.5 },
		"the text encoders swapped": func(w *pipeline) { w.offsets = [2]int{w.sizes.second, 0} },
		"the tokenizers swapped":    func(w *pipeline) { w.tokenizers[0], w.tokenizers[1] = w.tokenizers[1], w.tokenizers[0] },
	}
}

// OpenDamaged opens a pipeline that does something wrong; nil: nothing.
func OpenDamaged(s workload.Setup, d Damage) (*workload.Workload, error) {
	w, err := newPipeline(s)
	if err != nil {
		return nil, err
	}
	if d != nil {
		d(w)
	}
	return w.workload(), nil
}
