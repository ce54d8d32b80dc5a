package page

import (
	"encoding/json"
	"fmt"
	"math"
	"net"
	"net/http"
	"net/netip"
	"strings"
	"sync"
	"time"

	"github.com/mlperf-go/mlperf/internal/loadgen"
	"github.com/mlperf-go/mlperf/internal/report"
	"github.com/mlperf-go/mlperf/internal/report/charts"
	"github.com/mlperf-go/mlperf/internal/report/figures"
	"github.com/mlperf-go/mlperf/internal/units"
	"github.com/mlperf-go/mlperf/internal/userinput"
)

// A Live is the page of tests while they run. It takes what an observer of a run hears, and serves the page at /, with the
// figures that the page of the run will have, and its changes as server-sent events. Work beyond keeping the numbers is done
// only while someone looks. Several goroutines may call its methods.
type Live struct {
	program string

	mu      sync.Mutex
	changed chan struct{} // closed at the next change
	title   string
	about   string // engine, device, precision
	phase   string
	ended   string // how, and where the results are
	begun   time.Time
	now     loadgen.Progress
	points  []loadgen.Progress
	gauges  charts.Gauges
}

// NewLive returns the page of the tests of a title. About says what runs them.
func NewLive(title, about, program string) *Live {
	return &Live{title: userinput.PrintableLine(title), about: userinput.PrintableLine(about), program: program, changed: make(chan struct{})}
}

// change makes a change, and tells those who look.
func (l *Live) change(f func()) {
	l.mu.Lock()
	defer l.mu.Unlock()
	f()
	close(l.changed)
	l.changed = make(chan struct{})
}

// Phase begins a part of the run.
func (l *Live) Phase(name string) { l.change(func() { l.phase = userinput.PrintableLine(name) }) }

// End ends the page with a text. It serves nothing new after that.
func (l *Live) End(text string) { l.change(func() { l.ended = userinput.PrintableLine(text) }) }

// mostPoints is how many points are kept; then every other one is dropped.
const mostPoints = 3600

// Traffic takes the state of a running test. Another test begins anew.
func (l *Live) Traffic(p loadgen.Progress) {
	l.change(func() {
		if len(l.points) == 0 || p.Elapsed < l.now.Elapsed || p.Accuracy != l.now.Accuracy {
			l.begun, l.points, l.gauges = time.Now().Add(-p.Elapsed), nil, charts.Gauges{}
		}
		l.now = p
		if l.points = append(l.points, p); len(l.points) == mostPoints {
			for i := range mostPoints / 2 {
				l.points[i] = l.points[2*i+1]
			}
			l.points = l.points[:mostPoints/2]
		}
	})
}

// Gauge takes a reading of the machine or of the workers.
func (l *Live) Gauge(name, unit string, at time.Time, value float64) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if len(l.points) == 0 { // between tests
		return
	}
	g := &l.gauges
	if len(g.Series) == 0 || g.Series[0].Name == name {
		g.AtNS = append(g.AtNS, float64(at.Sub(l.begun)))
	}
	for i := range g.Series {
		if g.Series[i].Name == name {
			g.Series[i].Values = append(g.Series[i].Values, value)
			return
		}
	}
	g.Series = append(g.Series, charts.Gauge{Name: name, Unit: unit, Values: charts.Column{value}})
}

// A liveState is an event.
type liveState struct {
	Title   string       `json:"title"`
	State   string       `json:"state"`
	Left    string       `json:"left"` // until the end; empty: not known
	Outlook string       `json:"outlook"`
	Tone    string       `json:"tone"`
	Ended   bool         `json:"ended"`
	Cards   []liveCard   `json:"cards"`
	Figures []liveFigure `json:"figures"`
}

type liveCard struct {
	Name  string `json:"name"`
	Value string `json:"value"`
}

type liveFigure struct {
	figures.Figure
	Title    string `json:"title"`
	Sentence string `json:"sentence"`
	Wide     bool   `json:"wide"`
}

// state is what the page shows now. Callers hold the lock.
func (l *Live) state() liveState {
	s := liveState{Title: l.title, State: l.phase, Ended: l.ended != "", Cards: []liveCard{}, Figures: []liveFigure{}}
	p := l.now
	if p.Test == nil {
		s.State += l.ended
		return s
	}
	if s.Ended {
		s.State = l.ended
	}
	r := &report.Results{Scenario: p.Test.Scenario.String(), Test: report.NewTest(*p.Test)}
	card := func(name, value string) { s.Cards = append(s.Cards, liveCard{name, value}) }
	card("time", joined([]string{units.Duration(p.Elapsed.Round(time.Second)), planned(p.PlannedDuration)}, " of "))
	if left := p.Left(); left >= time.Second && !s.Ended {
		s.Left = units.Duration(left.Round(time.Second)) + " left"
		card("until the end", units.Duration(left.Round(time.Second)))
	}
	card("answered samples", units.Text(float64(p.Completed), ""))
	if p.Elapsed > 0 {
		rate := units.Text(p.Rate(), "/s")
		if p.Test.Scenario == loadgen.Server {
			rate += " of " + units.Text(p.Test.TargetQPS, "/s")
		}
		card("load", rate)
	}
	if p.RecentTarget > 0 {
		text := units.Duration(p.RecentTarget)
		if bound, _ := p.Bound(); bound > 0 {
			text += " of " + units.Duration(bound)
		}
		card(units.Percentile(p.Test.TargetLatencyPercentile)+" of recent queries", text)
	}
	card("waiting", units.Text(float64(p.Waiting()), ""))
	if needed := p.Needed(); needed > 0 {
		card("queries, of early stopping", units.Text(float64(p.Issued), "")+" of "+units.Text(float64(needed), ""))
	}
	switch verdict, reason := p.Outlook(); verdict {
	case "INVALID":
		s.Outlook, s.Tone = "on course for INVALID: "+reason, "bad"
	case "VALID":
		s.Outlook = "recent queries keep the bound"
	}
	for _, f := range figures.Of(r, &charts.Charts{Timeline: l.timeline(), Gauges: l.thinned()}) {
		if f.ID == "latency" {
			f.Sentence = "Percentiles of the queries that were answered last."
		}
		s.Figures = append(s.Figures, liveFigure{f, f.Title, f.Sentence, f.Wide})
	}
	return s
}

