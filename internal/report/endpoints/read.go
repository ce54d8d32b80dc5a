package endpoints

import (
	"encoding/json"
	"errors"
	"fmt"
	"path/filepath"
	"reflect"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/mlperf-go/mlperf/internal/fileio"
)

// largest is the number of bytes of a file that is read as a whole.
const largest = 16 << 20

// ReadSummary reads result_summary.json.
func ReadSummary(path string) (*Summary, error) {
	s := &Summary{}
	return s, readJSON(path, s)
}

// readJSON reads a document. An error names the file and the key.
func readJSON(path string, to any) error {
	data, err := fileio.ReadFile(path, largest)
	if err == nil {
		err = parse(data, to)
	}
	if err != nil {
		return fmt.Errorf("%s: %w", path, err)
	}
	return nil
}

func parse(data []byte, to any) error {
	err := json.Unmarshal(data, to)
	if wrong := (*json.UnmarshalTypeError)(nil); errors.As(err, &wrong) && wrong.Field != "" {
		field := strings.ReplaceAll(wrong.Field, "Spread.", "") // which JSON does not have
		return fmt.Errorf("%s is a %s: expected %s", field, wrong.Value, kindOf(wrong))
	}
	return err
}

// kindOf names what JSON should have had in place of a value.
func kindOf(e *json.UnmarshalTypeError) string {
	switch e.Type.Kind() {
	case reflect.String:
		return "a text"
	case reflect.Bool:
		return "true or false"
	case reflect.Slice, reflect.Array:
		return "a list"
	case reflect.Struct, reflect.Map:
		return "an object"
	}
	return "a number in its range"
}

// A Config is what of config.yaml says how a run was made.
type Config struct {
	Name    string `yaml:"name"`
	Version string `yaml:"version"`
	Type    string `yaml:"type"` // online, offline or submission
	Model   struct {
		Name      string `yaml:"name"`
		Streaming string `yaml:"streaming"` // on or off
	} `yaml:"model_params"`
	Settings struct {
		Runtime struct {
			MinDurationMS int64  `yaml:"min_duration_ms"`
			MaxDurationMS int64  `yaml:"max_duration_ms"` // 0: none
			Samples       *int64 `yaml:"n_samples_to_issue"`
			ScheduleSeed  uint64 `yaml:"scheduler_random_seed"`
			DataSeed      uint64 `yaml:"dataloader_random_seed"`
		} `yaml:"runtime"`
		LoadPattern struct {
			Type        string   `yaml:"type"`
			TargetQPS   *float64 `yaml:"target_qps"`
			Concurrency *int     `yaml:"target_concurrency"`
		} `yaml:"load_pattern"`
	} `yaml:"settings"`
	Endpoints struct {
		URLs []string `yaml:"endpoints"`
	} `yaml:"endpoint_config"`
}

// ReadConfig reads config.yaml. An error names the file and the line.
func ReadConfig(path string) (*Config, error) {
	data, err := fileio.ReadFile(path, largest)
	c := &Config{}
	if err == nil {
		c, err = parseConfig(data)
	}
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	return c, nil
}

func parseConfig(data []byte) (*Config, error) {
	c := &Config{}
	if err := yaml.Unmarshal(data, c); err != nil {
		return nil, errors.New(strings.Join(strings.Fields(err.Error()), " ")) // which has several lines
	}
	return c, nil
}

// Scores are accuracy_results.json as it is read.
type Scores struct {
	Sets []Scored `json:"accuracy_scores"`
}

// A Scored is the score of a data set, or of the performance run itself.
type Scored struct {
	Dataset string          `json:"dataset_name"`
	Type    string          `json:"dataset_type"` // accuracy or performance; empty: accuracy, of older versions
	Score   json.RawMessage `json:"score"`        // a number, numbers by name, or null
	Units   int             `json:"unit_samples"`
	Repeats int             `json:"num_repeats"`
	Samples *int            `json:"total_samples"`
	Seconds float64         `json:"duration_s"`
	Whole   *bool           `json:"complete"`
	Counts  *responses      `json:"response_counts"`
	Lengths Series          `json:"output_sequence_lengths"`
}

// ReadScores reads accuracy_results.json.
func ReadScores(path string) (*Scores, error) {
	s := &Scores{}
	return s, readJSON(path, s)
}

// PathOf is where a file of a run is that WriteSummary wrote into the folder of the run.
func PathOf(run, name string) string { return filepath.Join(run, Folder, filepath.FromSlash(name)) }
