package dataset

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"
)

// The first byte that is not UTF-8, by trying: what is before it is valid, and one character more is not.
func TestWhatIsNotUTF8IsFound(t *testing.T) {
	rng := rand.New(rand.NewPCG(53, 1))
	pieces := []string{"a", "é", "語", "\U0001F600", "\xff", "\xe9", "\xf0\x9f", "\ufffd", "\n"}
	for range 500 {
		var data []byte
		for range rng.IntN(8) {
			data = append(data, pieces[rng.IntN(len(pieces))]...)
		}
		at := int(invalidAt(data))
		if utf8.Valid(data) != (at == len(data)) || !utf8.Valid(data[:at]) {
			t.Fatalf("%q: byte %d", data, at)
		}
		if at < len(data) {
			for n := 1; n <= 4 && at+n <= len(data); n++ {
				if utf8.Valid(data[:at+n]) {
					t.Fatalf("%q: byte %d is the beginning of a character", data, at)
				}
			}
		}
	}
}

func TestLinesAreCountedFromOne(t *testing.T) {
	data := []byte("a\nb\r\n\nc")
	for offset, want := range map[int64]int{0: 1, 1: 1, 2: 2, 4: 2, 5: 3, 6: 4, 7: 4, 99: 4} {
		if got := lineOf(data, offset); got != want {
			t.Errorf("byte %d is in line %d, want %d", offset, got, want)
		}
	}
}

// Questions keep the order of the file, and each knows its text.
func TestQuestionsBelongToTheirTexts(t *testing.T) {
	rng := rand.New(rand.NewPCG(53, 2))
	for range 50 {
		type paragraph struct {
			Context string           `json:"context"`
			QAs     []map[string]any `json:"qas"`
		}
		type article struct {
			Title      string      `json:"title"`
			Paragraphs []paragraph `json:"paragraphs"`
		}
		var file struct {
			Data []article `json:"data"`
		}
		var want []string
		for a := range 1 + rng.IntN(4) {
			art := article{Title: "t", Paragraphs: []paragraph{}}
			for p := range rng.IntN(4) {
				par := paragraph{Context: fmt.Sprintf("text %d.%d", a, p), QAs: []map[string]any{}}
				for q := range rng.IntN(4) {
					id := fmt.Sprintf("%d.%d.%d", a, p, q)
					answers := []map[string]any{}
					for k := range rng.IntN(3) {
						answers = append(answers, map[string]any{"text": fmt.Sprint("answer ", k), "answer_start": 0})
					}
					par.QAs = append(par.QAs, map[string]any{"id": id, "question": "q " + id, "answers": answers, "is_impossible": false})
					want = append(want, fmt.Sprintf("%s q %s text %d.%d %d", id, id, a, p, len(answers)))
				}
				art.Paragraphs = append(art.Paragraphs, par)
			}
			file.Data = append(file.Data, art)
		}
		data, err := json.Marshal(file)
		if err != nil {
			t.Fatal(err)
		}
		d, err := parseSQuAD(data)
		if len(want) == 0 {
			if err == nil || err.Error() != "there is no question" {
				t.Errorf("no questions: %v", err)
			}
			continue
		}
		if err != nil {
			t.Fatal(err)
		}
		var got []string
		for _, q := range d.Questions {
			got = append(got, fmt.Sprintf("%s %s %s %d", q.ID, q.Asked, d.Texts[q.Text], len(q.Answers)))
		}
		if !slices.Equal(got, want) {
			t.Fatalf("questions %q, want %q", got, want)
		}
	}
}

