package harness

import (
	"fmt"
	"math"

	"github.com/mlperf-go/mlperf/internal/models/workload"
	"github.com/mlperf-go/mlperf/internal/onnx"
	"github.com/mlperf-go/mlperf/internal/report"
)

// operations counts the size of the model, and the work of a sample where the model is a function of one sample. It is nil for files
// that are not ONNX graphs, and for engines that run none. It reads the graph, which takes milliseconds: after the traffic.
func (r *run) operations() *report.Operations {
	if r.cfg.Backend.ModelPath == "" || r.asksServers() || len(r.files) == 0 || r.workload.Samples == 0 {
		return nil
	}
	o := &report.Operations{SampleBytes: r.workload.RowBytes(0)}
	for _, f := range r.files {
		m, err := onnx.ReadFile(f.Path)
		if err != nil {
			return nil // a format of the engine's own
		}
		count := m.Operations(nil)
		if o.Parameters, o.WeightBytes = o.Parameters+count.Parameters, o.WeightBytes+count.WeightBytes; len(r.files) == 1 {
			perSample(o, m, r.workload)
		}
	}
	return o
}

// someSamples are as many as the mean work of a sample is taken of, where samples differ.
const someSamples = 64

// perSample adds the work of a sample: the mean of some, spread over the data. Nothing is added of a model that does not take samples
// as they are.
func perSample(o *report.Operations, m *onnx.Model, w *workload.Workload) {
	if w.NewPredictor == nil || w.Row == nil {
		return
	}
	known := map[string]onnx.Operations{}
	n, sum, runs := min(w.Samples, someSamples), 0.0, 0
	for i := range n {
		index, batch := i*w.Samples/n, int64(1)
		var inputs map[string][]int64
		if w.Runs != nil { // of the model's own extents
			runs += w.Runs(index)
		} else if inputs, batch = inputsOf(m.Graph.FreeInputs(), w.Row(index)); batch == 0 {
			return
		}
		key := fmt.Sprint(inputs)
		count, there := known[key]
		if !there {
			count = m.Operations(inputs)
			known[key] = count
		}
		o.Uncounted, o.Once = count.Uncounted, count.Once
		sum += float64(count.MACs) / float64(batch)
	}
	if mean := sum / float64(n); w.Runs != nil {
		o.Runs = float64(runs) / float64(n)
		o.MACs = int64(math.Round(mean * o.Runs))
	} else {
		o.MACs = int64(math.Round(mean))
	}
}

// inputsOf are the extents of a run of the model for a sample, or for a batch of fixed size; 0 samples: they do not fit.
func inputsOf(inputs []*onnx.Value, row []workload.Slot) (extents map[string][]int64, batch int64) {
	if len(row) != len(inputs) {
		return nil, 0
	}
	extents, batch = map[string][]int64{}, 1
	for i, in := range inputs {
		shape, dims := in.Type.Shape, row[i].Shape
		if len(shape) == len(dims)+1 {
			dims = append([]int64{1}, dims...)
			if shape[0].Known() {
				dims[0], batch = shape[0].Size, shape[0].Size
			}
		}
		if len(shape) != len(dims) {
			return nil, 0
		}
		for axis, d := range shape {
			if d.Known() && d.Size != dims[axis] {
				return nil, 0
			}
		}
		extents[in.Name] = dims
	}
	return extents, max(0, batch)
}
