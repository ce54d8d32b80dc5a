package run

import (
	"strings"

	"github.com/mlperf-go/mlperf/internal/machine"
	"github.com/mlperf-go/mlperf/internal/report"
)

// lookAround says before the traffic what makes the speed of this machine vary.
func (p *Prepared) lookAround() machine.Conditions {
	c := machine.CurrentConditions()
	if list := c.Settings(); len(list) > 0 {
		p.bench.Observer.Note("this machine: " + strings.Join(list, "; "))
	}
	return c
}

// addConditions adds what the machine was like to the results: its settings as notes, what
// happened during the run as warnings, and a clock that jumped as a caveat. It reports whether there was anything.
func addConditions(r *report.Results, before machine.Conditions) bool {
	after := machine.CurrentConditions()
	settings, during := before.Settings(), before.During(after)
	for _, text := range settings {
		r.Notes = append(r.Notes, "this machine: "+text)
	}
	r.Warnings = append(r.Warnings, during...)
	jump := before.ClockJump(after)
	if jump != "" {
		r.Caveats = append(r.Caveats, jump)
	}
	return jump != "" || len(settings)+len(during) > 0
}