// Fields that other versions of the form have do not hurt, and those that it must have may not be null.
func TestFieldsOfQuestionsThatAreNull(t *testing.T) {
	for text, want := range map[string]string{
		`{"version":"v2.0","data":[{"paragraphs":[{"context":"c","document_id":3,"qas":[{"id":"1","question":"q","plausible_answers":[],"answers":null}]}]}]}`: "",
		`{"data":null}`:                    `there is no "data": this is not SQuAD`,
		`{"data":[null]}`:                  `data[0] has no "paragraphs"`,
		`{"data":[{"paragraphs":[null]}]}`: `data[0].paragraphs[0]: want "context" and "qas"`,
		`{"data":[{"paragraphs":[{"context":"c","qas":[null]}]}]}`: `data[0].paragraphs[0].qas[0]: want "id" and "question"`,
		`[]`:            "line 1: json: cannot unmarshal array into Go value of type dataset.squadFile",
		"\ufeff{}":      "line 1: invalid character 'ï' looking for beginning of value",
		`{"data":[]} x`: "line 1: invalid character 'x' after top-level value",
	} {
		if _, err := parseSQuAD([]byte(text)); (err != nil) != (want != "") || err != nil && err.Error() != want {
			t.Errorf("%s: %v, want %q", text, err, want)
		}
	}
}

// As str.splitlines has them: the last line perhaps ends with nothing; a blank is a sentence.
func TestSentencesAreLines(t *testing.T) {
	for text, want := range map[string][]string{
		"a":                     {"a"},
		"a\n":                   {"a"},
		"a\nb":                  {"a", "b"},
		"a\r\nb\r\n":            {"a", "b"},
		"\n":                    {""},
		"\n\na\n":               {"", "", "a"},
		" a \t\n":               {" a \t"},
		"a\rb\n":                {"a", "b"},
		"a\r\r\nb":              {"a", "", "b"},
		"a\u2028b\n":            {"a", "b"},
		"a\u2029b\u0085c":       {"a", "b", "c"},
		"a\x1cb\x1dc\x1ed\x1fe": {"a", "b", "c", "d\x1fe"},
		"a\x0bb\x0c\n":          {"a", "b", ""},
		"\ufeffa\n":             {"\ufeffa"},
	} {
		if got, err := parseLines(strings.NewReader(text)); err != nil || !slices.Equal(got, want) {
			t.Errorf("%q: %q, %v, want %q", text, got, err, want)
		}
	}
}

// A sentence may be long, but not without end.
func TestSentencesHaveAnEnd(t *testing.T) {
	if got, err := parseLines(strings.NewReader(strings.Repeat("x", longestLine-2) + "\ny\n")); err != nil || len(got) != 2 {
		t.Errorf("%d sentences, %v", len(got), err)
	}
	if _, err := parseLines(strings.NewReader("y\n" + strings.Repeat("x", longestLine+5))); err == nil || !strings.HasPrefix(err.Error(), "line 2: ") {
		t.Errorf("one of a megabyte and more: %v", err)
	}
}

func TestTranscriptsKeepWhatCanBeWritten(t *testing.T) {
	for text, want := range map[string]string{
		"":                       "",
		"MISTER QUILTER'S":       "mister quilter's",
		"  a  b ":                "a  b",
		"well-known, isn't it?":  "well known  isn't it",
		"a\tb\nc":                "a b c",
		"(he) said: \"yes\"; no": "he  said   yes   no",
		"~":                      "",
	} {
		if got, err := cleanTranscript(text); err != nil || got != want {
			t.Errorf("%q: %q, %v, want %q", text, got, err, want)
		}
	}
	for text, want := range map[string]string{
		"route 66": `the transcript has '6', want letters, blanks and apostrophes`,
		"naïve":    `the transcript has 'ï', want letters, blanks and apostrophes`,
		"it’s":     `the transcript has '’', want letters, blanks and apostrophes`,
		"\x7f":     `the transcript has '\x7f', want letters, blanks and apostrophes`,
	} {
		if got, err := cleanTranscript(text); err == nil || err.Error() != want {
			t.Errorf("%q: %q, %v, want %q", text, got, err, want)
		}
	}
	if text, err := asItIs("Route 66, naïve"); err != nil || text != "Route 66, naïve" {
		t.Errorf("%q, %v", text, err)
	}
}

