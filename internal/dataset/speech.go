package dataset

import (
	"errors"
	"fmt"
	"path"
	"path/filepath"
	"regexp"
	"strings"

	"github.com/mlperf-go/mlperf/internal/fileio"
)

// Speech is a set of recordings with their transcripts.
type Speech struct {
	Utterances []Utterance
	Longest    float64 // longest length of a recording, in seconds
	LeftOut    int     // longer recordings
}

// An Utterance is a recording.
type Utterance struct {
	Path       string
	Samples    int // according to the manifest, at 16 kHz
	Transcript string
}

// A SpeechForm is a form of LibriSpeech, for a benchmark.
type SpeechForm struct {
	manifest  string
	longest   float64 // seconds; longer recordings are left out
	elsewhere bool    // recordings may be named by folders of another machine
	clean     func(transcript string) (string, error)
	find      func(dir, name string) string
}

// ShortSpeech is dev-clean-wav.json of the RNN-T reference (QSL.py, configs/rnnt.toml). Its recordings are WAV files, or
// FLAC files in LibriSpeech/dev-clean as published.
func ShortSpeech() SpeechForm {
	return SpeechForm{manifest: "dev-clean-wav.json", longest: 15, clean: cleanTranscript, find: func(dir, name string) string {
		places := []string{name}
		if flac, ok := strings.CutPrefix(strings.TrimSuffix(name, ".wav")+".flac", "dev-clean-wav/"); ok {
			places = append(places, "LibriSpeech/dev-clean/"+flac, "dev-clean/"+flac)
		}
		return firstExisting(dir, places...)
	}}
}

// JoinedSpeech is dev-all-repack.json of the Whisper reference (speech2text, QSL.py, manifest.py and
// utils/repackage_librispeech.py): recordings of a chapter joined to up to 30 s, perhaps on another
// machine. The metric cleans the transcripts.
func JoinedSpeech() SpeechForm {
	clean := func(transcript string) (string, error) { return transcript, nil }
	return SpeechForm{manifest: "dev-all-repack.json", longest: 30, elsewhere: true, clean: clean, find: func(dir, name string) string {
		base := path.Base(filepath.ToSlash(name))
		places := []string{"dev-all-repack/" + base, base}
		if filepath.IsLocal(filepath.FromSlash(name)) {
			places = append([]string{name}, places...)
		}
		return firstExisting(dir, places...)
	}}
}

const (
	speechRate   = 16000
	maxRecording = 1 << 26 // bytes: half an hour
)

// OpenSpeech reads the manifest of a folder and leaves out longer recordings, as the reference does.
// With a count it uses only the first ones. These must exist.
func OpenSpeech(form SpeechForm, dir string, count int) (*Speech, error) {
	d, err := form.read(dir)
	if err != nil {
		return nil, err
	}
	if count > len(d.Utterances) {
		return nil, fmt.Errorf("opening the recordings: %d are wanted, %s has %d of up to %g s", count, dir, len(d.Utterances), form.longest)
	}
	if count > 0 {
		d.Utterances = d.Utterances[:count]
	}
	for i := range d.Utterances {
		u := &d.Utterances[i]
		if longest := int(form.longest * speechRate); u.Samples < 1 || u.Samples > longest {
			return nil, fmt.Errorf("opening the recordings: %s: %s: num_samples is %d: must be 1 to %d (%g s)",
				filepath.Join(dir, form.manifest), u.Path, u.Samples, longest, form.longest)
		}
		u.Path = form.find(dir, u.Path)
		if _, err := fileio.Stat(u.Path); err != nil {
			return nil, fmt.Errorf("opening the recordings: utterance %d: %w", i, err)
		}
	}
	return d, nil
}

// ReadTranscripts reads the transcripts of a folder, whose recordings may be missing, and their num_samples.
func ReadTranscripts(form SpeechForm, dir string) ([]string, error) {
	d, err := form.read(dir)
	if err != nil {
		return nil, err
	}
	transcripts := make([]string, len(d.Utterances))
	for i, u := range d.Utterances {
		transcripts[i] = u.Transcript
	}
	return transcripts, nil
}

