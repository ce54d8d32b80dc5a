package builtin

import (
	"bytes"
	"encoding/binary"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/mlperf-go/mlperf/internal/backend"
	"github.com/mlperf-go/mlperf/internal/harness"
	"github.com/mlperf-go/mlperf/internal/loadgen"
	"github.com/mlperf-go/mlperf/internal/models"
	"github.com/mlperf-go/mlperf/internal/models/workload"
	"github.com/mlperf-go/mlperf/internal/report"
	"github.com/mlperf-go/mlperf/internal/tensor"
)

// waveFile is a WAV file of silence.
func waveFile(channels, rate, samples int) string {
	var b bytes.Buffer
	b.WriteString("RIFF\x00\x00\x00\x00WAVEfmt ")
	size := 2 * channels * samples
	for _, v := range []any{uint32(16), uint16(1), uint16(channels), uint32(rate), uint32(2 * channels * rate), uint16(2 * channels), uint16(16)} {
		binary.Write(&b, binary.LittleEndian, v)
	}
	b.WriteString("data")
	binary.Write(&b, binary.LittleEndian, uint32(size))
	b.Write(make([]byte, size))
	return b.String()
}

// answerWith is a run of a model in a data folder, with sessions that take no time.
func answerWith(t *testing.T, name, dir string, fill func(role string, in, out []tensor.Tensor)) (*report.Results, error) {
	t.Helper()
	model, engine := modelOnPretence(t, name, func(string, []tensor.Tensor) time.Duration { return 0 }, fill)
	s := loadgen.DefaultSettings()
	s.Scenario, s.Mode = loadgen.Offline, loadgen.AccuracyOnly
	return results(harness.Run(t.Context(), harness.Config{
		Program: "test", Model: model, Rules: "v6.1", Settings: s, Engine: engine, Backend: backend.Options{ModelPath: workload.Only, IntraThreads: 1},
		DatasetDir: dir, Instances: 1, MaxBatch: 2, OutputDir: t.TempDir(), Observer: &observer{t: t},
	}))
}

// notNumbers has a model say what is no number.
func notNumbers(_ string, _, out []tensor.Tensor) {
	for _, o := range out {
		if o.Type == tensor.Float32 {
			for i := range tensor.Data[float32](o) {
				tensor.Data[float32](o)[i] = float32(math.NaN())
			}
		}
	}
}

// fillClicks has a click for one pair in two.
func fillClicks(_ string, _, out []tensor.Tensor) {
	for i := range tensor.Data[float32](out[0]) {
		tensor.Data[float32](out[0])[i] = float32(i%2) / 2
	}
}

