package dataset

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"unicode/utf8"

	"github.com/mlperf-go/mlperf/internal/regular"
)

// Speech is a set of recordings, and what is said in them.
type Speech struct {
	Utterances []Utterance
	// LeftOut is how many recordings are too long.
	LeftOut int
}

// An Utterance is a recording.
type Utterance struct {
	Path       string
	Samples    int // that the manifest says it has, at 16 kHz
	Transcript string
}

// The manifest of LibriSpeech as the RNN-T reference has it, and what it says of it (QSL.py,
// configs/rnnt.toml).
const (
	speechManifest    = "dev-clean-wav.json"
	longestSpeech     = 15.0 // seconds; longer recordings are left out
	speechRate        = 16000
	speechLetters     = " abcdefghijklmnopqrstuvwxyz'"
	longestManifest   = 1 << 30
	longestRecordings = 1 << 26 // bytes of one: half an hour
)

// OpenSpeech reads dev-clean-wav.json of a folder. The recordings that it names are there, as
// WAV; or, where LibriSpeech is as it was published, as FLAC in LibriSpeech/dev-clean. Those
// of more than 15 s are left out, as in the reference. With a count only the first so many
// are used, and have to be there.
func OpenSpeech(dir string, count int) (*Speech, error) {
	d, err := readSpeech(dir)
	if err != nil {
		return nil, err
	}
	if count > len(d.Utterances) {
		return nil, fmt.Errorf("opening the recordings: %d are wanted, %s has %d of up to %g s", count, dir, len(d.Utterances), longestSpeech)
	}
	if count > 0 {
		d.Utterances = d.Utterances[:count]
	}
	for i := range d.Utterances {
		u := &d.Utterances[i]
		u.Path = recording(dir, u.Path)
		if _, err := regular.Stat(u.Path); err != nil {
			return nil, fmt.Errorf("opening the recordings: utterance %d: %w", i, err)
		}
	}
	return d, nil
}

// ReadTranscripts reads what is said in the recordings of a folder, which need not be there.
func ReadTranscripts(dir string) ([]string, error) {
	d, err := readSpeech(dir)
	if err != nil {
		return nil, err
	}
	transcripts := make([]string, len(d.Utterances))
	for i, u := range d.Utterances {
		transcripts[i] = u.Transcript
	}
	return transcripts, nil
}

func readSpeech(dir string) (*Speech, error) {
	path := filepath.Join(dir, speechManifest)
	data, err := regular.ReadFile(path, longestManifest)
	if err != nil {
		return nil, fmt.Errorf("opening the recordings: %w", err)
	}
	d, err := parseSpeech(data)
	if err != nil {
		return nil, fmt.Errorf("opening the recordings: %s: %w", path, err)
	}
	return d, nil
}

// recording is where a file of the manifest lies.
func recording(dir, name string) string {
	path := filepath.Join(dir, filepath.FromSlash(name))
	inner, ok := strings.CutPrefix(name, "dev-clean-wav/")
	if _, err := os.Stat(path); err == nil || !ok {
		return path
	}
	flac := strings.TrimSuffix(inner, ".wav") + ".flac"
	for _, folder := range []string{"LibriSpeech/dev-clean", "dev-clean"} {
		other := filepath.Join(dir, filepath.FromSlash(folder), filepath.FromSlash(flac))
		if _, err := os.Stat(other); err == nil {
			return other
		}
	}
	return path
}

// Read returns the file of a recording.
func (d *Speech) Read(i int) ([]byte, error) {
	data, err := regular.ReadFile(d.Utterances[i].Path, longestRecordings)
	if err != nil {
		return nil, fmt.Errorf("utterance %d: %w", i, err)
	}
	return data, nil
}

// A speechEntry is an utterance of the manifest.
type speechEntry struct {
	Files []struct {
		Name    string `json:"fname"`
		Samples int    `json:"num_samples"`
	} `json:"files"`
	Duration   *float64 `json:"original_duration"`
	Transcript *string  `json:"transcript"`
}

// parseSpeech reads a manifest.
func parseSpeech(data []byte) (*Speech, error) {
	if !utf8.Valid(data) {
		return nil, errors.New("the text is not UTF-8")
	}
	decoder := json.NewDecoder(bytes.NewReader(data))
	var entries []speechEntry
	if err := decoder.Decode(&entries); err != nil {
		return nil, err
	}
	if _, err := decoder.Token(); err != io.EOF {
		return nil, errors.New("there is something after the list of utterances")
	}
	d := &Speech{}
	for i, e := range entries {
		u, err := e.utterance()
		if err != nil {
			return nil, fmt.Errorf("utterance %d: %w", i, err)
		}
		if *e.Duration > longestSpeech {
			d.LeftOut++
			continue
		}
		d.Utterances = append(d.Utterances, u)
	}
	if len(d.Utterances) == 0 {
		return nil, fmt.Errorf("there are no utterances of up to %g s", longestSpeech)
	}
	return d, nil
}

// utterance checks an entry. The first of its files is the one that is heard: others are the
// same at other speeds.
func (e speechEntry) utterance() (u Utterance, err error) {
	switch {
	case len(e.Files) == 0 || e.Files[0].Name == "":
		return u, errors.New("no file is named (files, fname)")
	case !filepath.IsLocal(filepath.FromSlash(e.Files[0].Name)):
		return u, fmt.Errorf("the file %q is not below the folder of the manifest", e.Files[0].Name)
	case e.Duration == nil || !(*e.Duration >= 0):
		return u, errors.New("there is no original_duration")
	case e.Files[0].Samples < 1 || e.Files[0].Samples > longestRecordings/2:
		return u, fmt.Errorf("num_samples is %d, want 1 to %d", e.Files[0].Samples, longestRecordings/2)
	case *e.Duration <= longestSpeech && e.Files[0].Samples > longestSpeech*speechRate:
		return u, fmt.Errorf("num_samples is %d, which is more than the %g s of original_duration", e.Files[0].Samples, *e.Duration)
	case e.Transcript == nil:
		return u, errors.New("there is no transcript")
	}
	if u.Transcript, err = cleanTranscript(*e.Transcript); err != nil {
		return u, err
	}
	u.Path, u.Samples = e.Files[0].Name, e.Files[0].Samples
	return u, nil
}

// cleanTranscript keeps what the model can write, in small letters. The reference also spells
// out numbers and abbreviations, and takes accents away, of which LibriSpeech has none: here
// that is an error.
func cleanTranscript(text string) (string, error) {
	var b strings.Builder
	for _, c := range strings.ToLower(text) {
		switch {
		case strings.ContainsRune(speechLetters, c):
			b.WriteRune(c)
		case c >= '0' && c <= '9' || c > '~':
			return "", fmt.Errorf("the transcript has %q, want letters, blanks and apostrophes", c)
		default:
			b.WriteByte(' ')
		}
	}
	return strings.TrimSpace(b.String()), nil
}
