package run_test

import (
	"errors"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/mlperf-go/mlperf/internal/config/profile"
	"github.com/mlperf-go/mlperf/internal/run"
	"github.com/mlperf-go/mlperf/internal/userinput"
)

// tuned is a request with a profile that a search left at the path.
func tuned(t *testing.T, path string, change func(*profile.Profile)) run.Request {
	t.Helper()
	q := request(t)
	r, err := run.Resolve(q)
	if err != nil {
		t.Fatal(err)
	}
	p := &profile.Profile{
		Schema: profile.Schema, Program: "mlperf test", Created: time.Date(2026, 7, 8, 9, 10, 11, 0, time.UTC), Subject: r.Subject(),
		Instances: 3, Threads: 5, MaxBatch: 16, MaxDelay: "1.5ms",
		Objective: profile.Objective{Name: "samples", Unit: "samples/s"}, Value: 312.5, Points: 21,
	}
	if change != nil {
		change(p)
	}
	if path == run.Auto {
		if path, err = run.ProfilePath(r.Subject()); err != nil {
			t.Fatal(err)
		}
	}
	if err := p.Write(path); err != nil {
		t.Fatal(err)
	}
	return q
}

func TestAProfileGivesWhatNobodyGave(t *testing.T) {
	for _, where := range []string{run.Auto, "best.json"} {
		q := tuned(t, where, nil)
		q.Profile, q.Instances, q.Given = where, 2, map[string]string{"instances": "flag --instances"}
		r, err := run.Resolve(q)
		if err != nil {
			t.Fatal(err)
		}
		if got := r.Request; got.Instances != 2 || got.Backend.IntraThreads != 5 || got.MaxBatch != 16 || got.MaxDelay != 1500*time.Microsecond {
			t.Errorf("%s: instances %d, threads %d, batch %d, delay %v; want 2 as given, and 5, 16 and 1.5 ms of the profile",
				where, got.Instances, got.Backend.IntraThreads, got.MaxBatch, got.MaxDelay)
		}
		if notes := strings.Join(r.Notes, "\n"); !strings.Contains(notes, "intra_threads 5") || strings.Contains(notes, "instances 3") {
			t.Errorf("%s: notes %q, want what was taken and nothing else", where, r.Notes)
		}
	}
}

func TestAProfileMayNameAModelAndItsPrecision(t *testing.T) {
	q := tuned(t, "best.json", func(p *profile.Profile) { p.ModelPath, p.Precision = "faster.onnx", "fp32" })
	q.Profile = "best.json"
	r, err := run.Resolve(q)
	if err != nil || r.Request.ModelPath != "faster.onnx" || r.Request.Precision != "fp32" {
		t.Errorf("Resolve = %+v, %v, want the profile's model in fp32", r, err)
	}
	q.Given = map[string]string{}
	for _, name := range []string{"instances", "intra_threads", "max_batchsize", "max_batch_delay", "model_path", "precision"} {
		q.Given[name] = "flag"
	}
	r, err = run.Resolve(q)
	if err != nil || r.Request.ModelPath != "tiny.onnx" || !strings.Contains(strings.Join(r.Notes, "\n"), "everything that it has was given otherwise") {
		t.Errorf("Resolve = %+v, %v, want nothing of the profile and a note", r, err)
	}
}

func TestAProfileOfSomethingElseIsRefused(t *testing.T) {
	for what, change := range map[string]func(*profile.Profile){
		"model":    func(p *profile.Profile) { p.Model = "mobilenet" },
		"scenario": func(p *profile.Profile) { p.Scenario = "Server" },
		"device":   func(p *profile.Profile) { p.Device = "cuda" },
	} {
		q := tuned(t, "best.json", change)
		q.Profile = "best.json"
		var of *userinput.Error
		if _, err := run.Resolve(q); !errors.As(err, &of) || of.Field != "profile" || !strings.Contains(err.Error(), "is of "+what) {
			t.Errorf("a profile of another %s: %v, want an error of the field profile", what, err)
		}
	}
}

