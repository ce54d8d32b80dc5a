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
)

var subject = Subject{Model: "mobilenet", Scenario: "Offline", Device: "cpu", Machine: Machine{CPU: "A Processor @ 2 GHz", Cores: 2}}

func profile() *Profile {
	return &Profile{
		Schema: ProfileSchema, Program: "mlperf test", Created: time.Date(2026, 7, 8, 9, 10, 11, 0, time.UTC), Subject: subject,
		ModelPath: "/models/int8.onnx", Precision: "int8", Instances: 2, Threads: 1, MaxBatch: 16, MaxDelay: "1.5ms",
		Objective: Objective{Name: "samples", Unit: "samples/s"}, Value: 312.5, Default: 300, Points: 21,
	}
}

func TestAProfileSurvivesItsFile(t *testing.T) {
	path := filepath.Join(t.TempDir(), "profiles", subject.FileName())
	want := profile()
	if err := want.Write(path); err != nil {
		t.Fatal(err)
	}
	got, err := ReadProfile(path)
	if diff := cmp.Diff(want, got); err != nil || diff != "" {
		t.Errorf("err = %v (-want +got):\n%s", err, diff)
	}
	if got.Delay() != 1500*time.Microsecond {
		t.Errorf("Delay() = %v, want 1.5 ms", got.Delay())
	}
	files, _ := os.ReadDir(filepath.Dir(path))
	if len(files) != 1 {
		t.Errorf("%d files are left, want one", len(files))
	}
}

func TestAProfileThatCannotBeUsedIsRefused(t *testing.T) {
	for _, c := range []struct {
		name   string
		change func(*Profile)
		want   string
	}{
		{"of another schema", func(p *Profile) { p.Schema = "x" }, `schema is "x", this program reads "mlperf-go/profile/1"`},
		{"without a model", func(p *Profile) { p.Model = "" }, "model is missing"},
		{"of no scenario", func(p *Profile) { p.Scenario = "Online" }, `unknown scenario "Online"`},
		{"without a device", func(p *Profile) { p.Device = "" }, "device is missing"},
		{"of another precision", func(p *Profile) { p.Precision = "int4" }, `precision is "int4", want fp32, fp16 or int8`},
		{"without workers", func(p *Profile) { p.Instances = 0 }, "instances is 0, want at least 1"},
		{"with negative threads", func(p *Profile) { p.Threads = -1 }, "intra_threads is -1, want at least 1"},
		{"without batches", func(p *Profile) { p.MaxBatch = 0 }, "max_batch_size is 0, want at least 1"},
		{"with a negative delay", func(p *Profile) { p.MaxDelay = "-1ms" }, `max_batch_delay is "-1ms"`},
		{"with no delay", func(p *Profile) { p.MaxDelay = "" }, `max_batch_delay is ""`},
	} {
		t.Run(c.name, func(t *testing.T) {
			p := profile()
			c.change(p)
			if err := p.Write(filepath.Join(t.TempDir(), "p.json")); err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("Write: %v, want %q", err, c.want)
			}
			data, err := json.Marshal(p)
			if err != nil {
				t.Fatal(err)
			}
			if _, err := ParseProfile(data); err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("ParseProfile: %v, want %q", err, c.want)
			}
		})
	}
	for text, want := range map[string]string{
		"":                     "EOF",
		"{":                    "unexpected EOF",
		`{"instance": 2}`:      `unknown field "instance"`,
		`{"instances": "two"}`: "cannot unmarshal string",
		"[]":                   "cannot unmarshal array",
	} {
		if _, err := ParseProfile([]byte(text)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("ParseProfile(%s): %v, want %q", text, err, want)
		}
	}
	good, _ := json.Marshal(profile())
	if _, err := ParseProfile(append(good, "{}"...)); err == nil || !strings.Contains(err.Error(), "something follows") {
		t.Errorf("two profiles in a file: %v", err)
	}
}

func TestFileNamesTellMachinesApart(t *testing.T) {
	a, b, c := subject, subject, subject
	b.Machine.Cores, c.Device = 4, "cuda,cpu/../x"
	if a.FileName() == b.FileName() {
		t.Error("another number of cores has the same file")
	}
	if name := c.FileName(); strings.ContainsAny(name, "/,") {
		t.Errorf("FileName = %s", name)
	}
	if name := a.FileName(); !strings.HasPrefix(name, "mobilenet-offline-cpu-") || !strings.HasSuffix(name, ".json") {
		t.Errorf("FileName = %s", name)
	}
}

func FuzzParseProfile(f *testing.F) {
	good, _ := json.Marshal(profile())
	f.Add(good)
	f.Add([]byte(`{"schema":"mlperf-go/profile/1","scenario":"server"}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		p, err := ParseProfile(data)
		if err != nil {
			return
		}
		if p.Instances < 1 || p.Threads < 1 || p.MaxBatch < 1 || p.Delay() < 0 {
			t.Fatalf("accepted: %+v", p)
		}
		again, err := json.Marshal(p)
		if err != nil {
			t.Skip("a time that JSON cannot hold")
		}
		q, err := ParseProfile(again)
		if diff := cmp.Diff(p, q); err != nil || diff != "" {
			t.Fatalf("err = %v (-first +second):\n%s", err, diff)
		}
	})
}

var header = Header{Subject: subject, Engine: "fake 1", ModelFiles: []string{"a.onnx, 5 bytes"}, Dataset: "imagenet", Bound: 20 * time.Millisecond, Base: Point{Instances: 2}}

func measurements() []Measurement {
	return []Measurement{
		{Point: Point{Instances: 2, Threads: 1, MaxBatch: 8}, Length: time.Second, Took: 2 * time.Second, Value: 300},
		{Point: Point{Instances: 1, Threads: 2, MaxBatch: 64}, Length: time.Second, Took: time.Second, Err: "out of memory"},
	}
}

func keep(t *testing.T, path string, list ...Measurement) {
	t.Helper()
	j, err := OpenJournal(path, header, false)
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
	j, err := OpenJournal(path, h, false)
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
		j, err := OpenJournal(path, header, false)
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
	if _, err := OpenJournal(path, other, false); err == nil || !strings.Contains(err.Error(), "of another search (model_files): --fresh begins anew") {
		t.Errorf("err = %v", err)
	}
	other.Percentile = 0.9
	if names := header.differences(other); len(names) != 2 || names[1] != "percentile" {
		t.Errorf("differences = %v", names)
	}
	j, err := OpenJournal(path, other, true)
	if err != nil || len(j.Done) != 0 {
		t.Fatalf("afresh: %v, %d measurements", err, len(j.Done))
	}
	j.Close()
	if err := os.WriteFile(path, []byte("{}\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	if _, err := OpenJournal(path, header, false); err == nil || !strings.Contains(err.Error(), `line 1: schema is ""`) {
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
		h, done, whole, err := ParseJournal(data)
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
		again, doneAgain, _, err := ParseJournal(data[:whole])
		if diff := cmp.Diff(h, again); err != nil || diff != "" || !cmp.Equal(done, doneAgain, cmpopts.EquateEmpty()) {
			t.Fatalf("err = %v, %s", err, diff)
		}
	})
}
