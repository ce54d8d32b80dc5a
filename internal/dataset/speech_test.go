package dataset

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/mlperf-go/mlperf/internal/testenv"
)

func speechEntryJSON(name string, duration float64, samples int, transcript string) string {
	return fmt.Sprintf(`{"files": [{"fname": %q, "num_samples": %d, "sample_rate": 16000.0, "speed": 1}], "original_duration": %g, "original_num_samples": %d, "transcript": %q}`,
		name, samples, duration, samples, transcript)
}

func TestOpenSpeechLeavesOutLongRecordings(t *testing.T) {
	dir := t.TempDir()
	put(t, dir, "dev-clean-wav.json", "["+strings.Join([]string{
		speechEntryJSON("dev-clean-wav/1/2/1-2-0.wav", 2, 32000, "He said: it's  FINE."),
		speechEntryJSON("dev-clean-wav/1/2/1-2-1.wav", 35, 35*16000, "too long"),
		speechEntryJSON("dev-clean-wav/1/2/1-2-2.wav", 15, 15*16000, "just right"),
		speechEntryJSON("dev-clean-wav/1/2/1-2-3.wav", 1, 16000, "missing"),
	}, ",")+"]\n")
	put(t, dir, "dev-clean-wav/1/2/1-2-0.wav", "wav")
	put(t, dir, "LibriSpeech/dev-clean/1/2/1-2-2.flac", "flac") // as LibriSpeech is published
	d, err := OpenSpeech(ShortSpeech(), dir, 2)
	if err != nil {
		t.Fatal(err)
	}
	want := []Utterance{
		{filepath.Join(dir, "dev-clean-wav/1/2/1-2-0.wav"), 32000, "he said it's fine"},
		{filepath.Join(dir, "LibriSpeech/dev-clean/1/2/1-2-2.flac"), 15 * 16000, "just right"},
	}
	if diff := cmp.Diff(want, d.Utterances); diff != "" || d.LeftOut != 1 {
		t.Errorf("%d left out (-want +got):\n%s", d.LeftOut, diff)
	}
	if data, err := d.Read(1); err != nil || string(data) != "flac" {
		t.Errorf("Read(1) = %q, %v", data, err)
	}
	if _, err := OpenSpeech(ShortSpeech(), dir, 0); err == nil || !strings.Contains(err.Error(), "utterance 2: ") || !strings.Contains(err.Error(), "1-2-3.wav") {
		t.Errorf("a recording that is missing: error %v", err)
	}
	if _, err := OpenSpeech(ShortSpeech(), dir, 4); err == nil || !strings.Contains(err.Error(), "4 are wanted") {
		t.Errorf("too many: error %v", err)
	}
	if texts, err := ReadTranscripts(ShortSpeech(), dir); err != nil || len(texts) != 3 || texts[2] != "missing" {
		t.Errorf("ReadTranscripts: %q, %v", texts, err)
	}
}

func TestSpeechManifestErrors(t *testing.T) {
	good := speechEntryJSON("a.wav", 1, 16000, "a")
	for _, test := range []struct{ name, content, want string }{
		{"nothing", "", "EOF"},
		{"no list", `{"files": []}`, `line 1: unexpected object at ""`},
		{"cut off", "[" + good, "unexpected EOF"},
		{"more after the list", "[" + good + "] []", "line 1: "},
		{"not UTF-8", "[\"\xff\"]", "invalid UTF-8"},
		{"no file", `[{"files": [], "original_duration": 1, "transcript": "a"}]`, "utterance 0: no file (files, fname)"},
		{"no duration", "[" + good + `, {"files": [{"fname": "a", "num_samples": 1}], "transcript": "a"}]`, "utterance 1: no original_duration"},
		{"no transcript", `[{"files": [{"fname": "a", "num_samples": 1}], "original_duration": 1}]`, "no transcript"},
		{"a file elsewhere", "[" + speechEntryJSON("../a.wav", 1, 16000, "a") + "]", "not below the folder"},
		{"numbers", "[" + speechEntryJSON("a.wav", 1, 16000, "at 8") + "]", "the transcript has '8'"},
		{"accents", "[" + speechEntryJSON("a.wav", 1, 16000, "café") + "]", "the transcript has 'é'"},
		{"only long ones", "[" + speechEntryJSON("a.wav", 16, 16*16000, "a") + "]", "no utterances of up to 15 s"},
	} {
		dir := t.TempDir()
		put(t, dir, "dev-clean-wav.json", test.content)
		_, err := ReadTranscripts(ShortSpeech(), dir)
		if err == nil || !strings.Contains(err.Error(), test.want) || !strings.Contains(err.Error(), "dev-clean-wav.json") {
			t.Errorf("%s: error %v, want %q", test.name, err, test.want)
		}
	}
}

