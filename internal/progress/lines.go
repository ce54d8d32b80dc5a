package progress

import (
	"encoding/json"
	"fmt"
	"io"
	"time"

	"github.com/mlperf-go/mlperf/internal/visible"
)

// plainEvery is how often a plain line tells of the progress.
const plainEvery = 5 * time.Second

// lines shows a plain line now and then.
type lines struct {
	out                io.Writer
	name               string
	begun, said, moved time.Time
}

func (l *lines) phase(name string) {
	now := time.Now()
	l.name, l.begun, l.said, l.moved = name, now, now, now
	fmt.Fprintf(l.out, "%s …\n", visible.Line(name))
}

func (l *lines) step(c count) {
	l.moved = c.now
	l.say(c.now, c.text)
}

func (l *lines) traffic(g glance) { l.step(count{now: g.now, text: g.line()}) }

func (l *lines) note(text string) { fmt.Fprintln(l.out, visible.Text(text)) }

func (l *lines) tick(now time.Time) {
	if now.Sub(l.moved) >= plainEvery {
		l.say(now, soFar(now.Sub(l.begun)))
	}
}

func (l *lines) say(now time.Time, text string) {
	if now.Sub(l.said) < plainEvery {
		return
	}
	l.said = now
	fmt.Fprintf(l.out, "%s: %s\n", visible.Line(l.name), text)
}

func (l *lines) end() {}

func soFar(d time.Duration) string { return fmt.Sprintf("%v so far", d.Round(time.Second)) }

// silent shows only what stays.
type silent struct{ out io.Writer }

func (*silent) phase(string)       {}
func (*silent) step(count)         {}
func (*silent) traffic(glance)     {}
func (s *silent) note(text string) { fmt.Fprintln(s.out, visible.Text(text)) }
func (*silent) tick(time.Time)     {}
func (*silent) end()               {}

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
