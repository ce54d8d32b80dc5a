package suite

import (
	"bytes"
	"cmp"
	"embed"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math"
	"path"
	"regexp"
	"slices"
	"strings"
	"time"

	"go.yaml.in/yaml/v3"

	"github.com/mlperf-go/mlperf/internal/config"
	"github.com/mlperf-go/mlperf/internal/fileio"
	"github.com/mlperf-go/mlperf/internal/loadgen"
	"github.com/mlperf-go/mlperf/internal/run"
	"github.com/mlperf-go/mlperf/internal/userinput"
)

// A Suite is a list of benchmarks in their order, and the rules that they run under.
type Suite struct {
	Name     string   `yaml:"name" json:"name"`
	Title    string   `yaml:"title,omitempty" json:"title,omitempty"`
	Rules    string   `yaml:"rules,omitempty" json:"rules,omitempty"`       // rule set; empty: the newest
	Division string   `yaml:"division,omitempty" json:"division,omitempty"` // empty: closed
	Category string   `yaml:"category,omitempty" json:"category,omitempty"` // of systems: edge or datacenter
	Accuracy string   `yaml:"accuracy,omitempty" json:"accuracy,omitempty"` // each (default), once or none
	Cooldown duration `yaml:"cooldown,omitempty" json:"cooldown_ns,omitempty"`
	// the end of another suite and the start of this one, at least
	Between duration `yaml:"between,omitempty" json:"between_ns,omitempty"`
	// external power is a limitation of devices with a battery
	Unplugged   bool        `yaml:"unplugged,omitempty" json:"unplugged,omitempty"`
	Temperature float64     `yaml:"temperature,omitempty" json:"temperature_celsius,omitempty"` // below which a performance run begins
	Settings    settings    `yaml:"settings,omitempty" json:"settings,omitempty"`               // of all benchmarks, as in conf files
	Benchmarks  []Benchmark `yaml:"benchmarks,omitempty" json:"benchmarks,omitempty"`           // none: those that the round requires of the category
}

// A Benchmark is a model in some scenarios.
type Benchmark struct {
	Model       string            `yaml:"model" json:"model"`
	Scenarios   []string          `yaml:"scenarios" json:"scenarios"`
	Mode        string            `yaml:"mode,omitempty" json:"mode,omitempty"` // performance (default) or find-peak
	Precision   string            `yaml:"precision,omitempty" json:"precision,omitempty"`
	ModelPath   string            `yaml:"model-path,omitempty" json:"model_path,omitempty"`
	DatasetPath string            `yaml:"dataset-path,omitempty" json:"dataset_path,omitempty"`
	Count       int               `yaml:"count,omitempty" json:"count,omitempty"`
	Options     map[string]string `yaml:"options,omitempty" json:"options,omitempty"` // of the model
	// Batch and Concurrency are a grid of MultiStream: queries of batch × concurrency samples, which so many workers answer in a
	// batch each, one query after the other.
	Batch       []int    `yaml:"batch,omitempty,flow" json:"batch,omitempty"`
	Concurrency []int    `yaml:"concurrency,omitempty,flow" json:"concurrency,omitempty"`
	Settings    settings `yaml:"settings,omitempty" json:"settings,omitempty"`
}

// When the accuracy of a benchmark is measured.
const (
	accuracyEach = "each" // before the speed in each scenario, as the rules want it
	accuracyOnce = "once" // per model and precision
	accuracyNone = "none"
)

// settings are lines of conf files.
type settings map[string]string

// A duration is written as 90s or 10m.
type duration time.Duration

//go:embed suites/*.yaml
var builtIn embed.FS

// Names lists the suites that are built in.
func Names() []string {
	return []string{"v0.5", "edge", "datacenter", "mobile", "mlmark"}
}

// A Listed is a suite as lists show it.
type Listed struct {
	Name  string `json:"name"`
	Title string `json:"title"`
	Rules string `json:"rules"`
}

// List lists the suites that are built in.
func List() ([]Listed, error) {
	var list []Listed
	for _, name := range Names() {
		s, err := Load(name)
		if err != nil {
			return nil, err
		}
		list = append(list, Listed{s.Name, s.Title, s.Rules})
	}
	return list, nil
}

// maxFile is how long the file of a suite may be.
const maxFile = 1 << 20

