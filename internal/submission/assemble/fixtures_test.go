package assemble

import (
	"crypto/sha256"
	"encoding/hex"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/mlperf-go/mlperf/internal/config/limitation"
	"github.com/mlperf-go/mlperf/internal/config/rounds"
	"github.com/mlperf-go/mlperf/internal/loadgen/mlperflog"
	"github.com/mlperf-go/mlperf/internal/machine"
	"github.com/mlperf-go/mlperf/internal/report"
	"github.com/mlperf-go/mlperf/internal/submission/checker"
	"github.com/mlperf-go/mlperf/internal/submission/description"
	"github.com/mlperf-go/mlperf/internal/testenv"
)

// extract writes a tree of the checker's testdata, with logs of the C++ LoadGen, and returns
// its folder.
func extract(t *testing.T, version string) string {
	t.Helper()
	dir := t.TempDir()
	testenv.Extract(t, "../checker/testdata/"+version+".tar.gz", dir)
	return dir
}

func ok(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func write(t *testing.T, path, text string) {
	t.Helper()
	ok(t, os.MkdirAll(filepath.Dir(path), 0o755))
	ok(t, os.WriteFile(path, []byte(text), 0o644))
}

func read(t *testing.T, path ...string) string {
	t.Helper()
	data, err := os.ReadFile(filepath.Join(path...))
	ok(t, err)
	return string(data)
}

const home = "closed/ExampleOrg"

// complete is a description without placeholders.
func complete(t *testing.T, division, systemType string) description.Description {
	t.Helper()
	values := map[string]string{}
	for _, f := range checker.SystemFields() {
		if f.Filled {
			values[f.Name] = "x"
		}
	}
	for name, value := range map[string]string{"number_of_nodes": "1", "accelerators_per_node": "0", "host_processors_per_node": "1"} {
		values[name] = value
	}
	for name, value := range map[string]string{"division": division, "submitter": "ExampleOrg", "system_type": systemType, "status": "available"} {
		values[name] = value
	}
	if systemType == "datacenter" {
		values["host_memory_configuration"] = "16 x 32 GB DDR5-4800 ECC"
	}
	d, err := description.Of(machine.Machine{}, machine.Inventory{}, description.Request{Values: values})
	ok(t, err)
	return d
}

var allMeasured = map[string]string{
	"input_data_types": "fp32", "retraining": "no", "starting_weights_filename": "resnet50_v1.onnx", "weight_data_types": "fp32", "weight_transformations": "none",
}

// golden asks for a tree of the golden logs, with all that these do not say.
func golden(t *testing.T, version string) Request {
	t.Helper()
	dir := t.TempDir()
	write(t, filepath.Join(dir, "calibration.md"), "FP32, nothing was calibrated.\n")
	write(t, filepath.Join(dir, "src", "main.cc"), "int main() {}\n")
	return Request{
		Tree: filepath.Join(dir, "tree"), Runs: []string{extract(t, version)}, Rules: version, Division: "closed", Submitter: "ExampleOrg", System: "board1",
		Description: complete(t, "closed", "edge"), Model: "resnet50", Measurements: allMeasured,
		Calibration: filepath.Join(dir, "calibration.md"), Source: filepath.Join(dir, "src"),
	}
}

// rulesOf lists the rules that a tree breaks, once each.
func rulesOf(r *checker.Report) []string {
	var names []string
	add := func(list []checker.Finding) {
		for _, f := range list {
			if f.Level == checker.Fails {
				names = append(names, f.Rule)
			}
		}
	}
	add(r.Findings)
	for _, one := range r.Results {
		add(one.Findings)
	}
	slices.Sort(names)
	return slices.Compact(names)
}

// trim writes a number as Python does.
func trim(v float64) string {
	text := strconv.FormatFloat(v, 'f', -1, 64)
	if !strings.Contains(text, ".") {
		text += ".0"
	}
	return text
}

func checkRows(t *testing.T, q Request) map[string]*checker.Row {
	t.Helper()
	r, err := checker.Check(t.Context(), checker.Options{Tree: q.Tree, Rules: q.Rules})
	ok(t, err)
	rows := map[string]*checker.Row{}
	for _, one := range r.Results {
		rows[one.Scenario] = one.Row
	}
	return rows
}

// hashOf is the SHA-256 of a text in hexadecimal digits.
func hashOf(text string) string {
	sum := sha256.Sum256([]byte(text))
	return hex.EncodeToString(sum[:])
}

// withResults writes results.json beside all logs of the golden runs, as this program would have,
// and changes those in folders with that end.
func withResults(t *testing.T, q Request, end string, change func(*report.Results)) Request {
	t.Helper()
	q.Model = "" // the results name it
	ok(t, filepath.WalkDir(q.Runs[0], func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.Name() != "mlperf_log_detail.txt" {
			return err
		}
		r := report.Results{
			Schema: report.Schema, Result: report.Valid, Program: "mlperf 1.2", Model: "resnet50", Rules: "v6.1",
			Input:       report.Input{ModelSHA256: "abc", Precision: "fp32", ModelPath: "/m/resnet50_v1.onnx", DatasetPath: "/d", Binding: []string{"input: float32 NCHW"}, Samples: 50000},
			Backend:     report.Backend{Engine: "onnxruntime", Instances: 2, Threads: 3, MaxBatch: 8},
			Settings:    []report.Setting{{Key: "min_duration", Value: "10m0s", Origin: "rules v6.1", Role: limitation.RuleSet}, {Key: "target_qps", Value: "40", Origin: "flag --target-qps", Role: limitation.Flag}},
			Notes:       []string{"the machine was idle"},
			Limitations: report.Limitations{{ID: limitation.Unofficial}},
		}
		if strings.HasSuffix(filepath.Dir(path), "/accuracy") {
			r.Accuracy = &report.Accuracy{Metric: "Top-1", Value: 76.0125, Unit: "%"}
		}
		if change != nil && strings.HasSuffix(filepath.Dir(path), end) {
			change(&r)
		}
		return r.Write(filepath.Dir(path))
	}))
	return q
}

