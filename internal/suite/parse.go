package suite

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"io"
	"math"
	"regexp"
	"slices"
	"strings"
	"time"

	"go.yaml.in/yaml/v3"

	"github.com/mlperf-go/mlperf/internal/config"
	"github.com/mlperf-go/mlperf/internal/run"
)

// parse reads the text of a suite's file. Unknown keys, and values that no run could have,
// are errors; whether the catalogue has a model is seen when it is planned.
func parse(file string, text []byte) (*Suite, error) {
	d := yaml.NewDecoder(bytes.NewReader(text))
	d.KnownFields(true)
	s := &Suite{}
	if err := d.Decode(s); errors.Is(err, io.EOF) {
		return nil, fmt.Errorf("%s: the file is empty, want a suite", file)
	} else if err != nil {
		return nil, fmt.Errorf("%s: %w", file, plain(err))
	}
	if err := d.Decode(&yaml.Node{}); !errors.Is(err, io.EOF) {
		return nil, fmt.Errorf("%s: there is a second document in the file, want one suite", file)
	}
	if err := s.check(); err != nil {
		return nil, fmt.Errorf("%s: %w", file, err)
	}
	return s, nil
}

// unknownKey is how the YAML library speaks of a key that a struct of ours does not have.
var unknownKey = regexp.MustCompile(`field (\S+) not found in type \S+`)

// plain puts the errors of the YAML library, which name types of Go, into a line.
func plain(err error) error {
	var all *yaml.TypeError
	if !errors.As(err, &all) {
		return err
	}
	return errors.New(unknownKey.ReplaceAllString(strings.Join(all.Errors, "; "), "unknown key $1"))
}

// Format writes a suite as its file has it.
func (s *Suite) Format() ([]byte, error) {
	var b bytes.Buffer
	e := yaml.NewEncoder(&b)
	e.SetIndent(2)
	err := e.Encode(s)
	return b.Bytes(), errors.Join(err, e.Close())
}

// UnmarshalYAML implements yaml.Unmarshaler.
func (d *duration) UnmarshalYAML(node *yaml.Node) error {
	v, err := config.ParseDuration(node.Value)
	if err != nil || node.Kind != yaml.ScalarNode {
		return fmt.Errorf("line %d: %q is not a time such as 90s or 10m", node.Line, node.Value)
	}
	*d = duration(v)
	return nil
}

// MarshalYAML implements yaml.Marshaler.
func (d duration) MarshalYAML() (any, error) { return time.Duration(d).String(), nil }

// nameForm is what names of suites look like: they are names of folders too.
var nameForm = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$`)

func (s *Suite) check() error {
	_, rulesErr := config.Rules(s.Rules)
	_, divisionErr := config.ParseDivision(s.Division)
	for _, c := range []struct {
		wrong bool
		what  string
		value any
		want  string
	}{
		{!nameForm.MatchString(s.Name), "name", s.Name, "letters, digits, dots, hyphens and underscores"},
		{rulesErr != nil, "rules", s.Rules, "one of " + strings.Join(config.Versions(), ", ")},
		{divisionErr != nil, "division", s.Division, "closed, open or network"},
		{!slices.Contains([]string{"", "edge", "datacenter"}, s.Category), "category", s.Category, "edge or datacenter"},
		{!slices.Contains([]string{"", accuracyEach, accuracyOnce, accuracyNone}, s.Accuracy), "accuracy", s.Accuracy, "each, once or none"},
		{s.Cooldown < 0 || time.Duration(s.Cooldown) > mostCooldown, "cooldown", time.Duration(s.Cooldown), wantCooldown},
		{!(s.Temperature >= 0) || math.IsInf(s.Temperature, 0), "temperature", s.Temperature, "degrees Celsius"},
		{len(s.Benchmarks) == 0 && s.Category == "", "benchmarks", "", "at least one, or a category of systems"},
	} {
		if c.wrong {
			return fmt.Errorf("%s is %q, want %s", c.what, fmt.Sprint(c.value), c.want)
		}
	}
	for i, b := range s.Benchmarks {
		if err := b.check(); err != nil {
			return fmt.Errorf("benchmark %d (%s): %w", i+1, cmp.Or(b.Model, "no model"), err)
		}
	}
	return nil
}

func (b *Benchmark) check() error {
	if b.Model == "" {
		return errors.New("model is missing")
	}
	if len(b.Scenarios) == 0 {
		return errors.New("scenarios is missing, want a list such as [SingleStream, Offline]")
	}
	for _, name := range b.Scenarios {
		if _, _, err := config.ParseScenario(name); err != nil {
			return err
		}
	}
	if !slices.Contains([]string{"", modePerformance, run.FindPeak}, b.Mode) {
		return fmt.Errorf("mode is %q, want %s or %s; accuracy runs follow from accuracy of the suite", b.Mode, modePerformance, run.FindPeak)
	}
	if b.Count < 0 {
		return fmt.Errorf("count is %d, want a number of samples", b.Count)
	}
	return nil
}
