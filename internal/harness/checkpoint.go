package harness

import (
	"errors"
	"slices"
	"time"

	"github.com/mlperf-go/mlperf/internal/loadgen"
	"github.com/mlperf-go/mlperf/internal/report"
)

// checkpoint returns what writes down a test that has not ended, so that a program that is
// killed leaves logs and results which say so. The model file is not hashed for that.
func (r *run) checkpoint(dir string) func(*loadgen.Result) {
	known := report.Results{
		Schema: report.Schema, Program: r.cfg.Program, Model: r.cfg.Model.Name, Rules: r.cfg.Rules, Interactive: r.cfg.Interactive,
		Settings: r.made, Calibration: r.calibration, Phases: r.phases, System: r.cfg.System, Backend: r.backend(),
		Fingerprint: r.cfg.Fingerprint, Host: r.cfg.Host, Command: r.cfg.Command,
	}
	warnings := slices.Concat(r.cfg.Warnings, r.warnings.list)
	return func(test *loadgen.Result) {
		out := known
		out.Caveats, out.Warnings, out.Problems = slices.Clone(r.cfg.Caveats), slices.Clone(warnings), []string{}
		out.Created = test.StartTime.UTC().Truncate(time.Second)
		out.Fill(test, r.origin)
		r.addCaveats(&out)
		_ = errors.Join(r.writeLogs(test, dir), out.Write(dir)) // what fails now fails again when the test has ended
	}
}
