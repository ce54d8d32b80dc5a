package progress

import (
	"cmp"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"sync"
	"time"

	"golang.org/x/term"

	"github.com/mlperf-go/mlperf/internal/loadgen"
	"github.com/mlperf-go/mlperf/internal/report/tables"
	"github.com/mlperf-go/mlperf/internal/units"
)

// A Style is how progress is shown.
type Style string

// The styles.
const (
	Auto  Style = "auto"  // a bar on a terminal, plain lines elsewhere
	Plain Style = "plain" // a line every few seconds
	None  Style = "none"  // only notes
	JSON  Style = "json"  // an object a line
)

// Styles lists the styles.
func Styles() []string { return []string{string(Auto), string(Plain), string(None), string(JSON)} }

// ParseStyle returns the style of a name.
func ParseStyle(name string) (Style, error) {
	if !slices.Contains(Styles(), name) {
		return "", fmt.Errorf("unknown style of progress %q: must be %s", name, strings.Join(Styles(), ", "))
	}
	return Style(name), nil
}

// A view shows the calls of a Display in one style. The Display makes one call at a time.
type view interface {
	about(test string)
	phase(name string)
	count(c counter)
	traffic(s testState)
	note(text string)
	tick(now time.Time) // about once a second
	end()               // of the phase
}

// A counter is how far a phase has come.
type counter struct {
	now      time.Time
	done, of int64  // of may be unknown
	name     string // what is counted
	text     string
}

// unknown is the end of a phase that counts to no known number.
const unknown = -1

// A Display shows how a job goes on. Several goroutines may call its methods.
type Display struct {
	clock *time.Ticker
	over  chan struct{}
	ended sync.Once

	mu    sync.Mutex
	view  view
	name  string    // of the phase; empty: before the first, and after the last
	begun time.Time // the phase
	first int64     // bytes at the first count of the phase; -1: before it
}

// New returns a display in a style. It must be ended with Done.
func New(out io.Writer, style Style) *Display {
	d := &Display{clock: time.NewTicker(time.Second), over: make(chan struct{})}
	switch style {
	case JSON:
		d.view = &objects{out: out}
	case None:
		d.view = &lines{out: out, silent: true}
	default:
		d.view = &lines{out: out}
		if f, ok := out.(*os.File); ok && style == Auto && term.IsTerminal(int(f.Fd())) && os.Getenv("TERM") != "dumb" {
			d.view = &terminal{out: out, width: func() int { return cmp.Or(tables.Width(f), 80) }}
		}
	}
	go func() { // shows how long a phase without counts takes already
		for {
			select {
			case now := <-d.clock.C:
				d.mu.Lock()
				if d.name != "" {
					d.view.tick(now)
				}
				d.mu.Unlock()
			case <-d.over:
				return
			}
		}
	}()
	return d
}

// About names the test of the following phases, as resnet50 Server. Plain lines leave it out.
func (d *Display) About(test string) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.view.about(test)
}

// Phase begins a part of the job.
func (d *Display) Phase(name string) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.view.end()
	d.name, d.begun, d.first = name, time.Now(), -1
	d.view.phase(name)
}

// Loading counts the samples that are loaded.
func (d *Display) Loading(done, of int) { d.count(done, of, "loading") }

// Items counts other things.
func (d *Display) Items(done, of int) { d.count(done, of, "") }

// count shows a number of things, under the name of what is done with them where that is not the phase.
func (d *Display) count(done, of int, name string) {
	d.mu.Lock()
	defer d.mu.Unlock()
	text := units.Number(float64(done)) + " of " + units.Number(float64(of))
	if name != "" {
		text += " samples"
	}
	d.view.count(counter{time.Now(), int64(done), int64(of), cmp.Or(name, d.name), text})
}

// Bytes counts bytes, with their rate and how long the rest will take; of is 0 if the end is not known.
func (d *Display) Bytes(done, of int64) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.first < 0 {
		d.first = done
	}
	text := units.Bytes(done)
	if of > 0 {
		text += " of " + units.Bytes(of)
	}
	if s := time.Since(d.begun).Seconds(); s > 1 {
		rate := float64(done-d.first) / s
		text += ", " + units.Bytes(int64(rate)) + "/s"
		if of > 0 && rate > 0 {
			text += ", " + untilEnd(loadgen.Seconds(float64(of-done)/rate))
		}
	}
	if of == 0 {
		of = unknown
	}
	d.view.count(counter{time.Now(), done, of, d.name, text})
}

// Traffic shows the state of a running test.
func (d *Display) Traffic(p loadgen.Progress) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.view.traffic(testState{Progress: p, now: time.Now()})
}

// Note shows a text that stays on screen.
func (d *Display) Note(text string) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.view.note(text)
}

// Done ends the phase and removes its bar. Calling it again does nothing.
func (d *Display) Done() {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.view.end()
	d.name = ""
	d.ended.Do(func() {
		d.clock.Stop()
		close(d.over)
	})
}
