package harness

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"math"
	"path/filepath"
	"strings"
	"time"

	"github.com/mlperf-go/mlperf/internal/fileio"
	"github.com/mlperf-go/mlperf/internal/loadgen"
	"github.com/mlperf-go/mlperf/internal/report"
)

// PeakFile is where a search for the highest load keeps what it tried, in the folder of
// the run. A search in the same folder goes on with it.
const PeakFile = "find-peak.json"

// peakState is the content of PeakFile.
type peakState struct {
	// Key names everything that decides what a load may reach.
	Key   string            `json:"key"`
	Unit  string            `json:"unit"`
	Steps []report.PeakStep `json:"steps"`
}

// mostPeakState is how long the file may be: a search makes some dozens of steps.
const mostPeakState = 16 << 20

func (r *run) readPeakState() (*peakState, error) {
	state := &peakState{Key: r.peakKey(), Unit: "queries/s"}
	if r.settings.Scenario == loadgen.MultiStream {
		state.Unit = "samples per query"
	}
	path := filepath.Join(r.cfg.OutputDir, PeakFile)
	data, err := fileio.ReadFile(path, mostPeakState)
	if errors.Is(err, fs.ErrNotExist) {
		return state, nil
	}
	if err != nil {
		return nil, fmt.Errorf("reading the search so far: %w", err)
	}
	var kept peakState
	if err := json.Unmarshal(data, &kept); err != nil {
		return nil, fmt.Errorf("reading the search so far: %s: %w", path, err)
	}
	if err := kept.check(); err != nil {
		return nil, fmt.Errorf("reading the search so far: %s: %w", path, err)
	}
	if kept.Key != state.Key {
		return nil, fmt.Errorf("%s is of a search with another model, data, settings or machine: choose another output folder, or delete it", path)
	}
	r.cfg.Observer.Note(fmt.Sprintf("the search goes on after %d loads that were tried before", len(kept.Steps)))
	return &kept, nil
}

// check finds loads that no search has tried.
func (s *peakState) check() error {
	for i, step := range s.Steps {
		if !(step.Load > 0) || math.IsInf(step.Load, 1) {
			return fmt.Errorf("step %d: the load is %g, want one above 0", i+1, step.Load)
		}
	}
	return nil
}

// peakKey leaves out the load to begin with.
func (r *run) peakKey() string {
	s := r.settings
	s.ServerTargetQPS, s.MultiStreamSamplesPerQuery = 0, 0
	if r.cfg.Fingerprint != "" {
		return r.cfg.Fingerprint
	}
	b := r.cfg.Backend
	key, _ := json.Marshal([]any{s, b.ModelPath, b.Device, b.DeviceOptions, b.Config, r.cfg.DatasetDir, r.cfg.Model.Name, r.cfg.Rules,
		len(r.model.predictors), r.model.shape.batch, r.cfg.MaxDelay, r.model.info().Engine})
	sum := sha256.Sum256(key)
	return hex.EncodeToString(sum[:16])
}

func (s *peakState) write(dir string) error {
	data, err := json.MarshalIndent(s, "", "  ")
	if err != nil {
		return fmt.Errorf("keeping the search: %w", err)
	}
	path := filepath.Join(dir, PeakFile)
	if err := fileio.WriteFile(path, append(data, '\n'), 0o644); err != nil {
		return fmt.Errorf("keeping the search in %s: %w", path, err)
	}
	return nil
}

// userConf are the lines that make a load the target of later runs, with the bound and the
// percentile that it was found with if they are not the rules'. The load is rounded down:
// what was confirmed is the load itself.
func (r *run) userConf(load float64) string {
	key := "target_qps"
	if r.settings.Scenario == loadgen.MultiStream {
		key = "samples_per_query"
	}
	digits := math.Pow(10, 3-math.Floor(math.Log10(load)))
	text := r.confLine(key, math.Floor(load*digits)/digits)
	for _, bound := range r.bounds() {
		if origin := r.origin(bound.key); origin != "default" && !strings.HasPrefix(origin, "rules ") {
			text += "\n" + r.confLine(bound.key, bound.value)
		}
	}
	return text
}

func (r *run) confLine(key string, value float64) string {
	return fmt.Sprintf("%s.%v.%s = %g", r.cfg.Model.Name, r.settings.Scenario, key, value)
}

// A boundSetting is a setting that decides whether a load keeps its bound, as conf files have it.
type boundSetting struct {
	key   string
	value float64
}

func (r *run) bounds() []boundSetting {
	s := r.settings
	if s.Scenario == loadgen.MultiStream {
		return []boundSetting{{"target_qps", s.MultiStreamQPS}, {"target_latency_percentile", 100 * s.MultiStreamTargetLatencyPercentile}}
	}
	return []boundSetting{
		{"target_latency", float64(s.ServerTargetLatency) / float64(time.Millisecond)},
		{"target_latency_percentile", 100 * s.ServerTargetLatencyPercentile},
	}
}