func planned(d time.Duration) string {
	if d <= 0 {
		return ""
	}
	return units.Duration(d)
}

// mostLive is how many buckets and readings the page draws.
const mostLive = 300

// timeline has the points in buckets of whole seconds, up to the last one that is over; nil: none is.
func (l *Live) timeline() *charts.Timeline {
	const late = 100 * time.Millisecond // that a point of the end of a second may be
	width := int(l.now.Elapsed/time.Second)/mostLive + 1
	n := int((l.now.Elapsed+late)/time.Second) / width
	if n == 0 {
		return nil
	}
	column := func(fill float64) charts.Column {
		c := make(charts.Column, n)
		for i := range c {
			c[i] = fill
		}
		return c
	}
	t := &charts.Timeline{BucketNS: int64(width) * 1e9, Issued: column(0), Completed: column(0), Outstanding: column(0)}
	latencies := l.now.RecentTarget > 0
	if latencies {
		t.P50, t.P90, t.P99 = column(math.NaN()), column(math.NaN()), column(math.NaN())
	}
	var before loadgen.Progress
	for _, p := range l.points {
		i := int(max(p.Elapsed-late, 0)/time.Second) / width
		if i >= n {
			break
		}
		t.Issued[i] += float64(max(p.IssuedSamples(), before.IssuedSamples()) - before.IssuedSamples())
		t.Completed[i] += float64(max(p.Completed, before.Completed) - before.Completed)
		t.Outstanding[i] = max(t.Outstanding[i], float64(p.Waiting()))
		if latencies && p.RecentTarget > 0 {
			t.P50[i], t.P90[i], t.P99[i] = float64(p.RecentP50), float64(p.RecentP90), float64(p.RecentP99)
		}
		before = p
	}
	return t
}

// thinned are the readings, at most mostLive, as far as all gauges were read.
func (l *Live) thinned() *charts.Gauges {
	n := len(l.gauges.AtNS)
	for _, s := range l.gauges.Series {
		n = min(n, len(s.Values))
	}
	every := n/mostLive + 1
	thin := func(c charts.Column) (out charts.Column) {
		for i := (n - 1) % every; i < n; i += every {
			out = append(out, c[i])
		}
		return out
	}
	if n == 0 {
		return nil
	}
	g := &charts.Gauges{AtNS: thin(l.gauges.AtNS)}
	for _, s := range l.gauges.Series {
		g.Series = append(g.Series, charts.Gauge{Name: s.Name, Unit: s.Unit, Values: thin(s.Values)})
	}
	return g
}

// ServeHTTP serves the page to browsers of this machine: the name in the request must be that of it, so that no page of
// another site reads along.
func (l *Live) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	host := r.Host
	if h, _, err := net.SplitHostPort(host); err == nil {
		host = h
	}
	ip, err := netip.ParseAddr(strings.Trim(host, "[]"))
	switch local := strings.EqualFold(host, "localhost") || err == nil && ip.Unmap().IsLoopback(); {
	case !local:
		http.Error(w, "this page is for this machine only", http.StatusForbidden)
	case r.Method != http.MethodGet:
		http.Error(w, "expected GET", http.StatusMethodNotAllowed)
	case r.URL.Path == "/":
		l.servePage(w)
	case r.URL.Path == "/events":
		l.serveEvents(w, r)
	default:
		http.NotFound(w, r)
	}
}

func (l *Live) servePage(w http.ResponseWriter) {
	s, err := shellOf(map[string]any{"figures": []figures.Figure{}, "live": true}, nil, l.program)
	if err == nil {
		s.Policy += "; connect-src 'self'"
		w.Header().Set("Content-Type", "text/html; charset=utf-8")
		err = render(w, "live.html", struct {
			shell
			Title, About string
		}{s, l.title, l.about})
	}
	if err != nil {
		http.Error(w, err.Error(), http.StatusInternalServerError)
	}
}

// serveEvents sends the state at each change, at most twice a second.
func (l *Live) serveEvents(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("Content-Type", "text/event-stream")
	w.Header().Set("Cache-Control", "no-store")
	out := http.NewResponseController(w)
	for {
		l.mu.Lock()
		state, changed := l.state(), l.changed
		l.mu.Unlock()
		data, err := json.Marshal(state)
		if err == nil {
			_, err = fmt.Fprintf(w, "data: %s\n\n", data)
		}
		if err != nil || out.Flush() != nil || state.Ended {
			return
		}
		select {
		case <-changed:
		case <-r.Context().Done():
			return
		}
		select {
		case <-time.After(500 * time.Millisecond):
		case <-r.Context().Done():
			return
		}
	}
}
