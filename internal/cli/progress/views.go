package progress

import (
	"encoding/json"
	"fmt"
	"io"
	"time"

	"github.com/schollz/progressbar/v3"

	"github.com/mlperf-go/mlperf/internal/userinput"
)

// A screen shows a bar on a terminal, which is written again and again.
type screen struct {
	out          io.Writer
	width        func() int
	test, name   string // test: which one it is, if that was told
	begun, moved time.Time

	bar     *progressbar.ProgressBar
	of      int64     // what the bar counts to
	written time.Time // the bar, last
	last    string    // glance at a running test
}

const (
	// silence is how long a phase may say nothing.
	silence = 2 * time.Second
	// often is how often a bar is written at most, but for its end. The bar does not do that itself, because it would leave out the second of a text and its
	// number.
	often = 100 * time.Millisecond
)

func (s *screen) about(test string) { s.test = userinput.PrintableLine(test) }

func (s *screen) phase(name string) {
	now := time.Now()
	s.name, s.begun, s.moved, s.written = userinput.PrintableLine(name), now, now, time.Time{}
}

func (s *screen) step(c count) {
	s.moved = c.now
	if s.bar != nil && s.of == c.of && c.done != c.of && c.now.Sub(s.written) < often {
		return
	}
	s.show(c.now, s.name+": "+c.text, min(c.done, max(c.of, c.done)), c.of)
}

func (s *screen) traffic(g glance) {
	s.moved = g.now
	if s.last != "" && g.now.Sub(s.written) < time.Second {
		return
	}
	s.last = s.name + ": " + g.line()
	if s.test != "" {
		s.last = s.test + ": " + s.last
	}
	s.show(g.now, s.last, int64(1000*g.share()), 1000)
}

func (s *screen) tick(now time.Time) {
	if now.Sub(s.moved) >= silence && s.last == "" && (s.bar == nil || s.of == countsNothing) {
		s.show(now, s.name+": "+soFar(now.Sub(s.begun)), 0, countsNothing)
	}
}

func (s *screen) show(now time.Time, text string, done, of int64) {
	counts := of != countsNothing && s.last == "" // a glance has its own time
	bar, around := 10, len(" 100% ||  ")
	if counts {
		bar, around = 20, len(" 100% || [10m0s:10m0s]")
	}
	if s.bar == nil || s.of != of {
		if s.bar != nil {
			_ = s.bar.Finish()
		}
		s.bar = progressbar.NewOptions64(of,
			progressbar.OptionSetWriter(s.out),
			progressbar.OptionSetWidth(bar),
			progressbar.OptionSetPredictTime(counts),
			progressbar.OptionSetElapsedTime(counts),
			progressbar.OptionClearOnFinish(),
		)
	}
	if runes, room := []rune(text), max(s.width()-bar-around, 20); len(runes) > room {
		text = string(runes[:room-1]) + "…"
	}
	s.of, s.written = of, now
	s.bar.Describe(text)
	_ = s.bar.Set64(done)
}

func (s *screen) note(text string) {
	if s.bar != nil {
		_ = s.bar.Clear()
	}
	fmt.Fprintln(s.out, userinput.PrintableText(text))
}

// end removes the bar. The last glance at a test stays.
func (s *screen) end() {
	if s.bar != nil {
		_ = s.bar.Finish()
	}
	if s.last != "" {
		fmt.Fprintln(s.out, s.last)
	}
	s.bar, s.last = nil, ""
}

// plainEvery is how often a plain line tells of the progress.
const plainEvery = 5 * time.Second

// lines shows a plain line now and then.
type lines struct {
	out                io.Writer
	silent             bool // but for notes
	name               string
	begun, said, moved time.Time
}

func (l *lines) phase(name string) {
	now := time.Now()
	l.name, l.begun, l.said, l.moved = name, now, now, now
	if !l.silent {
		fmt.Fprintf(l.out, "%s …\n", userinput.PrintableLine(name))
	}
}

func (l *lines) step(c count) {
	l.moved = c.now
	l.say(c.now, c.text)
}

func (l *lines) traffic(g glance) { l.step(count{now: g.now, text: g.line()}) }

func (l *lines) note(text string) { fmt.Fprintln(l.out, userinput.PrintableText(text)) }

func (l *lines) tick(now time.Time) {
	if now.Sub(l.moved) >= plainEvery {
		l.say(now, soFar(now.Sub(l.begun)))
	}
}

func (l *lines) say(now time.Time, text string) {
	if l.silent || now.Sub(l.said) < plainEvery {
		return
	}
	l.said = now
	fmt.Fprintf(l.out, "%s: %s\n", userinput.PrintableLine(l.name), text)
}

func (*lines) about(string) {}
func (*lines) end()         {}

func soFar(d time.Duration) string { return fmt.Sprintf("%v so far", d.Round(time.Second)) }

// schema names the form of the objects that the style JSON writes.
const schema = "mlperf-go/progress/1"

// objects shows an object a line for everything, of counts at most one a second.
type objects struct {
	out  io.Writer
	test string
	name string
	said time.Time
}

// An object is a line of the style JSON.
type object struct {
	Schema string `json:"schema"`
	Event  string `json:"event"`          // phase, count, traffic or note
	Test   string `json:"test,omitempty"` // such as resnet50 Server
	Phase  string `json:"phase,omitempty"`
	Text   string `json:"text,omitempty"`
	Done   int64  `json:"done,omitempty"`
	Of     int64  `json:"of,omitempty"` // 0: not known
	*numbers
}

func (o *objects) write(v object) {
	v.Schema, v.Test, v.Phase = schema, o.test, o.name
	text, err := json.Marshal(v)
	if err == nil {
		_, _ = o.out.Write(append(text, '\n')) // who looks away sees nothing
	}
}

func (o *objects) about(test string) { o.test = test }

func (o *objects) phase(name string) {
	o.name, o.said = name, time.Time{}
	o.write(object{Event: "phase"})
}

func (o *objects) step(c count) {
	if c.now.Sub(o.said) >= time.Second || c.done == c.of {
		o.said = c.now
		o.write(object{Event: "count", Done: c.done, Of: max(c.of, 0)})
	}
}

func (o *objects) traffic(g glance) {
	if g.now.Sub(o.said) >= time.Second {
		o.said = g.now
		o.write(object{Event: "traffic", numbers: g.numbers()})
	}
}

func (o *objects) note(text string) { o.write(object{Event: "note", Text: text}) }
func (o *objects) tick(time.Time)   {}
func (o *objects) end()             {}
