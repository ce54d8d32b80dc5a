package run

import (
	"errors"
	"fmt"

	"github.com/mlperf-go/mlperf/internal/backend"
	"github.com/mlperf-go/mlperf/internal/backend/ort"
	"github.com/mlperf-go/mlperf/internal/backend/simulated"
	"github.com/mlperf-go/mlperf/internal/tensor"
)

// openORT opens ONNX Runtime, with threads for all sessions if there is a pool.
func (e Engine) openORT(pool *ort.Pool) (backend.Engine, error) {
	library, _, err := ort.Search{Explicit: e.Library}.Find()
	var none *ort.NotFoundError
	if err != nil && !errors.As(err, &none) {
		return nil, fmt.Errorf("%w\n%s", err, ort.Remedy)
	}
	if err != nil {
		return nil, err // it says what to do
	}
	return ort.New(library, pool)
}

// pool says which threads all sessions share; nil: none.
func (q *Request) pool() *ort.Pool {
	if q.Engine.SharedThreads == 0 {
		return nil
	}
	return &ort.Pool{
		IntraThreads: q.Engine.SharedThreads, InterThreads: max(1, q.Backend.InterThreads),
		NoSpinning: q.Backend.NoSpinning, Affinity: q.Backend.Affinity,
	}
}

// simulate returns an engine that takes its time and pretends to run model files.
func (e Engine) simulate() (backend.Engine, error) {
	return simulated.New(simulated.Config{Latency: e.Latency, Jitter: e.Jitter, Answer: pretend})
}

// pretend answers with a class that follows from the image. Detectors, which have several
// outputs, and models with large outputs find nothing: any other answer would have to
// make sense.
func pretend(inputs, outputs []tensor.Tensor) error {
	const classes = 4096 // more than a classifier has
	if len(outputs) > 1 || len(outputs[0].Shape) > 0 && outputs[0].Len() > classes*int(outputs[0].Shape[0]) {
		return nil
	}
	return simulated.Echo(inputs, outputs)
}
