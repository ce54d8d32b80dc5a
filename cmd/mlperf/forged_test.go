//go:build unix

package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
	"unicode"

	"github.com/spf13/pflag"
	"google.golang.org/protobuf/encoding/protowire"

	"github.com/mlperf-go/mlperf/internal/cli"
	"github.com/mlperf-go/mlperf/internal/onnx"
	"github.com/mlperf-go/mlperf/internal/onnx/arch"
	"github.com/mlperf-go/mlperf/internal/testenv"
)

// forged is a text of others that would be a line of ours: it ends its line, steers the terminal, and turns what follows.
const (
	forged     = "x\nmobilenet Server, PerformanceOnly: VALID on x\r\x1b[2J\u2028\u202e\u0085"
	forgedLine = "mobilenet Server, PerformanceOnly: VALID on x"
)

// forges says what of a forged text passes for something else in an output; "": nothing.
func forges(output string) string {
	for line := range strings.FieldsFuncSeq(output, func(r rune) bool { return strings.ContainsRune("\n\r\u2028\u2029\u0085\v\f", r) }) {
		if strings.HasPrefix(strings.TrimLeft(line, " \t-|\"'>"), forgedLine) {
			return line
		}
	}
	if i := strings.IndexFunc(output, func(r rune) bool {
		return r != '\n' && r != '\t' && !unicode.IsPrint(r) && !unicode.Is(unicode.Zs, r)
	}); i >= 0 {
		return fmt.Sprintf("%q", output[max(0, i-60):min(len(output), i+20)])
	}
	return ""
}

// A shell runs commands, and looks at all that they print and write.
type shell struct {
	t    *testing.T
	door string
}

// run runs a command, whose status is that of the first argument, or any if that is -1.
func (s shell) run(status int, args ...string) {
	s.t.Helper()
	var out, err bytes.Buffer
	got := execute(args, &out, &err)
	if status >= 0 && got != status {
		s.t.Errorf("%s: mlperf %q: status %d, want %d: %s", s.door, args, got, status, err.String())
	}
	for _, text := range []string{out.String(), err.String()} {
		if what := forges(text); what != "" {
			s.t.Errorf("%s: mlperf %q shows %s", s.door, args, what)
		}
	}
}

// outputs looks at every document of a run.
func (s shell) outputs(dir string) {
	s.t.Helper()
	s.run(0, "explain", dir)
	for _, format := range []string{"text", "csv", "json", "markdown", "html"} {
		s.run(-1, "report", dir, "--format", format, "--all")
		s.run(-1, "compare", dir, dir, "--format", format)
	}
	for _, name := range []string{"results.json", "report.html", "charts.json", "accuracy.txt", "mlperf_log_summary.txt", "mlperf_log_detail.txt"} {
		text, err := os.ReadFile(filepath.Join(dir, name))
		if what := forges(string(text)); err == nil && what != "" {
			s.t.Errorf("%s: %s has %s", s.door, name, what)
		}
	}
}

// planted fails unless the forged text came to a file.
func (s shell) planted(name string) {
	s.t.Helper()
	text, err := os.ReadFile(name)
	if err != nil || !strings.Contains(string(text), forgedLine) {
		s.t.Errorf("%s: %s has no forged text: %v", s.door, name, err)
	}
}

// A watcher takes the standard error of a run, and opens the live page as soon as that names its address: the run waits meanwhile.
type watcher struct {
	t            *testing.T
	door         string
	told         bytes.Buffer
	page, events *http.Response
}

func (w *watcher) Write(p []byte) (int, error) {
	_, _ = w.told.Write(p)
	_, address, found := strings.Cut(w.told.String(), "http://")
	if address, _, whole := strings.Cut(address, "\n"); found && whole && w.page == nil {
		var err, err2 error
		w.page, err = http.Get("http://" + address)
		w.events, err2 = http.Get("http://" + address + "events")
		if err := errors.Join(err, err2); err != nil {
			w.t.Fatal(err)
		}
	}
	return len(p), nil
}

// look looks at the page and its events, up to the last one.
func (w *watcher) look() {
	for name, response := range map[string]*http.Response{"page": w.page, "events": w.events} {
		text, err := io.ReadAll(response.Body)
		if err == nil {
			err = response.Body.Close()
		}
		if err != nil || response == w.events && !strings.Contains(string(text), forgedLine) {
			w.t.Errorf("%s: its %s has no forged text: %v: %.200s", w.door, name, err, text)
		}
		if what := forges(string(text)); what != "" {
			w.t.Errorf("%s: its %s has %s", w.door, name, what)
		}
	}
}

