package power

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"time"

	"github.com/mlperf-go/mlperf/internal/fileio"
)

// A counter is a meter whose energy can be read at any time.
type counter interface {
	name() string
	// joules is the energy since the counter was opened.
	joules() (float64, error)
}

// A Recorder measures until it is stopped.
type Recorder struct {
	source Source
	notes  []string

	counters []counter
	series   []Series // of the counters
	cancel   context.CancelFunc
	done     sync.WaitGroup
	failed   error

	cards *cards
	ptd   *ptDaemon
}

// every is the time between readings of counters: those of processors wrap within minutes.
const every = time.Second

// Start begins to measure. A source that cannot be read is an error, except for auto: its record may have no series, but
// notes with the reasons.
func Start(ctx context.Context, s Source) (*Recorder, error) {
	return start(ctx, s, func() ([]counter, error) { return openRAPL("/") }, "nvidia-smi")
}

func start(ctx context.Context, s Source, rapl func() ([]counter, error), smi string) (r *Recorder, err error) {
	r = &Recorder{source: s, cancel: func() {}}
	switch s.Kind {
	case PTD:
		if r.ptd, err = connect(ctx, s.Address); err != nil {
			return nil, err
		}
		if _, err = r.ptd.ask("Stop"); err == nil { // an earlier measurement, if it had one
			err = r.ptd.begin(ptdMark)
		}
		if err != nil {
			return nil, r.ptd.abandon(err)
		}
		return r, nil
	case File: // the meter may make the file later, in a folder that exists
		return r, s.Check(ctx)
	}
	note := func(err error) {
		if err != nil {
			r.notes = append(r.notes, err.Error())
		}
	}
	if s.Kind != NVML {
		if r.counters, err = rapl(); err != nil && s.Kind == RAPL {
			return nil, err
		}
		note(err)
	}
	if s.Kind != RAPL {
		if r.cards, err = startCards(ctx, smi); err != nil && s.Kind == NVML {
			return nil, err
		}
		note(err)
	}
	for _, c := range r.counters {
		r.series = append(r.series, Series{Name: c.name()})
	}
	if len(r.counters) > 0 {
		r.read(time.Now())
		ctx, r.cancel = context.WithCancel(ctx)
		r.done.Go(func() {
			tick := time.NewTicker(every)
			defer tick.Stop()
			for {
				select {
				case <-ctx.Done():
					return
				case now := <-tick.C:
					r.read(now)
				}
			}
		})
	}
	return r, nil
}

func (r *Recorder) read(now time.Time) {
	for i, c := range r.counters {
		joules, err := c.joules()
		if err != nil {
			if r.failed == nil {
				r.failed = fmt.Errorf("reading the energy of %s: %w", c.name(), err)
			}
			continue
		}
		r.series[i].addJoules(now, joules)
	}
}

// Stop ends the measurement and returns its record. It must be called once.
func (r *Recorder) Stop() (*Record, error) {
	switch r.source.Kind {
	case PTD:
		record, _, err := r.ptd.end()
		return record, errors.Join(err, r.ptd.conn.Close())
	case File:
		return readFile(r.source)
	}
	r.cancel()
	r.done.Wait()
	r.read(time.Now())
	record, err := &Record{Series: r.series, Notes: r.notes}, r.failed
	if r.cards != nil {
		r.cards.cancel()
		<-r.cards.done
		record.Series, err = append(record.Series, r.cards.series...), errors.Join(err, r.cards.failed)
	}
	return record, err
}

// String names the measured parts.
func (r *Recorder) String() string {
	switch r.source.Kind {
	case PTD:
		return "PTDaemon at " + r.source.Address
	case File:
		if _, err := fileio.Stat(r.source.Path); err != nil {
			return "file " + r.source.Path + ", which is not there yet"
		}
		return "file " + r.source.Path
	}
	var names []string
	for _, c := range r.counters {
		names = append(names, c.name())
	}
	if r.cards != nil {
		names = append(names, r.cards.names...)
	}
	if len(names) == 0 {
		return "none: " + strings.Join(r.notes, "; ")
	}
	return strings.Join(names, ", ")
}
