package builtin

import (
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/mlperf-go/mlperf/internal/backend"
	"github.com/mlperf-go/mlperf/internal/backend/simulated"
	"github.com/mlperf-go/mlperf/internal/harness"
	"github.com/mlperf-go/mlperf/internal/loadgen"
	"github.com/mlperf-go/mlperf/internal/models"
	"github.com/mlperf-go/mlperf/internal/report"
	"github.com/mlperf-go/mlperf/internal/tensor"
	"github.com/mlperf-go/mlperf/internal/testenv"
)

// Every number of the results of every benchmark is one, also where one or two samples make the score: a score that they do not
// define has a word. An engine that answers anything stands for models.
func TestResultsAreFinite(t *testing.T) {
	short := []string{"mobilenet", "ssd-mobilenet", "deeplab-v3plus", "dlrm"}
	for i, model := range models.All() {
		t.Run(model.Name, func(t *testing.T) {
			if !slices.Contains(short, model.Name) {
				testenv.SkipLong(t, "much arithmetic")
			}
			m := Maker{Dir: t.TempDir(), Observer: &observer{t: t}, Rows: 1000, count: 2, images: small}
			dir, err := m.Dataset(t.Context(), model)
			path, err2 := m.Model(t.Context(), model)
			if err := errors.Join(err, err2); err != nil {
				t.Fatal(err)
			}
			for count := range 3 {
				s := loadgen.DefaultSettings()
				s.Scenario, s.Mode = loadgen.Offline, loadgen.AccuracyOnly
				if count == 0 { // performance
					s.Scenario, s.Mode = loadgen.Scenarios()[i%4], loadgen.PerformanceOnly
					s.MinDuration, s.MinQueryCount, s.ServerTargetQPS, s.ServerTargetLatency = time.Millisecond, 1, 100, time.Hour
				}
				engine, err := simulated.New(simulated.Config{Answer: anything})
				testenv.Must(t, err)
				out := t.TempDir()
				_, err = harness.Run(t.Context(), harness.Config{
					Model: model, Rules: "v6.1", Made: []report.Setting{}, Settings: s, Engine: engine, Backend: backend.Options{ModelPath: path},
					DatasetDir: dir, Count: max(count, 1), CacheDir: filepath.Join(m.Dir, "samples"), OutputDir: out, Observer: m.Observer,
				})
				text, err2 := os.ReadFile(filepath.Join(out, report.FileName))
				testenv.Must(t, err2)
				var document any
				testenv.Must(t, json.Unmarshal(text, &document))
				if at := null(document); at != "" {
					t.Errorf("count %d: no value at %s", count, at)
				}
				r, err2 := report.Read(out)
				testenv.Must(t, err2)
				if scored := r.Accuracy != nil || r.Unscored() || r.Result == report.Invalid; count > 0 && !scored || err != nil && !r.Unscored() {
					t.Errorf("count %d: %v; the results have no score, and do not say why", count, err)
				}
				if a := r.Accuracy; a != nil {
					t.Log(count, a.Metric, a.Value, a.Lines, a.Warnings)
				} else {
					t.Log(count, r.Result, err)
				}
			}
		})
	}
}

// null finds a null in a document; "": there is none.
func null(v any) string {
	switch v := v.(type) {
	case nil:
		return "."
	case map[string]any:
		for key, value := range v {
			if at := null(value); at != "" {
				return "." + key + at
			}
		}
	case []any:
		for i, value := range v {
			if at := null(value); at != "" {
				return fmt.Sprintf("[%d]%s", i, at)
			}
		}
	}
	return ""
}

// anything fills the beginning of outputs with numbers from 0 to 1, and with small whole numbers.
func anything(_, outputs []tensor.Tensor) error {
	const most = 1 << 14 // of an output: states of decoders have millions
	r := rand.New(rand.NewPCG(1, 2))
	for _, out := range outputs {
		switch n := min(most, out.Len()); out.Type {
		case tensor.Float32:
			for i := range n {
				tensor.Data[float32](out)[i] = r.Float32()
			}
		case tensor.Int64:
			for i := range n {
				tensor.Data[int64](out)[i] = r.Int64N(4)
			}
		}
	}
	return nil
}
