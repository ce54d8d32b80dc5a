package page

import (
	"io"
	"strings"
	"testing"
)

func TestSheets(t *testing.T) {
	sheets := []Sheet{{Title: "edge - closed", Header: []string{"ID", "Accelerator", "resnet Latency (ms)"}, Rows: [][]string{{"6.1-1", "", "2.5"}, {"6.1-2", "", ""}}}}
	text := written(t, func(w io.Writer) error { return Sheets(w, "results", "2 results", sheets, "p") })
	for _, want := range []string{"edge - closed", `<td data-l="resnet Latency (ms)" class="num" data-v="2.5">2.5`, `<td data-l="ID">6.1-1`} {
		if !strings.Contains(text, want) {
			t.Errorf("the page lacks %s", want)
		}
	}
	if strings.Contains(text, "Accelerator") {
		t.Error("the page has a column without any text")
	}
}
