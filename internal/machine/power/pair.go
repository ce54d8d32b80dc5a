package power

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"
)

// A Pair measures two runs, in the way in which power is measured for submissions
// (mlcommons/power-dev): a first one, ranging, in which the analyser finds its ranges itself, and
// a second one in the ranges that held the highest volts and amperes of the first.
//
//	pair, err := power.StartPair(ctx, source)
//	err = pair.Begin(ctx); … ; record, err := pair.Stop() // ranging
//	err = pair.Begin(ctx); … ; record, err = pair.Stop()  // the run that counts
//	err = pair.Close()
//
// It is used by one goroutine.
type Pair struct {
	analyser *analyser
	settle   time.Duration
	id       string
	began    time.Time
	phases   []phase
	before   ranges // of the analyser, which it gets back
	highest  ranges // of the first run
}

// ranges are those of volts and amperes: a number, or Auto.
type ranges struct{ volts, amps string }

const automatic = "Auto"

// A phase is one of the two runs, with when it began, ran, had run, and was over.
type phase struct {
	name string
	at   []time.Time
}

// phaseNames are those of the marks, in their order.
var phaseNames = []string{"ranging", "testing"}

// StartPair connects to the PTDaemon of a source.
func StartPair(ctx context.Context, s Source) (*Pair, error) {
	if s.Kind != PTD {
		return nil, fmt.Errorf("a ranging run takes an analyser, ptd:HOST:PORT: %s has no ranges", s.Kind)
	}
	id := make([]byte, 16)
	_, _ = rand.Read(id) // it never fails
	p := &Pair{settle: s.Settle, id: hex.EncodeToString(id), began: time.Now()}
	var err error
	if p.analyser, err = dial(ctx, s.Address); err != nil {
		return nil, err
	}
	if err = p.meet(); err != nil {
		return nil, errors.Join(fmt.Errorf("PTDaemon at %s: %w", s.Address, err), p.analyser.conn.Close())
	}
	return p, nil
}

// meet asks who is there, and which ranges it has.
func (p *Pair) meet() error {
	if err := p.analyser.meet(); err != nil {
		return err
	}
	answer, err := p.analyser.ask("RR")
	if err != nil {
		return err
	}
	fields := strings.Split(answer, ",")
	if len(fields) < 5 || fields[0] != "Ranges" {
		return fmt.Errorf("its ranges are %q, want Ranges,…,…,…,…", answer)
	}
	p.before = ranges{amps: set(fields[1], fields[2]), volts: set(fields[3], fields[4])}
	return nil
}

// set is a range that is set: the analyser may choose it, or there is a number.
func set(auto, value string) string {
	if v, err := strconv.ParseFloat(value, 64); auto == "0" && err == nil && v > 0 {
		return value
	}
	return automatic
}

// Begin begins the next run.
func (p *Pair) Begin(ctx context.Context) error {
	if len(p.phases) == len(phaseNames) {
		return errors.New("both runs are measured already")
	}
	ph := phase{name: phaseNames[len(p.phases)], at: []time.Time{time.Now()}}
	want := ranges{automatic, automatic}
	if len(p.phases) > 0 {
		want = p.highest
	}
	err := p.choose(want)
	if err == nil {
		err = wait(ctx, p.settle)
	}
	if err == nil {
		p.analyser.began = time.Now()
		err = p.analyser.expect("Go,"+strconv.Itoa(ptdEvery)+",0,"+p.label()+"_"+ph.name, "Starting")
	}
	if err != nil {
		return fmt.Errorf("PTDaemon: %s: %w", ph.name, err)
	}
	ph.at = append(ph.at, time.Now())
	p.phases = append(p.phases, ph)
	return nil
}

// choose sets the ranges.
func (p *Pair) choose(r ranges) error {
	return errors.Join(p.analyser.expect("SR,A,"+r.amps, "Range A changed"), p.analyser.expect("SR,V,"+r.volts, "Range V changed"))
}

func wait(ctx context.Context, d time.Duration) error {
	select {
	case <-ctx.Done():
		return context.Cause(ctx)
	case <-time.After(d):
		return nil
	}
}

// label names the pair in the marks of samples.
func (p *Pair) label() string { return p.began.UTC().Format("2006-01-02_15-04-05") }

// Stop ends the run that was begun last, and returns what was measured. Without one it is an error.
func (p *Pair) Stop() (*Record, error) {
	if len(p.phases) == 0 {
		return nil, errors.New("no run was begun")
	}
	ph := &p.phases[len(p.phases)-1]
	ph.at = append(ph.at, time.Now())
	record, lines, err := p.analyser.fetch()
	if err != nil {
		return nil, err
	}
	ph.at = append(ph.at, time.Now())
	if len(p.phases) == 1 {
		p.highest = highest(lines)
	}
	return record, nil
}

// highest are the ranges that hold all samples; Auto where these say nothing.
func highest(lines []string) ranges {
	volts, amps := 0.0, 0.0
	for _, line := range lines {
		fields := strings.Split(line, ",")
		for i := 0; i+1 < len(fields); i += 2 {
			v, _ := strconv.ParseFloat(fields[i+1], 64) // of what is no number, 0
			switch {
			case math.IsNaN(v) || math.IsInf(v, 0):
			case fields[i] == "Volts":
				volts = max(volts, v)
			case fields[i] == "Amps":
				amps = max(amps, v)
			}
		}
	}
	return ranges{volts: text(volts), amps: text(amps)}
}

func text(v float64) string {
	if v <= 0 {
		return automatic
	}
	return strconv.FormatFloat(v, 'f', -1, 64)
}

// String says what is measured.
func (p *Pair) String() string { return "PTDaemon " + p.analyser.name }

// Close gives the analyser its ranges back.
func (p *Pair) Close() error {
	err := p.choose(p.before)
	if err != nil {
		err = fmt.Errorf("PTDaemon: setting the ranges back: %w", err)
	}
	return errors.Join(err, p.analyser.conn.Close())
}
