package report

import (
	"bytes"
	"encoding/csv"
	"encoding/json"
	"errors"
	"io"
	"math"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/mlperf-go/mlperf/internal/loadgen"
)

// at makes a document one of an hour, and of a precision.
func at(r *Results, hour int, precision string) *Results {
	r.Created = r.Created.Add(time.Duration(hour) * time.Hour)
	r.Input.Precision = precision
	r.Backend.Devices = map[string]int{"cpu": 120}
	return r
}

// listed are runs of a model in several scenarios, three of which measured accuracy.
func listed() []Run {
	quantized := at(filled(tested(passed(loadgen.Server))), 5, "int8")
	quantized.Input.ModelSHA256 = "0ddba11"
	simulated := at(filled(tested(passed(loadgen.SingleStream))), 6, "fp32")
	simulated.Backend.Engine = "simulated"
	missed := at(scored(accuracyOnly(), 70.25), 3, "int8")
	missed.Input.ModelSHA256 = "0ddba11"
	return []Run{
		{"results/ss", at(filled(tested(passed(loadgen.SingleStream))), 0, "fp32")},
		{"results/ms", at(filled(tested(passed(loadgen.MultiStream))), 0, "fp32")},
		{"results/off", at(filled(tested(passed(loadgen.Offline))), 0, "fp32")},
		{"results/srv", at(filled(tested(failed(passed(loadgen.Server)))), 0, "fp32")},
		{"results/int8", quantized},
		{"results/simulated", simulated},
		{"results/acc-part", at(partial(), 4, "fp32")},
		{"results/acc-old", at(scored(accuracyOnly(), 71), 1, "fp32")},
		{"results/acc", at(scored(accuracyOnly(), 76.5), 2, "fp32")},
		{"results/acc-int8", missed},
		{"results/sub", at(submission(), 7, "fp32")},
	}
}

func TestListsOfRunsEqualTheGoldenFiles(t *testing.T) {
	for file, print := range map[string]func(io.Writer, []Line) error{
		"mlmark.txt": MLMark, "table.txt": Table, "lines.csv": CSV,
		"lines.json": func(w io.Writer, lines []Line) error { return JSON(w, lines) },
	} {
		t.Run(file, func(t *testing.T) {
			var got bytes.Buffer
			if err := print(&got, Lines(listed(), nil, 1500)); err != nil {
				t.Fatal(err)
			}
			compareGolden(t, file, got.Bytes())
		})
	}
}

func TestWithoutAPriceThereIsNoColumnForIt(t *testing.T) {
	var got bytes.Buffer
	if err := MLMark(&got, Lines(listed(), nil, 0)); err != nil || strings.Contains(got.String(), "PER $") {
		t.Errorf("%v\n%s", err, got.String())
	}
}

func TestAccuracyComesFromTheSameModelOnTheSameSystem(t *testing.T) {
	speed := at(filled(tested(passed(loadgen.Offline))), 0, "fp32")
	for _, c := range []struct {
		name   string
		change func(*Results)
		joined bool
	}{
		{"the same", func(*Results) {}, true},
		{"another version of the engine", func(r *Results) { r.Backend.Engine = "onnxruntime 1.25.0" }, true},
		{"another scenario", func(r *Results) { r.Scenario = "Server" }, true},
		{"another model", func(r *Results) { r.Model = "mobilenet" }, false},
		{"another file", func(r *Results) { r.Input.ModelSHA256 = "1" }, false},
		{"another engine", func(r *Results) { r.Backend.Engine = "simulated" }, false},
		{"another device", func(r *Results) { r.Backend.Devices = map[string]int{"cuda": 1} }, false},
		{"converted by the device", func(r *Results) { r.Input.Precision = "fp16" }, false},
		{"interrupted", func(r *Results) { r.Result = Interrupted }, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			other := at(scored(accuracyOnly(), 76.5), 0, "fp32")
			c.change(other)
			line := Lines([]Run{{"speed", speed}}, []Run{{"accuracy", other}}, 0)[0]
			if joined := line.Accuracy != nil; joined != c.joined {
				t.Errorf("accuracy = %+v, want one: %v", line.Accuracy, c.joined)
			}
		})
	}
	unknown := at(filled(tested(passed(loadgen.Offline))), 0, "fp32")
	other := at(scored(accuracyOnly(), 76.5), 0, "fp32")
	unknown.Input.ModelSHA256, other.Input.ModelSHA256 = "", ""
	if line := Lines([]Run{{"speed", unknown}, {"accuracy", other}}, nil, 0)[0]; line.Accuracy != nil {
		t.Error("files that nobody knows count as the same")
	}
}

