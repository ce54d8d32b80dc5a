package dataset

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"strings"
	"unicode/utf8"
)

// A speechEntry is an utterance of the manifest.
type speechEntry struct {
	Files []struct {
		Name    string `json:"fname"`
		Samples int    `json:"num_samples"`
	} `json:"files"`
	Duration   *float64 `json:"original_duration"`
	Transcript *string  `json:"transcript"`
}

// decodeOnly decodes the list that is all there is.
func decodeOnly(data []byte, entries *[]speechEntry) error {
	decoder := json.NewDecoder(bytes.NewReader(data))
	if err := decoder.Decode(entries); err != nil {
		return err
	}
	if _, err := decoder.Token(); err != io.EOF {
		return errors.New("there is something after the list of utterances")
	}
	return nil
}

// parse reads a manifest.
func (f SpeechForm) parse(data []byte) (*Speech, error) {
	if !utf8.Valid(data) {
		return nil, errors.New("the text is not UTF-8")
	}
	var entries []speechEntry
	if err := decodeOnly(data, &entries); err != nil {
		return nil, err
	}
	d := &Speech{Longest: f.longest}
	for i, e := range entries {
		u, err := e.utterance(f)
		if err != nil {
			return nil, fmt.Errorf("utterance %d: %w", i, err)
		}
		if *e.Duration > f.longest {
			d.LeftOut++
			continue
		}
		d.Utterances = append(d.Utterances, u)
	}
	if len(d.Utterances) == 0 {
		return nil, fmt.Errorf("there are no utterances of up to %g s", f.longest)
	}
	return d, nil
}

// utterance checks an entry. The first of its files is the one that is heard: others are the
// same at other speeds.
func (e speechEntry) utterance(f SpeechForm) (u Utterance, err error) {
	if err := e.check(f); err != nil {
		return u, err
	}
	if u.Transcript, err = f.clean(*e.Transcript); err != nil {
		return u, err
	}
	u.Path, u.Samples = e.Files[0].Name, e.Files[0].Samples
	return u, nil
}

func (e speechEntry) check(f SpeechForm) error {
	if len(e.Files) == 0 || e.Files[0].Name == "" {
		return errors.New("no file is named (files, fname)")
	}
	file := e.Files[0]
	switch {
	case !f.anywhere && !filepath.IsLocal(filepath.FromSlash(file.Name)):
		return fmt.Errorf("the file %q is not below the folder of the manifest", file.Name)
	case e.Duration == nil || !(*e.Duration >= 0):
		return errors.New("there is no original_duration")
	case e.Transcript == nil:
		return errors.New("there is no transcript")
	}
	return checkLength(file.Samples, *e.Duration, f.longest)
}

// checkLength wants no more samples than a recording of up to the longest time has.
func checkLength(samples int, duration, longest float64) error {
	if samples < 1 || samples > longestRecordings/2 {
		return fmt.Errorf("num_samples is %d, want 1 to %d", samples, longestRecordings/2)
	}
	if duration <= longest && float64(samples) > longest*speechRate {
		return fmt.Errorf("num_samples is %d, which is more than the %g s of original_duration", samples, duration)
	}
	return nil
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
