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

	"github.com/dustin/go-humanize"
	"golang.org/x/term"

	"github.com/mlperf-go/mlperf/internal/loadgen"
)

// A Style is how progress is shown.
type Style string

// The styles.
const (
	Auto  Style = "auto"  // a bar or a block on a terminal, plain lines elsewhere
	Plain Style = "plain" // a line now and then
	None  Style = "none"  // only what stays: notes
	JSON  Style = "json"  // an object a line
)

// Styles lists the styles.
func Styles() []string { return []string{string(Auto), string(Plain), string(None), string(JSON)} }

// ParseStyle returns the style of a name.
func ParseStyle(name string) (Style, error) {
	if !slices.Contains(Styles(), name) {
		return "", fmt.Errorf("unknown style of progress %q, want %s", name, strings.Join(Styles(), ", "))
	}
	return Style(name), nil
}

// A view shows what a Display is told. Its methods are not called at the same time.
type view interface {
	about(test string)
	phase(name string)
	step(c count)
	traffic(g glance)
	note(text string)
	tick(now time.Time) // about once a second
	end()               // of the phase
}

// A count is how far a phase has come.
type count struct {
	now      time.Time
	done, of int64 // of may be countsNothing
	text     string
}

// countsNothing is what a phase counts to that only takes time.
const countsNothing = -1

// A Display shows how a job goes on. Its methods may be called from several goroutines.
type Display struct {
	clock *time.Ticker // for phases that say nothing
	over  chan struct{}
	ended sync.Once

	mu    sync.Mutex
	view  view
	name  string    // of the phase; empty: none yet, or all are over
	begun time.Time // the phase
	first int64     // bytes that were there when the phase began; -1: not known yet
}

// New returns a display in a style. It must be ended with Done.
func New(out io.Writer, style Style) *Display {
	p := &Display{clock: time.NewTicker(time.Second), over: make(chan struct{}), view: newView(out, style)}
	go p.watch()
	return p
}

func newView(out io.Writer, style Style) view {
	switch style {
	case Plain:
		return &lines{out: out}
	case None:
		return &lines{out: out, silent: true}
	case JSON:
		return &objects{out: out}
	}
	if f, ok := out.(*os.File); ok && term.IsTerminal(int(f.Fd())) && os.Getenv("TERM") != "dumb" {
		return &screen{out: out, width: func() int { return cmp.Or(Width(f), 80) }}
	}
	return &lines{out: out}
}

// watch lets the view say how long a phase takes already that says nothing itself.
func (p *Display) watch() {
	for {
		select {
		case now := <-p.clock.C:
			p.mu.Lock()
			if p.name != "" {
				p.view.tick(now)
			}
			p.mu.Unlock()
		case <-p.over:
			return
		}
	}
}

// About says which test the phases are of that follow, as in resnet50 Server. A terminal shows it, and
// objects have it; lines of text stay as they are.
func (p *Display) About(test string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.view.about(test)
}

// Phase says that a part of the job begins.
func (p *Display) Phase(name string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.view.end()
	p.name, p.begun, p.first = name, time.Now(), -1
	p.view.phase(name)
}

// Loading counts the samples that are loaded.
func (p *Display) Loading(done, of int) { p.counted(done, of, " samples loaded") }

// Items counts things.
func (p *Display) Items(done, of int) { p.counted(done, of, "") }

func (p *Display) counted(done, of int, what string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.view.step(count{time.Now(), int64(done), int64(of), fmt.Sprintf("%d of %d%s", done, of, what)})
}

// Traffic is a glance at a running test.
func (p *Display) Traffic(g loadgen.Progress) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.view.traffic(glance{Progress: g, now: time.Now()})
}

// Note says something that stays on screen.
func (p *Display) Note(text string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.view.note(text)
}

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
			text += fmt.Sprintf(", %v left", seconds(left).Truncate(time.Second))
		}
	}
	if of == 0 {
		of = countsNothing
	}
	p.view.step(count{time.Now(), done, of, text})
}

// BytesText is a number of bytes as people read it: 816 MB.
func BytesText(n int64) string { return humanize.BytesN(uint64(max(n, 0)), 3) }

// Done removes what is shown of the phase and ends it. Calling it again does nothing.
func (p *Display) Done() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.view.end()
	p.name = ""
	p.ended.Do(func() {
		p.clock.Stop()
		close(p.over)
	})
}

// Width is how many columns the terminal has that out is; 0: it is none, or does not say.
func Width(out io.Writer) int {
	f, ok := out.(*os.File)
	if !ok {
		return 0
	}
	width, _, err := term.GetSize(int(f.Fd()))
	if err != nil {
		return 0
	}
	return max(width, 0)
}

// Verdict colours a verdict on a file, if it is a terminal and colours are wanted (https://no-color.org): VALID green, INVALID red, all others amber.
func Verdict(f *os.File, text string) string {
	if os.Getenv("NO_COLOR") != "" || os.Getenv("TERM") == "dumb" || !term.IsTerminal(int(f.Fd())) {
		return text
	}
	colour := "33"
	switch text {
	case outlookValid:
		colour = "32"
	case outlookInvalid:
		colour = "31"
	}
	return "\x1b[" + colour + "m" + text + "\x1b[0m"
}
