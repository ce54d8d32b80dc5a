package profile

import (
	"encoding/json"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/mlperf-go/mlperf/internal/testenv"
)

var subject = Subject{Model: "mobilenet", Scenario: "Offline", Device: "cpu", Machine: Machine{CPU: "A Processor @ 2 GHz", Cores: 2}}

func sample() *Profile {
	return &Profile{
		Schema: Schema, Program: "mlperf test", Created: time.Date(2026, 7, 8, 9, 10, 11, 0, time.UTC), Subject: subject,
		ModelPath: "/models/int8.onnx", Precision: "int8", Instances: 2, Threads: 1, MaxBatch: 16, MaxDelay: "1.5ms",
		Objective: Objective{Name: "samples", Unit: "samples/s"}, Value: 312.5, Default: 300, Points: 21,
	}
}

func TestFile(t *testing.T) {
	path := filepath.Join(t.TempDir(), "profiles", subject.FileName())
	want := sample()
	if err := want.Write(path); err != nil {
		t.Fatal(err)
	}
	got, err := Read(path)
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

func TestWrongProfiles(t *testing.T) {
	for _, c := range []struct {
		name   string
		change func(*Profile)
		want   string
	}{
		{"of another schema", func(p *Profile) { p.Schema = "x" }, `schema is "x", this program reads "mlperf-go/profile/1"`},
		{"without a model", func(p *Profile) { p.Model = "" }, "model is missing"},
		{"with an unknown scenario", func(p *Profile) { p.Scenario = "Online" }, `unknown scenario "Online"`},
		{"without a device", func(p *Profile) { p.Device = "" }, "device is missing"},
		{"of another precision", func(p *Profile) { p.Precision = "int3" }, `precision is "int3": must be fp32, fp16, bf16, int8 or int4`},
		{"without workers", func(p *Profile) { p.Instances = 0 }, "instances is 0: must be at least 1"},
		{"without threads", func(p *Profile) { p.Threads = 0 }, "intra_threads is 0: must be at least 1"},
		{"without batches", func(p *Profile) { p.MaxBatch = 0 }, "max_batch_size is 0: must be at least 1"},
		{"with a negative delay", func(p *Profile) { p.MaxDelay = "-1ms" }, `max_batch_delay is "-1ms"`},
		{"with no delay", func(p *Profile) { p.MaxDelay = "" }, `max_batch_delay is ""`},
	} {
		p := sample()
		c.change(p)
		if err := p.Write(filepath.Join(t.TempDir(), "p.json")); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: Write: %v, want %q", c.name, err, c.want)
		}
		data, err := json.Marshal(p)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := parse(data); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: parse: %v, want %q", c.name, err, c.want)
		}
	}
	for text, want := range map[string]string{
		"":                     "EOF",
		"{":                    "unexpected EOF",
		`{"instance": 2}`:      `unknown field "instance"`,
		`{"instances": "two"}`: "cannot unmarshal string",
		"[]":                   "cannot unmarshal array",
	} {
		if _, err := parse([]byte(text)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("Parse(%s): %v, want %q", text, err, want)
		}
	}
	good, _ := json.Marshal(sample())
	if _, err := parse(append(good, "{}"...)); err == nil || !strings.Contains(err.Error(), "something follows") {
		t.Errorf("two profiles in a file: %v", err)
	}
}

func TestFileName(t *testing.T) {
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

func TestReadErrors(t *testing.T) {
	dir := t.TempDir()
	half := filepath.Join(dir, "half.json")
	if err := os.WriteFile(half, []byte(`{"schema":"mlperf-go/pro`), 0o644); err != nil {
		t.Fatal(err)
	}
	if p, err := Read(half); !testenv.Names(err, half+" … unexpected EOF") {
		t.Errorf("half a profile: %+v, %v", p, err)
	}
	if _, err := Read(filepath.Join(dir, "missing.json")); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("a missing file: %v, want fs.ErrNotExist, which the caller looks for", err)
	}
}