// The Whisper reference names recordings by their folder, perhaps of another machine.
func TestJoinedSpeechFindsRecordings(t *testing.T) {
	for _, name := range []string{"dev-all-repack/1-2_0.wav", "/data/LibriSpeech/dev-all-repack/1-2_0.wav", "../../elsewhere/1-2_0.wav"} {
		for _, there := range []string{"dev-all-repack/1-2_0.wav", "1-2_0.wav"} {
			dir := t.TempDir()
			if err := os.MkdirAll(filepath.Dir(filepath.Join(dir, there)), 0o755); err != nil {
				t.Fatal(err)
			}
			put(t, dir, there, "sound")
			put(t, dir, "dev-all-repack.json", "["+speechEntryJSON(name, 29, 29*16000, "At 8, café!")+","+speechEntryJSON("long.wav", 31, 31*16000, "a")+"]")
			d, err := OpenSpeech(JoinedSpeech(), dir, 0)
			if err != nil || len(d.Utterances) != 1 || d.LeftOut != 1 || d.Utterances[0].Path != filepath.Join(dir, there) || d.Utterances[0].Transcript != "At 8, café!" {
				t.Errorf("%s at %s: %+v, %v", name, there, d, err)
			}
		}
	}
	dir := t.TempDir()
	put(t, dir, "dev-all-repack.json", "["+speechEntryJSON("/etc/hostname", 1, 16000, "a")+"]")
	if _, err := OpenSpeech(JoinedSpeech(), dir, 0); err == nil || !strings.Contains(err.Error(), dir) {
		t.Errorf("a file elsewhere: %v", err)
	}
}

// Expected values are those of english_cleaners (RNN-T's pytorch/parts/text/cleaners.py) with the punctuation of manifest.py, stripped.
func TestCleanTranscript(t *testing.T) {
	for text, want := range map[string]string{
		"":                                     "",
		"MISTER QUILTER'S":                     "mister quilter's",
		"  a  b ":                              "a b",
		"well-known, isn't it?":                "well known isn't it",
		"a\tb\nc":                              "a b c",
		"(he) said: \"yes\"; no":               "he said yes no",
		"~":                                    "",
		"Salt & pepper":                        "salt and pepper",
		"a+b&c":                                "a plus b and c",
		"R&B ++ &":                             "r and b plus plus and",
		"Mrs. Smith and Mr. Jones of St. Ives": "misess smith and mister jones of saint ives",
		"drs. dr. amr. mr.x co.":               "doctors doctor amr misterx company",
		"Lt.Col. co.st. Gen.":                  "lieutenantcol companysaint general",
		"ft.& ltd.+":                           "fort and limited plus",
	} {
		if got, err := cleanTranscript(text); err != nil || got != want {
			t.Errorf("%q: %q, %v, want %q", text, got, err, want)
		}
	}
	for text, want := range map[string]string{
		"route 66": `'6'`,
		"naïve":    `'ï'`,
		"it’s":     `'’'`,
		"\x7f":     `'\x7f'`,
	} {
		if got, err := cleanTranscript(text); !testenv.Names(err, want) {
			t.Errorf("%q: %q, %v, want %q", text, got, err, want)
		}
	}
}

// A score needs no num_samples, a run does.
func TestLengthsOfRecordings(t *testing.T) {
	for _, samples := range []int{0, -1, 15*16000 + 1, 1<<25 + 1} {
		dir := t.TempDir()
		put(t, dir, "dev-clean-wav.json", "["+speechEntryJSON("a.wav", 1, samples, "a")+"]")
		put(t, dir, "a.wav", "wav")
		want := fmt.Sprintf("dev-clean-wav.json: a.wav: num_samples is %d: must be 1 to 240000 (15 s)", samples)
		if _, err := OpenSpeech(ShortSpeech(), dir, 0); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %q", err, want)
		}
		if texts, err := ReadTranscripts(ShortSpeech(), dir); err != nil || len(texts) != 1 {
			t.Errorf("num_samples %d: transcripts %q, %v", samples, texts, err)
		}
	}
}

func FuzzParseSpeech(f *testing.F) {
	f.Add([]byte("[" + speechEntryJSON("a.wav", 1, 16000, "it's") + "]"))
	f.Add([]byte(`[{"files": [{"fname": "a", "num_samples": 1}], "original_duration": null, "transcript": "a"}]`))
	f.Fuzz(func(t *testing.T, data []byte) {
		d, err := ShortSpeech().parse(data)
		if err != nil {
			return
		}
		for i, u := range d.Utterances {
			if !filepath.IsLocal(filepath.FromSlash(u.Path)) || strings.Trim(u.Transcript, "abcdefghijklmnopqrstuvwxyz '") != "" {
				t.Errorf("utterance %d is %+v", i, u)
			}
		}
	})
}
