package serve

import (
	"github.com/mlperf-go/mlperf/internal/oip"
	"github.com/mlperf-go/mlperf/internal/oip/server"
	"github.com/mlperf-go/mlperf/internal/workload"
)

// A described model says what a file takes and gives that only the task runs: a decoder, whose memory of
// all tokens would have to be sent for every token. Clients open their side of the task by it.
type described struct {
	about *oip.ModelMetadata
	ready func() bool
}

func describe(name, version string, p workload.Ports, ready func() bool) *described {
	return &described{&oip.ModelMetadata{Name: name, Versions: []string{version}, Platform: "mlperf", Inputs: portsOf(p.Inputs), Outputs: portsOf(p.Outputs)}, ready}
}

// Metadata implements server.Model.
func (d *described) Metadata() *oip.ModelMetadata { return d.about }

// Ready implements server.Model.
func (d *described) Ready() bool { return d.ready() }

// Statistics implements server.Model.
func (d *described) Statistics() oip.ModelStatistics {
	return oip.ModelStatistics{Name: d.about.Name, Version: d.about.Versions[0]}
}

// MaxBytes implements server.Model: whoever sends little is told what to ask instead.
func (*described) MaxBytes() int64 { return mostRefused }

const mostRefused = 1 << 20

// Begin implements server.Model.
func (d *described) Begin(*oip.Head) (server.Job, error) {
	return nil, oip.Errorf(oip.Unsupported, "%s keeps its memory of all tokens here and runs as %s%s only", d.about.Name, d.about.Name, oip.TaskSuffix)
}
