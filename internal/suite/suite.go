package suite

import (
	"embed"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"slices"
	"strings"
	"time"

	"github.com/mlperf-go/mlperf/internal/fileio"
	"github.com/mlperf-go/mlperf/internal/userinput"
)

// A Suite is a list of benchmarks in their order, and the rules that they run under.
type Suite struct {
	Name        string      `yaml:"name" json:"name"`
	Title       string      `yaml:"title,omitempty" json:"title,omitempty"`
	Rules       string      `yaml:"rules,omitempty" json:"rules,omitempty"`       // rule set; empty: the newest
	Division    string      `yaml:"division,omitempty" json:"division,omitempty"` // empty: closed
	Category    string      `yaml:"category,omitempty" json:"category,omitempty"` // of systems: edge or datacenter
	Accuracy    string      `yaml:"accuracy,omitempty" json:"accuracy,omitempty"` // each (default), once or none
	Cooldown    duration    `yaml:"cooldown,omitempty" json:"cooldown_ns,omitempty"`
	Temperature float64     `yaml:"temperature,omitempty" json:"temperature_celsius,omitempty"` // to wait for before a performance run
	Settings    settings    `yaml:"settings,omitempty" json:"settings,omitempty"`               // of all benchmarks, as in conf files
	Benchmarks  []Benchmark `yaml:"benchmarks,omitempty" json:"benchmarks,omitempty"`           // none: what the round asks of the category
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
	Settings    settings          `yaml:"settings,omitempty" json:"settings,omitempty"`
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

// List lists the suites that are built in, with what they are.
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
	if !strings.ContainsAny(name, "./\\") {
		return nil, unknown(name)
	}
	text, err := fileio.ReadFile(name, maxFile)
	switch looksLikeAFile := strings.ContainsAny(name, "/\\") || strings.HasPrefix(path.Ext(name), ".y"); {
	case errors.Is(err, fs.ErrNotExist) && !looksLikeAFile: // v0.6
		return nil, unknown(name)
	case err != nil:
		return nil, fmt.Errorf("reading the suite: %w", err)
	}
	return parse(name, text)
}

// unknown says which suites there are.
func unknown(name string) error {
	return userinput.Invalid("suite", name, strings.Join(Names(), ", ")+" or a YAML file"+userinput.Meant(name, Names()))
}
