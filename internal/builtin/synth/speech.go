package synth

import (
	"context"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"io"
	"math"
	"os"
	"path/filepath"
	"strings"

	"github.com/mlperf-go/mlperf/internal/fileio"
)

// A SpeechSpec says everything about a built-in data set of recordings and what is said in
// them, in the form in which the RNN-T reference keeps LibriSpeech. Equal specs make equal
// files.
//
// A recording spells its sentence: each character is a short tone, some of them faint or
// too short to be heard, in noise.
type SpeechSpec struct {
	Seed       uint64 `json:"seed"`
	Utterances int    `json:"utterances"`
	// Pitches are the frequencies in Hz of the blank between words, a to z and the apostrophe.
	Pitches []float64 `json:"pitches"`
}

const (
	speechManifest = "dev-clean-wav.json"
	speechFolder   = "dev-clean-wav"
	speechLetters  = " abcdefghijklmnopqrstuvwxyz'"
	speechRate     = 16000
)

func (s SpeechSpec) check() error {
	if s.Utterances < 1 || s.Utterances > 100_000 {
		return fmt.Errorf("utterances is %d: must be 1 to 100000", s.Utterances)
	}
	if len(s.Pitches) != len(speechLetters) {
		return fmt.Errorf("pitches are %d: must be %d", len(s.Pitches), len(speechLetters))
	}
	for _, p := range s.Pitches {
		if !(p > 0 && p < speechRate/2) {
			return fmt.Errorf("a pitch is %v: must be more than 0 and less than %d", p, speechRate/2)
		}
	}
	return nil
}

// Key returns a name for the data set, fit for a folder: equal keys mean equal files.
func (s SpeechSpec) Key() string {
	return "librispeech-" + keyOf("speech seed %d utterances %d pitches %v", s.Seed, s.Utterances, s.Pitches)
}

// An utterance as the manifest has it (retired_benchmarks/speech_recognition/rnnt,
// dev-clean-wav.json).
type (
	speechUtterance struct {
		Files      []speechFile `json:"files"`
		Duration   float64      `json:"original_duration"`
		Samples    int          `json:"original_num_samples"`
		Transcript string       `json:"transcript"`
	}
	speechFile struct {
		Channels int     `json:"channels"`
		Rate     float64 `json:"sample_rate"`
		Bits     int     `json:"bitrate"`
		Duration float64 `json:"duration"`
		Samples  int     `json:"num_samples"`
		Encoding string  `json:"encoding"`
		Silent   bool    `json:"silent"`
		Name     string  `json:"fname"`
		Speed    int     `json:"speed"`
	}
)

// WriteSpeech makes a data set: dev-clean-wav.json, the WAV files that it names, and the
// Manifest.
//
// Folder, errors and ctx are as with WriteImageNet.
func WriteSpeech(ctx context.Context, dir string, spec SpeechSpec) error {
	return publish(ctx, dir, "recordings", &spec, func(folder string) error { return spec.fill(ctx, folder) }, nil)
}

// fill writes the files: ten recordings to a chapter, as those of a speaker.
func (s SpeechSpec) fill(ctx context.Context, folder string) error {
	utterances := make([]speechUtterance, s.Utterances)
	for i := range utterances {
		if err := context.Cause(ctx); err != nil {
			return err
		}
		said, transcript := s.sentence(newStream("utterance", s.Seed, uint64(i)))
		samples := s.spell(newStream("recording", s.Seed, uint64(i)), said)
		speaker, chapter := 1000+i/20, 2000+i/10
		name := fmt.Sprintf("%s/%d/%d/%d-%d-%04d.wav", speechFolder, speaker, chapter, speaker, chapter, i%10)
		path := filepath.Join(folder, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			return err
		}
		if err := fileio.WriteFile(path, wav(samples), 0o644); err != nil {
			return err
		}
		utterances[i] = newUtterance(name, len(samples), transcript)
	}
	return fileio.WriteAtomic(filepath.Join(folder, speechManifest), 0o644, func(f io.Writer) error {
		e := json.NewEncoder(f)
		e.SetEscapeHTML(false)
		e.SetIndent("", "  ")
		return e.Encode(utterances)
	})
}

