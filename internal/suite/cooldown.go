package suite

import (
	"context"
	"fmt"
	"time"

	"github.com/mlperf-go/mlperf/internal/machine"
	"github.com/mlperf-go/mlperf/internal/run"
)

// A thermometer says how hot the machine is, in degrees Celsius; false if it does not know.
type thermometer func() (float64, bool)

func machineTemperature() (float64, bool) { return machine.Temperature() }

// coolsBefore reports whether the machine cools down before a step: before all that measure
// speed but the first, which nothing of ours has warmed up for.
func (p *Plan) coolsBefore(s *Step) bool {
	return (p.cooldown > 0 || p.Suite.Temperature > 0 && !p.request.Base.Quick) && s.Mode != modeAccuracy && s != p.Steps[0]
}

const (
	// thermalPatience is how much longer than the cool-down a machine is waited for that is
	// still too hot.
	thermalPatience = 10 * time.Minute
	// thermalLook is how often it is looked at.
	thermalLook = 5 * time.Second
)

// mostCooldown is how long a suite may let the machine cool down before a run: more is a slip of the fingers.
const (
	mostCooldown = 24 * time.Hour
	wantCooldown = "a time of up to 24h"
)

// coolDown waits as long as the suite says, and longer if the machine is still too hot.
func (p *Plan) coolDown(ctx context.Context, s *Step, o run.Observer) error {
	o.Phase("cool-down")
	begin := time.Now()
	for {
		waited := time.Since(begin)
		now, known := p.clock()
		s.Celsius = now
		hot := known && p.tooHot(now)
		if waited >= p.cooldown && (!hot || waited >= p.cooldown+thermalPatience) {
			p.noteHeat(o, now, known, waited)
			return nil
		}
		o.Items(int(waited/time.Second), int(max(p.cooldown, waited)/time.Second))
		if err := pause(ctx, min(thermalLook, max(p.cooldown-waited, time.Second))); err != nil {
			return err
		}
	}
}

func (p *Plan) tooHot(celsius float64) bool {
	return p.Suite.Temperature > 0 && celsius > p.Suite.Temperature
}

// noteHeat says that a machine did not become as cool as the suite wants, or that nobody knows.
func (p *Plan) noteHeat(o run.Observer, celsius float64, known bool, waited time.Duration) {
	switch limit := p.Suite.Temperature; {
	case limit > 0 && !known:
		o.Note("how hot the machine is cannot be read here: the suite's limit was not checked")
	case p.tooHot(celsius):
		o.Note(fmt.Sprintf("the machine has %.0f °C after %v, the suite wants %.0f: its speed may suffer", celsius, waited.Round(time.Second), limit))
	}
}

// pause waits.
func pause(ctx context.Context, d time.Duration) error {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-ctx.Done():
		return context.Cause(ctx)
	case <-t.C:
		return nil
	}
}