// copyAs copies the runs of Offline, and its tests, as those of another model.
func copyAs(t *testing.T, q Request, model string) string {
	t.Helper()
	runs := filepath.Join(q.Runs[0], home, "results/board1")
	to := filepath.Join(runs, model)
	ok(t, os.CopyFS(to, os.DirFS(filepath.Join(runs, "resnet50/Offline"))))
	for _, folder := range []string{"performance/run_1", "accuracy", "TEST01/performance/run_1", "TEST04/performance/run_1"} {
		r, err := report.Read(filepath.Join(to, folder))
		ok(t, err)
		r.Model = model
		ok(t, r.Write(filepath.Join(to, folder)))
	}
	return to
}

// runOf is a run whose detail log has some keys, written as "key value".
func runOf(t *testing.T, lines ...string) *run {
	t.Helper()
	dir, text := t.TempDir(), ""
	for _, line := range lines {
		key, value, _ := strings.Cut(line, " ")
		text += detailLine(key, value)
	}
	write(t, filepath.Join(dir, mlperflog.DetailFile), text)
	log, err := mlperflog.ReadDetail(filepath.Join(dir, mlperflog.DetailFile))
	ok(t, err)
	return &run{folder: dir, log: log}
}

func builderOf(t *testing.T, version string) *builder {
	t.Helper()
	round, err := rounds.Find(version)
	ok(t, err)
	return &builder{Request: Request{Rules: version, Division: "closed", Submitter: "Org", System: "box"}, round: round, built: &Built{}}
}

// detailLine is a line of a detail log.
func detailLine(key, value string) string {
	return `:::MLLOG {"key": "` + key + `", "value": ` + value + `, "time_ms": 1.0, "metadata": {"is_error": false, "is_warning": false}}` + "\n"
}

// setKeys gives keys of a detail log values, and adds missing ones.
func setKeys(log string, values map[string]string) string {
	for key, value := range values {
		line := regexp.MustCompile(`(?m)^.*"key": "` + regexp.QuoteMeta(key) + `".*\n`)
		log = line.ReplaceAllString(log, "") + detailLine(key, value)
	}
	return log
}
