package dataset

import (
	"bytes"
	"crypto/md5"
	"encoding/hex"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// The published trace: zenodo 3941795, dlrm_trace_of_aggregated_samples.txt.
func TestAggregatedPairsAreThePublishedTrace(t *testing.T) {
	const pairs, samples, sum = 89137319, 330067, "3db90209564316f2506c99cc994ad0b2"
	runs := AggregatePairs(pairs)
	h := md5.New()
	if err := WriteRuns(h, runs); err != nil {
		t.Fatal(err)
	}
	if got := hex.EncodeToString(h.Sum(nil)); len(runs) != samples || got != sum || runs[samples-1].Count != 19 {
		t.Errorf("%d samples, MD5 %s, the last of %d pairs; want %d, %s, 19", len(runs), got, runs[len(runs)-1].Count, samples, sum)
	}
}

func TestATraceIsReadAsItWasWritten(t *testing.T) {
	var b bytes.Buffer
	want := AggregatePairs(1234)
	if err := WriteRuns(&b, want); err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), "trace.txt")
	for _, test := range []struct{ name, text, want string }{
		{"whole", b.String(), ""},
		{"empty", "", "trace.txt: the file is empty"},
		{"a gap", "0, 100, 100\n150, 250, 100\n", "line 2: it begins with pair 150, the one before ends with 100"},
		{"two fields", "0, 100\n", "line 1: want first pair, end and count, got 2 fields"},
		{"words", "0, a, 100\n", `line 1: " a" is not a number of pairs`},
		{"another count", "0, 100, 99\n", "line 1: the count is not the end less the first pair"},
		{"a line without end", "0, 100, 100\n" + strings.Repeat("1", 1<<17), "line 2: bufio.Scanner: token too long"},
		{"nothing in it", "0, 0, 0\n", "line 1: the count is not"},
	} {
		if err := os.WriteFile(path, []byte(test.text), 0o644); err != nil {
			t.Fatal(err)
		}
		got, err := readRuns(path)
		if test.want == "" && (err != nil || len(got) != len(want) || got[3] != want[3]) || test.want != "" && (err == nil || !strings.Contains(err.Error(), test.want)) {
			t.Errorf("%s: %d runs, error %v, want %q", test.name, len(got), err, test.want)
		}
	}
}

func FuzzReadRuns(f *testing.F) {
	f.Add("0, 100, 100\n100, 300, 200\n")
	f.Fuzz(func(t *testing.T, text string) {
		path := filepath.Join(t.TempDir(), "trace.txt")
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
		runs, err := readRuns(path)
		if err != nil {
			return
		}
		end := 0
		for i, r := range runs {
			if r.First != end || r.Count < 1 {
				t.Errorf("run %d is %+v after %d pairs", i, r, end)
			}
			end += r.Count
		}
	})
}
