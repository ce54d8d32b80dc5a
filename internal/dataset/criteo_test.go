package dataset

import (
	"encoding/binary"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
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

func TestPairsOfARunAreReadTableByTable(t *testing.T) {
	dir := t.TempDir()
	put(t, dir, criteoPairs, criteoFile(5))
	put(t, dir, criteoTrace, "0, 3, 3\n3, 5, 2\n")
	d, err := OpenCriteo(dir)
	if err != nil || d.Len() != 2 || d.Fingerprint() == "" {
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

func TestFilesOfPairsThatCannotBeOpened(t *testing.T) {
	for _, test := range []struct{ name, file, trace, want string }{
		{"empty", "", "", "has 0 bytes, want 160 for each pair"},
		{"cut off", criteoFile(2)[:300], "", "has 300 bytes"},
		{"a trace of more", criteoFile(2), "0, 3, 3\n", "names 3 pairs"},
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
	if _, err := OpenCriteo(dir); err == nil || !strings.Contains(err.Error(), "is not a file") {
		t.Errorf("a folder: error %v", err)
	}
}

func TestPairsWithWhatCannotBeAreNamed(t *testing.T) {
	for _, test := range []struct {
		name  string
		field int
		value int32
		want  string
	}{
		{"a label of 2", 0, 2, "pair 1: the label is 2, want 0 or 1"},
		{"a negative number", 13, -1, "pair 1: number 12 is -1, want 0 or more"},
		{"a negative category", 39, math.MinInt32, "pair 1: category 25 is -2147483648, want 0 or more"},
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

func TestAFileOfPairsThatShrinksIsNoticed(t *testing.T) {
	dir := t.TempDir()
	put(t, dir, criteoPairs, criteoFile(3))
	d, err := OpenCriteo(dir)
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(dir, criteoPairs)
	if err := os.Truncate(path, 2*criteoBytes); err != nil {
		t.Fatal(err)
	}
	if err := d.Read(0, clicks(3)); err == nil || !strings.Contains(err.Error(), "pairs 0 to 2: ") {
		t.Errorf("a pair fewer: error %v", err)
	}
	if err := os.Remove(path); err != nil {
		t.Fatal(err)
	}
	if err := d.Read(0, clicks(3)); err == nil || !strings.Contains(err.Error(), criteoPairs) {
		t.Errorf("no file: error %v", err)
	}
}
