package tune

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/mlperf-go/mlperf/internal/config/profile"
)

var subject = profile.Subject{Model: "mobilenet", Scenario: "Offline", Device: "cpu", Machine: profile.Machine{CPU: "A Processor @ 2 GHz", Cores: 2}}

var header = Header{Subject: subject, Engine: "fake 1", ModelFiles: []string{"a.onnx, 5 bytes"}, Dataset: "imagenet", Bound: 20 * time.Millisecond, Base: Point{Instances: 2}}

func measurements() []Measurement {
	return []Measurement{
		{Point: Point{Instances: 2, Threads: 1, MaxBatch: 8}, Length: time.Second, Took: 2 * time.Second, Value: 300},
		{Point: Point{Instances: 1, Threads: 2, MaxBatch: 64}, Length: time.Second, Took: time.Second, Err: "out of memory"},
	}
}

func keep(t *testing.T, path string, list ...Measurement) {
	t.Helper()
	j, err := openJournal(path, header, false)
	if err != nil {
		t.Fatal(err)
	}
	for _, m := range list {
		if err := j.Append(m); err != nil {
			t.Fatal(err)
		}
	}
	if err := j.Close(); err != nil {
		t.Fatal(err)
	}
}

func TestAJournalGoesOnWhereItEnded(t *testing.T) {
	path := filepath.Join(t.TempDir(), "new", "j.jsonl")
	list := measurements()
	keep(t, path, list[0])
	keep(t, path, list[1])
	h := header
	h.Bound, h.Base = time.Second, Point{Instances: 7} // measured anew
	j, err := openJournal(path, h, false)
	if err != nil {
		t.Fatal(err)
	}
	defer j.Close()
	if diff := cmp.Diff(list, j.Done); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if j.Header.Bound != header.Bound || j.Header.Base != header.Base {
		t.Errorf("bound %v and base %v, want those of the first search", j.Header.Bound, j.Header.Base)
	}
}

func TestALineThatIsCutOffIsMeasuredAgain(t *testing.T) {
	path := filepath.Join(t.TempDir(), "j.jsonl")
	list := measurements()
	keep(t, path, list...)
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	for cut := range len(data) {
		if err := os.WriteFile(path, data[:cut], 0o644); err != nil {
			t.Fatal(err)
		}
		j, err := openJournal(path, header, false)
		if err != nil {
			t.Fatalf("cut at %d: %v", cut, err)
		}
		for _, m := range list[len(j.Done):] {
			if err := j.Append(m); err != nil {
				t.Fatal(err)
			}
		}
		if err := j.Close(); err != nil {
			t.Fatal(err)
		}
		if got, _ := os.ReadFile(path); string(got) != string(data) {
			t.Fatalf("cut at %d: the file becomes\n%s", cut, got)
		}
	}
}

func TestAJournalOfAnotherSearchIsRefused(t *testing.T) {
	path := filepath.Join(t.TempDir(), "j.jsonl")
	keep(t, path, measurements()...)
	other := header
	other.ModelFiles = []string{"a.onnx, 6 bytes"}
	if _, err := openJournal(path, other, false); err == nil || !strings.Contains(err.Error(), "of another search (model_files)") {
		t.Errorf("err = %v", err)
	}
	other.Percentile = 0.9
	if names := header.differences(other); len(names) != 2 || names[1] != "percentile" {
		t.Errorf("differences = %v", names)
	}
	j, err := openJournal(path, other, true)
	if err != nil || len(j.Done) != 0 {
		t.Fatalf("afresh: %v, %d measurements", err, len(j.Done))
	}
	j.Close()
	if err := os.WriteFile(path, []byte("{}\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	if _, err := openJournal(path, header, false); err == nil || !strings.Contains(err.Error(), `line 1: schema is ""`) {
		t.Errorf("err = %v", err)
	}
}

func FuzzParseJournal(f *testing.F) {
	h := header
	h.Schema = JournalSchema
	text, _ := json.Marshal(h)
	for _, m := range measurements() {
		line, _ := json.Marshal(m)
		text = append(append(text, '\n'), line...)
	}
	f.Add(text)
	f.Add([]byte("{\"schema\":\"mlperf-go/tune/1\"}\n{\"stage\":3}\n"))
	f.Fuzz(func(t *testing.T, data []byte) {
		h, done, whole, err := parseJournal(data)
		if err != nil {
			return
		}
		if whole > len(data) || whole > 0 && data[whole-1] != '\n' {
			t.Fatalf("whole = %d of %d", whole, len(data))
		}
		s := Search{Points: []Point{{Instances: 1}}, Budget: time.Minute}
		for _, m := range done {
			s.Points = append(s.Points, m.Point)
		}
		s.Next(done) // must not panic
		s.Best(done)
		again, doneAgain, _, err := parseJournal(data[:whole])
		if diff := cmp.Diff(h, again); err != nil || diff != "" || !cmp.Equal(done, doneAgain, cmpopts.EquateEmpty()) {
			t.Fatalf("err = %v, %s", err, diff)
		}
	})
}