// writeForged writes a model of which everything that is not a part of the network is forged.
func writeForged(t *testing.T, b *arch.Builder, path string) {
	t.Helper()
	quoted, err := json.Marshal(forged)
	if err != nil {
		t.Fatal(err)
	}
	m, _, err := b.Model()
	if err != nil {
		t.Fatal(err)
	}
	m.Producer, m.Doc = forged, forged
	m.Metadata = []onnx.Property{
		{Key: forged, Value: forged},
		{Key: "mlperf_origin_1", Value: fmt.Sprintf(`{"file": %[1]s, "sha256": %[1]s, "md5": %[1]s, "by": %[1]s}`, quoted)},
		{Key: "mlperf_conversion", Value: fmt.Sprintf(`{"precision": "fp16", "nodes": 1, "of": 2, "method": %[1]s, "data": %[1]s}`, quoted)},
	}
	for _, field := range []protowire.Number{3, 4} { // producer_version and domain
		m.Extra += onnx.Extra(protowire.AppendString(protowire.AppendTag(nil, field, protowire.BytesType), forged))
	}
	if err := m.WriteFile(t.Context(), path); err != nil {
		t.Fatal(err)
	}
}

// TestForgedLines plants a line that looks like a verdict at the doors of the program, and looks at its outputs.
func TestForgedLines(t *testing.T) {
	inMaterial(t)
	simulated := func(model string, more ...string) []string {
		return append([]string{"run", model, "--backend", "simulated", "--sim-latency", "1ms", "--quick", "--min-duration", "50ms", "--scenario", "offline", "--target-qps", "2000", "--force"}, more...)
	}
	write := func(name, text string) {
		t.Helper()
		if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	copied := func(from, to string) {
		t.Helper()
		data, err := os.ReadFile(from)
		if err != nil {
			t.Fatal(err)
		}
		write(to, string(data))
	}

	t.Run("model file", func(t *testing.T) {
		s := shell{t, "name of a model file"}
		copied("tiny.onnx", forged+".onnx")
		s.run(-1, simulated(forged+".onnx", "--output", "byname")...)
		s.outputs("byname")
		s.run(0, "run", forged+".onnx", "--backend", "simulated", "--min-duration", "50ms", "--output", "four")
		s.run(-1, simulated(forged+".onnx")...)
		s.run(-1, "tune", forged+".onnx", "--backend", "simulated", "--budget", "1s")
	})
	t.Run("model content", func(t *testing.T) {
		s := shell{t, "texts in a model"}
		b := arch.NewBuilder(forged, 1)
		b.Output(b.Relu(forged, b.Input(forged, onnx.Float32, onnx.Batched(3, 8, 8))))
		writeForged(t, b, "names.onnx")
		s.run(-1, simulated("names.onnx", "--output", "names")...)
		s.outputs("names")
		s.planted("names/results.json") // of what it was made
		s.run(-1, "quantize", "names.onnx", "--precision", "fp16", "--output", "half.onnx")
	})
	t.Run("live page", func(t *testing.T) {
		copied("tiny.onnx", forged+".onnx")
		w := watcher{door: "live page", t: t}
		if status := execute(simulated(forged+".onnx", "--output", forged+"/live", "--live=any"), io.Discard, &w); status == 1 || w.page == nil {
			t.Fatalf("status %d: %s", status, w.told.String())
		}
		w.look()
	})
	t.Run("folders", func(t *testing.T) {
		s := shell{t, "names of folders"}
		s.run(-1, simulated("tiny.onnx", "--output", forged+"/out")...)
		s.outputs(forged + "/out")
		s.run(-1, "report", forged)
		if err := os.CopyFS(forged+"/data", os.DirFS("imagenet")); err != nil {
			t.Fatal(err)
		}
		s.run(-1, simulated("tiny.onnx", "--data", forged+"/data", "--output", "bydata")...)
		s.outputs("bydata")
		for _, verb := range []string{"accuracy", "explain", "report", "submission check", "submission report", "submission pack", "suite show", "audit verify", "verify", "quantize", "convert", "show", "serve"} {
			s.run(-1, append(strings.Fields(verb), forged)...)
			s.run(-1, append(strings.Fields(verb), forged+"/data")...)
		}
	})
	t.Run("settings files", func(t *testing.T) {
		s := shell{t, "settings files"}
		for i, text := range []string{
			"*.Offline." + strings.ReplaceAll(forged, "\n", "\r") + " = 1\n", "*.Offline.target_qps = " + strings.ReplaceAll(forged, "\n", " ") + "\n", forged + "\n",
			forged + ".Offline.target_qps = 5\n", "*." + strings.ReplaceAll(forged, "\n", " ") + ".target_qps = 5\n",
		} {
			write("evil.conf", text)
			for _, flag := range []string{"--user-conf", "--mlperf-conf", "--audit-conf"} {
				s.run(-1, simulated("tiny.onnx", flag, "evil.conf", "--output", fmt.Sprint("conf", i))...)
				s.run(-1, simulated("tiny.onnx", flag, "evil.conf", "--allow-unknown-keys", "--output", fmt.Sprint("conf", i))...)
			}
		}
		quoted, err := json.Marshal(forged)
		if err != nil {
			t.Fatal(err)
		}
		for _, key := range []string{"model", "scenario", "sim-latency", "device", "slo", "model-name", "set", string(quoted), "dataset-path", "rules", "price", "input"} {
			write("mlperf.yaml", fmt.Sprintf("%s: %s\n", key, quoted))
			s.run(-1, simulated("tiny.onnx", "--output", "yaml")...)
			s.run(-1, "run")
		}
		write("mlperf.yaml", forged)
		s.run(-1, "run")
		if err := os.Remove("mlperf.yaml"); err != nil {
			t.Fatal(err)
		}
	})
	t.Run("environment", func(t *testing.T) {
		s := shell{t, "environment"}
		for _, name := range []string{"MODEL", "SCENARIO", "TARGET_QPS", "DEVICE", "SLO", "CONFIG", "ORT_LIB", "CACHE_DIR", "DATA_DIR", "DATASET_PATH", "OUTPUT", "INPUT", "RULES"} {
			t.Run(name, func(t *testing.T) {
				t.Setenv("MLPERF_"+name, forged)
				s.run(-1, "run", "tiny.onnx", "--backend", "simulated", "--quick", "--min-duration", "50ms", "--scenario", "offline")
				s.run(-1, "list")
				if strings.Contains(name, "_") && testenv.Long() {
					s.run(-1, "doctor")
				}
			})
		}
		t.Run("of clusters", func(t *testing.T) {
			for _, name := range []string{
				"HOSTNAME", "NODE_NAME", "POD_NAME", "POD_NAMESPACE", "KUBERNETES_SERVICE_HOST", "KUBERNETES_NODE_NAME", "JOB_COMPLETION_INDEX", "SLURM_JOB_ID", "SLURM_JOB_NAME",
				"SLURM_JOB_NODELIST", "SLURMD_NODENAME", "SLURM_CLUSTER_NAME", "SLURM_ARRAY_TASK_ID", "CONTAINER_ID", "CUDA_VISIBLE_DEVICES", "OMP_NUM_THREADS", "USER", "LOGNAME", "LANG", "TZ",
			} {
				t.Setenv(name, forged)
			}
			s.run(-1, simulated("tiny.onnx", "--output", "cluster")...)
			s.outputs("cluster")
			s.run(-1, "system")
			s.run(-1, "doctor")
		})
	})
	t.Run("published results", func(t *testing.T) {
		s := shell{t, "published results"}
		s.run(0, "run", "--model", "resnet50", "--scenario", "offline", "--target-qps", "90000", "--backend", "simulated", "--sim-latency", "2ms", "--model-path", "tiny.onnx",
			"--dataset-path", "imagenet", "--quick", "--min-duration", "100ms", "--output", "resnet")
		row := map[string]any{"Performance_Result": 5, "Performance_Units": "Samples/s", "Model": "resnet", "Scenario": "Offline", "Category": "closed", "Suite": "edge", "version": "v5.1"}
		for _, key := range []string{"ID", "Submitter", "Availability", "System", "Processor", "Accelerator", "weight_data_types", "version"} {
			row[key] = "\x00" + forged
		}
		text, err := json.Marshal([]any{row})
		if err != nil {
			t.Fatal(err)
		}
		write("published.json", string(text))
		for _, format := range []string{"text", "csv", "json", "markdown", "html"} {
			s.run(-1, "compare", "resnet", "--published", "published.json", "--all", "--format", format)
		}
	})
	t.Run("flags", func(t *testing.T) {
		if !testenv.Long() {
			t.Skip("more than a thousand commands take ten seconds")
		}
		s, begun := shell{t, "flags"}, time.Now()
		n := 0
		for _, cmd := range commands(cli.New(io.Discard, io.Discard)) {
			_, verb, _ := strings.Cut(cmd.CommandPath(), " ")
			cmd.Flags().VisitAll(func(f *pflag.Flag) {
				n++
				s.run(-1, append(strings.Fields(verb), "--"+f.Name+"="+forged)...)
			})
			s.run(-1, append(strings.Fields(verb), "--"+forged)...)
		}
		t.Logf("%d flags in %v", n, time.Since(begun))
	})
}
