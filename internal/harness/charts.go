package harness

import (
	"math"
	"sync"
	"time"

	"github.com/mlperf-go/mlperf/internal/loadgen"
	"github.com/mlperf-go/mlperf/internal/machine"
	"github.com/mlperf-go/mlperf/internal/machine/clock"
	"github.com/mlperf-go/mlperf/internal/report"
	"github.com/mlperf-go/mlperf/internal/report/charts"
	"github.com/mlperf-go/mlperf/internal/units"
)

// chartsOf has the data of charts of a test; nil: there are none.
func (r *run) chartsOf(test *loadgen.Result) *charts.Charts {
	c := charts.Of(test.Performance)
	if c == nil {
		return nil
	}
	c.BatchSizes = r.sut.batchSizes()
	c.Gauges = r.gauges.since(test.StartTime.Add(test.Performance.Started))
	return c
}

// gauges are read while a test runs.
type gauges struct {
	from   []machine.Gauge
	at     []time.Time
	values [][]float64 // by gauge
}

// A GaugeObserver is an Observer that takes the gauges that are read while a test runs: each second all of them, in the same order.
type GaugeObserver interface {
	Gauge(name, unit string, at time.Time, value float64)
}

// watch reads gauges each second until stop is called. The first reading only begins the rates. When there are mostReadings,
// it drops every other one, and reads half as often.
func watch(from []machine.Gauge, o Observer) (g *gauges, stop func()) {
	const mostReadings = 600
	g = &gauges{from: from, values: make([][]float64, len(from))}
	for _, f := range from {
		f.Read()
	}
	shows, shown := o.(GaugeObserver)
	end := make(chan struct{})
	var running sync.WaitGroup
	running.Go(func() {
		every := time.Second
		timer := time.NewTimer(every)
		defer timer.Stop()
		for {
			select {
			case <-end:
				return
			case <-timer.C:
			}
			now := clock.Now()
			g.at = append(g.at, now)
			for i, f := range from {
				v := f.Read()
				g.values[i] = append(g.values[i], v)
				if shown {
					shows.Gauge(f.Name, f.Unit, now, v)
				}
			}
			if len(g.at) == mostReadings {
				g.thin()
				every *= 2
			}
			timer.Reset(every)
		}
	})
	return g, func() { close(end); running.Wait() }
}

// servers sum up the readings of what servers tell of themselves.
func (g *gauges) servers() (list []report.ServerMetric) {
	if g == nil {
		return nil
	}
	for i, f := range g.from {
		if f.Server == "" {
			continue
		}
		m := report.ServerMetric{Server: f.Server, Name: f.Name, Unit: f.Unit, Min: math.Inf(1), Max: math.Inf(-1)}
		sum := 0.0
		for _, v := range g.values[i] {
			if units.Finite(v) {
				m.Readings, sum, m.Min, m.Max = m.Readings+1, sum+v, min(m.Min, v), max(m.Max, v)
			}
		}
		if m.Readings > 0 {
			m.Mean = sum / float64(m.Readings)
			list = append(list, m)
		}
	}
	return list
}

// thin drops every other reading.
func (g *gauges) thin() {
	n := len(g.at) / 2
	for i := range n {
		g.at[i] = g.at[2*i+1]
		for _, values := range g.values {
			values[i] = values[2*i+1]
		}
	}
	g.at = g.at[:n]
	for i := range g.values {
		g.values[i] = g.values[i][:n]
	}
}

// since returns the readings with instants since the start of the traffic, without gauges that never had a value.
func (g *gauges) since(start time.Time) *charts.Gauges {
	out := &charts.Gauges{}
	if g == nil || len(g.at) == 0 {
		return nil
	}
	for _, at := range g.at {
		out.AtNS = append(out.AtNS, float64(at.Sub(start)))
	}
	for i, f := range g.from {
		if _, at := charts.Column(g.values[i]).Max(); at >= 0 {
			out.Series = append(out.Series, charts.Gauge{Name: f.Name, Unit: f.Unit, Values: g.values[i]})
		}
	}
	return out
}

// gauges show how busy the workers were, and how large their batches, or how many slots and tokens they had, since the
// reading before.
func (s *sut) gauges() []machine.Gauge {
	total := func(of func(*worker) int64) (n int64) {
		for _, w := range s.workers {
			n += of(w)
		}
		return n
	}
	// rate reads how much a total grew in a nanosecond.
	rate := func(of func(*worker) int64) func() float64 {
		last, before := clock.Now(), total(of)
		return func() float64 {
			now, n := clock.Now(), total(of)
			grown := float64(n-before) / float64(max(now.Sub(last), 1))
			last, before = now, n
			return max(grown, 0)
		}
	}
	busy := rate(func(w *worker) int64 {
		n := w.busy.Load()
		if since := w.since.Load(); since > 0 {
			n += clock.Now().UnixNano() - since
		}
		return n
	})
	if _, ok := s.dispatcher(); ok {
		return nil // it has no workers
	}
	list := []machine.Gauge{{Name: "workers busy", Unit: "%", Read: func() float64 { return min(100*busy()/float64(len(s.workers)), 100) }}}
	if s.workers[0].predictor.decoder != nil {
		tokens, used := rate(func(w *worker) int64 { return w.tokens.Load() }), rate(func(w *worker) int64 { return int64(w.slots.total()) })
		return append(list,
			machine.Gauge{Name: "tokens", Unit: "tokens/s", Read: func() float64 { return 1e9 * tokens() }},
			machine.Gauge{Name: "slots in use", Unit: "slots", Read: used})
	}
	batches, samples := int64(0), int64(0)
	return append(list, machine.Gauge{Name: "mean batch", Unit: "samples", Read: func() float64 {
		b, n := batches, samples
		batches = total(func(w *worker) int64 { return w.batches.Load() })
		samples = total(func(w *worker) int64 { return w.samples.Load() })
		if batches == b {
			return math.NaN()
		}
		return float64(samples-n) / float64(batches-b)
	}})
}

// mostSizes is the largest batch that is counted by its size; larger ones count as that.
const mostSizes = 4096

// took counts a batch.
func (w *worker) took(samples int) {
	w.batches.Add(1)
	w.sizes[min(samples, len(w.sizes)-1)].Add(1)
}

// batchSizes counts batches by their samples.
func (s *sut) batchSizes() []charts.Size {
	var list []charts.Size
	for n := range min(s.queue.maxBatch, mostSizes) + 1 {
		sum := int64(0)
		for _, w := range s.workers {
			sum += w.sizes[n].Load()
		}
		if sum > 0 {
			list = append(list, charts.Size{Samples: n, Batches: uint64(sum)})
		}
	}
	return list
}
