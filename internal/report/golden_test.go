package report

import (
	"bytes"
	"flag"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"
)

var update = flag.Bool("update", false, "write the golden files anew")

// TestOutputsEqualTheGoldenFiles has a file for each form of output, which holds all
// fixtures.
func TestOutputsEqualTheGoldenFiles(t *testing.T) {
	for file, print := range map[string]func(io.Writer, *Results) error{
		"summary.txt": Summary,
		"explain.txt": Explain,
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

// A failing writer.
type fullDisk struct{}

func (fullDisk) Write([]byte) (int, error) { return 0, os.ErrClosed }

func TestPrintingReturnsTheWritersError(t *testing.T) {
	r := fixtures()[0].r
	for name, err := range map[string]error{
		"Summary": Summary(fullDisk{}, r), "Explain": Explain(fullDisk{}, r), "JSON": JSON(fullDisk{}, r), "Score": Score(fullDisk{}, &Accuracy{}),
	} {
		if err == nil {
			t.Errorf("%s to a full disk succeeds", name)
		}
	}
}
