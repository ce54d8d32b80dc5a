package compliance

import (
	"context"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"testing"
	"testing/synctest"

	"github.com/mlperf-go/mlperf/internal/config"
	"github.com/mlperf-go/mlperf/internal/loadgen"
	"github.com/mlperf-go/mlperf/internal/loadgen/mlperflog"
	"github.com/mlperf-go/mlperf/internal/run"
	"github.com/mlperf-go/mlperf/internal/run/engine"
)

// exact asks for the stages of a classifier that is always right and takes the same time for each picture, in fake time.
func exact(t *testing.T) Request {
	t.Helper()
	q := classifier(t, "", "single-stream")
	q.NewPacer = func() loadgen.Pacer { return loadgen.TimerPacer{} }
	first := q.Request // whose answers become the labels
	first.Mode, first.Output = "accuracy", filepath.Join(t.TempDir(), "labels")
	synctest.Test(t, func(t *testing.T) {
		if err := (&runner{Request: q, observer: quiet{}}).run(t.Context(), first, first.Output, ""); err != nil {
			t.Fatal(err)
		}
	})
	log, err := os.ReadFile(filepath.Join(first.Output, mlperflog.AccuracyFile))
	if err != nil {
		t.Fatal(err)
	}
	truth := ""
	for _, m := range regexp.MustCompile(`"qsl_idx" : (\d+), "data" : "(\w{8})"`).FindAllStringSubmatch(string(log), -1) {
		class, err := hex.DecodeString(m[2])
		if err != nil {
			t.Fatal(err)
		}
		truth += fmt.Sprintf("val/%s.JPEG %.0f\n", m[1], math.Float32frombits(binary.LittleEndian.Uint32(class)))
	}
	if err := os.WriteFile(filepath.Join(q.DatasetPath, "val_map.txt"), []byte(truth), 0o644); err != nil {
		t.Fatal(err)
	}
	return q
}

// made makes the stages of a request, and lists their outcomes.
func made(t *testing.T, q Request) (list []string) {
	t.Helper()
	stages, err := Stages(q, []string{"single-stream"})
	if err != nil {
		t.Fatal(err)
	}
	synctest.Test(t, func(t *testing.T) {
		err = RunStages(t.Context(), stages, quiet{}, func(s *Stage) error {
			text := s.Part + " " + s.Outcome
			switch {
			case s.Err != nil:
				t.Errorf("%s: %v", s.Part, s.Err)
			case s.Error != "":
				text = s.Part + " not made"
			case s.Kept:
				text += " kept"
			}
			list = append(list, text)
			return nil
		})
	})
	if err != nil {
		t.Error(err)
	}
	return list
}

func TestStages(t *testing.T) {
	q := exact(t)
	q.Settings = append(q.Settings, config.Override{Key: "min_query_count", Value: "90", Origin: "test"})
	if first, want := made(t, q), []string{"performance VALID", "accuracy VALID", "TEST01 PASSED", "TEST04 PASSED"}; !slices.Equal(first, want) {
		t.Fatalf("the stages are %q, want %q", first, want)
	}
	if again, want := made(t, q), []string{"performance VALID kept", "accuracy VALID kept", "TEST01 PASSED kept", "TEST04 PASSED kept"}; !slices.Equal(again, want) {
		t.Errorf("a second time: %q, want %q", again, want)
	}
	q.Settings[len(q.Settings)-1].Value = "100"
	if changed := made(t, q); changed[0] != "performance VALID" || changed[2] != "TEST01 PASSED" {
		t.Errorf("with other settings: %q, want that no run is kept", changed)
	}
	q.Settings = append(q.Settings, config.Override{Key: "max_query_count", Value: "5", Origin: "test"})
	if invalid, want := made(t, q), []string{"performance INVALID", "accuracy VALID", "TEST01 not made", "TEST04 not made"}; invalid[0] != want[0] || !slices.Equal(invalid[2:], want[2:]) {
		t.Errorf("with too few queries: %q, want %q", invalid, want)
	}
}

// An interruption leaves the stages that are done.
func TestInterruptedStages(t *testing.T) {
	q := exact(t)
	stages, err := Stages(q, []string{"single-stream"})
	if err != nil {
		t.Fatal(err)
	}
	enough := errors.New("enough")
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancelCause(t.Context())
		err = RunStages(ctx, stages, quiet{}, func(*Stage) error { cancel(enough); return nil })
	})
	if !errors.Is(err, enough) || stages[0].Outcome != "VALID" || stages[1].Outcome != "" {
		t.Errorf("RunStages = %v after %q and %q", err, stages[0].Outcome, stages[1].Outcome)
	}
	if again := made(t, q); again[0] != "performance VALID kept" || again[1] != "accuracy VALID" {
		t.Errorf("the next call: %q, want the first stage kept and the second made", again)
	}
}

// The performance run of questions replays what the accuracy run recorded: accuracy goes first, and the test replays it, too.
func TestStagesOfReplies(t *testing.T) {
	q := Request{Request: run.Request{Model: "e2e-rag-qna", Rules: "v6.1", Output: "runs", Options: map[string]string{},
		Engine: engine.Config{Name: engine.OpenAI, Remote: engine.Remote{Endpoints: []string{"http://server:8000"}}}}}
	stages, err := Stages(q, []string{"offline"})
	if err != nil {
		t.Fatal(err)
	}
	var parts []string
	for _, s := range stages {
		parts = append(parts, s.Part)
		if want := filepath.Join("runs", "e2e-rag-qna", "offline", "runs", "accuracy"); s.Request.AccuracyRun != want {
			t.Errorf("%s has the accuracy run %q, want %q", s.Part, s.Request.AccuracyRun, want)
		}
	}
	if want := []string{"accuracy", "performance", "TEST09"}; !slices.Equal(parts, want) {
		t.Errorf("the stages are %q, want %q", parts, want)
	}
}
