package progress

import (
	"fmt"
	"io"
	"os"
	"sync"
	"time"

	"github.com/dustin/go-humanize"
	"github.com/schollz/progressbar/v3"
	"golang.org/x/term"

	"github.com/mlperf-go/mlperf/internal/loadgen"
)

// A Display shows how a job goes on. Its methods may be called from several goroutines.
type Display struct {
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
	first int64     // bytes that were there when the phase began; -1: not known yet
}

// plainEvery is how often a plain line tells of the progress.
const plainEvery = 5 * time.Second

// New returns a display that writes to a terminal or a file. It must be ended with Done.
func New(out io.Writer) *Display {
	p := &Display{out: out, clock: time.NewTicker(time.Second), over: make(chan struct{})}
	if f, ok := out.(*os.File); ok {
		p.terminal = term.IsTerminal(int(f.Fd()))
	}
	go p.watch()
	return p
}

// watch says now and then how long a phase takes already that says nothing itself.
func (p *Display) watch() {
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

func (p *Display) tick(now time.Time) {
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

// Phase says that a part of the job begins.
func (p *Display) Phase(name string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.finishBar()
	now := time.Now()
	p.phase, p.begun, p.said, p.moved, p.first = name, now, now, now, -1
	if !p.terminal {
		fmt.Fprintf(p.out, "%s …\n", name)
	}
}

// Loading counts things.
func (p *Display) Loading(done, of int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.step(int64(done), int64(of), fmt.Sprintf("%d of %d", done, of))
}

// Traffic is a glance at a running test.
func (p *Display) Traffic(g loadgen.Progress) {
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

// Note says something that stays on screen.
func (p *Display) Note(text string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.bar != nil {
		_ = p.bar.Clear()
	}
	fmt.Fprintln(p.out, text)
}

// Items counts things, as Loading does.
func (p *Display) Items(done, of int) { p.Loading(done, of) }

// Bytes counts bytes, with their rate and how long the rest will take. If of is 0, nobody
// knows how many there are.
func (p *Display) Bytes(done, of int64) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.first < 0 {
		p.first = done
	}
	text := BytesText(done)
	if of > 0 {
		text += " of " + BytesText(of)
	}
	if s := time.Since(p.begun).Seconds(); s > 1 {
		rate := float64(done-p.first) / s
		text += fmt.Sprintf(", %s/s", BytesText(int64(rate)))
		if left := float64(of-done) / rate; of > 0 && rate > 0 {
			text += fmt.Sprintf(", %v left", (time.Duration(left) * time.Second))
		}
	}
	if of == 0 && p.terminal {
		of = countsNothing
	}
	p.step(done, of, text)
}

// BytesText is a number of bytes as people read it: 816 MB.
func BytesText(n int64) string { return humanize.BytesN(uint64(max(n, 0)), 3) }

// step shows how far the phase has come.
func (p *Display) step(done, of int64, text string) {
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
func (p *Display) show(of int64, text string) {
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

func (p *Display) finishBar() {
	if p.bar != nil {
		_ = p.bar.Finish()
		p.bar = nil
	}
}

// Done removes the bar and ends the phase. Calling it again does nothing.
func (p *Display) Done() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.finishBar()
	p.phase = ""
	p.ended.Do(func() {
		p.clock.Stop()
		close(p.over)
	})
}
