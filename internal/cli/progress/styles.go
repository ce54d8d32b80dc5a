package progress

import (
	"encoding/json"
	"fmt"
	"io"
	"time"

	"github.com/schollz/progressbar/v3"

	"github.com/mlperf-go/mlperf/internal/units"
	"github.com/mlperf-go/mlperf/internal/userinput"
)

// A terminal shows a bar, which is written again and again.
type terminal struct {
	out          io.Writer
	width        func() int
	test, name   string // of the test and of the phase
	begun, moved time.Time

	bar     *progressbar.ProgressBar
	of      int64     // the bar's end
	written time.Time // the bar, last
	last    string    // state of a running test
}

const (
	// silence is how long a phase may have no count before its time is shown.
	silence = 2 * time.Second
	// barEvery is how often a bar is written at most, except at its end. The bar's own limit would separate a text from its number.
	barEvery = 100 * time.Millisecond
)

func (t *terminal) about(test string) { t.test = userinput.PrintableLine(test) }

func (t *terminal) phase(name string) {
	now := time.Now()
	t.name, t.begun, t.moved, t.written = userinput.PrintableLine(name), now, now, time.Time{}
}

func (t *terminal) count(c counter) {
	t.moved = c.now
	if t.bar != nil && t.of == c.of && c.done != c.of && c.now.Sub(t.written) < barEvery {
		return
	}
	t.show(c.now, userinput.PrintableLine(c.name)+": "+c.text, c.done, c.of)
}

func (t *terminal) traffic(s testState) {
	t.moved = s.now
	if t.last != "" && s.now.Sub(t.written) < time.Second {
		return
	}
	t.last = t.name + ": " + s.line()
	if t.test != "" {
		t.last = t.test + ": " + t.last
	}
	t.show(s.now, t.last, int64(1000*s.share()), 1000)
}

func (t *terminal) tick(now time.Time) {
	if now.Sub(t.moved) >= silence && t.last == "" && (t.bar == nil || t.of == unknown) {
		t.show(now, t.name+": "+soFar(now.Sub(t.begun)), 0, unknown)
	}
}

func (t *terminal) show(now time.Time, text string, done, of int64) {
	counts := of != unknown && t.last == "" // the state of a test has its own time
	bar, around := 10, len(" 100% ||  ")
	if counts {
		bar, around = 20, len(" 100% || [10m0s:10m0s]")
	}
	if t.bar == nil || t.of != of {
		if t.bar != nil {
			_ = t.bar.Finish()
		}
		t.bar = progressbar.NewOptions64(of,
			progressbar.OptionSetWriter(t.out),
			progressbar.OptionSetWidth(bar),
			progressbar.OptionSetPredictTime(counts),
			progressbar.OptionSetElapsedTime(counts),
			progressbar.OptionClearOnFinish(),
		)
	}
	if runes, room := []rune(text), max(t.width()-bar-around, 20); len(runes) > room {
		text = string(runes[:room-1]) + "…"
	}
	t.of, t.written = of, now
	t.bar.Describe(text)
	_ = t.bar.Set64(done)
}

func (t *terminal) note(text string) {
	if t.bar != nil {
		_ = t.bar.Clear()
	}
	fmt.Fprintln(t.out, userinput.PrintableLine(text))
}

// end removes the bar. The last state of a test stays.
func (t *terminal) end() {
	if t.bar != nil {
		_ = t.bar.Finish()
	}
	if t.last != "" {
		fmt.Fprintln(t.out, t.last)
	}
	t.bar, t.last = nil, ""
}

// lineEvery is how often a plain line shows the progress.
const lineEvery = 5 * time.Second

// lines show a plain line now and then. A phase that is over before has none.
type lines struct {
	out                   io.Writer
	silent                bool // except notes
	name                  string
	begun, written, moved time.Time
}

func (l *lines) phase(name string) {
	now := time.Now()
	l.name, l.begun, l.written, l.moved = name, now, now, now
}

func (l *lines) count(c counter) {
	l.moved = c.now
	l.write(c.now, c.name, c.text)
}

func (l *lines) traffic(s testState) { l.count(counter{now: s.now, name: l.name, text: s.line()}) }

func (l *lines) note(text string) { fmt.Fprintln(l.out, userinput.PrintableLine(text)) }

func (l *lines) tick(now time.Time) {
	if now.Sub(l.moved) >= lineEvery {
		l.write(now, l.name, soFar(now.Sub(l.begun)))
	}
}

func (l *lines) write(now time.Time, name, text string) {
	if l.silent || now.Sub(l.written) < lineEvery {
		return
	}
	l.written = now
	fmt.Fprintf(l.out, "%s: %s\n", userinput.PrintableLine(name), text)
}

func (*lines) about(string) {}
func (*lines) end()         {}

func soFar(d time.Duration) string { return units.Duration(d.Round(time.Second)) + " so far" }

// schema is the id of the form of the objects.
const schema = "mlperf-go/progress/1"

// objects show each call as an object in a line, counts and traffic at most once a second.
type objects struct {
	out        io.Writer
	test, name string
	written    time.Time
}

// An object is a line of the style JSON.
type object struct {
	Schema string `json:"schema"`
	Event  string `json:"event"`          // phase, count, traffic or note
	Test   string `json:"test,omitempty"` // as resnet50 Server
	Phase  string `json:"phase,omitempty"`
	Text   string `json:"text,omitempty"`
	Done   int64  `json:"done,omitempty"`
	Of     int64  `json:"of,omitempty"` // 0: not known
	*testNumbers
}

func (o *objects) write(v object) {
	v.Schema, v.Test, v.Phase = schema, o.test, o.name
	text, err := json.Marshal(v)
	if err == nil {
		_, _ = o.out.Write(append(text, '\n')) // progress that cannot be written ends no job
	}
}

func (o *objects) about(test string) { o.test = test }

func (o *objects) phase(name string) {
	o.name, o.written = name, time.Time{}
	o.write(object{Event: "phase"})
}

func (o *objects) count(c counter) {
	if c.now.Sub(o.written) >= time.Second || c.done == c.of {
		o.written = c.now
		o.write(object{Event: "count", Done: c.done, Of: max(c.of, 0)})
	}
}

func (o *objects) traffic(s testState) {
	if s.now.Sub(o.written) >= time.Second {
		o.written = s.now
		o.write(object{Event: "traffic", testNumbers: s.numbers()})
	}
}

func (o *objects) note(text string) { o.write(object{Event: "note", Text: text}) }
func (o *objects) tick(time.Time)   {}
func (o *objects) end()             {}