func TestLengthsOfRecordings(t *testing.T) {
	for _, c := range []struct {
		samples  int
		duration float64
		want     string
	}{
		{1, 0, ""}, {15 * 16000, 15, ""}, {15 * 16000, 0.1, ""}, // what the manifest rounds does not matter
		{15*16000 + 1, 15, "num_samples is 240001, which is more than the 15 s of original_duration"},
		{20 * 16000, 20, ""}, // too long: it is left out
		{0, 1, "num_samples is 0, want 1 to 33554432"},
		{-5, 1, "num_samples is -5, want 1 to 33554432"},
		{1 << 25, 9e9, ""},
		{1<<25 + 1, 9e9, "num_samples is 33554433, want 1 to 33554432"},
	} {
		if err := checkLength(c.samples, c.duration, 15); (err != nil) != (c.want != "") || err != nil && err.Error() != c.want {
			t.Errorf("%d samples of %g s: %v, want %q", c.samples, c.duration, err, c.want)
		}
	}
}

// LibriSpeech lies as WAV where the manifest says, or as FLAC as it was published; what is there comes first.
func TestRecordingsAreFound(t *testing.T) {
	const name = "dev-clean-wav/1/2/a.wav"
	for _, c := range []struct {
		there []string
		want  string
	}{
		{nil, name},
		{[]string{name}, name},
		{[]string{"LibriSpeech/dev-clean/1/2/a.flac"}, "LibriSpeech/dev-clean/1/2/a.flac"},
		{[]string{"dev-clean/1/2/a.flac"}, "dev-clean/1/2/a.flac"},
		{[]string{"dev-clean/1/2/a.flac", "LibriSpeech/dev-clean/1/2/a.flac"}, "LibriSpeech/dev-clean/1/2/a.flac"},
		{[]string{"dev-clean/1/2/a.flac", name}, name},
		{[]string{"dev-clean-wav/1/2/a.flac"}, name},
	} {
		dir := t.TempDir()
		for _, file := range c.there {
			put(t, dir, file, "")
		}
		if got := recording(dir, name); got != filepath.Join(dir, filepath.FromSlash(c.want)) {
			t.Errorf("of %q it is %s, want %s", c.there, got, c.want)
		}
	}
	dir := t.TempDir()
	put(t, dir, "dev-clean/a.flac", "")
	if got := recording(dir, "elsewhere/a.wav"); got != filepath.Join(dir, "elsewhere", "a.wav") {
		t.Errorf("a recording of another folder is %s", got)
	}
}

func TestRecordingsOfTheOtherFormAreFoundFirstWhereTheyAreNamed(t *testing.T) {
	dir := t.TempDir()
	for _, file := range []string{"x/a.wav", "dev-all-repack/a.wav", "a.wav"} {
		put(t, dir, file, "")
	}
	for _, c := range []struct{ name, remove, want string }{
		{"x/a.wav", "", "x/a.wav"},
		{"/far/away/a.wav", "", "dev-all-repack/a.wav"},
		{"x/a.wav", "x/a.wav", "dev-all-repack/a.wav"},
		{"x/a.wav", "dev-all-repack/a.wav", "a.wav"},
		{"x/a.wav", "a.wav", "x/a.wav"}, // none is left: the first place is named
	} {
		if c.remove != "" {
			if err := os.Remove(filepath.Join(dir, filepath.FromSlash(c.remove))); err != nil {
				t.Fatal(err)
			}
		}
		if got := joinedRecording(dir, c.name); got != filepath.Join(dir, filepath.FromSlash(c.want)) {
			t.Errorf("%s without %q: %s, want %s", c.name, c.remove, got, c.want)
		}
	}
}

func TestARecordingThatVanishesIsNamed(t *testing.T) {
	dir := t.TempDir()
	put(t, dir, "dev-clean-wav.json", "["+speechEntryJSON("a.wav", 1, 16000, "a")+"]")
	put(t, dir, "a.wav", "sound")
	d, err := OpenSpeech(ShortSpeech(), dir, 0)
	if err != nil {
		t.Fatal(err)
	}
	if data, err := d.Read(0); err != nil || !bytes.Equal(data, []byte("sound")) {
		t.Errorf("%q, %v", data, err)
	}
	if err := os.Remove(filepath.Join(dir, "a.wav")); err != nil {
		t.Fatal(err)
	}
	if _, err := d.Read(0); err == nil || !strings.HasPrefix(err.Error(), "utterance 0: ") || !strings.Contains(err.Error(), "a.wav") {
		t.Errorf("%v", err)
	}
}
