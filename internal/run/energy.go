package run

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/mlperf-go/mlperf/internal/machine/power"
	"github.com/mlperf-go/mlperf/internal/report"
	"github.com/mlperf-go/mlperf/internal/userinput"
)

// A meter reads the energy of a run; nil: nobody asked for it.
type meter struct {
	recorder recorder
}

// A recorder measures until it is stopped, and says what it measures.
type recorder interface {
	Stop() (*power.Record, error)
	fmt.Stringer
}

// startMeter begins to read the energy, before the model is opened: meters take a moment.
func (p *Prepared) startMeter(ctx context.Context) (*meter, error) {
	if p.Request.Power == "" {
		return nil, nil
	}
	source, err := power.Parse(p.Request.Power)
	if err != nil {
		return nil, userinput.Wrap("power", err)
	}
	r, err := power.Start(ctx, source)
	if err != nil {
		return nil, fmt.Errorf("reading the energy: %w", err)
	}
	p.bench.Observer.Note(fmt.Sprintf("energy is read from %v", r))
	return &meter{r}, nil
}

// markedMeter is the caveat of energies that no submission may have.
const markedMeter = "the energy was read by another client of PTDaemon than the rules accept: theirs runs a command like this one"

// stop adds what was taken to the results, and writes them again. Energy that could not be
// measured is said there; the run is what it is without.
func (m *meter) stop(results *report.Results, dir string) error {
	if m == nil {
		return nil
	}
	record, err := m.recorder.Stop()
	if results == nil || results.Performance == nil || results.Performance.Began == nil {
		return nil // there was no traffic to measure
	}
	results.Energy = energyOf(results.Performance, record, err)
	results.Energy.Source = m.recorder.String()
	if record == nil {
		return results.Write(dir)
	}
	results.Energy.ClockOffsetNS = int64(record.Offset)
	if record.Marked {
		results.Caveats = append(results.Caveats, markedMeter)
	}
	return errors.Join(writeSamples(record, dir), results.Write(dir))
}

// writeSamples writes the analyser's samples, as submissions have them, if there are some.
func writeSamples(record *power.Record, dir string) error {
	if len(record.Samples) == 0 {
		return nil
	}
	err := os.WriteFile(filepath.Join(dir, power.SamplesFile), []byte(strings.Join(record.Samples, "\n")+"\n"), 0o644)
	if err != nil {
		return fmt.Errorf("writing the samples of the meter: %w", err)
	}
	return nil
}

// energyOf is what the traffic took.
func energyOf(p *report.Performance, record *power.Record, err error) *report.Energy {
	var taken *power.Energy
	if err == nil && len(record.Series) == 0 {
		err = errors.New(strings.Join(record.Notes, "; "))
	}
	if err == nil {
		taken, err = record.Between(*p.Began, p.Began.Add(time.Duration(p.DurationNS)))
	}
	if err != nil {
		return &report.Energy{NotMeasured: err.Error()}
	}
	e := &report.Energy{Joules: taken.Joules, MeanWatts: taken.MeanWatts, PeakWatts: taken.PeakWatts}
	if p.Samples > 0 {
		e.JoulesPerSample = taken.Joules / float64(p.Samples)
	}
	for _, part := range taken.Parts {
		e.Parts = append(e.Parts, report.EnergyPart{Name: part.Name, Joules: part.Joules, MeanWatts: part.MeanWatts, PeakWatts: part.PeakWatts, Watts: powersAt(part.Watts)})
	}
	return e
}

func powersAt(series []power.Watt) []report.PowerAt {
	watts := make([]report.PowerAt, len(series))
	for i, w := range series {
		watts[i] = report.PowerAt(w)
	}
	return watts
}
