package build

import (
	"crypto/sha256"
	"encoding/hex"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/mlperf-go/mlperf/internal/machine"
	"github.com/mlperf-go/mlperf/internal/submission/checker"
	"github.com/mlperf-go/mlperf/internal/submission/description"
	"github.com/mlperf-go/mlperf/internal/testenv"
)

// extract writes a tree of the checker's testdata, whose logs are those of the C++ LoadGen,
// and returns its folder.
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

// whole is a description in which nothing is left to fill in.
func whole(t *testing.T, division, systemType string) description.Description {
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
	d, err := description.Of(machine.Machine{}, machine.Inventory{}, description.Request{Values: values})
	ok(t, err)
	return d
}

var allMeasured = map[string]string{
	"input_data_types": "fp32", "retraining": "no", "starting_weights_filename": "resnet50_v1.onnx", "weight_data_types": "fp32", "weight_transformations": "none",
}

// foreign asks for a tree of the golden logs, with everything that somebody has to say.
func foreign(t *testing.T, version string) Request {
	t.Helper()
	dir := t.TempDir()
	write(t, filepath.Join(dir, "calibration.md"), "FP32, nothing was calibrated.\n")
	write(t, filepath.Join(dir, "src", "main.cc"), "int main() {}\n")
	return Request{
		Tree: filepath.Join(dir, "tree"), Runs: []string{extract(t, version)}, Rules: version, Division: "closed", Submitter: "ExampleOrg", System: "board1",
		Description: whole(t, "closed", "edge"), Model: "resnet50", Measurements: allMeasured,
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
