//go:build ort

package builtin

import (
	"encoding/binary"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/mlperf-go/mlperf/internal/accuracy"
	"github.com/mlperf-go/mlperf/internal/harness"
	"github.com/mlperf-go/mlperf/internal/loadgen"
	"github.com/mlperf-go/mlperf/internal/loadgen/mlperflog"
	"github.com/mlperf-go/mlperf/internal/models/workload"
	"github.com/mlperf-go/mlperf/internal/tensor"
	"github.com/mlperf-go/mlperf/internal/testenv"
)

// measured is the accuracy of a run.
func measured(t testing.TB, cfg harness.Config) float64 {
	t.Helper()
	return mustScore(t, cfg).Accuracy.Value
}

func TestORTSSDMobileNetReproducesItsReference(t *testing.T) {
	t.Parallel()
	m := ortMaker(t)
	images := 256
	if !testenv.Long() {
		images = 32
		m.count = images
	}
	model := lookup(t, "ssd-mobilenet")
	score, err := m.Reference(t.Context(), model)
	if err != nil {
		t.Fatal(err)
	}
	if score < 30 || score > 70 {
		t.Errorf("the reference mAP is %v %%, want 30 to 70", score)
	}
	target := score * model.Quality.Fraction
	reverse := func(pixels tensor.Tensor) {
		for p := tensor.Data[uint8](pixels); len(p) >= 3; p = p[3:] {
			p[0], p[2] = p[2], p[0]
		}
	}
	for _, test := range []struct {
		name   string
		change func(*harness.Config)
		met    bool
	}{
		{"Offline in batches", func(*harness.Config) {}, true},
		{"MultiStream", func(c *harness.Config) { c.Settings.Scenario = loadgen.MultiStream }, true},
		{"red and blue swapped", func(c *harness.Config) { c.Model, c.CacheDir = repainted(c.Model, reverse), "" }, false},
		{"x and y swapped", func(c *harness.Config) { c.Options = workload.Values{"box-order": "xyxy"} }, false},
		{"labels off by one", func(c *harness.Config) { c.Options = workload.Values{"label-offset": "1"} }, false},
	} {
		t.Run(test.name, func(t *testing.T) {
			count := 0
			if !test.met {
				count = min(subset/2, images) // it is so far off that a part of the images tells
			}
			cfg := builtIn(t, m, model, count)
			cfg.Reference = score
			test.change(&cfg)
			got := measured(t, cfg)
			t.Logf("mAP %.3f, reference %.3f", got, score)
			if test.met && got < target || !test.met && got > score/2 {
				t.Errorf("mAP %v, target %v, want it met: %v", got, target, test.met)
			}
			if test.met {
				checkBoxes(t, cfg.OutputDir, images)
			}
		})
	}
}

// repainted returns a model whose images are changed after they were prepared.
func repainted(m workload.Model, change func(tensor.Tensor)) workload.Model {
	open := m.Open
	m.Open = func(s workload.Setup) (*workload.Workload, error) {
		w, err := open(s)
		if err != nil {
			return nil, err
		}
		own := *w
		own.Prepare = func(index int, row []tensor.Tensor) error {
			err := w.Prepare(index, row)
			if err == nil {
				change(row[0])
			}
			return err
		}
		return &own, nil
	}
	return m
}

// checkBoxes wants the log to have what a model may answer.
func checkBoxes(t *testing.T, dir string, images int) {
	t.Helper()
	f, err := os.Open(filepath.Join(dir, mlperflog.AccuracyFile))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	boxes := 0
	for record, err := range accuracy.Records(f) {
		if err != nil {
			t.Fatal(err)
		}
		for i := 0; i < len(record.Data); i += 28 {
			var row [7]float32
			for k := range row {
				row[k] = math.Float32frombits(binary.LittleEndian.Uint32(record.Data[i+4*k:]))
			}
			inside := row[1] >= 0 && row[1] < row[3] && row[3] <= 1 && row[2] >= 0 && row[2] < row[4] && row[4] <= 1
			if uint64(row[0]) != record.QSLIndex || !inside || row[5] <= 0.3 || row[5] > 1 || row[6] < 1 || row[6] > 90 {
				t.Fatalf("sample %d: box %v", record.QSLIndex, row)
			}
			boxes++
		}
	}
	if boxes < 10*images {
		t.Errorf("there are %d boxes", boxes)
	}
}

func TestORTMobileNetEdgeTPULogsIntegers(t *testing.T) {
	t.Parallel()
	m := ortMaker(t)
	model := lookup(t, "mobilenet-edgetpu")
	score := reference(t, m, model)
	cfg := builtIn(t, m, model, subset)
	cfg.Reference = score
	got := measured(t, cfg)
	if math.Abs(got-score) > 12 { // three deviations of the score of 128 images
		t.Errorf("accuracy %v, on all images %v", got, score)
	}
	log, err := os.ReadFile(filepath.Join(cfg.OutputDir, mlperflog.AccuracyFile))
	if err != nil {
		t.Fatal(err)
	}
	// Labels below 1000 have two bytes of zeros in the end.
	if n := strings.Count(string(log), `0000" }`); n != subset {
		t.Errorf("%d of %d responses are int32", n, subset)
	}
}
