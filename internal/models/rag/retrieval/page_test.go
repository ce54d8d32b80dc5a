package retrieval

import (
	"encoding/json"
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/mlperf-go/mlperf/internal/testenv"
)

func golden(t *testing.T, name string, to any) {
	t.Helper()
	data, err := os.ReadFile("testdata/" + name)
	if err == nil {
		err = json.Unmarshal(data, to)
	}
	if err != nil {
		t.Fatal(err)
	}
}

// testdata/pages.json was made by testdata/make_pages.py.
func TestPagesEqualReference(t *testing.T) {
	var pages []struct {
		HTML, Text string
		Passages   []string
	}
	golden(t, "pages.json", &pages)
	differ := 0
	for i, p := range pages {
		text, err := TextOf([]byte(p.HTML))
		if err != nil {
			t.Errorf("page %d: %v", i, err)
			continue
		}
		if text != p.Text {
			differ++
			t.Errorf("page %d: %.300s\n= %.300q\nwant %.300q", i, p.HTML, text, p.Text)
		} else if diff := cmp.Diff(p.Passages, Windows(text)); len(p.Passages)+len(Windows(text)) > 0 && diff != "" {
			t.Errorf("page %d: passages (-want +got):\n%s", i, diff)
		}
	}
	if differ > 0 {
		t.Errorf("%d of %d pages differ", differ, len(pages))
	}
}

// testdata/windows.json has the fixed windows of metrics.json of the golden values of E2E-RAG, made by the reference's text_splitter.py.
func TestWindowsEqualReference(t *testing.T) {
	var want struct {
		Text  string
		Split []struct {
			Length, Overlap int
			Fixed           []string
		}
	}
	golden(t, "windows.json", &want)
	for _, s := range want.Split {
		if diff := cmp.Diff(s.Fixed, windowsOf(want.Text, s.Length, s.Overlap)); diff != "" {
			t.Errorf("windows of %d, %d overlap (-want +got):\n%s", s.Length, s.Overlap, diff)
		}
	}
}

func TestPagesWithoutText(t *testing.T) {
	for name, c := range map[string]struct{ page, facts string }{
		"binary": {"\x89PNG\r\n\x1a\n\x00\xff", "UTF-8"},
		"deep":   {strings.Repeat("<div>", 100_000) + "x", "512"},
	} {
		if _, err := TextOf([]byte(c.page)); !testenv.Names(err, c.facts) {
			t.Errorf("%s: %v, want an error with %s", name, err, c.facts)
		}
	}
}

func FuzzTextOf(f *testing.F) {
	f.Add([]byte("<div id=mw-content-text><p>a- b.c<table><td>x"))
	f.Add([]byte("<ruby>x<rt>y</ruby><template><p></template>\xff"))
	f.Fuzz(func(t *testing.T, page []byte) {
		text, err := TextOf(page)
		if err == nil && len(text) > 0 && len(Windows(text)) == 0 {
			t.Errorf("the text %q has no window", text)
		}
	})
}