// Load returns a built-in suite, or that of a YAML file.
func Load(name string) (*Suite, error) {
	if slices.Contains(Names(), name) {
		text, err := fs.ReadFile(builtIn, path.Join("suites", name+".yaml"))
		if err != nil {
			return nil, err
		}
		return parse(name, text)
	}
	unknown := userinput.Errorf("suite", "unknown suite %q%s", name, userinput.Want(name, Names(), strings.Join(Names(), ", ")+" or a YAML file"))
	if !strings.ContainsAny(name, "./\\") {
		return nil, unknown
	}
	text, err := fileio.ReadFile(name, maxFile)
	switch looksLikeAFile := strings.ContainsAny(name, "/\\") || strings.HasPrefix(path.Ext(name), ".y"); {
	case errors.Is(err, fs.ErrNotExist) && !looksLikeAFile: // v0.6
		return nil, unknown
	case err != nil:
		return nil, fmt.Errorf("reading the suite: %w", err)
	}
	return parse(name, text)
}

// parse reads the text of a suite's file. Unknown keys, and values that no run could have,
// are errors. NewPlan looks models up.
func parse(file string, text []byte) (*Suite, error) {
	d := yaml.NewDecoder(bytes.NewReader(text))
	d.KnownFields(true)
	s := &Suite{}
	if err := d.Decode(s); errors.Is(err, io.EOF) {
		return nil, fmt.Errorf("%s: the file is empty, expected a suite", file)
	} else if err != nil {
		if all := (*yaml.TypeError)(nil); errors.As(err, &all) { // in one line, without types of Go
			err = errors.New(unknownKey.ReplaceAllString(strings.Join(all.Errors, "; "), "unknown key $1"))
		}
		return nil, fmt.Errorf("%s: %w", file, err)
	}
	if err := d.Decode(&yaml.Node{}); !errors.Is(err, io.EOF) {
		return nil, fmt.Errorf("%s: the file has a second document, expected one suite", file)
	}
	if err := s.check(); err != nil {
		return nil, fmt.Errorf("%s: %w", file, err)
	}
	return s, nil
}

// unknownKey is the YAML library's text for a key that a struct does not have.
var unknownKey = regexp.MustCompile(`field (\S+) not found in type \S+`)

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
		return fmt.Errorf("line %d: %q is not a time: expected 90s or 10m", node.Line, node.Value)
	}
	*d = duration(v)
	return nil
}

// MarshalYAML implements yaml.Marshaler.
func (d duration) MarshalYAML() (any, error) { return time.Duration(d).String(), nil }

// nameForm is the form of suite names, which are also names of folders.
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
		{s.Between < 0 || time.Duration(s.Between) > mostCooldown, "between", time.Duration(s.Between), wantCooldown},
		{!(s.Temperature >= 0) || math.IsInf(s.Temperature, 0), "temperature", s.Temperature, "degrees Celsius"},
		{len(s.Benchmarks) == 0 && s.Category == "", "benchmarks", "", "at least one, or a category of systems"},
	} {
		if c.wrong {
			return fmt.Errorf("%s is %q: must be %s", c.what, fmt.Sprint(c.value), c.want)
		}
	}
	for i, b := range s.Benchmarks {
		if err := b.check(); err != nil {
			return fmt.Errorf("benchmark %d (%s): %w", i+1, cmp.Or(b.Model, "no model"), err)
		}
	}
	return nil
}

// mostOfGrid is the largest batch and concurrency of a grid: larger ones are typing errors.
const mostOfGrid = 4096

func (b *Benchmark) check() error {
	if b.Model == "" {
		return errors.New("model is missing")
	}
	if len(b.Scenarios) == 0 {
		return errors.New("scenarios is missing, expected a list: [SingleStream, Offline]")
	}
	for _, name := range b.Scenarios {
		if _, _, err := config.ParseScenario(name); err != nil {
			return err
		}
	}
	if !slices.Contains([]string{"", modePerformance, run.FindPeak}, b.Mode) {
		return fmt.Errorf("mode is %q: must be %s or %s; accuracy runs follow from accuracy of the suite", b.Mode, modePerformance, run.FindPeak)
	}
	for name, list := range map[string][]int{"batch": b.Batch, "concurrency": b.Concurrency} {
		for _, n := range list {
			if n < 1 || n > mostOfGrid {
				return fmt.Errorf("%s is %d: must be numbers from 1 to %d", name, n, mostOfGrid)
			}
		}
		if s, _, _ := config.ParseScenario(b.Scenarios[0]); len(list) > 0 && (len(b.Scenarios) != 1 || s != loadgen.MultiStream) {
			return fmt.Errorf("%s is for MultiStream alone, the scenarios are %s", name, strings.Join(b.Scenarios, ", "))
		}
	}
	if b.Count < 0 {
		return fmt.Errorf("count is %d: must be a number of samples", b.Count)
	}
	return nil
}
