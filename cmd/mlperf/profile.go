package main

import (
	"errors"
	"fmt"
	"io/fs"
	"runtime"
	"strconv"
	"strings"

	"github.com/mlperf-go/mlperf/internal/bench"
	"github.com/mlperf-go/mlperf/internal/config"
	"github.com/mlperf-go/mlperf/internal/home"
	"github.com/mlperf-go/mlperf/internal/machine"
	"github.com/mlperf-go/mlperf/internal/profile"
	"github.com/mlperf-go/mlperf/internal/report"
)

// autoProfileName is the value of --profile that looks for the one of this machine.
const autoProfileName = "auto"

// An appliedProfile says what a profile changed.
type appliedProfile struct {
	notes []string
	made  []report.Setting
}

// tell adds to a run what the profile changed, and says it on screen.
func (a *appliedProfile) tell(cfg *bench.Config) {
	cfg.Made = append(cfg.Made, a.made...)
	for _, note := range a.notes {
		cfg.Observer.Note(note)
	}
}

// subject is what a profile must be of to fit this run.
func (o *runOptions) subject(cfg *bench.Config) profile.Subject {
	device := o.backend.options.Device
	if o.engine.name != onnxRuntime {
		device = o.engine.name
	}
	return profile.Subject{
		Model: cfg.Model.Name, Scenario: cfg.Settings.Scenario.String(), Device: device,
		Machine: profile.Machine{CPU: machine.Describe("").CPU.Model, Cores: runtime.GOMAXPROCS(0)},
	}
}

// autoProfile is where the profile of a subject is kept.
func autoProfile(s profile.Subject) (string, error) { return home.DataDir("profiles", s.FileName()) }

// useProfile puts the values of a profile in the place of those that nobody gave.
func (o *runOptions) useProfile(cfg *bench.Config, merged *config.Merged) (*appliedProfile, error) {
	applied := &appliedProfile{}
	if o.profile == "" {
		return applied, nil
	}
	subject, path := o.subject(cfg), o.profile
	if path == autoProfileName {
		var err error
		if path, err = autoProfile(subject); err != nil {
			return nil, err
		}
	}
	p, err := profile.Read(path)
	if errors.Is(err, fs.ErrNotExist) && o.profile == autoProfileName {
		applied.notes = append(applied.notes, fmt.Sprintf("there is no profile of %s %s on this machine: mlperf tune --model %s --scenario %s makes one",
			subject.Model, subject.Scenario, subject.Model, strings.ToLower(subject.Scenario)))
		return applied, nil
	}
	if err != nil {
		return nil, err
	}
	for _, f := range []struct{ what, of, want string }{
		{"model", p.Model, subject.Model}, {"scenario", p.Scenario, subject.Scenario}, {"device", p.Device, subject.Device},
	} {
		if !strings.EqualFold(f.of, f.want) {
			return nil, usage("the profile %s is of %s %s, this run of %s", path, f.what, f.of, f.want)
		}
	}
	if p.Machine != subject.Machine {
		applied.notes = append(applied.notes, fmt.Sprintf("the profile %s was made on another machine: %s, %d cores", path, p.Machine.CPU, p.Machine.Cores))
	}
	o.take(applied, cfg, p, path, merged)
	return applied, nil
}

// take sets what no flag, variable or file of options has set.
func (o *runOptions) take(a *appliedProfile, cfg *bench.Config, p *profile.Profile, path string, merged *config.Merged) {
	origin := "profile " + path
	var taken []string
	for _, s := range []struct {
		flag, key, value string
		set              func()
	}{
		{"instances", "instances", strconv.Itoa(p.Instances), func() { cfg.Instances = p.Instances }},
		{"intra-threads", "intra_threads", strconv.Itoa(p.Threads), func() { cfg.Backend.IntraThreads = p.Threads }},
		{"max-batchsize", "max_batch_size", strconv.Itoa(p.MaxBatch), func() { cfg.MaxBatch = p.MaxBatch }},
		{"max-batch-delay", "max_batch_delay", p.MaxDelay, func() { cfg.MaxDelay = p.Delay() }},
		{"model-path", "model_path", p.ModelPath, func() { o.modelPath = p.ModelPath }},
		{"precision", "precision", p.Precision, func() { o.precision = p.Precision }},
	} {
		if s.value == "" || merged.Origin(s.flag) != config.Default {
			continue
		}
		s.set()
		a.made = append(a.made, report.Setting{Key: s.key, Value: s.value, Origin: origin})
		taken = append(taken, s.key+" "+s.value)
	}
	if len(taken) == 0 {
		a.notes = append(a.notes, origin+": flags give everything that it has")
		return
	}
	a.notes = append(a.notes, origin+": "+strings.Join(taken, ", "))
}