func TestAProfileOfAnotherMachineIsTakenWithANote(t *testing.T) {
	q := tuned(t, "best.json", func(p *profile.Profile) { p.Machine.CPU = "An Abacus" })
	q.Profile = "best.json"
	if r, err := run.Resolve(q); err != nil || !strings.Contains(strings.Join(r.Notes, "\n"), "An Abacus") || r.Request.Instances != 3 {
		t.Errorf("Resolve = %+v, %v, want the profile's 3 instances and a note", r, err)
	}
}

func TestWithoutAProfileAutoSaysHowToMakeOne(t *testing.T) {
	q := request(t)
	q.Profile = run.Auto
	if r, err := run.Resolve(q); err != nil || !strings.Contains(strings.Join(r.Notes, "\n"), "mlperf tune --model resnet50 --scenario singlestream") {
		t.Errorf("Resolve = %+v, %v, want a note", r, err)
	}
	q.Profile = filepath.Join("no", "profile.json")
	if _, err := run.Resolve(q); err == nil || !strings.Contains(err.Error(), q.Profile) {
		t.Errorf("a file that is not there: %v, want an error that names it", err)
	}
}

// A profile is a file from somewhere: its numbers have the bounds that flags have.
func TestAProfileWithNumbersThatNoMachineHasIsRefused(t *testing.T) {
	for _, c := range []struct {
		change func(*profile.Profile)
		want   string
	}{
		{func(p *profile.Profile) { p.Instances = 1 << 30 }, "the profile best.json: instances is 1073741824, want at most 4096"},
		{func(p *profile.Profile) { p.Threads = 5000 }, "the profile best.json: intra_threads is 5000, want at most 4096"},
		{func(p *profile.Profile) { p.MaxBatch = 1 << 21 }, "the profile best.json: max_batchsize is 2097152, want at most 1048576"},
	} {
		q := tuned(t, "best.json", c.change)
		q.Profile = "best.json"
		if _, err := run.Resolve(q); err == nil || err.Error() != c.want {
			t.Errorf("Resolve = %v, want %q", err, c.want)
		}
	}
}

func TestSharedThreadsAreNotThoseOfAProfile(t *testing.T) {
	q := tuned(t, "best.json", nil)
	q.Profile, q.Engine.SharedThreads = "best.json", 4
	r, err := run.Resolve(q)
	if err != nil {
		t.Fatal(err)
	}
	if r.Request.Backend.IntraThreads != 0 || r.Request.Instances != 3 || strings.Contains(strings.Join(r.Notes, "\n"), "intra_threads") {
		t.Errorf("%d threads for each of %d instances beside 4 that all share: %q", r.Request.Backend.IntraThreads, r.Request.Instances, r.Notes)
	}
}

// Of a profile that a search at servers left, what this side decides is taken, and only that.
func TestAProfileOfServersIsOfThisSide(t *testing.T) {
	t.Chdir(t.TempDir())
	asks := run.Engine{Name: run.OIP, Remote: run.Remote{Endpoints: []string{"http://127.0.0.1:1"}}}
	for _, c := range []struct {
		name                   string
		concurrency            int // that was given
		instances, under, most int
	}{
		{"the workers are the requests under way", 0, 7, 7, 4},
		{"unless somebody said how many there are", 3, 3, 3, 4},
	} {
		q := run.Request{Model: "resnet50", Scenario: "offline", Engine: asks}
		q.Engine.Remote.Concurrency = c.concurrency
		r, err := run.Resolve(q)
		if err != nil {
			t.Fatal(err)
		}
		p := &profile.Profile{
			Schema: profile.Schema, Subject: r.Subject(), ModelPath: "/here.onnx", Precision: "int8", Instances: 7, Threads: 5, MaxBatch: 4, MaxDelay: "0s",
		}
		if err := p.Write("p.json"); err != nil {
			t.Fatal(err)
		}
		q.Profile = "p.json"
		if r, err = run.Resolve(q); err != nil {
			t.Fatal(err)
		}
		if q := r.Request; q.Instances != c.instances || q.Engine.Remote.Concurrency != c.under || q.MaxBatch != c.most || q.ModelPath != "" || q.Precision != "" || q.Backend.IntraThreads != 1 {
			t.Errorf("%s: %d workers of %d threads, %d under way, batches of %d, model %q in %q", c.name, q.Instances, q.Backend.IntraThreads, q.Engine.Remote.Concurrency, q.MaxBatch, q.ModelPath, q.Precision)
		}
	}
}
