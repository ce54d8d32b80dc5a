package speech

import (
	"fmt"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
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

func TestWhisperScore(t *testing.T) {
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
func TestDTypeInCapitals(t *testing.T) {
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

func TestWhisperReader(t *testing.T) {
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

// What is behind a recording in its row is room, and not heard.
func TestWhisperSentRows(t *testing.T) {
	w, sessions, err := openScripted(t, &scriptedWhisper{texts: [][]int64{{5, 6, 0}, {8, 10, 0}}}, scriptedTokenizer)
	if err != nil {
		t.Fatal(err)
	}
	elsewhere := w.Exchange.Sequences.ForRows(make([]int, 2))
	if elsewhere.Samples != 2 || len(w.Exchange.Inputs) != 1 || elsewhere.Length(1) != audio.WhisperSamples {
		t.Fatalf("%d rows, %v is sent", elsewhere.Samples, w.Exchange.Inputs)
	}
	store, err := workload.NewStore(2, elsewhere.Row)
	if err != nil {
		t.Fatal(err)
	}
	defer store.Close()
	for i, n := range []int{1600, audio.WhisperSamples} {
		row := tensor.Data[float32](store.Row(i)[0])
		for k := n; k < len(row); k++ {
			row[k] = float32(math.NaN())
		}
		if got := len(recordingIn(row)); got != n {
			t.Errorf("row %d has the recording has %d samples, want %d", i, got, n)
		}
	}
	p, err := elsewhere.NewPredictor(sessions, 2)
	if err != nil {
		t.Fatal(err)
	}
	defer p.Close()
	if err := p.Use(store); err != nil {
		t.Fatal(err)
	}
	got := written{}
	if err := p.Predict(t.Context(), []workload.Item{{Row: 0, Ticket: 0}, {Row: 1, Ticket: 1}}, got); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(written{0: "5:the colour:3", 1: "8:'s:3"}, got); diff != "" {
		t.Errorf("what was written (-want +got):\n%s", diff)
	}
}

func TestWhisperCheckRecordings(t *testing.T) {
	w, _, err := openScripted(t, &scriptedWhisper{texts: [][]int64{{0}}}, scriptedTokenizer)
	if err != nil {
		t.Fatal(err)
	}
	for n, right := range map[int64]bool{0: false, 1: true, audio.WhisperSamples: true, audio.WhisperSamples + 1: false, 1 << 60: false} {
		if row, err := w.Exchange.Complete([]tensor.Shape{{n}}); (err == nil) != right || right && row[0].Shape[0] != n {
			t.Errorf("a recording of %d samples: %v, %v", n, row, err)
		}
	}
	check := w.Exchange.Check
	for _, v := range []float64{math.NaN(), math.Inf(1), math.Inf(-1)} {
		for at := range 3 {
			samples := make([]float32, 3)
			samples[at] = float32(v)
			if err := check([]tensor.Tensor{tensor.Of(samples, 3)}); err == nil || !strings.Contains(err.Error(), "of the recording is") {
				t.Errorf("%v as sample %d: %v", v, at, err)
			}
		}
	}
	if err := check([]tensor.Tensor{tensor.Of([]float32{0, -1, 1}, 3)}); err != nil {
		t.Error(err)
	}
}

func TestWhisperFilesSent(t *testing.T) {
	w, _, err := openScripted(t, &scriptedWhisper{texts: [][]int64{{0}}}, scriptedTokenizer)
	if err != nil {
		t.Fatal(err)
	}
	files := w.Exchange.Sequences
	samples, err := files.ReadFile(wav(1600))
	if err != nil || samples.Len() != 1600 || samples.Type != tensor.Float32 {
		t.Errorf("a WAV file became %v, %v", samples, err)
	}
	for want, file := range map[string][]byte{"neither WAV nor FLAC": []byte("\xff\xd8\xff a picture"), "more than 480000 samples": wav(audio.WhisperSamples + 1), "is empty": nil} {
		if _, err := files.ReadFile(file); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("got %v, want %q", err, want)
		}
	}
	if most := files.FileBytes; int64(len(wav(audio.WhisperSamples))) > most {
		t.Errorf("30 s of WAV do not fit into %d bytes", most)
	}
}
