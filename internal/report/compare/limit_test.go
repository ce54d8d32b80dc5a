package compare

import (
	"bytes"
	"strings"
	"testing"
)

func TestLimits(t *testing.T) {
	for text, want := range map[string]Limit{
		"p99>+5%": {Metric: "p99", Above: true, Change: 0.05}, "samples/s < -3 %": {Metric: "samples/s", Change: -0.03},
		"accuracy<−0.5%": {Metric: "accuracy", Change: -0.5}, "ttft p99>10%": {Metric: "ttft p99", Above: true, Change: 0.1},
	} {
		got, err := ParseLimit(text)
		if got.text = ""; err != nil || got != want {
			t.Errorf("ParseLimit(%q) = %+v, %v; want %+v", text, got, err, want)
		}
	}
	for text, want := range map[string]string{
		"": "must be a metric", "p99": "must be a metric", ">5%": "must be a metric", "p99>5": "must be a signed number of percent", "p99>five%": "must be a signed number",
		"p98>5%": `unknown metric "p98": must be one of samples/s, metric, accuracy, mean, p50`, "p99>NaN%": "must be a signed number", "p99>1e999%": "must be a signed number",
	} {
		if _, err := ParseLimit(text); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("ParseLimit(%q): %v, want an error with %q", text, err, want)
		}
	}
}

// changed is a comparison with one metric.
func changed(m Metric) Comparison {
	return Comparison{Model: "m", Scenario: "Server", Mode: "PerformanceOnly", Metrics: []Metric{m}}
}

func TestCheck(t *testing.T) {
	above, below := Limit{Metric: "p99", Above: true, Change: 0.05, text: "p99>+5%"}, Limit{Metric: "p99", Change: -0.05, text: "p99<-5%"}
	for _, c := range []struct {
		name      string
		limit     Limit
		metric    Metric
		met, open bool
		want      string
	}{
		{"wholly above", above, Metric{Name: "p99", Interval: &Interval{0.06, 0.1}, Decides: true, Method: "t"}, true, false, "+6 % to +10 %, all beyond (t)"},
		{"partly above", above, Metric{Name: "p99", Interval: &Interval{0.05, 0.1}, Decides: true}, false, false, "+5 % to +10 % is not all beyond"},
		{"wholly below", below, Metric{Name: "p99", Interval: &Interval{-0.1, -0.06}, Decides: true, Method: "t"}, true, false, "−10 % to −6 %, all beyond (t)"},
		{"partly below", below, Metric{Name: "p99", Interval: &Interval{-0.1, -0.05}, Decides: true}, false, false, "−10 % to −5 % is not all beyond"},
		{"the other way", below, Metric{Name: "p99", Interval: &Interval{0.06, 0.1}, Decides: true}, false, false, "+6 % to +10 % is not all beyond"},
		{"beyond, of too few runs", above, Metric{Name: "p99", Interval: &Interval{0.06, 0.1}, Method: "t over 2"}, false, true, "not decided: expected 5 repeats each, in turns; this is t over 2"},
		{"no interval", above, Metric{Name: "p99", Method: "too short"}, false, true, "not decided: too short"},
		{"another metric", above, Metric{Name: "p90", Interval: &Interval{1, 2}, Decides: true}, false, true, "the runs have no p99"},
	} {
		o := c.limit.Check(changed(c.metric))
		if want := (Outcome{c.limit.text, "m Server, PerformanceOnly", c.met, c.open, c.want}); o != want {
			t.Errorf("%s: %+v, want %+v", c.name, o, want)
		}
		if c.limit.Of(changed(c.metric)) != (c.metric.Name == "p99") {
			t.Errorf("%s: the limit is of it: %v", c.name, c.limit.Of(changed(c.metric)))
		}
	}
}

// FuzzParseLimit never panics, and what it accepts is accepted again.
func FuzzParseLimit(f *testing.F) {
	for _, s := range []string{"p99>+5%", "accuracy<-0.5%", "samples/s<1e300%"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, text string) {
		l, err := ParseLimit(text)
		if err != nil {
			return
		}
		if again, err := ParseLimit(l.String()); err != nil || again != l {
			t.Fatalf("%q: %+v, then %+v, %v", text, l, again, err)
		}
	})
}

func TestText(t *testing.T) {
	c := changed(Metric{Name: "p99", Unit: "ns", Base: 1, New: 1})
	c.Base, c.New, c.Commands, c.Notes = []string{"a"}, []string{"b", "c"}, []string{"do it"}, []string{"note"}
	var text, markdown bytes.Buffer
	if err := Text(&text, []Comparison{c, c}); err != nil {
		t.Fatal(err)
	}
	if err := Markdown(&markdown, []Comparison{c}); err != nil {
		t.Fatal(err)
	}
	if want := "note\nTo be sure, repeat both in turns:\ndo it\n\nm Server, PerformanceOnly: 2 runs against 1 run\n"; !strings.Contains(text.String(), want) {
		t.Errorf("no %q in\n%s", want, text.String())
	}
	for _, want := range []string{"### m Server, PerformanceOnly: 2 runs against 1 run\n", "| metric | base |", "To be sure, repeat both in turns:\n```\ndo it\n```\n"} {
		if !strings.Contains(markdown.String(), want) {
			t.Errorf("no %q in\n%s", want, markdown.String())
		}
	}
	if strings.Contains(text.String(), "What differs") || strings.Contains(text.String(), "DIFFERENT TESTS") {
		t.Errorf("nothing differs:\n%s", text.String())
	}
	c.Differences = []Difference{{Key: "engine", Base: "x", New: "y"}}
	text.Reset()
	if err := Text(&text, []Comparison{c}); err != nil || !strings.Contains(text.String(), "\nOther differences:\n") || strings.Contains(text.String(), "! engine") {
		t.Errorf("%v\n%s", err, text.String())
	}
}

func TestReproduces(t *testing.T) {
	for change, want := range map[float64]bool{0.05: true, -0.05: true, 0: true, 0.051: false, -0.051: false} {
		c := Comparison{Metrics: []Metric{{Name: "p99", Change: 1}, {Name: resultName, Unit: "ms", Base: 10, New: 10 * (1 + change), Change: change}}}
		if got, text, err := c.Reproduces(); err != nil || got != want {
			t.Errorf("a change of %v: %v, %s, %v", change, got, text, err)
		}
	}
	for scenario, want := range map[string]bool{"SingleStream": true, "MultiStream": false, "Server": true} {
		c := Comparison{Scenario: scenario, Metrics: []Metric{{Name: "p90", Change: 0.01}, {Name: "p99", Change: 0.06}, {Name: "samples/s"}}}
		if got, text, err := c.Reproduces(); err != nil || got != want {
			t.Errorf("%s: %v, %s, %v", scenario, got, text, err)
		}
	}
	if _, _, err := (&Comparison{Metrics: []Metric{{Name: "accuracy"}}}).Reproduces(); err == nil {
		t.Error("runs of accuracy reproduce a result")
	}
}
