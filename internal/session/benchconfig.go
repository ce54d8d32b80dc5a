package session

import (
	"errors"

	"github.com/mlperf-go/mlperf/internal/backend/ort"
	"github.com/mlperf-go/mlperf/internal/bench"
	"github.com/mlperf-go/mlperf/internal/field"
	"github.com/mlperf-go/mlperf/internal/machine"
	"github.com/mlperf-go/mlperf/internal/regular"
)

// config is what package bench needs, as far as it is known.
func (r *Resolved) config() (*bench.Config, error) {
	q := &r.Request
	files, err := r.files()
	if err != nil {
		return nil, err
	}
	var processors []int
	if q.Pin {
		if processors = machine.Processors(); len(processors) == 0 {
			return nil, field.Errorf("pin", "this system does not say which processors there are for threads")
		}
	}
	return &bench.Config{
		Program: q.Program, Model: r.model, Rules: r.rules.Version, Interactive: r.interactive,
		Settings: r.Settings, Made: append(r.Made, r.taken...), Warnings: r.Warnings, Caveats: r.caveats(), Judge: r.judge, JudgeData: r.judgeData,
		Calibrate: r.needsTarget(), AutoLatency: q.AutoLatency, FitStreams: r.fitStreams(), FewQueries: r.fewQueries(), Runs: r.runs(), FindPeak: q.Mode == FindPeak, Anyway: q.Anyway,
		Backend: q.Backend, Instances: q.instances(), MaxBatch: q.MaxBatch, MaxDelay: q.MaxDelay, ReserveCore: q.ReserveCore, Processors: processors,
		Count: q.Count, Options: r.Request.Options,
		OutputDir: q.Output, Files: files, Trace: q.Trace,
		CPUTime: machine.CPUTime, FreeMemory: machine.AvailableMemory, FreeThreads: machine.FreeThreads, FreeDisk: freeDisk, NewPacer: q.NewPacer,
	}, nil
}

// instances is how many workers there are; 0 leaves it to the scenario. A device that does one thing at a
// time is not quicker with a second one, and every one more has to be warmed up.
func (q *Request) instances() int {
	if q.Instances == 0 && ort.OneAtATime(q.Backend.Device) {
		return 1
	}
	return q.Instances
}

// maxConf is how long a conf file may be.
const maxConf = 16 << 20

// files are the conf files that were used, to be kept with the results.
func (r *Resolved) files() (map[string][]byte, error) {
	q := &r.Request
	files := map[string][]byte{"mlperf.conf": r.rules.Conf.Format()}
	var errs []error
	for name, path := range map[string]string{"mlperf.conf": q.MLPerfConf, "user.conf": q.UserConf, "audit.config": q.AuditConf} {
		if path == "" {
			continue
		}
		text, err := regular.ReadFile(path, maxConf)
		files[name], errs = text, append(errs, err)
	}
	return files, errors.Join(errs...)
}

// freeDisk is the space that is left where a folder is or would be; 0 if that is not known.
func freeDisk(dir string) uint64 {
	d, err := machine.DiskOf(dir)
	if err != nil {
		return 0
	}
	return d.FreeBytes
}
