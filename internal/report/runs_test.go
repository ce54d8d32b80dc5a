package report

import (
	"bytes"
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"
	"unicode"

	"github.com/mlperf-go/mlperf/internal/loadgen"
	"github.com/mlperf-go/mlperf/internal/testenv"
)

func TestAccuracyOfTheSameSystem(t *testing.T) {
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
		t.Error("unknown files count as the same")
	}
}

func TestMLMarkWithoutAPrice(t *testing.T) {
	var got bytes.Buffer
	if err := MLMark(&got, Lines(listed(), nil, 0)); err != nil || strings.Contains(got.String(), "PER $") {
		t.Errorf("%v\n%s", err, got.String())
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

func TestCollect(t *testing.T) {
	root := t.TempDir()
	write := func(folder string, day int, model string) {
		t.Helper()
		dir := filepath.Join(root, folder)
		r := filled(tested(passed(loadgen.Server)))
		r.Model, r.Created = model, time.Date(2026, 1, day, 0, 0, 0, 0, time.UTC)
		if err := errors.Join(os.MkdirAll(dir, 0o755), r.Write(dir)); err != nil {
			t.Fatal(err)
		}
	}
	write("b/new", 2, "bert")
	write("b/old", 1, "bert")
	write("a", 9, "ant")
	write("a/inner", 1, "ant") // part of the run above it
	if err := os.WriteFile(filepath.Join(root, "b", "note"), nil, 0o644); err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(os.MkdirAll(filepath.Join(root, "bad"), 0o755), os.WriteFile(filepath.Join(root, "bad", FileName), []byte("{"), 0o644), os.Symlink("b/new", filepath.Join(root, "latest"))); err != nil {
		t.Fatal(err)
	}
	runs, problems, err := Collect([]string{root, filepath.Join(root, "b"), filepath.Join(root, "latest")}, Read)
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, r := range runs {
		rel, _ := filepath.Rel(root, r.Folder)
		got = append(got, fmt.Sprint(r.Results.Model, " ", rel))
	}
	if want := "ant a, bert b/old, bert b/new"; strings.Join(got, ", ") != want {
		t.Errorf("%s, want %s", strings.Join(got, ", "), want)
	}
	if len(problems) != 1 || !strings.Contains(problems[0].Error(), filepath.Join("bad", FileName)) {
		t.Errorf("problems %v, want the document that is cut", problems)
	}
	if _, _, err := Collect([]string{filepath.Join(root, "gone")}, Read); !errors.Is(err, os.ErrNotExist) || !strings.Contains(err.Error(), "gone: file does not exist: nothing was run here yet") {
		t.Errorf("of what is not there: %v", err)
	}
}

func TestListsWithoutValues(t *testing.T) {
	lines := []Line{{Folder: "f", Model: "bert", Scenario: "Offline", Mode: "AccuracyOnly", Result: "VALID", Accuracy: &LineAccuracy{Value: 90.87431, Unit: "F1"}}}
	var b strings.Builder
	if err := Table(&b, lines); err != nil {
		t.Fatal(err)
	}
	if line := lineWith(b.String(), "bert"); !strings.Contains(line, " - ") || !strings.Contains(line, "90.8743 F1") {
		t.Errorf("%q, want dashes and the accuracy", line)
	}
	b.Reset()
	if err := MLMark(&b, lines); err != nil || strings.Contains(b.String(), "bert") {
		t.Errorf("MLMark shows a run without a speed: %v\n%s", err, b.String())
	}
	for want, a := range map[string]*LineAccuracy{
		"-": nil, "76.5 %": {Value: 76.46, Unit: "%", Met: true}, "76.5 %, Top-5 93.1 %": {Value: 76.46, Unit: "%", Met: true, Top5: new(93.125)}, "76.5, partial": {Value: 76.46, Met: true, Partial: true}, "1.00, below target": {Value: 1}, "0.500 F1, partial, below target": {Value: 0.5, Unit: "F1", Partial: true},
	} {
		if got := a.three(); got != want {
			t.Errorf("%+v is %q, want %q", a, got, want)
		}
	}
}

// Results may be of others: what a terminal shows of a file cannot steer it.
func TestCSVHasNoControlCharacters(t *testing.T) {
	var b strings.Builder
	line := Line{Folder: "f\x1b[2J", Model: "m\x07", Engine: "e\u009b1m", Device: "a,b", Metric: &Metric{Name: "n\x1b]0;x\x07"}}
	testenv.Must(t, CSV(&b, []Line{line}))
	if text := b.String(); strings.ContainsFunc(text, func(r rune) bool { return r != '\n' && !unicode.IsPrint(r) }) || !strings.Contains(text, `f\x1b[2J,`) || !strings.Contains(text, `"a,b"`) {
		t.Errorf("%q", text)
	}
}

func TestMLMarkSortsByDevice(t *testing.T) {
	var b strings.Builder
	testenv.Must(t, MLMark(&b, []Line{{Model: "first", Device: "cuda", SamplesPerSecond: 1}, {Model: "second", Device: "cpu", SamplesPerSecond: 1}, {Model: "third", Device: "cuda", SamplesPerSecond: 1}}))
	text := b.String()
	if at := func(name string) int { return strings.Index(text, name) }; at("second") > at("first") || at("first") > at("third") {
		t.Errorf("want the devices one after the other:\n%s", text)
	}
}
