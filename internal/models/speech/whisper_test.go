package speech

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/mlperf-go/mlperf/internal/accuracy"
	"github.com/mlperf-go/mlperf/internal/models/workload"
	"github.com/mlperf-go/mlperf/internal/preprocess/audio"
	"github.com/mlperf-go/mlperf/internal/tensor"
)

func manifest(t *testing.T, text string) string {
	t.Helper()
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "dev-all-repack.json"), []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return dir
}

// said is an entry of a manifest.
func said(seconds float64, transcript string) string {
	return fmt.Sprintf(`{"files":[{"fname":"/data/dev-all-repack/1-2_0.wav","num_samples":%d,"speed":1}],"original_duration":%v,"transcript":%q}`,
		int(seconds*audio.Rate), seconds, transcript)
}

func TestLogsOfWhisperAreScored(t *testing.T) {
	dir := manifest(t, "["+said(31, "too long")+","+said(30, "the colour")+","+said(1, "two")+"]")
	log := `[{"seq_id":0,"qsl_idx":0,"data":"1408050003 0F0C0F12"},{"seq_id":1,"qsl_idx":1,"data":"1E"}]`
	log = strings.ReplaceAll(log, " ", "") // as bytes: "the", blank, "color", and "2"
	score, err := whisper().Score(t.Context(), accuracy.Named("log", strings.NewReader(log)), workload.Scoring{DatasetDir: dir, Options: workload.Values{dtypeOption: "int8"}})
	if err != nil {
		t.Fatal(err)
	}
	if want := "Word Error Rate: 0.0%, accuracy=100.0%\n"; score.Text() != want || score.Coverage.Samples != 2 {
		t.Errorf("%q over %d samples, want %q over 2", score.Text(), score.Coverage.Samples, want)
	}
}

// The choices of an option are those in any case.
func TestTypesOfALogMayBeWrittenInCapitals(t *testing.T) {
	dir := manifest(t, "["+said(1, "two")+"]")
	for _, dtype := range []string{"int16", "INT16", "Int16"} {
		options := workload.Values{dtypeOption: dtype}
		if err := whisper().CheckScoreOptions(options); err != nil {
			t.Fatal(err)
		}
		log := accuracy.Named("log", strings.NewReader(`[{"seq_id":0,"qsl_idx":0,"data":"140017000F00"}]`))
		score, err := whisper().Score(t.Context(), log, workload.Scoring{DatasetDir: dir, Options: options})
		if err != nil || score.Text() != "Word Error Rate: 0.0%, accuracy=100.0%\n" {
			t.Errorf("--dtype %s: %v, %v", dtype, score, err)
		}
	}
	if _, err := whisper().Score(t.Context(), accuracy.Named("log", strings.NewReader("[]")), workload.Scoring{DatasetDir: t.TempDir()}); err == nil || !strings.Contains(err.Error(), "dev-all-repack.json") {
		t.Errorf("without transcripts: %v", err)
	}
}

func TestRecordingsBecomeFeaturesOfWhisper(t *testing.T) {
	reader, err := whisper().NewReader(nil)
	if err != nil {
		t.Fatal(err)
	}
	data, err := os.ReadFile("../../preprocess/audio/testdata/chirp_905ms.wav")
	if err != nil {
		t.Fatal(err)
	}
	got, err := reader.Read(data)
	if err != nil || len(got.Shape) != 2 || got.Shape[0] != 128 || got.Shape[1] != audio.WhisperFrames {
		t.Fatalf("features of shape %v, %v", got.Shape, err)
	}
	if v := tensor.Data[float32](got); v[0] == v[len(v)-1] {
		t.Errorf("the first feature is the last, %v", v[0])
	}
	if _, err := reader.Read([]byte("no sound")); err == nil {
		t.Error("text is a recording")
	}
	if !strings.Contains(reader.Name, "Whisper") {
		t.Errorf("the reader is %q", reader.Name)
	}
}
