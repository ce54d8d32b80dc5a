package run

import (
	"github.com/mlperf-go/mlperf/internal/backend/ort"
	"github.com/mlperf-go/mlperf/internal/config"
	"github.com/mlperf-go/mlperf/internal/harness"
	"github.com/mlperf-go/mlperf/internal/machine"
	"github.com/mlperf-go/mlperf/internal/userinput"
)

// config is what package harness needs, as far as it is known.
func (r *Resolved) config() (*harness.Config, error) {
	q := &r.Request
	var processors []int
	if q.Pin {
		if processors = machine.Processors(); len(processors) == 0 {
			return nil, userinput.Errorf("pin", "this system does not say which processors there are for threads")
		}
	}
	return &harness.Config{
		Program: q.Program, Model: r.model, Rules: r.rules.Version, Interactive: r.interactive,
		Settings: r.Settings, Made: append(r.Made, r.taken...), Warnings: r.Warnings, Caveats: r.caveats(), Judge: r.judge, JudgeData: r.judgeData,
		Calibrate: r.needsTarget(), AutoLatency: q.AutoLatency, FitStreams: r.fitStreams(), FewQueries: r.fewQueries(), Runs: r.runs(), FindPeak: q.Mode == FindPeak, Anyway: q.Anyway,
		Backend: q.Backend, Instances: q.instances(), MaxBatch: q.MaxBatch, MaxDelay: q.MaxDelay, ReserveCore: q.ReserveCore, Processors: processors,
		Count: q.Count, Options: r.Request.Options,
		OutputDir: q.Output, Files: r.files(), Trace: q.Trace,
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

// files are the conf files that were used, to be kept with the results: as they were when the settings were
// read from them, whatever became of them since.
func (r *Resolved) files() map[string][]byte {
	files := map[string][]byte{"mlperf.conf": r.rules.Conf.Format()}
	for name, conf := range map[string]*config.Conf{"mlperf.conf": r.confs.MLPerfConf, "user.conf": r.confs.UserConf, "audit.config": r.confs.AuditConf} {
		if conf != nil {
			files[name] = conf.Text
		}
	}
	return files
}

// freeDisk is the space that is left where a folder is or would be; 0 if that is not known.
func freeDisk(dir string) uint64 {
	d, err := machine.DiskOf(dir)
	if err != nil {
		return 0
	}
	return d.FreeBytes
}