func newUtterance(name string, samples int, transcript string) speechUtterance {
	seconds := float64(samples) / speechRate
	file := speechFile{Channels: 1, Rate: speechRate, Bits: 16, Duration: seconds, Samples: samples, Encoding: "Signed Integer PCM",
		Name: name, Speed: 1}
	return speechUtterance{Files: []speechFile{file}, Duration: seconds, Samples: samples, Transcript: transcript}
}

// otherWordPercent is how many words people took down otherwise.
const otherWordPercent = 5

// sentence draws what is said and what people took down. No letter is in a word twice in a
// row: two tones of the same pitch would be one.
func (s SpeechSpec) sentence(r *stream) (said, transcript string) {
	var words, heard []string
	for range r.between(2, 4) + r.below(1+r.below(10)) {
		word := spoken(r)
		words = append(words, word)
		if r.below(100) < otherWordPercent {
			word = spoken(r)
		}
		heard = append(heard, word)
	}
	return strings.Join(words, " "), strings.Join(heard, " ")
}

// spoken draws a word.
func spoken(r *stream) string {
	word := newWord(r)
	if r.below(3) > 0 {
		word = commonWords[r.below(len(commonWords))]
	}
	if r.below(25) == 0 {
		word += "'s"
	}
	var b strings.Builder
	for i := range len(word) {
		if i == 0 || word[i] != word[i-1] {
			b.WriteByte(word[i])
		}
	}
	return b.String()
}

// How characters sound.
const (
	shortestTone  = 9 // hundredths of a second
	longestTone   = 13
	swallowedTone = 8   // of one of 40 tones
	loudTone      = 0.2 // amplitude
	toneRamp      = 80  // samples
	noiseLevel    = 0.012
)

// spell records a sentence.
func (s SpeechSpec) spell(r *stream, said string) []int16 {
	silence := func() []float64 { return make([]float64, speechRate/100*r.between(15, 40)) }
	wave := silence()
	for _, c := range []byte(said) {
		length := r.between(shortestTone, longestTone)
		if r.below(40) == 0 {
			length = swallowedTone
		}
		n, pitch, phase := length*speechRate/100, s.Pitches[strings.IndexByte(speechLetters, c)]/speechRate, r.uniform()
		level := loudTone / float64(1+r.below(5)) // by up to 14 dB
		for i := range n {
			ramp := float64(min(i, n-i, toneRamp)) / toneRamp
			wave = append(wave, float64(level*ramp)*sine(phase+float64(pitch*float64(i))))
		}
	}
	wave = append(wave, silence()...)
	samples := make([]int16, len(wave))
	for i, v := range wave {
		samples[i] = int16(math.Floor(float64((v+float64(noiseLevel*r.normal()))*(1<<15)) + 0.5))
	}
	return samples
}

// wav is a WAV file of one channel of 16 bits.
func wav(samples []int16) []byte {
	size, comment := 2*len(samples), wavComment()
	b := binary.LittleEndian.AppendUint32([]byte("RIFF"), uint32(36+len(comment)+size))
	b = append(b, "WAVEfmt \x10\x00\x00\x00\x01\x00\x01\x00"...)
	b = binary.LittleEndian.AppendUint32(b, speechRate)
	b = binary.LittleEndian.AppendUint32(b, 2*speechRate)
	b = append(b, "\x02\x00\x10\x00data"...)
	b = binary.LittleEndian.AppendUint32(b, uint32(size))
	for _, v := range samples {
		b = binary.LittleEndian.AppendUint16(b, uint16(v))
	}
	return append(b, comment...)
}
