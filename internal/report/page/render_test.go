package page

import (
	"bytes"
	"errors"
	"html"
	"io"
	"regexp"
	"strings"
	"testing"

	"github.com/mlperf-go/mlperf/internal/report"
	"github.com/mlperf-go/mlperf/internal/report/figures"
)

// tags are the elements of a page in their order, those that end with a slash before them; scripts and styles are left out.
var tags = regexp.MustCompile(`<(/?)([a-z][a-z0-9]*)([^>]*?)(/?)>`)

// empty are the elements that HTML closes by itself.
var empty = map[string]bool{"meta": true, "br": true, "hr": true, "input": true, "link": true, "img": true, "col": true, "path": true, "wbr": true}

// Each element that is opened is closed, in the order of their nesting: browsers would otherwise guess.
func TestElementsAreClosedInOrder(t *testing.T) {
	r, c := simulated(500, 100)
	r.Problems, r.Warnings, r.Notes = []string{"a < b"}, []string{"w"}, []string{"n"}
	r.Accuracy = &report.Accuracy{Metric: "mAP", Lines: []string{"mAP=1"}, Classes: &report.Classes{Metric: "AP", Unit: "%", Of: "objects", Values: map[string]float64{"a": 1, "b": 2}}}
	pages := map[string]string{
		"a run":        written(t, func(w io.Writer) error { return Run(w, r, c, 5) }),
		"an empty run": written(t, func(w io.Writer) error { return Run(w, &report.Results{}, nil, 0) }),
		"many runs":    written(t, func(w io.Writer) error { return Runs(w, manyLines(), []report.Run{{Folder: "a", Results: r}}, "p") }),
		"no runs":      written(t, func(w io.Writer) error { return Runs(w, nil, nil, "p") }),
		"a suite": written(t, func(w io.Writer) error {
			return WriteSuite(w, Suite{Left: "1 run", Missing: []string{"m"}, Rows: []SuiteRow{{Benchmark: "b", Page: "p", AccuracyPage: "a", Missed: true, Reasons: []string{"r"}}}}, []report.Run{{Folder: "a", Results: r}}, "p")
		}),
		"sheets": written(t, func(w io.Writer) error {
			return Sheets(w, "t", "s", []Sheet{{Title: "edge", Header: []string{"ID", "", "ms"}, Rows: [][]string{{"<a>", "", "1.5"}, {"b", "", ""}}}}, "p")
		}),
		"no comparison": written(t, func(w io.Writer) error { return Compare(w, nil, "p") }),
	}
	scripts := regexp.MustCompile(`(?s)<(script|style)[^>]*>.*?</(script|style)>`)
	for name, page := range pages {
		var open []string
		for _, m := range tags.FindAllStringSubmatch(scripts.ReplaceAllString(page, ""), -1) {
			closes, element, closed := m[1] == "/", m[2], m[4] == "/" || empty[m[2]]
			switch {
			case closed:
			case !closes:
				open = append(open, element)
			case len(open) == 0 || open[len(open)-1] != element:
				t.Fatalf("%s: </%s> closes %q", name, element, open)
			default:
				open = open[:len(open)-1]
			}
		}
		if len(open) > 0 {
			t.Errorf("%s: %q are not closed", name, open)
		}
		if !strings.HasPrefix(page, "<!doctype html>") {
			t.Errorf("%s begins with %.40q", name, page)
		}
	}
}

// Who reads with a voice hears each figure: its sentence is its label.
func TestEachFigureHasItsSentence(t *testing.T) {
	r, c := simulated(500, 100)
	page := html.UnescapeString(written(t, func(w io.Writer) error { return Run(w, r, c, 0) }))
	list := figures.Of(r, c)
	if len(list) < 5 {
		t.Fatalf("%d figures", len(list))
	}
	for _, f := range list {
		if !strings.Contains(page, `id="f-`+f.ID+`" role="img" aria-label="`+f.Sentence+`"`) {
			t.Errorf("figure %s has not the label %q", f.ID, f.Sentence)
		}
		if !strings.Contains(page, f.Title) {
			t.Errorf("there is no %q", f.Title)
		}
	}
}

// A page is written at once or not at all.
func TestAPageIsWrittenAtOnce(t *testing.T) {
	broken := errors.New("no space left")
	writes := 0
	w := writer(func(p []byte) (int, error) {
		writes++
		return 0, broken
	})
	if err := render(w, "runs.html", runsPage{}); !errors.Is(err, broken) || writes != 1 {
		t.Errorf("%d writes, %v", writes, err)
	}
	var out bytes.Buffer
	for name, data := range map[string]any{"nothing.html": runsPage{}, "runs.html": struct{ Nothing int }{}} {
		if err := render(&out, name, data); err == nil || out.Len() > 0 {
			t.Errorf("%s of %T: %v, and %d bytes were written", name, data, err, out.Len())
		}
	}
}

type writer func(p []byte) (int, error)

func (w writer) Write(p []byte) (int, error) { return w(p) }
