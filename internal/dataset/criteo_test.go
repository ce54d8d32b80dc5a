package dataset

import (
	"bytes"
	"crypto/md5"
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/mlperf-go/mlperf/internal/testenv"
)

// criteoFile is the content of a file of pairs: field k of pair i is 100i+k, and the label i%2.
func criteoFile(pairs int) string {
	var data []byte
	for i := range pairs {
		for k := range criteoFields {
			v := 100*i + k
			if k == 0 {
				v = i % 2
			}
			data = binary.LittleEndian.AppendUint32(data, uint32(v))
		}
	}
	return string(data)
}

func clicks(pairs int) Click {
	return Click{make([]float32, pairs*CriteoNumbers), make([]int64, pairs*CriteoCategories), make([]float32, pairs)}
}

func TestCriteoReadsTableByTable(t *testing.T) {
	dir := t.TempDir()
	put(t, dir, criteoPairs, criteoFile(5))
	put(t, dir, criteoTrace, "0, 3, 3\n3, 5, 2\n")
	d, err := OpenCriteo(dir)
	if err != nil || len(d.Runs) != 2 {
		t.Fatalf("%+v, %v", d, err)
	}
	c := clicks(2)
	if err := d.Read(1, c); err != nil {
		t.Fatal(err)
	}
	// Table 0 of pairs 3 and 4, and then table 1.
	if diff := cmp.Diff([]int64{314, 414, 315, 415}, c.Categories[:4]); diff != "" {
		t.Errorf("categories (-want +got):\n%s", diff)
	}
	if want := float32(math.Log(302)); c.Numbers[0] != want || c.Labels[0] != 1 || c.Labels[1] != 0 {
		t.Errorf("the first number is %v, want ln(301+1) = %v; labels %v, want 1 and 0", c.Numbers[0], want, c.Labels)
	}
	if labels, err := d.Labels(1); err != nil || !cmp.Equal(labels, []bool{true, false}) {
		t.Errorf("Labels(1) = %v, %v, want true and false", labels, err)
	}
}

func TestOpenCriteoErrors(t *testing.T) {
	for _, test := range []struct{ name, file, trace, want string }{
		{"empty", "", "", "has 0 bytes, expected 160 for each pair"},
		{"cut off", criteoFile(2)[:300], "", "has 300 bytes"},
		{"a trace of more", criteoFile(2), "0, 3, 3\n", "lists 3 pairs"},
	} {
		dir := t.TempDir()
		put(t, dir, criteoPairs, test.file)
		if test.trace != "" {
			put(t, dir, criteoTrace, test.trace)
		}
		if _, err := OpenCriteo(dir); err == nil || !strings.HasPrefix(err.Error(), "opening Criteo: ") || !strings.Contains(err.Error(), test.want) {
			t.Errorf("%s: error %v, want %q", test.name, err, test.want)
		}
	}
	dir := t.TempDir()
	if _, err := OpenCriteo(dir); err == nil || !strings.Contains(err.Error(), criteoPairs) {
		t.Errorf("no file: error %v", err)
	}
	put(t, dir, criteoPairs+"/x", "")
	if _, err := OpenCriteo(dir); err == nil || !strings.Contains(err.Error(), "is a folder") {
		t.Errorf("a folder: error %v", err)
	}
}

func TestCriteoReadErrors(t *testing.T) {
	for _, test := range []struct {
		name  string
		field int
		value int32
		want  string
	}{
		{"a label of 2", 0, 2, "pair 1: the label is 2: must be 0 or 1"},
		{"a negative number", 13, -1, "pair 1: field 13 is -1: must be 0 or more"},
		{"a negative category", 39, math.MinInt32, "pair 1: field 39 is -2147483648: must be 0 or more"},
	} {
		dir, data := t.TempDir(), []byte(criteoFile(2))
		binary.LittleEndian.PutUint32(data[criteoBytes+4*test.field:], uint32(test.value))
		put(t, dir, criteoPairs, string(data))
		d, err := OpenCriteo(dir)
		if err != nil {
			t.Fatal(err)
		}
		if err := d.Read(0, clicks(2)); err == nil || !strings.Contains(err.Error(), test.want) {
			t.Errorf("%s: Read: error %v, want %q", test.name, err, test.want)
		}
		if _, err := d.Labels(0); err == nil {
			t.Errorf("%s: Labels takes the pair", test.name)
		}
	}
}

func TestCriteoFileThatShrinks(t *testing.T) {
	dir := t.TempDir()
	put(t, dir, criteoPairs, criteoFile(3))
	d, err := OpenCriteo(dir)
	testenv.Must(t, err, os.Truncate(filepath.Join(dir, criteoPairs), 2*criteoBytes))
	if err := d.Read(0, clicks(3)); err == nil || !strings.Contains(err.Error(), "pairs 0 to 2: ") {
		t.Errorf("error %v, want one of pairs 0 to 2", err)
	}
}

// The published trace: zenodo 3941795, dlrm_trace_of_aggregated_samples.txt.
func TestAggregatePairsIsThePublishedTrace(t *testing.T) {
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

func TestReadTrace(t *testing.T) {
	var b bytes.Buffer
	want := AggregatePairs(1234)
	testenv.Must(t, WriteRuns(&b, want))
	if got, err := readRuns(&b); err != nil || !cmp.Equal(got, want) {
		t.Errorf("readRuns = %v, %v, want %v as written", got, err, want)
	}
	for _, test := range []struct{ name, text, want string }{
		{"empty", "", "trace_of_aggregated_samples.txt is empty"},
		{"a gap", "0, 100, 100\n150, 250, 100\n", "line 2: the sample begins with pair 150, the one before ends with 100"},
		{"two fields", "0, 100\n", "line 1: expected first pair, end and count, got 2 numbers"},
		{"words", "0, a, 100\n", `line 1: expected first pair, end and count, got 1 numbers in "0, a, 100"`},
		{"another count", "0, 100, 99\n", "line 1: the count is not the end less the first pair"},
		{"a line without end", "0, 100, 100\n" + strings.Repeat("1", 1<<17), "line 2: bufio.Scanner: token too long"},
		{"no pairs", "0, 0, 0\n", "line 1: the count is not"},
	} {
		dir := t.TempDir()
		put(t, dir, criteoTrace, test.text)
		if runs, err := runsOf(dir, 1000); err == nil || !strings.Contains(err.Error(), test.want) {
			t.Errorf("%s: %d runs, error %v, want %q", test.name, len(runs), err, test.want)
		}
	}
}

func FuzzReadRuns(f *testing.F) {
	f.Add("0, 100, 100\n100, 300, 200\n")
	f.Fuzz(func(t *testing.T, text string) {
		runs, err := readRuns(strings.NewReader(text))
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

func ExampleAggregatePairs() {
	fmt.Println(AggregatePairs(1000))
	// Output: [{0 200} {200 200} {400 200} {600 200} {800 200}]
}
