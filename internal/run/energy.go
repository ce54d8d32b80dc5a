package run

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"time"

	"github.com/mlperf-go/mlperf/internal/config/limitation"
	"github.com/mlperf-go/mlperf/internal/fileio"
	"github.com/mlperf-go/mlperf/internal/machine/power"
	"github.com/mlperf-go/mlperf/internal/report"
	"github.com/mlperf-go/mlperf/internal/userinput"
)

// A meter reads the energy of a run until it is stopped. Its text names the source.
type meter interface {
	Stop() (*power.Record, error)
	fmt.Stringer
}

// startMeter begins to read the energy, before the model is opened: meters take a moment. nil: the request wants none.
func (p *Prepared) startMeter(ctx context.Context) (meter, error) {
	if p.Request.Power == "" {
		return nil, nil
	}
	source, err := power.Parse(p.Request.Power)
	if err != nil {
		return nil, userinput.Wrap("power", err)
	}
	m, err := power.Start(ctx, source)
	if err != nil {
		return nil, fmt.Errorf("reading the energy: %w", err)
	}
	p.config.Observer.Note(fmt.Sprintf("energy source: %v", m))
	return m, nil
}

// addEnergy adds the energy of the traffic to the results, or why it was not measured. It writes the analyser's samples
// beside the results, as submissions have them.
func addEnergy(results *report.Results, source string, record *power.Record, err error, dir string) error {
	p := results.Performance
	if p == nil || p.Began == nil {
		return nil // no traffic
	}
	if err == nil && len(record.Series) == 0 {
		err = errors.New(strings.Join(record.Notes, "; "))
	}
	var taken *power.Energy
	if err == nil {
		taken, err = record.Between(*p.Began, p.Began.Add(time.Duration(p.DurationNS)))
	}
	e := &report.Energy{Source: source}
	results.Energy = e
	if err != nil {
		e.NotMeasured = err.Error()
	} else {
		e.Joules, e.MeanWatts, e.PeakWatts = taken.Joules, taken.MeanWatts, taken.PeakWatts
		if p.Samples > 0 {
			e.JoulesPerSample = taken.Joules / float64(p.Samples)
		}
		for _, part := range taken.Parts {
			watts := make([]report.PowerAt, len(part.Watts))
			for i, w := range part.Watts {
				watts[i] = report.PowerAt(w)
			}
			e.Parts = append(e.Parts, report.EnergyPart{Name: part.Name, Joules: part.Joules, MeanWatts: part.MeanWatts, PeakWatts: part.PeakWatts,
				Watts: watts})
		}
	}
	if record == nil {
		return nil
	}
	e.ClockOffsetNS = int64(record.Offset)
	if record.Marked {
		results.Limitations = append(results.Limitations, limitation.Limitation{ID: limitation.PowerClient})
	}
	return writeSamples(record, dir)
}

// writeSamples writes the analyser's samples, if it took some.
func writeSamples(record *power.Record, dir string) error {
	if len(record.Samples) == 0 {
		return nil
	}
	err := fileio.WriteFileIn(dir, power.SamplesFile, []byte(strings.Join(record.Samples, "\n")+"\n"))
	if err != nil {
		return fmt.Errorf("writing the samples of the meter: %w", err)
	}
	return nil
}

// runTwice runs the benchmark as power is measured for submissions: a ranging run, in which the analyser finds its
// ranges and which counts for nothing else, then the run of the result. The folders of both lie beside that of the
// measurement.
func (p *Prepared) runTwice(ctx context.Context) (results *report.Results, err error) {
	source, err := power.Parse(p.Request.Power)
	if err != nil {
		return nil, userinput.Wrap("power", err)
	}
	pair, err := power.StartSession(ctx, source)
	if err != nil {
		return nil, fmt.Errorf("reading the energy: %w", err)
	}
	root, o := filepath.Dir(p.config.OutputDir), p.config.Observer
	o.Note(fmt.Sprintf("energy source: %v, in two runs: ranging first", pair))
	defer func() {
		if err = errors.Join(err, pair.Close()); err == nil {
			err = pair.Write(root, p.Request.Program)
		}
	}()

	if err := pair.Begin(ctx); err != nil {
		return nil, err
	}
	ranging := *p.config
	ranging.OutputDir = filepath.Join(root, power.Ranging)
	_, err = p.measure(ctx, ranging, nil)
	record, problem := pair.Stop()
	if err = errors.Join(err, problem); err != nil {
		return nil, fmt.Errorf("the ranging run: %w", err)
	}
	if err := writeSamples(record, ranging.OutputDir); err != nil {
		return nil, err
	}

	if err := pair.Begin(ctx); err != nil {
		return nil, err
	}
	return p.run(ctx, pair)
}
