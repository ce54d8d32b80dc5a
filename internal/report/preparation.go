package report

import (
	"fmt"
	"time"

	"github.com/mlperf-go/mlperf/internal/units"
)

// Preparation is the time that workers took to make samples inside the latency, where the run timed that too.
type Preparation struct {
	What     string  `json:"what"`
	Seconds  float64 `json:"seconds"`   // of all workers
	Share    float64 `json:"share"`     // of the time in which they were busy
	SampleNS int64   `json:"sample_ns"` // on average
}

// String is the preparation in a line.
func (p *Preparation) String() string {
	return fmt.Sprintf("%s inside the latency: %s a sample, %s of the workers' time", p.What, units.Duration(time.Duration(p.SampleNS)),
		units.Percent(p.Share))
}
