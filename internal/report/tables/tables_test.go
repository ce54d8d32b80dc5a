package tables

import (
	"strings"
	"testing"
	"time"

	"github.com/jedib0t/go-pretty/v6/text"
)

// At every width a table keeps its words whole and its lines within the width, as long as no word is wider.
func TestTablesFitWithoutBrokenWords(t *testing.T) {
	table := New("benchmark", "scenario", "result", "score", "latency bound", "time", "nothing")
	table.Row("resnet50 fp16", "Server", Painted("\x1b[32mVALID\x1b[0m"), "1,234 samples/s", "≤ 15 ms at the 99th percentile", 90*time.Second, "")
	table.Row("rgat", "Offline", "INVALID", "", "", 3*time.Hour, "")
	want := strings.Fields("resnet50 fp16 Server VALID 1,234 samples/s ≤ 15 ms at the 99th percentile 90 s rgat Offline INVALID 3 h")
	for _, width := range []int{0, 20, 25, 40, 60, 80, 100, 160} {
		got := table.Text(width)
		for line := range strings.Lines(got) {
			if n := text.StringWidthWithoutEscSequences(strings.TrimRight(line, "\n")); width > 0 && n > max(width, len("  latency bound  percentile")) {
				t.Errorf("%d columns: a line has %d:\n%s", width, n, got)
			}
		}
		words := strings.Fields(text.StripEscape(got))
		for _, word := range want {
			if !strings.Contains(" "+strings.Join(words, " ")+" ", " "+word+" ") {
				t.Errorf("%d columns: no word %q in\n%s", width, word, got)
			}
		}
		if strings.Contains(strings.ToLower(got), "nothing") {
			t.Errorf("%d columns: an empty column is shown:\n%s", width, got)
		}
	}
}

func TestRowsBecomeBlocks(t *testing.T) {
	table := New("run", "result", "why")
	table.Row("results/resnet50-server", "INVALID", "the latency is above its bound")
	table.Row("results/rgat-offline", "VALID", "")
	const want = `results/resnet50-server
  result  INVALID
  why     the latency is
          above its bound
results/rgat-offline
  result  VALID
`
	if got := table.Text(25); got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
}

func TestWrap(t *testing.T) {
	const in = "short\n  - a list whose item is long\nhttp://example.com/that/is/one/word and more\n"
	const want = "short\n  - a list whose\n    item is long\nhttp://example.com/that/is/one/word\nand more\n"
	if got := Wrap(in, 20); got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
	if got := Wrap(in, 0); got != in {
		t.Errorf("without a width: %q", got)
	}
}