func (f SpeechForm) read(dir string) (*Speech, error) {
	path := filepath.Join(dir, f.manifest)
	data, err := fileio.ReadFile(path, maxText)
	if err != nil {
		return nil, fmt.Errorf("opening the recordings: %w", err)
	}
	d, err := f.parse(data)
	if err != nil {
		return nil, fmt.Errorf("opening the recordings: %s: %w", path, err)
	}
	return d, nil
}

// parse reads a manifest. Of the files of an utterance the first counts; the others are the same at other speeds.
func (f SpeechForm) parse(data []byte) (*Speech, error) {
	var entries []struct {
		Files []struct {
			Name    string `json:"fname"`
			Samples int    `json:"num_samples"`
		} `json:"files"`
		Duration   *float64 `json:"original_duration"`
		Transcript *string  `json:"transcript"`
	}
	if err := parseJSON(data, &entries); err != nil {
		return nil, err
	}
	d := &Speech{Longest: f.longest}
	for i, e := range entries {
		var err error
		u := Utterance{}
		if len(e.Files) > 0 {
			u.Path, u.Samples = e.Files[0].Name, e.Files[0].Samples
		}
		switch {
		case u.Path == "":
			err = errors.New("no file (files, fname)")
		case !f.elsewhere && !filepath.IsLocal(filepath.FromSlash(u.Path)):
			err = fmt.Errorf("the file %q is not below the folder of the manifest", u.Path)
		case e.Duration == nil || *e.Duration < 0:
			err = errors.New("no original_duration")
		case e.Transcript == nil:
			err = errors.New("no transcript")
		default:
			u.Transcript, err = f.clean(*e.Transcript)
		}
		switch {
		case err != nil:
			return nil, fmt.Errorf("utterance %d: %w", i, err)
		case *e.Duration > f.longest:
			d.LeftOut++
		default:
			d.Utterances = append(d.Utterances, u)
		}
	}
	if len(d.Utterances) == 0 {
		return nil, fmt.Errorf("no utterances of up to %g s", f.longest)
	}
	return d, nil
}

// abbreviations are those that the reference spells out, one after the other (pytorch/parts/text/cleaners.py).
var abbreviations = [][2]string{
	{"mrs", "misess"}, {"mr", "mister"}, {"dr", "doctor"}, {"st", "saint"}, {"co", "company"}, {"jr", "junior"}, {"maj", "major"},
	{"gen", "general"}, {"drs", "doctors"}, {"rev", "reverend"}, {"lt", "lieutenant"}, {"hon", "honorable"}, {"sgt", "sergeant"},
	{"capt", "captain"}, {"esq", "esquire"}, {"ltd", "limited"}, {"col", "colonel"}, {"ft", "fort"},
}

// cleanTranscript keeps the characters of the model, in lower case. The reference also spells
// out numbers and drops accents, which LibriSpeech does not have: here they are errors.
func cleanTranscript(text string) (string, error) {
	var b strings.Builder
	text = strings.ToLower(text)
	for _, a := range abbreviations {
		if strings.Contains(text, a[0]+".") {
			text = regexp.MustCompile(`\b`+a[0]+`\.`).ReplaceAllString(text, a[1])
		}
	}
	for _, c := range text {
		switch {
		case c >= 'a' && c <= 'z', c == '\'':
			b.WriteRune(c)
		case c >= '0' && c <= '9' || c > '~':
			return "", fmt.Errorf("the transcript has %q, expected letters, blanks and apostrophes", c)
		case c == '&':
			b.WriteString(" and ")
		case c == '+':
			b.WriteString(" plus ")
		default:
			b.WriteByte(' ')
		}
	}
	return strings.Join(strings.Fields(b.String()), " "), nil
}

// Read returns the file of a recording.
func (d *Speech) Read(i int) ([]byte, error) {
	data, err := fileio.ReadFile(d.Utterances[i].Path, maxRecording)
	if err != nil {
		return nil, fmt.Errorf("utterance %d: %w", i, err)
	}
	return data, nil
}
