package profile

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/mlperf-go/mlperf/internal/fileio"
	"github.com/mlperf-go/mlperf/internal/loadgen"
)

// Schema names the form of a profile.
const Schema = "mlperf-go/profile/1"

// maxFile is how long the file of a profile may be.
const maxFile = 1 << 20

// A Machine is where a profile holds.
type Machine struct {
	CPU   string `json:"cpu"`   // model
	Cores int    `json:"cores"` // that the process may use
}

// A Subject is a model, a scenario, a device and a machine.
type Subject struct {
	Model    string  `json:"model"`
	Scenario string  `json:"scenario"`
	Device   string  `json:"device"`
	Machine  Machine `json:"machine"`
}

// FileName is the name of the profile of a subject, without a folder: readable, and
// different for machines that differ.
func (s Subject) FileName() string {
	sum := sha256.Sum256([]byte(fmt.Sprintf("%q %d", s.Machine.CPU, s.Machine.Cores)))
	plain := strings.Map(func(r rune) rune {
		switch {
		case r >= 'a' && r <= 'z', r >= '0' && r <= '9', r == '-', r == '_', r == '.':
			return r
		}
		return '_'
	}, strings.ToLower(s.Model+"-"+s.Scenario+"-"+s.Device))
	return plain + "-" + hex.EncodeToString(sum[:4]) + ".json"
}

// An Objective is the number by which ways to run a model are compared.
type Objective struct {
	Name  string `json:"name"`
	Unit  string `json:"unit"`
	Least bool   `json:"least,omitempty"` // less is better
}

// A Profile is the fastest way to run a subject that a search found.
type Profile struct {
	Schema  string    `json:"schema"`
	Program string    `json:"program"` // that searched, with its version
	Created time.Time `json:"created"`
	Subject

	ModelPath string `json:"model_path,omitempty"` // the file, if the user brought it
	Precision string `json:"precision,omitempty"`  // fp32, fp16 or int8, if several were compared
	Instances int    `json:"instances"`
	Threads   int    `json:"intra_threads"` // of each instance
	MaxBatch  int    `json:"max_batch_size"`
	MaxDelay  string `json:"max_batch_delay"`

	Objective Objective `json:"objective"`
	Value     float64   `json:"value"`
	Default   float64   `json:"default_value,omitempty"` // without a profile, measured in the same stage
	Points    int       `json:"points"`                  // that were measured
}

// Delay is MaxDelay as a time.
func (p *Profile) Delay() time.Duration {
	d, _ := time.ParseDuration(p.MaxDelay) // checked when it was read
	return d
}

// Check finds wrong values.
func (p *Profile) Check() error {
	var errs []error
	want := func(ok bool, format string, args ...any) {
		if !ok {
			errs = append(errs, fmt.Errorf(format, args...))
		}
	}
	want(p.Schema == Schema, "schema is %q, this program reads %q", p.Schema, Schema)
	want(p.Model != "", "model is missing")
	_, err := loadgen.ParseScenario(p.Scenario)
	want(err == nil, "%w", err)
	want(p.Device != "", "device is missing")
	want(slices.Contains([]string{"", "fp32", "fp16", "bf16", "int8", "int4"}, p.Precision),
		"precision is %q: must be fp32, fp16, bf16, int8 or int4", p.Precision)
	want(p.Instances > 0, "instances is %d: must be at least 1", p.Instances)
	want(p.Threads > 0, "intra_threads is %d: must be at least 1", p.Threads)
	want(p.MaxBatch > 0, "max_batch_size is %d: must be at least 1", p.MaxBatch)
	d, err := time.ParseDuration(p.MaxDelay)
	want(err == nil && d >= 0, "max_batch_delay is %q: must be a time, e.g. 1.5ms", p.MaxDelay)
	return errors.Join(errs...)
}

// parse reads a profile from the content of its file.
func parse(data []byte) (*Profile, error) {
	d := json.NewDecoder(bytes.NewReader(data))
	d.DisallowUnknownFields()
	p := &Profile{}
	if err := d.Decode(p); err != nil {
		return nil, err
	}
	if _, err := d.Token(); !errors.Is(err, io.EOF) {
		return nil, errors.New("something follows the profile")
	}
	if err := p.Check(); err != nil {
		return nil, err
	}
	return p, nil
}

// Read reads a profile.
func Read(path string) (*Profile, error) {
	data, err := fileio.ReadFile(path, maxFile)
	if err != nil {
		return nil, fmt.Errorf("reading the profile: %w", err)
	}
	p, err := parse(data)
	if err != nil {
		return nil, fmt.Errorf("reading the profile %s: %w", path, err)
	}
	return p, nil
}

// Write stores the profile, as a whole or not at all.
func (p *Profile) Write(path string) error {
	if err := p.Check(); err != nil {
		return fmt.Errorf("writing the profile: %w", err)
	}
	data, err := json.MarshalIndent(p, "", "  ")
	if err != nil {
		return fmt.Errorf("writing the profile: %w", err)
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return fmt.Errorf("writing the profile: %w", err)
	}
	if err := fileio.WriteFile(path, append(data, '\n'), 0o644); err != nil {
		return fmt.Errorf("writing the profile %s: %w", path, err)
	}
	return nil
}
