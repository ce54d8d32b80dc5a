package harness

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/mlperf-go/mlperf/internal/backend/simulated"
	"github.com/mlperf-go/mlperf/internal/loadgen"
	"github.com/mlperf-go/mlperf/internal/loadgen/mlperflog"
	"github.com/mlperf-go/mlperf/internal/report"
)

func TestWhatCannotBeRunIsRefusedBeforeAnythingIsOpened(t *testing.T) {
	tests := []struct {
		name   string
		change func(*Config)
		want   string
	}{
		{"settings", func(c *Config) { c.Settings.OfflineExpectedQPS = 0 }, "test settings: Offline target_qps must be positive"},
		{"batch", func(c *Config) { c.MaxBatch = -1 }, "the largest batch is -1"},
		{"instances", func(c *Config) { c.Instances = -2 }, "the number of instances is -2"},
		{"count", func(c *Config) { c.Count = -3 }, "the number of samples is -3"},
		{"performance samples", func(c *Config) { c.PerformanceSampleCount = -4 }, "the performance sample count is -4"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			cfg := config(t, newNumbers(10), loadgen.Offline, loadgen.PerformanceOnly)
			cfg.OutputDir = filepath.Join(cfg.OutputDir, "new")
			test.change(&cfg)
			r, err := Run(t.Context(), cfg)
			if r != nil || err == nil || !strings.Contains(err.Error(), test.want) {
				t.Errorf("results %v, error %v, want %q", r, err, test.want)
			}
			if _, err := os.Stat(cfg.OutputDir); err == nil || len(cfg.Observer.(*observer).phases) > 0 {
				t.Error("something was done before")
			}
		})
	}
}

func TestWhatCannotBeOpenedIsAnErrorAndEverythingIsClosed(t *testing.T) {
	refused := errors.New("no such device")
	tests := []struct {
		name   string
		change func(*Config, *numbers)
		want   string
	}{
		{"the data set", func(c *Config, _ *numbers) { c.DatasetDir = "missing" }, "data: there are no numbers"},
		{"the model", func(c *Config, _ *numbers) {
			c.Engine = engine(t, simulated.Config{OpenError: refused})
		}, "model: opening a simulated model: no such device"},
		{"the model file", func(c *Config, _ *numbers) {
			c.Engine = bare(t)
			c.Backend.ModelPath = "nowhere/model.onnx"
		}, "data: "},
		{"the batch", func(c *Config, n *numbers) { n.batch, c.MaxBatch = 4, 5 }, "model: the model takes batches of 4"},
		{"too few samples", func(c *Config, _ *numbers) { c.PerformanceSampleCount = 11 }, "performance_sample_count: 11 samples are more than the 10 of the data set"},
		{"a sample in the warm-up", func(_ *Config, n *numbers) {
			n.prepare = func(int) error { return errors.New("damaged file") }
		}, "warm-up: damaged file"},
		{"a sample of the test", func(_ *Config, n *numbers) {
			n.prepare = func(i int) error {
				if i == 9 {
					return errors.New("damaged file")
				}
				return nil
			}
		}, "traffic: loading 10 samples: damaged file"},
		{"the first prediction", func(_ *Config, n *numbers) {
			n.predict = func(int64) error { return errors.New("out of memory") }
		}, "warm-up: out of memory"},
		{"the first prediction, by a panic", func(_ *Config, n *numbers) {
			n.predict = func(int64) error { panic("index out of range") }
		}, "warm-up: panic in the model's code: index out of range"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				n := newNumbers(10)
				cfg := config(t, n, loadgen.Offline, loadgen.PerformanceOnly)
				test.change(&cfg, n)
				r, err := Run(t.Context(), cfg)
				if r != nil || err == nil || !strings.HasPrefix(err.Error(), test.want) {
					t.Errorf("results %v, error %v, want %q", r, err, test.want)
				}
				if err := cfg.Engine.Close(); err != nil {
					t.Error(err)
				}
				if _, err := os.Stat(filepath.Join(cfg.OutputDir, report.FileName)); err == nil {
					t.Error("results were written")
				}
			})
		})
	}
}

func TestAFolderThatCannotBeWrittenToIsNoticedFirst(t *testing.T) {
	file := filepath.Join(t.TempDir(), "file")
	write(t, file, "")
	tests := []struct {
		name   string
		change func(*Config)
		want   string
	}{
		{"below a file", func(c *Config) { c.OutputDir = filepath.Join(file, "out") }, "making the output folder: "},
		{"a file", func(c *Config) { c.OutputDir = file }, "making the output folder: "},
		{"a conf file is in the way", func(c *Config) {
			c.Files = map[string][]byte{"user.conf": nil}
			if err := os.Mkdir(filepath.Join(c.OutputDir, "user.conf"), 0o755); err != nil {
				t.Fatal(err)
			}
		}, "writing to the output folder: "},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			cfg := config(t, newNumbers(10), loadgen.Offline, loadgen.PerformanceOnly)
			test.change(&cfg)
			if r, err := Run(t.Context(), cfg); r != nil || err == nil || !strings.HasPrefix(err.Error(), test.want) {
				t.Errorf("results %v, error %v, want %q", r, err, test.want)
			}
			if phases := cfg.Observer.(*observer).phases; len(phases) > 0 {
				t.Errorf("%v came before", phases)
			}
		})
	}
}

// TestFilesThatCannotBeWrittenAreErrorsBesideTheResults has folders where files should be.
func TestFilesThatCannotBeWrittenAreErrorsBesideTheResults(t *testing.T) {
	t.Parallel()
	for _, name := range []string{mlperflog.SummaryFile, mlperflog.DetailFile, mlperflog.TraceFile, AccuracyFile, report.FileName, mlperflog.AccuracyFile} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				n := newNumbers(20)
				cfg := config(t, n, loadgen.Offline, loadgen.SubmissionRun)
				cfg.Trace = true
				if err := os.Mkdir(filepath.Join(cfg.OutputDir, name), 0o755); err != nil {
					t.Fatal(err)
				}
				r, err := Run(t.Context(), cfg)
				if err == nil || !strings.Contains(err.Error(), name) {
					t.Errorf("error %v, want one that names %s", err, name)
				}
				if (r == nil) != (name == mlperflog.AccuracyFile) { // that one is opened before the test
					t.Errorf("results %v", r)
				}
				checkClosed(t, n, cfg)
			})
		})
	}
}

// TestShapeIsChosenForTheScenario has the choices for a machine of four cores.
func TestACoreIsLeftToTheGeneratorWhereThatIsAskedFor(t *testing.T) {
	server := settings(loadgen.Server)
	r := &run{workload: newNumbers(1).workload(), cfg: Config{ReserveCore: true, Settings: server}}
	if got, want := r.shapeInput(4).shape(), (shape{3, 1, 1}); got != want {
		t.Errorf("with a core for the generator, the shape is %+v, want %+v", got, want)
	}
	if got, want := r.shapeInput(1).shape(), (shape{1, 1, 1}); got != want {
		t.Errorf("of one core none can be left: the shape is %+v, want %+v", got, want)
	}
}
