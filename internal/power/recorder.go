package power

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"time"

	"github.com/mlperf-go/mlperf/internal/regular"
)

// A counter is a meter whose energy can be read at any time. Its methods are called by one
// goroutine.
type counter interface {
	name() string
	// joules is the energy since the counter was opened.
	joules() (float64, error)
	close() error
}

// A Recorder measures until it is stopped.
type Recorder struct {
	source Source
	notes  []string

	counters []counter
	series   []Series
	cancel   context.CancelFunc
	done     sync.WaitGroup
	failed   error

	ptd *analyser
}

// every is how often counters are read: those of processors wrap within minutes.
const every = time.Second

// finders open the counters of a kind.
type finders map[string]func() ([]counter, error)

// Start begins to measure. That nothing can be read is an error, except that of auto: then the
// record has none, and the reasons.
func Start(ctx context.Context, s Source) (*Recorder, error) {
	return start(ctx, s, finders{RAPL: func() ([]counter, error) { return openRAPL("/") }, NVML: func() ([]counter, error) { return openNVML("") }})
}

func start(ctx context.Context, s Source, find finders) (*Recorder, error) {
	r := &Recorder{source: s}
	switch s.Kind {
	case PTD:
		var err error
		r.ptd, err = startAnalyser(ctx, s.Address)
		return r, err
	case File:
		return r, checkFile(s.Path)
	}
	if err := r.open(find); err != nil {
		return nil, err
	}
	for _, c := range r.counters {
		r.series = append(r.series, Series{Name: c.name()})
	}
	r.read(time.Now())
	ctx, r.cancel = context.WithCancel(ctx)
	r.done.Go(func() { r.watch(ctx) })
	return r, nil
}

// open opens the counters of the kind that was asked for, or of every kind that there is.
func (r *Recorder) open(find finders) error {
	kinds := []string{r.source.Kind}
	if r.source.Kind == Auto {
		kinds = []string{RAPL, NVML}
	}
	for _, kind := range kinds {
		counters, err := find[kind]()
		if err != nil && r.source.Kind != Auto {
			return err
		}
		if err != nil {
			r.notes = append(r.notes, err.Error())
		}
		r.counters = append(r.counters, counters...)
	}
	return nil
}

// watch reads the counters until it is told to end.
func (r *Recorder) watch(ctx context.Context) {
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

// Stop ends the measurement and returns what there is. It must be called once.
func (r *Recorder) Stop() (*Record, error) {
	switch r.source.Kind {
	case PTD:
		return r.ptd.stop()
	case File:
		return readFile(r.source)
	}
	r.cancel()
	r.done.Wait()
	r.read(time.Now())
	errs := []error{r.failed}
	for _, c := range r.counters {
		errs = append(errs, c.close())
	}
	return &Record{Series: r.series, Notes: r.notes}, errors.Join(errs...)
}

// String says what is measured.
func (r *Recorder) String() string {
	switch r.source.Kind {
	case PTD:
		return "PTDaemon at " + r.source.Address
	case File:
		if _, err := regular.Stat(r.source.Path); err != nil {
			return "file " + r.source.Path + ", which is not there yet"
		}
		return "file " + r.source.Path
	}
	var names []string
	for _, c := range r.counters {
		names = append(names, c.name())
	}
	if len(names) == 0 {
		return "nothing: " + strings.Join(r.notes, "; ")
	}
	return strings.Join(names, ", ")
}