// What is wrong with data or with what a model says is said with its place; the rest is taken as the reference takes
// it, for which there is no error to be seen.
func TestBadInputIsNamedWithItsPlace(t *testing.T) {
	const english, german, dictionary = "newstest2014.tok.bpe.32000.en", "newstest2014.tok.bpe.32000.de", "vocab.bpe.32000.en"
	recording := "dev-clean-wav/*/*/*.wav"
	fills := map[string]func(string, []tensor.Tensor, []tensor.Tensor){"gnmt": fillGNMT, "rnnt": fillRNNT, "dlrm": fillClicks, "bert": nil}
	for _, c := range []struct {
		name, model string
		file        string // of the data, perhaps a pattern
		change      func(text string) string
		fill        func(role string, in, out []tensor.Tensor)
		want        []string // in the error; nil: none
	}{
		{"a vocabulary of BERT that is short", "bert", "vocab.txt", func(s string) string { return s[:20] }, nil, []string{"vocab.txt"}},
		{"a vocabulary of BERT that is another's", "bert", "vocab.txt", func(string) string { return "<unk>\n<s>\n</s>\n" }, nil, []string{"vocab.txt", "[UNK]"}},
		{"questions that are not UTF-8", "bert", "dev-v1.1.json", func(s string) string { return strings.Replace(s, "question", "quest\xffon", 1) }, nil, []string{"dev-v1.1.json"}},
		{"questions that are cut off", "bert", "dev-v1.1.json", func(s string) string { return s[:len(s)/2] }, nil, []string{"dev-v1.1.json"}},
		{"a question longer than 64 pieces is cut, as in the reference", "bert", "dev-v1.1.json",
			func(s string) string {
				return strings.Replace(s, `"question":"`, `"question":"`+strings.Repeat("what ", 300), 1)
			}, nil, nil},
		{"logits that are no numbers", "bert", "", nil, notNumbers, []string{"sample", "logits of place 0 are not numbers"}},

		{"a vocabulary of GNMT that is short", "gnmt", dictionary, func(string) string { return "<unk>\n<s>\n" }, nil, []string{dictionary, "line 3 is not </s>"}},
		{"a vocabulary of GNMT that is another's", "gnmt", dictionary, func(string) string { return "[PAD]\n[UNK]\n[CLS]\n" }, nil, []string{dictionary, "line 1 is not <unk>"}},
		{"sentences that are not UTF-8", "gnmt", english, func(s string) string { return strings.Replace(s, "\n", "\n\xff\xfe", 1) }, nil, []string{english, "line 2", "not UTF-8"}},
		{"an empty sentence has an empty translation, as in the reference", "gnmt", english, func(s string) string { return "\n" + s[strings.Index(s, "\n")+1:] }, nil, nil},
		{"a sentence of 2,000 words is translated, as in the reference", "gnmt", english, func(s string) string {
			return strings.Repeat("word ", 2000) + s[strings.Index(s, "\n"):]
		}, nil, nil},
		{"scores that are no numbers", "gnmt", "", nil, notNumbers, []string{"sample", "scores are not numbers"}},
		{"references that are too few", "gnmt", german, func(s string) string { return s[:strings.Index(s, "\n")+1] }, nil, []string{"sample"}},

		{"a recording of 8 kHz", "rnnt", recording, func(string) string { return waveFile(1, 8000, 16000) }, nil, []string{".wav", "8000 samples a second, expected 16000"}},
		{"a recording of two channels", "rnnt", recording, func(string) string { return waveFile(2, 16000, 16000) }, nil, []string{".wav", "2 channels, expected one"}},
		{"an empty recording", "rnnt", recording, func(string) string { return waveFile(1, 16000, 0) }, nil, []string{".wav", "the recording is empty"}},
		{"a recording of 35 s where the manifest has less", "rnnt", recording, func(string) string { return waveFile(1, 16000, 35*16000) }, nil, []string{".wav", "560000 samples, its manifest says"}},
		{"a file that is cut off", "rnnt", recording, func(s string) string { return s[:len(s)/2] }, nil, []string{".wav", "cut off"}},
		{"a FLAC file that is cut off", "rnnt", recording, func(string) string { return "fLaC\x00\x00\x00\x22\x10\x00" }, nil, []string{".wav", "FLAC"}},
		{"a manifest that is not UTF-8", "rnnt", "dev-clean-wav.json", func(s string) string { return strings.Replace(s, "transcript", "transcr\xffpt", 1) }, nil, []string{"dev-clean-wav.json", "UTF-8"}},
		{"scores of characters that are no numbers", "rnnt", "", nil, notNumbers, []string{"sample", "scores are not numbers"}},

		{"a category below 0", "dlrm", "terabyte_processed_test.bin", func(s string) string { return s[:14*4] + "\xff\xff\xff\xff" + s[15*4:] }, nil, []string{"terabyte_processed_test.bin", "pair 0"}},
		{"pairs that are cut off", "dlrm", "terabyte_processed_test.bin", func(s string) string { return s[:len(s)-3] }, nil, []string{"terabyte_processed_test.bin"}},
		{"predictions that are no numbers", "dlrm", "", nil, notNumbers, []string{"sample", "prediction for pair 0 is not a number"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			model, err := models.Lookup(c.model)
			if err != nil {
				t.Fatal(err)
			}
			dir, err := Maker{Dir: t.TempDir(), count: 2, Observer: &observer{t: t}}.Dataset(t.Context(), model)
			if err != nil {
				t.Fatal(err)
			}
			damage(t, dir, c.file, c.change)
			fill := c.fill
			if fill == nil {
				fill = fills[c.model]
			}
			_, err = answerWith(t, c.model, dir, fill)
			if c.want == nil && err != nil {
				t.Errorf("error %v", err)
			}
			for _, want := range c.want {
				if err == nil || !strings.Contains(err.Error(), want) {
					t.Errorf("error %v, want %q", err, want)
				}
			}
		})
	}
}

// damage changes the first file of a pattern.
func damage(t *testing.T, dir, pattern string, change func(string) string) {
	t.Helper()
	if pattern == "" {
		return
	}
	files, err := filepath.Glob(filepath.Join(dir, pattern))
	if err != nil || len(files) == 0 {
		t.Fatalf("there is no %s in %s, %v", pattern, dir, err)
	}
	text, err := os.ReadFile(files[0])
	if err != nil {
		t.Fatal(err)
	}
	replaceFile(t, files[0], change(string(text)))
}
