package dataset

import (
	"fmt"
	"os"
	"path"
	"path/filepath"
	"strings"

	"github.com/mlperf-go/mlperf/internal/fileio"
)

// Speech is a set of recordings, and what is said in them.
type Speech struct {
	Utterances []Utterance
	// Longest is how long a recording may be, in seconds.
	Longest float64
	// LeftOut is how many recordings are too long.
	LeftOut int
}

// An Utterance is a recording.
type Utterance struct {
	Path       string
	Samples    int // that the manifest says it has, at 16 kHz
	Transcript string
}

// A SpeechForm is one in which a benchmark has LibriSpeech: its manifest, and what counts of it.
type SpeechForm struct {
	manifest string
	longest  float64 // seconds; longer recordings are left out
	anywhere bool    // recordings may be named by folders that are not here
	clean    func(transcript string) (string, error)
	find     func(dir, name string) string
}

// ShortSpeech is dev-clean-wav.json, as the RNN-T reference has it (QSL.py, configs/rnnt.toml). The
// recordings that it names are there, as WAV; or, where LibriSpeech is as it was published, as FLAC in
// LibriSpeech/dev-clean.
func ShortSpeech() SpeechForm {
	return SpeechForm{manifest: "dev-clean-wav.json", longest: 15, clean: cleanTranscript, find: recording}
}

// JoinedSpeech is dev-all-repack.json, as the Whisper reference has it (speech2text, QSL.py, manifest.py and
// utils/repackage_librispeech.py): recordings of a chapter put together up to 30 s. It may have been made on another
// machine.
func JoinedSpeech() SpeechForm {
	return SpeechForm{manifest: "dev-all-repack.json", longest: 30, anywhere: true, clean: asItIs, find: joinedRecording}
}

const (
	speechRate        = 16000
	speechLetters     = " abcdefghijklmnopqrstuvwxyz'"
	longestManifest   = 1 << 30
	longestRecordings = 1 << 26 // bytes of one: half an hour
)

// OpenSpeech reads the manifest of a folder. Recordings that are too long are left out, as in the reference.
// With a count only the first so many are used, and have to be there.
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
		u.Path = form.find(dir, u.Path)
		if _, err := fileio.Stat(u.Path); err != nil {
			return nil, fmt.Errorf("opening the recordings: utterance %d: %w", i, err)
		}
	}
	return d, nil
}

// ReadTranscripts reads what is said in the recordings of a folder, which need not be there.
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
	data, err := fileio.ReadFile(path, longestManifest)
	if err != nil {
		return nil, fmt.Errorf("opening the recordings: %w", err)
	}
	d, err := f.parse(data)
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

// joinedRecording is where a file of the manifest lies. The reference names it by the folder in which it was
// made, perhaps on another machine.
func joinedRecording(dir, name string) string {
	base := path.Base(filepath.ToSlash(name))
	places := []string{filepath.Join(dir, "dev-all-repack", base), filepath.Join(dir, base)}
	if local := filepath.FromSlash(name); filepath.IsLocal(local) {
		places = append([]string{filepath.Join(dir, local)}, places...)
	}
	for _, place := range places {
		if _, err := os.Stat(place); err == nil {
			return place
		}
	}
	return places[0]
}

// asItIs keeps a transcript: the metric leaves out what cannot be written.
func asItIs(text string) (string, error) { return text, nil }

// Read returns the file of a recording.
func (d *Speech) Read(i int) ([]byte, error) {
	data, err := fileio.ReadFile(d.Utterances[i].Path, longestRecordings)
	if err != nil {
		return nil, fmt.Errorf("utterance %d: %w", i, err)
	}
	return data, nil
}
