package main

import (
	"fmt"
	"io"
	"os"
	"sync"
	"time"

	"github.com/schollz/progressbar/v3"
	"golang.org/x/term"

	"github.com/mlperf-go/mlperf/internal/loadgen"
)

// A progress shows how a command goes on: a bar on a terminal, a plain line now and
// then elsewhere. Of a phase that counts nothing it shows how long it takes already.
// It implements bench.Observer.
type progress struct {
	out      io.Writer
	terminal bool
	clock    *time.Ticker // for phases that count nothing
	over     chan struct{}
	ended    sync.Once

	mu    sync.Mutex
	bar   *progressbar.ProgressBar // of the current phase, on a terminal
	of    int64                    // what the bar counts to
	phase string                   // empty: none yet, or all are over
	begun time.Time
	said  time.Time // last plain line
	moved time.Time // last step
}

// plainEvery is how often a plain line tells of the progress.
const plainEvery = 5 * time.Second

func newProgress(out io.Writer) *progress {
	p := &progress{out: out, clock: time.NewTicker(time.Second), over: make(chan struct{})}
	if f, ok := out.(*os.File); ok {
		p.terminal = term.IsTerminal(int(f.Fd()))
	}
	go p.watch()
	return p
}

// watch says now and then how long a phase takes already that says nothing itself.
func (p *progress) watch() {
	for {
		select {
		case now := <-p.clock.C:
			p.tick(now)
		case <-p.over:
			return
		}
	}
}

// silence is how long a phase may say nothing on a terminal.
const silence = 2 * time.Second

func (p *progress) tick(now time.Time) {
	p.mu.Lock()
	defer p.mu.Unlock()
	text := fmt.Sprintf("%v so far", now.Sub(p.begun).Round(time.Second))
	switch quiet := now.Sub(p.moved); {
	case p.phase == "":
	case !p.terminal && quiet >= plainEvery && now.Sub(p.said) >= plainEvery:
		p.said = now
		fmt.Fprintf(p.out, "%s: %s\n", p.phase, text)
	case p.terminal && quiet >= silence && (p.bar == nil || p.of == countsNothing):
		p.show(countsNothing, text)
	}
}

// Phase implements bench.Observer.
func (p *progress) Phase(name string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.finishBar()
	now := time.Now()
	p.phase, p.begun, p.said, p.moved = name, now, now, now
	if !p.terminal {
		fmt.Fprintf(p.out, "%s …\n", name)
	}
}

// Loading implements bench.Observer.
func (p *progress) Loading(done, of int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.step(int64(done), int64(of), fmt.Sprintf("%d of %d", done, of))
}

// Traffic implements bench.Observer.
func (p *progress) Traffic(g loadgen.Progress) {
	p.mu.Lock()
	defer p.mu.Unlock()
	rate := float64(g.Completed) / g.Elapsed.Seconds()
	text := fmt.Sprintf("%d of %d samples, %.4g/s", g.Completed, g.Samples, rate)
	if g.RecentP99 > 0 {
		text += fmt.Sprintf(", p99 %v", g.RecentP99.Round(10*time.Microsecond))
	}
	if g.Accuracy {
		text = fmt.Sprintf("accuracy, set %d of %d: %s", g.Set, g.Sets, text)
	}
	done, of := int64(g.Completed), int64(g.Samples)
	if g.Elapsed < g.PlannedDuration { // the clock decides, not the number of queries
		done, of = int64(g.Elapsed), int64(g.PlannedDuration)
		text += fmt.Sprintf(", %v left", (g.PlannedDuration - g.Elapsed).Round(time.Second))
	}
	p.step(done, of, text)
}

// Note implements bench.Observer.
func (p *progress) Note(text string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.bar != nil {
		_ = p.bar.Clear()
	}
	fmt.Fprintln(p.out, text)
}

// step shows how far the phase has come.
func (p *progress) step(done, of int64, text string) {
	now := time.Now()
	p.moved = now
	if !p.terminal {
		if now.Sub(p.said) >= plainEvery {
			p.said = now
			fmt.Fprintf(p.out, "%s: %s\n", p.phase, text)
		}
		return
	}
	p.show(of, text)
	_ = p.bar.Set64(min(done, of))
}

// countsNothing is what the bar of a phase counts to that only takes time.
const countsNothing = -1

// show describes the phase beside its bar.
func (p *progress) show(of int64, text string) {
	if p.bar == nil || p.of != of {
		p.finishBar()
		p.of = of
		p.bar = progressbar.NewOptions64(of,
			progressbar.OptionSetWriter(p.out),
			progressbar.OptionSetWidth(20),
			progressbar.OptionThrottle(100*time.Millisecond),
			progressbar.OptionSetPredictTime(false),
			progressbar.OptionSetElapsedTime(false),
			progressbar.OptionClearOnFinish(),
		)
	}
	p.bar.Describe(p.phase + ": " + text)
}

func (p *progress) finishBar() {
	if p.bar != nil {
		_ = p.bar.Finish()
		p.bar = nil
	}
}

// done removes the bar and ends the phase. Calling it again does nothing.
func (p *progress) done() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.finishBar()
	p.phase = ""
	p.ended.Do(func() {
		p.clock.Stop()
		close(p.over)
	})
}
