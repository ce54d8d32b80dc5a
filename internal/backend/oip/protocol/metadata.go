package protocol

import (
	"fmt"
	"slices"

	"github.com/go-json-experiment/json"

	"github.com/mlperf-go/mlperf/internal/tensor"
)

// ServerMetadata describes a server.
type ServerMetadata struct {
	Name       string   `json:"name"`
	Version    string   `json:"version"`
	Extensions []string `json:"extensions"`
}

// ModelMetadata describes a model on a server. An extent of -1 is free.
type ModelMetadata struct {
	Name     string   `json:"name"`
	Versions []string `json:"versions,omitempty"`
	Platform string   `json:"platform"`
	Inputs   []Port   `json:"inputs"`
	Outputs  []Port   `json:"outputs"`
}

// A Port is an input or output of a model.
type Port struct {
	Name     string  `json:"name"`
	Datatype string  `json:"datatype"`
	Shape    []int64 `json:"shape"`
}

// check refuses ports that no program can use.
func (m *ModelMetadata) check() error {
	for _, side := range [][]Port{m.Inputs, m.Outputs} {
		seen := map[string]bool{}
		for _, p := range side {
			if p.Name == "" || seen[p.Name] {
				return fmt.Errorf("model %s has a port without a name, or two of the name %q", m.Name, p.Name)
			}
			seen[p.Name] = true
			var least tensor.Shape // with the smallest extents
			for _, d := range p.Shape {
				if d < -1 {
					return fmt.Errorf("model %s: port %s: an extent is %d: must be 0 or more, or -1 for a free one", m.Name, p.Name, d)
				}
				least = append(least, max(d, 1))
			}
			if err := checkShape(least); err != nil {
				return fmt.Errorf("model %s: port %s: %w", m.Name, p.Name, err)
			}
		}
	}
	return nil
}

// FromModelMetadataJSON reads the description of a model.
func FromModelMetadataJSON(text []byte) (*ModelMetadata, error) {
	m := &ModelMetadata{}
	if err := json.Unmarshal(text, m); err != nil {
		return nil, fmt.Errorf("the description of a model: %w", err)
	}
	return m, m.check()
}

// ModelConfig is the part of Triton's configuration of a model that its tools read, such as perf_analyzer: names as in
// model_config.proto of https://github.com/triton-inference-server/common.
type ModelConfig struct {
	Name         string       `json:"name"`
	Platform     string       `json:"platform"`
	MaxBatchSize int64        `json:"max_batch_size"` // 0: no axis is the batch
	Input        []ConfigPort `json:"input"`
	Output       []ConfigPort `json:"output"`
}

// A ConfigPort is an input or output in a configuration.
type ConfigPort struct {
	Name     string  `json:"name"`
	DataType string  `json:"data_type"`
	Dims     []int64 `json:"dims"` // without the batch
}

// ConfigOf is the configuration of a model. Its requests have up to most samples; 0: no axis is the batch.
func ConfigOf(m *ModelMetadata, most int64) *ModelConfig {
	ports := func(list []Port) (all []ConfigPort) {
		for _, p := range list {
			c := ConfigPort{p.Name, "TYPE_" + p.Datatype, p.Shape}
			if p.Datatype == Datatype(tensor.String) {
				c.DataType = "TYPE_STRING"
			}
			if most > 0 {
				c.Dims = p.Shape[1:]
			}
			all = append(all, c)
		}
		return all
	}
	return &ModelConfig{m.Name, m.Platform, most, ports(m.Inputs), ports(m.Outputs)}
}

// ModelStatistics are the counts of a server for a model, in Triton's form.
type ModelStatistics struct {
	Name           string       `json:"name"`
	Version        string       `json:"version"`
	LastInference  uint64       `json:"last_inference"` // ms since 1970
	InferenceCount uint64       `json:"inference_count"`
	ExecutionCount uint64       `json:"execution_count"`
	InferenceStats InferenceSum `json:"inference_stats"`
}

// InferenceSum has the sums of times of requests.
type InferenceSum struct {
	Success       Sum `json:"success"`
	Fail          Sum `json:"fail"`
	Queue         Sum `json:"queue"`
	ComputeInput  Sum `json:"compute_input"`
	ComputeInfer  Sum `json:"compute_infer"`
	ComputeOutput Sum `json:"compute_output"`
	CacheHit      Sum `json:"cache_hit"`
	CacheMiss     Sum `json:"cache_miss"`
}

// A Sum is a number of requests and the sum of their times.
type Sum struct {
	Count uint64 `json:"count"`
	NS    uint64 `json:"ns"`
}

// sums are all of them, in the order of the protocol's field numbers.
func (s *InferenceSum) sums() []*Sum {
	return []*Sum{&s.Success, &s.Fail, &s.Queue, &s.ComputeInput, &s.ComputeInfer, &s.ComputeOutput, &s.CacheHit, &s.CacheMiss}
}

// statistics are how they are wrapped in JSON.
type statistics struct {
	Models []ModelStatistics `json:"model_stats"`
}

// StatisticsJSON is the JSON of statistics.
func StatisticsJSON(list []ModelStatistics) ([]byte, error) { return json.Marshal(statistics{list}) }

// FromStatisticsJSON reads statistics.
func FromStatisticsJSON(text []byte) ([]ModelStatistics, error) {
	var s statistics
	if err := json.Unmarshal(text, &s); err != nil {
		return nil, fmt.Errorf("statistics of a model: %w", err)
	}
	return s.Models, nil
}

// Add adds the counts of another server, or of another version of the model.
func (s *ModelStatistics) Add(o ModelStatistics) {
	s.Name, s.LastInference = o.Name, max(s.LastInference, o.LastInference)
	s.InferenceCount += o.InferenceCount
	s.ExecutionCount += o.ExecutionCount
	others := o.InferenceStats.sums()
	for i, sum := range s.InferenceStats.sums() {
		sum.Count += others[i].Count
		sum.NS += others[i].NS
	}
}

// Difference says how two descriptions of the same model differ; empty: they do not.
func (m *ModelMetadata) Difference(o *ModelMetadata) string {
	switch {
	case !slices.Equal(m.Versions, o.Versions):
		return fmt.Sprintf("versions %v and %v", m.Versions, o.Versions)
	case !slices.EqualFunc(m.Inputs, o.Inputs, samePort):
		return fmt.Sprintf("inputs %v and %v", m.Inputs, o.Inputs)
	case !slices.EqualFunc(m.Outputs, o.Outputs, samePort):
		return fmt.Sprintf("outputs %v and %v", m.Outputs, o.Outputs)
	}
	return ""
}

func samePort(a, b Port) bool {
	return a.Name == b.Name && a.Datatype == b.Datatype && slices.Equal(a.Shape, b.Shape)
}

// Names of the models of package serve that answer the bytes that LoadGen logs.
const (
	TaskSuffix   = "-task"    // ends their names
	TaskResponse = "response" // is the name of their first output, UINT8[1 ?]
	TaskTokens   = "tokens"   // is that of their second, INT32[1], where what is written is counted and the response does not show it
)

// PartName is the name of one of several files of a model at mlperf serve.
func PartName(model, role string) string { return model + "-" + role }
