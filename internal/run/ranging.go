package run

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"

	"github.com/mlperf-go/mlperf/internal/harness"
	"github.com/mlperf-go/mlperf/internal/machine/power"
	"github.com/mlperf-go/mlperf/internal/report"
	"github.com/mlperf-go/mlperf/internal/userinput"
)

// checkRanging finds what a ranging run cannot have.
func (q *Request) checkRanging() error {
	if !q.Ranging {
		return nil
	}
	if s, err := power.Parse(q.Power); err != nil || s.Kind != power.PTD {
		return userinput.Errorf("power_ranging", "an analyser finds its ranges: want ptd:HOST:PORT for power, not %q", q.Power)
	}
	if mode := q.loadgenMode(); q.Mode == FindPeak || mode != "performance" {
		return userinput.Errorf("power_ranging", "power is measured of performance, not of %s", q.Mode)
	}
	return nil
}

// runTwice runs the benchmark as power is measured for submissions: a ranging run first, then
// the one that counts. Both, and what is known of the measurement, lie beside each other.
func (p *Prepared) runTwice(ctx context.Context) (results *report.Results, err error) {
	source, err := power.Parse(p.Request.Power)
	if err != nil {
		return nil, userinput.Wrap("power", err)
	}
	pair, err := power.StartSession(ctx, source)
	if err != nil {
		return nil, fmt.Errorf("reading the energy: %w", err)
	}
	root, o := filepath.Dir(p.bench.OutputDir), p.bench.Observer
	o.Note(fmt.Sprintf("energy is read from %v, in two runs: ranging first", pair))
	defer func() {
		if err = errors.Join(err, pair.Close()); err == nil {
			err = pair.Write(root, p.Request.Program)
		}
	}()
	if err := p.ranging(ctx, pair, filepath.Join(root, power.Ranging)); err != nil {
		return nil, err
	}
	if err := pair.Begin(ctx); err != nil {
		return nil, err
	}
	return p.runMetered(ctx, &meter{pair})
}

// ranging is the run in which the analyser finds its ranges. What it measures counts for nothing else.
func (p *Prepared) ranging(ctx context.Context, pair *power.Session, dir string) error {
	cfg := *p.bench
	cfg.OutputDir = dir
	if err := pair.Begin(ctx); err != nil {
		return err
	}
	_, err := harness.Run(ctx, cfg)
	record, problem := pair.Stop()
	if err = errors.Join(err, problem); err != nil {
		return fmt.Errorf("the ranging run: %w", err)
	}
	return writeSamples(record, dir)
}
