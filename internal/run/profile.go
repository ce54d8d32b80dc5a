package run

import (
	"errors"
	"fmt"
	"io/fs"
	"runtime"
	"strconv"
	"strings"

	"github.com/mlperf-go/mlperf/internal/config"
	"github.com/mlperf-go/mlperf/internal/config/profile"
	"github.com/mlperf-go/mlperf/internal/machine"
	"github.com/mlperf-go/mlperf/internal/machine/home"
	"github.com/mlperf-go/mlperf/internal/report"
	"github.com/mlperf-go/mlperf/internal/userinput"
)

// Subject is what a profile must be of to fit the request.
func (r *Resolved) Subject() profile.Subject {
	device := r.Request.Backend.Device
	if device == "" {
		device = "cpu"
	}
	if r.Request.Engine.Name != ONNXRuntime {
		device = r.Request.Engine.Name
	}
	return profile.Subject{
		Model: r.model.Name, Scenario: r.Settings.Scenario.String(), Device: device,
		Machine: profile.Machine{CPU: machine.Describe("").CPU.Model, Cores: runtime.GOMAXPROCS(0)},
	}
}

// ProfilePath is where the profile of a subject is kept.
func ProfilePath(s profile.Subject) (string, error) { return home.DataDir("profiles", s.FileName()) }

// profile puts the values of a profile in the place of those that nobody gave.
func (r *Resolved) profile() error {
	path := r.Request.Profile
	if path == "" {
		return nil
	}
	subject := r.Subject()
	if path == Auto {
		var err error
		if path, err = ProfilePath(subject); err != nil {
			return err
		}
	}
	p, err := profile.Read(path)
	if errors.Is(err, fs.ErrNotExist) && r.Request.Profile == Auto {
		r.Notes = append(r.Notes, fmt.Sprintf("there is no profile of %s %s on this machine: mlperf tune --model %s --scenario %s makes one",
			subject.Model, subject.Scenario, subject.Model, strings.ToLower(subject.Scenario)))
		return nil
	}
	if err != nil {
		return err
	}
	if err := fits(p.Subject, subject); err != nil {
		return userinput.Errorf("profile", "the profile %s %w", path, err)
	}
	if p.Machine != subject.Machine {
		r.Notes = append(r.Notes, fmt.Sprintf("the profile %s was made on another machine: %s, %d cores", path, p.Machine.CPU, p.Machine.Cores))
	}
	r.take(p, "profile "+path)
	if err := r.Request.checkNumbers(); err != nil {
		return fmt.Errorf("the profile %s: %w", path, err)
	}
	return nil
}

// fits finds what keeps a profile of one subject from being that of another. The machine does not.
func fits(have, want profile.Subject) error {
	for _, f := range []struct{ what, of, want string }{
		{"model", have.Model, want.Model}, {"scenario", have.Scenario, want.Scenario}, {"device", have.Device, want.Device},
	} {
		if !strings.EqualFold(f.of, f.want) {
			return fmt.Errorf("is of %s %s, this run of %s", f.what, f.of, f.want)
		}
	}
	return nil
}

// decides reports whether a field follows from the rest of the request: threads that all share, and what servers run.
func (q *Request) decides(name string) bool {
	switch name {
	case "intra_threads":
		return q.Engine.SharedThreads > 0 || q.remote()
	case "model_path", "precision":
		return q.remote()
	case "instances":
		return q.Engine.Remote.Concurrency > 0 || q.asksServers()
	case "max_batchsize":
		return q.asksServers()
	}
	return false
}

// take sets what nobody gave.
func (r *Resolved) take(p *profile.Profile, origin string) {
	q := &r.Request
	var taken []string
	for _, s := range []struct {
		field, key, value string
		set               func()
	}{
		{"instances", "instances", strconv.Itoa(p.Instances), func() { q.Instances = p.Instances }},
		{"intra_threads", "intra_threads", strconv.Itoa(p.Threads), func() { q.Backend.IntraThreads = p.Threads }},
		{"max_batchsize", "max_batch_size", strconv.Itoa(p.MaxBatch), func() { q.MaxBatch = p.MaxBatch }},
		{"max_batch_delay", "max_batch_delay", p.MaxDelay, func() { q.MaxDelay = p.Delay() }},
		{"model_path", "model_path", p.ModelPath, func() { q.ModelPath = p.ModelPath }},
		{"precision", "precision", p.Precision, func() { q.Precision = p.Precision }},
	} {
		if s.value == "" || q.origin(s.field) != config.Default || q.decides(s.field) {
			continue
		}
		s.set()
		r.taken = append(r.taken, report.Setting{Key: s.key, Value: s.value, Origin: origin})
		taken = append(taken, s.key+" "+s.value)
	}
	if len(taken) == 0 {
		r.Notes = append(r.Notes, origin+": everything that it has was given otherwise")
		return
	}
	r.Notes = append(r.Notes, origin+": "+strings.Join(taken, ", "))
}
