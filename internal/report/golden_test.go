package report

import (
	"bytes"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"

	"github.com/mlperf-go/mlperf/internal/loadgen"
)

var update = flag.Bool("update", false, "write the golden files anew")

// TestOutputs has a file for each form of output, which holds all
// fixtures.
func TestOutputs(t *testing.T) {
	for file, print := range map[string]func(io.Writer, *Results) error{
		"summary.txt": func(w io.Writer, r *Results) error { return Summary(w, r, "Logs and results: DIR") },
		"explain.txt": func(w io.Writer, r *Results) error { return Explain(w, r, "mlperf run --mode find-peak") },
		"results.json": func(w io.Writer, r *Results) error {
			return JSON(w, r)
		},
		"score.txt": func(w io.Writer, r *Results) error {
			if r.Accuracy == nil {
				return nil
			}
			return Score(w, r.Accuracy)
		},
	} {
		t.Run(file, func(t *testing.T) {
			var got bytes.Buffer
			for _, f := range fixtures() {
				fmt.Fprintf(&got, "=== %s\n", f.name)
				if err := print(&got, f.r); err != nil {
					t.Fatal(err)
				}
			}
			compareGolden(t, file, got.Bytes())
		})
	}
}

// terminal is one of so many columns.
type terminal struct {
	bytes.Buffer
	columns int
}

func (t *terminal) Columns() int { return t.columns }

// TestWidths has a run and a search as terminals of four widths show them.
func TestWidths(t *testing.T) {
	var got bytes.Buffer
	for _, columns := range []int{60, 80, 100, 160} {
		for _, f := range fixtures() {
			if f.name != "Server, VALID, with easier settings" && f.name != "find-peak" {
				continue
			}
			fmt.Fprintf(&got, "=== %s, %d columns\n", f.name, columns)
			w := &terminal{columns: columns}
			if err := errors.Join(Summary(w, f.r), Explain(w, f.r)); err != nil {
				t.Fatal(err)
			}
			for line := range strings.Lines(w.String()) {
				if n := utf8.RuneCountInString(strings.TrimRight(line, "\n")); n > columns && strings.Contains(strings.TrimSpace(line), " ") {
					t.Errorf("%d columns: a line of %d: %s", columns, n, line)
				}
			}
			got.Write(w.Bytes())
		}
	}
	compareGolden(t, "widths.txt", got.Bytes())
}

func compareGolden(t *testing.T, file string, got []byte) {
	t.Helper()
	path := filepath.Join("testdata", file)
	if *update {
		if err := os.WriteFile(path, got, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), string(got)); diff != "" {
		t.Errorf("%s (-want +got; go test -update writes it anew):\n%s", path, diff)
	}
}

// at makes a document one of an hour, and of a precision.
func at(r *Results, hour int, precision string) *Results {
	r.Created = r.Created.Add(time.Duration(hour) * time.Hour)
	r.Input.Precision = precision
	r.Backend.Devices = map[string]int{"cpu": 120}
	return r
}

// listed are runs of a model in several scenarios, three of which measured accuracy.
func listed() []Run {
	quantized := at(filled(tested(passed(loadgen.Server))), 5, "int8")
	quantized.Input.ModelSHA256 = "0ddba11"
	simulated := at(filled(tested(passed(loadgen.SingleStream))), 6, "fp32")
	simulated.Backend.Engine, simulated.Backend.Simulated = "simulated", true
	missed := at(scored(accuracyOnly(), 70.25), 3, "int8")
	missed.Input.ModelSHA256 = "0ddba11"
	return []Run{
		{"results/ss", at(filled(tested(passed(loadgen.SingleStream))), 0, "fp32")},
		{"results/ms", at(filled(tested(passed(loadgen.MultiStream))), 0, "fp32")},
		{"results/off", at(filled(tested(passed(loadgen.Offline))), 0, "fp32")},
		{"results/srv", at(filled(tested(failed(passed(loadgen.Server)))), 0, "fp32")},
		{"results/int8", quantized},
		{"results/simulated", simulated},
		{"results/acc-part", at(partial(), 4, "fp32")},
		{"results/acc-old", at(scored(accuracyOnly(), 71), 1, "fp32")},
		{"results/acc", at(scored(accuracyOnly(), 76.5), 2, "fp32")},
		{"results/acc-int8", missed},
		{"results/sub", at(submission(), 7, "fp32")},
	}
}

func TestLists(t *testing.T) {
	for file, print := range map[string]func(io.Writer, []Line) error{
		"mlmark.txt": MLMark, "table.txt": Table, "lines.csv": CSV,
		"lines.json": func(w io.Writer, lines []Line) error { return JSON(w, lines) },
	} {
		t.Run(file, func(t *testing.T) {
			var got bytes.Buffer
			if err := print(&got, Lines(listed(), nil, 1500)); err != nil {
				t.Fatal(err)
			}
			compareGolden(t, file, got.Bytes())
		})
	}
}
