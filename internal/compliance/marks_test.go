package compliance

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/mlperf-go/mlperf/internal/report"
)

func TestLogsMayLieInTheFoldersOfAResult(t *testing.T) {
	flat := pair01(t, []string{"0 00"}, []string{"0 00"})
	result := t.TempDir()
	for from, to := range map[string]string{flat.Performance: "performance/run_1", flat.Accuracy: "accuracy"} {
		for _, name := range []string{"mlperf_log_detail.txt", "mlperf_log_summary.txt", "mlperf_log_accuracy.json"} {
			if err := copyFile(filepath.Join(result, to, name), filepath.Join(from, name)); err != nil {
				t.Fatal(err)
			}
		}
	}
	for name, l := range map[string]Logs{
		"all in folders of their own": flat,
		"in those of a result":        {Performance: result, Accuracy: result, Audit: flat.Audit},
		"the accuracy beside it":      {Performance: result, Audit: flat.Audit}, // which is where it is looked for
	} {
		if v, err := Verify(t.Context(), Test01, l, Options{}); err != nil || !v.Passed {
			t.Errorf("%s: %+v, %v", name, v, err)
		}
	}
	_, err := Verify(t.Context(), Test01, Logs{Performance: flat.Performance, Accuracy: t.TempDir(), Audit: t.TempDir()}, Options{})
	if err == nil || !strings.Contains(err.Error(), "no mlperf_log_detail.txt, neither there nor in performance/run_1") || !strings.Contains(err.Error(), "no mlperf_log_accuracy.json, neither there nor in accuracy") {
		t.Errorf("of empty folders: %v", err)
	}
}

func TestRunsOfDifferentModelsAreNotCompared(t *testing.T) {
	l := pair01(t, []string{"0 00"}, []string{"0 00"})
	with(t, l.Performance, report.Results{Model: "resnet50", Caveats: []string{"quick", "quick"}})
	with(t, l.Audit, report.Results{Model: "resnet50", Caveats: []string{"quick", "an easier " + confFile + ": x", "simulated"}})
	v, err := Verify(t.Context(), Test01, l, Options{})
	if want := []string{"quick", "simulated"}; err != nil || !slices.Equal(v.Caveats, want) {
		t.Errorf("caveats %v, %v, want %v", v, err, want)
	}
	with(t, l.Accuracy, report.Results{Model: "mobilenet"})
	_, err = Verify(t.Context(), Test01, l, Options{})
	if want := filepath.Join(l.Accuracy, report.FileName) + " is a run of mobilenet, the others are of resnet50"; err == nil || err.Error() != want {
		t.Errorf("error %v, want %q", err, want)
	}
	writeText(t, l.Accuracy, report.FileName, "{")
	if _, err = Verify(t.Context(), Test01, l, Options{}); err == nil || !strings.Contains(err.Error(), report.FileName) {
		t.Errorf("results that are cut: %v", err)
	}
}

func TestCausesAreSaidOnce(t *testing.T) {
	v := &Verdict{Passed: true}
	v.fail("one", "heat")
	v.fail("two", "heat", "noise")
	if want := []string{"heat", "noise"}; v.Passed || !slices.Equal(v.Causes, want) || !slices.Equal(v.Findings, []string{"one", "two"}) {
		t.Errorf("%+v, want the causes %v", v, want)
	}
}

func TestAFallbackBeforeIsCleared(t *testing.T) {
	dir := t.TempDir()
	l := pair01(t, []string{"0 00", "1 01"}, []string{"1 09"})
	v, err := Verify(t.Context(), Test01, l, Options{Scorer: scoresOf(&report.Accuracy{Value: 1, Lines: []string{"a"}}, &report.Accuracy{Value: 1, Lines: []string{"b"}})})
	if err != nil || v.Write(dir, false) != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]string{baselineFile: "a\n", complianceFile: "b\n", scoreFile: "b\n"} {
		if text, err := os.ReadFile(filepath.Join(dir, Test01, "accuracy", name)); err != nil || string(text) != want {
			t.Errorf("%s is %q, %v, want %q", name, text, err, want)
		}
	}
	if v, err = Verify(t.Context(), Test01, pair01(t, []string{"0 00"}, []string{"0 00"}), Options{}); err != nil {
		t.Fatal(err)
	}
	if err := v.Write(dir, true); err != nil {
		t.Fatal(err)
	}
	if got, want := namesIn(t, filepath.Join(dir, Test01, "accuracy")), []string{scoreFile, "mlperf_log_accuracy.json"}; !slices.Equal(got, want) {
		t.Errorf("accuracy has %v, want %v", got, want)
	}
}