func TestThreeDigits(t *testing.T) {
	for v, want := range map[float64]string{
		1234: "1230", 50.94: "50.9", 12: "12.0", 5: "5.00", 0.02345: "0.0234", 999.6: "1000", 9.996: "10.0", 0.99951: "1.00", 123456: "123000", -12.34: "-12.3",
		1e-9: "0.00000000100",
	} {
		if got := threeDigits(v); got != want {
			t.Errorf("threeDigits(%v) = %s, want %s", v, got, want)
		}
	}
	if got := threeDigits(math.NaN()); got != "NaN" {
		t.Errorf("threeDigits(NaN) = %s", got)
	}
	for v := 1e-6; v < 1e9; v *= 1.37 {
		got, err := strconv.ParseFloat(threeDigits(v), 64)
		if err != nil || math.Abs(got-v) > 0.0051*v {
			t.Errorf("threeDigits(%v) = %v, %v", v, got, err)
		}
	}
}

func TestCSVHasAsManyFieldsAsNames(t *testing.T) {
	var text bytes.Buffer
	if err := CSV(&text, Lines(listed(), nil, 0)); err != nil {
		t.Fatal(err)
	}
	records, err := csv.NewReader(&text).ReadAll() // refuses records of other lengths
	if err != nil || len(records) != len(listed())+1 {
		t.Errorf("%d records, %v", len(records), err)
	}
}

func TestCollect(t *testing.T) {
	dir := t.TempDir()
	write := func(elem ...string) {
		path := filepath.Join(append([]string{dir}, elem...)...)
		if err := os.MkdirAll(path, 0o755); err != nil {
			t.Fatal(err)
		}
		r := at(filled(tested(passed(loadgen.Server))), len(elem), "fp32")
		if err := r.Write(path); err != nil {
			t.Fatal(err)
		}
	}
	write("a", "1")
	write("a", "1", "run_1") // part of a run
	write("b")
	if err := os.Symlink("1", filepath.Join(dir, "a", "latest")); err != nil {
		t.Fatal(err)
	}
	broken := filepath.Join(dir, "broken")
	if err := errors.Join(os.Mkdir(broken, 0o755), os.WriteFile(filepath.Join(broken, FileName), []byte("{"), 0o644)); err != nil {
		t.Fatal(err)
	}
	folders := func(roots ...string) (list []string, problems int) {
		for i, root := range roots {
			roots[i] = filepath.Join(dir, root)
		}
		runs, bad, err := Collect(roots, Read)
		if err != nil {
			t.Fatal(err)
		}
		for _, run := range runs {
			name, _ := filepath.Rel(dir, run.Folder)
			list = append(list, name)
		}
		return list, len(bad)
	}
	for _, c := range []struct {
		roots    []string
		want     []string
		problems int
	}{
		{[]string{"."}, []string{"b", "a/1"}, 1},
		{[]string{"a/latest"}, []string{"a/1"}, 0},
		{[]string{"a/latest", "a"}, []string{"a/1"}, 0},
		{[]string{"a/1/run_1"}, []string{"a/1/run_1"}, 0},
	} {
		got, problems := folders(append([]string{}, c.roots...)...)
		if diff := cmp.Diff(c.want, got); diff != "" || problems != c.problems {
			t.Errorf("Collect(%v): %d problems, want %d (-want +got):\n%s", c.roots, problems, c.problems, diff)
		}
	}
	if _, _, err := Collect([]string{filepath.Join(dir, "missing")}, Read); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("a missing folder: %v", err)
	}
}

func TestListsReturnTheWritersError(t *testing.T) {
	lines := Lines(listed(), nil, 0)
	for name, err := range map[string]error{"MLMark": MLMark(fullDisk{}, lines), "Table": Table(fullDisk{}, lines), "CSV": CSV(fullDisk{}, lines)} {
		if err == nil {
			t.Errorf("%s to a full disk succeeds", name)
		}
	}
}

func TestLinesAreReadableAsJSON(t *testing.T) {
	data, err := json.Marshal(Lines(listed(), nil, 0))
	if err != nil {
		t.Fatal(err)
	}
	var again []Line
	if err := json.Unmarshal(data, &again); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(Lines(listed(), nil, 0), again); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}
