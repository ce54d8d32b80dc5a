package run_test

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/mlperf-go/mlperf/internal/report"
	"github.com/mlperf-go/mlperf/internal/run"
	"github.com/mlperf-go/mlperf/internal/userinput"
)

// accuracyRun leaves the folder of an accuracy run, named out.
func accuracyRun(t *testing.T) run.Request {
	t.Helper()
	q := request(t)
	q.Mode, q.Output, q.Settings = "accuracy", "out", nil
	if _, err := runFake(t, q, quiet{}); err != nil {
		t.Fatal(err)
	}
	return q
}

func read(t *testing.T, path string) []byte {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return text
}

func TestTheScoreOfARunIsThatOfItsLogAndIsKept(t *testing.T) {
	accuracyRun(t)
	before, err := report.Read("out")
	if err != nil || before.Accuracy == nil {
		t.Fatalf("the run has no score: %+v, %v", before, err)
	}
	if err := os.Remove("out/accuracy.txt"); err != nil {
		t.Fatal(err)
	}
	s, err := run.Score(t.Context(), run.ScoreRequest{Run: "out"}, nil)
	if err != nil {
		t.Fatal(err)
	}
	if s.Value != before.Accuracy.Value || s.Samples != 4 || s.Kept != filepath.Join("out", "accuracy.txt") {
		t.Errorf("the score is %v of %d samples in %q, that of the run %v", s.Value, s.Samples, s.Kept, before.Accuracy.Value)
	}
	if text := read(t, s.Kept); !bytes.Contains(text, []byte("accuracy=")) {
		t.Errorf("accuracy.txt is %q", text)
	}
}

func TestAWhatIfLeavesTheRecordAsItIs(t *testing.T) {
	accuracyRun(t)
	for _, c := range []struct {
		name, warning string
		change        func(*run.ScoreRequest)
	}{
		{"another model", "what-if (model)", func(q *run.ScoreRequest) { q.Model = "mobilenet" }},
		{"another log", "what-if (log)", func(q *run.ScoreRequest) { q.Log = "copy.json" }},
		{"other data", "what-if (dataset path)", func(q *run.ScoreRequest) { q.DatasetPath = "twin" }},
		{"options of the script", "what-if (options of the script)", func(q *run.ScoreRequest) { q.Options = map[string]string{"dtype": "float32"} }},
		{"no run, but the log of one", "the score is not kept", func(q *run.ScoreRequest) {
			*q = run.ScoreRequest{Model: "resnet50", Log: "out/mlperf_log_accuracy.json", DatasetPath: "imagenet"}
		}},
	} {
		t.Run(c.name, func(t *testing.T) {
			record, text := read(t, "out/results.json"), read(t, "out/accuracy.txt")
			if err := os.WriteFile("copy.json", read(t, "out/mlperf_log_accuracy.json"), 0o644); err != nil {
				t.Fatal(err)
			}
			if err := os.CopyFS("twin", os.DirFS("imagenet")); err != nil && !errors.Is(err, os.ErrExist) {
				t.Fatal(err)
			}
			q := run.ScoreRequest{Run: "out"}
			c.change(&q)
			s, err := run.Score(t.Context(), q, nil)
			if err != nil {
				t.Fatal(err)
			}
			if s.Kept != "" || !strings.Contains(strings.Join(s.Warnings, "\n"), c.warning) {
				t.Errorf("kept in %q with warnings %q, want none kept and %q", s.Kept, s.Warnings, c.warning)
			}
			if !bytes.Equal(read(t, "out/results.json"), record) || !bytes.Equal(read(t, "out/accuracy.txt"), text) {
				t.Error("the record of the run was changed")
			}
		})
	}
}

func TestTheSameFileUnderAnotherNameIsNoWhatIf(t *testing.T) {
	accuracyRun(t)
	if s, err := run.Score(t.Context(), run.ScoreRequest{Run: "out", Options: map[string]string{"verbose": "true"}}, nil); err != nil || s.Kept == "" {
		t.Errorf("with more words: %+v, %v, want it kept with the run", s, err)
	}
	s, err := run.Score(t.Context(), run.ScoreRequest{Run: "out", Model: "resnet50", Log: "./out/../out/mlperf_log_accuracy.json", DatasetPath: "./imagenet"}, nil)
	if err != nil || s.Kept == "" {
		t.Errorf("Score = %+v, %v, want it kept with the run", s, err)
	}
}

func TestALogElsewhereIsScoredBesideIt(t *testing.T) {
	accuracyRun(t)
	if err := os.Mkdir("logs", 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile("logs/log.json", read(t, "out/mlperf_log_accuracy.json"), 0o644); err != nil {
		t.Fatal(err)
	}
	s, err := run.Score(t.Context(), run.ScoreRequest{Model: "resnet50", Log: "logs/log.json", DatasetPath: "imagenet"}, nil)
	if err != nil || s.Run != nil || s.Kept != filepath.Join("logs", "accuracy.txt") {
		t.Errorf("Score = %+v, %v, want it kept beside the log", s, err)
	}
}

func TestAScoreThatCannotBeMadeSaysWhatIsMissing(t *testing.T) {
	t.Chdir(t.TempDir())
	var of *userinput.Error
	if _, err := run.Score(t.Context(), run.ScoreRequest{Model: "alexnet", Log: "log", DatasetPath: "."}, nil); !errors.As(err, &of) || of.Field != "model" {
		t.Errorf("an unknown model: %v, want an error of the field model", err)
	}
	if _, err := run.Score(t.Context(), run.ScoreRequest{Model: "resnet50", Log: "log", DatasetPath: ".", Options: map[string]string{"colour": "red"}}, nil); err == nil || !strings.Contains(err.Error(), "colour") {
		t.Errorf("an unknown option: %v, want an error that names it", err)
	}
	for _, c := range []struct {
		name, want string
		q          run.ScoreRequest
	}{
		{"no log", "a model, a log and a data set", run.ScoreRequest{Model: "resnet50", DatasetPath: "."}},
		{"no folder", "nowhere", run.ScoreRequest{Run: "nowhere"}},
		{"no file", "log.json", run.ScoreRequest{Model: "resnet50", Log: "log.json", DatasetPath: "."}},
	} {
		if _, err := run.Score(t.Context(), c.q, nil); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v, want %q", c.name, err, c.want)
		}
	}
}