func TestAScorerThatFailsIsNamed(t *testing.T) {
	broken := errors.New("no truth")
	for n, want := range map[int]string{0: "scoring the accuracy run on the samples of the test: no truth", 1: "scoring the responses of the test: no truth"} {
		calls := 0
		l := pair01(t, []string{"0 00", "1 01"}, []string{"1 09"})
		o := Options{}
		o.Scorer = func(_ context.Context, log string) (*report.Accuracy, error) {
			if calls++; calls > n {
				return nil, broken
			}
			return &report.Accuracy{Value: 1}, nil
		}
		if _, err := Verify(t.Context(), Test01, l, o); !errors.Is(err, broken) || err.Error() != want {
			t.Errorf("error %v, want %q", err, want)
		}
	}
	o := Options{Scorer: func(context.Context, string) (*report.Accuracy, error) { return nil, broken }}
	run := fakeRun{scenario: "Offline", metric: 1, settings: settings01, responses: []string{"0 00"}}.write(t)
	if _, err := Verify(t.Context(), Test07, Logs{Audit: run}, o); err == nil || err.Error() != "scoring the responses: no truth" {
		t.Errorf("TEST07: %v", err)
	}
}

// What the user has is neither changed nor added to.
func TestLogsOfTheUserStayAsTheyAre(t *testing.T) {
	l := pair01(t, []string{"0 00", "1 01"}, []string{"1 09"})
	var scored []string
	_, err := Verify(t.Context(), Test01, l, Options{Scorer: func(_ context.Context, log string) (*report.Accuracy, error) {
		scored = append(scored, log)
		return &report.Accuracy{Value: 1}, os.WriteFile(filepath.Join(filepath.Dir(log), "score.txt"), nil, 0o644)
	}})
	if err != nil || len(scored) != 2 {
		t.Fatal(err, scored)
	}
	for _, dir := range []string{l.Performance, l.Accuracy, l.Audit} {
		if names := namesIn(t, dir); len(names) != 3 {
			t.Errorf("%s has %v", dir, names)
		}
	}
	for _, log := range scored {
		if _, err := os.Stat(filepath.Dir(log)); err == nil {
			t.Errorf("the folder of %s is left", log)
		}
	}
}

func TestManyWrongResponsesAreCounted(t *testing.T) {
	var known, wrong []string
	for i := range 9 {
		known, wrong = append(known, fmt.Sprintf("%d 0%d", i, i)), append(wrong, fmt.Sprintf("%d ff", i))
	}
	v, err := Verify(t.Context(), Test01, pair01(t, known, wrong), Options{})
	if err != nil {
		t.Fatal(err)
	}
	if n := len(v.Findings); n != 1+mostExamples+1 || v.Findings[0] != "9 of 9 responses differ from the accuracy run's" || v.Findings[n-1] != "and 4 more" {
		t.Errorf("findings %q", v.Findings)
	}
}

func TestResponsesThatAreNoNumbersAreErrors(t *testing.T) {
	for _, c := range []struct {
		name, dtype   string
		accuracy, run []string
		want          string
	}{
		{"of the accuracy run", "int32", []string{"0 0000"}, []string{"0 00000000"}, "record 0: the response has 2 bytes, which are not numbers of type int32"},
		{"of the test", "int64", []string{"0 0000000000000000"}, []string{"0 0000000000000000", "0 00"}, "record 1: the response has 1 bytes, which are not numbers of type int64"},
		{"of a type that is none", "int16", []string{"0 00"}, []string{"0 00"}, `dtype is "int16", want byte, float32, int32 or int64`},
	} {
		if _, err := Verify(t.Context(), Test01, pair01(t, c.accuracy, c.run), Options{DType: c.dtype}); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v, want %q", c.name, err, c.want)
		}
	}
}

func TestFilesThatCannotBeWrittenAreNamed(t *testing.T) {
	dir := t.TempDir()
	if err := writeFile(filepath.Join(dir, "file"), strings.NewReader("x")); err != nil {
		t.Fatal(err)
	}
	if err := writeFile(filepath.Join(dir, "file/below"), strings.NewReader("x")); err == nil || !strings.Contains(err.Error(), "file") {
		t.Errorf("below a file: %v", err)
	}
	if err := writeFile(filepath.Join(dir, "broken"), io.MultiReader(strings.NewReader("x"), failing{})); !errors.Is(err, errBroken) {
		t.Errorf("of a reader that fails: %v", err)
	}
	if err := copyFile(filepath.Join(dir, "copy"), filepath.Join(dir, "gone")); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("of what is not there: %v", err)
	}
	same := filepath.Join(dir, "file")
	if err := copyFile(same, same); err != nil {
		t.Errorf("onto itself: %v", err)
	}
	if text, err := os.ReadFile(same); err != nil || string(text) != "x" {
		t.Errorf("what is copied onto itself is %q, %v", text, err)
	}
}

var errBroken = errors.New("broken")

type failing struct{}

func (failing) Read([]byte) (int, error) { return 0, errBroken }
