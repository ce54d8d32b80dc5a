package machine

import (
	"context"
	"math"
	"runtime"
	"slices"
	"time"

	"github.com/mlperf-go/mlperf/internal/machine/clock"
)

// Timers describe how precisely this machine keeps time, under its present load.
type Timers struct {
	ReadNS float64   `json:"read_ns"`       // duration of one reading of the clock
	StepNS int64     `json:"step_ns"`       // smallest difference seen between two readings
	Sleep  Oversleep `json:"sleep"`         // of time.Sleep
	Nano   Oversleep `json:"nano,omitzero"` // of the system's nanosleep on a thread of its own; zero: the system has none
}

// Oversleep is how much later than asked for a sleep ends, in nanoseconds.
type Oversleep struct {
	MedianNS int64 `json:"median_ns"`
	P99NS    int64 `json:"p99_ns"`
	MaxNS    int64 `json:"max_ns"`
	Sleeps   int   `json:"sleeps"` // number of measurements
}

const (
	sleepTime  = 700 * time.Microsecond // of no round number, so that no clock tick is hit by chance
	sleepCount = 120
)

// ProbeTimers measures the timers. It takes about 0.4 s, and ends early with the context's error.
func ProbeTimers(ctx context.Context) (Timers, error) {
	const reads = 20_000
	start := clock.Now()
	last, step := time.Duration(0), time.Duration(math.MaxInt64)
	for range reads {
		now := clock.Since(start)
		if d := now - last; d > 0 && d < step {
			step = d
		}
		last = now
	}
	t := Timers{}
	if last > 0 { // not a clock that stands still, as in tests with fake time
		t.ReadNS, t.StepNS = float64(last)/reads, int64(step)
	}
	var err error
	if t.Sleep, err = measure(ctx, time.Sleep); err != nil {
		return Timers{}, err
	}
	if !hasNanosleep {
		return t, nil
	}
	runtime.LockOSThread() // as the thread that issues queries does
	defer runtime.UnlockOSThread()
	if t.Nano, err = measure(ctx, nanosleep); err != nil {
		return Timers{}, err
	}
	return t, nil
}

func measure(ctx context.Context, sleep func(time.Duration)) (Oversleep, error) {
	late := make([]int64, 0, sleepCount)
	for i := range sleepCount {
		if ctx.Err() != nil {
			return Oversleep{}, context.Cause(ctx)
		}
		d := sleepTime + time.Duration(i)*7*time.Microsecond
		start := clock.Now()
		sleep(d)
		late = append(late, int64(clock.Since(start)-d))
	}
	slices.Sort(late)
	at := func(p float64) int64 { return late[int(math.Ceil(p*float64(len(late))))-1] }
	return Oversleep{MedianNS: at(0.5), P99NS: at(0.99), MaxNS: late[len(late)-1], Sleeps: len(late)}, nil
}
