package report

import (
	"fmt"
	"strings"

	"github.com/mlperf-go/mlperf/internal/units"
)

// Operations are the size and the work of the model, counted in its graph, and what the run made of them. A multiply-accumulate is
// two operations.
type Operations struct {
	Parameters  int64 `json:"parameters"`
	WeightBytes int64 `json:"weight_bytes"`
	SampleBytes int64 `json:"sample_bytes,omitempty"` // of a sample, as the model takes it
	// MACs are the multiply-accumulates of a sample; absent: their number follows from the answer, or the model has several files.
	MACs int64 `json:"macs_per_sample,omitempty"`
	// Runs are the runs of the model that a sample takes, on average; absent: one.
	Runs float64 `json:"runs_per_sample,omitempty"`
	// Uncounted names nodes whose work is not in MACs, Once loops whose bodies are counted once.
	Uncounted []string `json:"uncounted,omitempty"`
	Once      []string `json:"counted_once,omitempty"`

	GFLOPS float64 `json:"gflops,omitempty"` // 10⁹ operations per second, achieved
	// Ceiling is what this machine was measured to do at most; absent: it was not measured.
	Ceiling *Ceiling `json:"ceiling,omitempty"`
}

// A Ceiling is the most that an engine does on a device of a machine: the best of some products of large matrices, and of some
// copies in memory.
type Ceiling struct {
	GFLOPS          float64 `json:"gflops"`
	GBytesPerSecond float64 `json:"gbytes_per_second,omitempty"` // of memory; absent: not known, of a device with a memory of its own
	Precision       string  `json:"precision"`                   // of the product
}

// String is the ceiling in a line.
func (c *Ceiling) String() string {
	text := fmt.Sprintf("%s in a product of matrices (%s)", units.SI(c.GFLOPS*1e9, "FLOP/s"), c.Precision)
	if c.GBytesPerSecond > 0 {
		text += fmt.Sprintf(", %s in memory", units.SI(c.GBytesPerSecond*1e9, "B/s"))
	}
	return text
}

// Measured adds what a performance run achieved.
func (o *Operations) Measured(p *Performance) {
	if o != nil && o.MACs > 0 && p != nil {
		o.GFLOPS = 2 * float64(o.MACs) * p.SamplesPerSecond / 1e9
	}
}

// Share is the achieved part of the ceiling; 0: not known.
func (o *Operations) Share() float64 {
	if o == nil || o.Ceiling == nil || o.Ceiling.GFLOPS <= 0 {
		return 0
	}
	return o.GFLOPS / o.Ceiling.GFLOPS
}

// Intensity is how many operations a sample takes for each byte of weights, if a run reads them once for so many samples, and
// of the sample; 0: not known.
func (o *Operations) Intensity(batch float64) float64 {
	if o == nil || o.MACs == 0 || batch <= 0 {
		return 0
	}
	return 2 * float64(o.MACs) / (float64(o.WeightBytes)/batch + float64(o.SampleBytes))
}

// Size is the size and work of the model: 25.6 M parameters, 4.09 GMAC a sample.
func (o *Operations) Size() string {
	text := units.SI(float64(o.Parameters), "") + " parameters"
	if o.MACs > 0 {
		text += ", " + units.SI(float64(o.MACs), "MAC") + " a sample"
	}
	return text
}

// String is the size, the work and what was achieved, in a line.
func (o *Operations) String() string {
	text := o.Size()
	if o.GFLOPS > 0 {
		text += ", " + units.SI(o.GFLOPS*1e9, "FLOP/s")
	}
	if share := o.Share(); share > 0 {
		text += fmt.Sprintf(", %s of the %s of a matrix product (%s)", units.Percent(share), units.SI(o.Ceiling.GFLOPS*1e9, "FLOP/s"), o.Ceiling.Precision)
	}
	if n := len(o.Uncounted); n > 0 {
		text += fmt.Sprintf("; not counted: %s", some(o.Uncounted))
	}
	if len(o.Once) > 0 {
		text += fmt.Sprintf("; loops counted once: %s", some(o.Once))
	}
	return text
}

// some are the first of many names.
func some(names []string) string {
	const shown = 3
	if len(names) <= shown {
		return strings.Join(names, ", ")
	}
	return fmt.Sprintf("%s and %d more", strings.Join(names[:shown], ", "), len(names)-shown)
}
