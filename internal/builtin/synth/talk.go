package synth

import (
	"context"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/mlperf-go/mlperf/internal/fileio"
)

// A TalkSpec says everything about a built-in data set of recordings and what is said in them, in the form in
// which the Whisper reference keeps LibriSpeech: put together up to 30 s. Equal specs make equal files.
//
// Each word begins at a time of its own and is a chord, a low tone and a high one; some tones are faint or
// missing, and there is noise. Two words have the same chord: the first is said where the last word but
// one has tones whose numbers, counted from 0, add up to something even.
type TalkSpec struct {
	Seed       uint64 `json:"seed"`
	Recordings int    `json:"recordings"`
	// Low and High are the frequencies of the tones in Hz.
	Low  []float64 `json:"low"`
	High []float64 `json:"high"`
	// Start and Each are when the first word begins and how long each takes, in seconds.
	Start float64 `json:"start"`
	Each  float64 `json:"each"`
	// FirstWord is the token of the first word.
	FirstWord int `json:"first_word"`
}

const (
	talkManifest  = "dev-all-repack.json"
	talkFolder    = "dev-all-repack"
	longestTalk   = 30.0 // seconds
	fewestSpoken  = 8    // words of a recording
	talkTone      = 0.7  // of the time of a word
	missingTone   = 40   // one of so many is not there
	mostTones     = 100
	leastOfAWord  = 0.2 // seconds
	talkMarkCount = 5
)

// talkMarks are the first tokens (openai-whisper, whisper/tokenizer.py).
var talkMarks = [talkMarkCount]string{"<|endoftext|>", "<|startoftranscript|>", "<|en|>", "<|transcribe|>", "<|notimestamps|>"}

func (s TalkSpec) hasTones() bool {
	return min(len(s.Low), len(s.High)) >= 1 && max(len(s.Low), len(s.High)) <= mostTones
}

func (s TalkSpec) hasTime() bool {
	return s.Start >= 0 && s.Each >= leastOfAWord && s.mostWords() > fewestSpoken
}

func (s TalkSpec) check() error {
	switch {
	case s.Recordings < 1 || s.Recordings > 100_000:
		return fmt.Errorf("recordings is %d: must be 1 to 100000", s.Recordings)
	case !s.hasTones():
		return fmt.Errorf("there are %d low tones and %d high ones, expected 1 to %d", len(s.Low), len(s.High), mostTones)
	case !s.hasTime():
		return fmt.Errorf("words begin at %v s and take %v s: of %d none are left in %v s", s.Start, s.Each, fewestSpoken, longestTalk)
	case s.FirstWord < talkMarkCount || s.FirstWord > 1<<20:
		return fmt.Errorf("first_word is %d: must be at least %d", s.FirstWord, talkMarkCount)
	}
	return checkTones(slices.Concat(s.Low, s.High))
}

// checkTones wants tones that a recording can hold.
func checkTones(list []float64) error {
	for _, p := range list {
		if !(p > 0 && p < speechRate/2) {
			return fmt.Errorf("a tone is %v: must be more than 0 and less than %d", p, speechRate/2)
		}
	}
	return nil
}

// mostWords is how many words a recording has room for.
func (s TalkSpec) mostWords() int { return int((longestTalk - s.Start) / s.Each) }

// Key returns a name for the data set, fit for a folder: equal keys mean equal files.
func (s TalkSpec) Key() string { return "librispeech-whisper-" + keyOf("talk %+v", s) }

// WriteTalk makes a data set: dev-all-repack.json, the WAV files that it names, tokenizer.json and the Manifest.
//
// Folder, errors and ctx are as with WriteImageNet.
func WriteTalk(ctx context.Context, dir string, spec TalkSpec) error {
	return publish(ctx, dir, "recordings", &spec, func(folder string) error { return spec.fill(ctx, folder) }, nil)
}

func (s TalkSpec) fill(ctx context.Context, folder string) error {
	if err := os.Mkdir(filepath.Join(folder, talkFolder), 0o755); err != nil {
		return err
	}
	words := s.vocabulary()
	entries := make([]speechUtterance, s.Recordings)
	for i := range entries {
		if err := context.Cause(ctx); err != nil {
			return err
		}
		said := s.say(newStream("talk", s.Seed, uint64(i)))
		samples := s.record(newStream("talk recording", s.Seed, uint64(i)), said)
		name := fmt.Sprintf("%s/%d-%d_%d.wav", talkFolder, 1000+i/20, 2000+i/5, i%5)
		if err := fileio.WriteFile(filepath.Join(folder, filepath.FromSlash(name)), wav(samples), 0o644); err != nil {
			return err
		}
		entries[i] = newUtterance(name, len(samples), s.takeDown(newStream("talk transcript", s.Seed, uint64(i)), words, said))
	}
	if err := writeJSON(filepath.Join(folder, talkManifest), entries); err != nil {
		return err
	}
	return writeJSON(filepath.Join(folder, "tokenizer.json"), s.tokenizer(words))
}

// vocabulary makes the words, of which the two with the same chord follow each other.
func (s TalkSpec) vocabulary() []string {
	r := newStream("talk words", s.Seed)
	var words []string
	for seen := map[string]bool{}; len(words) < 2*len(s.Low)*len(s.High); {
		if word := newWord(r); !seen[word] {
			seen[word] = true
			words = append(words, word)
		}
	}
	return words
}

// say draws the words of a recording.
func (s TalkSpec) say(r *stream) []int {
	said := make([]int, r.between(fewestSpoken, s.mostWords()))
	for i := range said {
		said[i] = 2 * r.below(len(s.Low)*len(s.High))
		if i >= 2 && s.odd(said[i-2]) {
			said[i]++
		}
	}
	return said
}

// odd reports whether the numbers of a word's tones add up to something odd.
func (s TalkSpec) odd(word int) bool {
	low, high := s.tones(word)
	return (low+high)%2 == 1
}

func (s TalkSpec) tones(word int) (low, high int) {
	return word / 2 / len(s.High), word / 2 % len(s.High)
}

// takeDown is what people took down.
func (s TalkSpec) takeDown(r *stream, words []string, said []int) string {
	text := make([]string, len(said))
	for i, word := range said {
		if r.below(100) < otherWordPercent {
			word = r.below(len(words))
		}
		text[i] = words[word]
	}
	return strings.Join(text, " ")
}

// record makes a recording.
func (s TalkSpec) record(r *stream, said []int) []int16 {
	at := func(word int) int { return int((s.Start + float64(s.Each*float64(word))) * speechRate) }
	wave := make([]float64, at(len(said)))
	for i, word := range said {
		low, high := s.tones(word)
		missing := r.below(missingTone)
		for k, pitch := range []float64{s.Low[low], s.High[high]} {
			level := loudTone / float64(1+r.below(4)) // by up to 12 dB
			if missing == k {
				level = 0
			}
			addTone(wave[at(i):][:int(s.Each*talkTone*speechRate)], pitch/speechRate, level, r.uniform())
		}
	}
	samples := make([]int16, len(wave))
	for i, v := range wave {
		samples[i] = int16(math.Floor(float64((v+float64(noiseLevel*r.normal()))*(1<<15)) + 0.5))
	}
	return samples
}

// addTone adds a tone, in turns a sample, that fades in and out.
func addTone(wave []float64, pitch, level, phase float64) {
	for i := range wave {
		ramp := float64(min(i, len(wave)-i, toneRamp)) / toneRamp
		wave[i] += float64(float64(level*ramp) * sine(phase+float64(pitch*float64(i))))
	}
}

// tokenizer is the content of tokenizer.json: every word with the blank before it is a piece, as in Whisper's own.
func (s TalkSpec) tokenizer(words []string) map[string]any {
	vocab := map[string]int{}
	var added []map[string]any
	for i := range s.FirstWord {
		mark := fmt.Sprintf("<|reserved_%d|>", i)
		if i < talkMarkCount {
			mark = talkMarks[i]
		}
		vocab[mark] = i
		added = append(added, map[string]any{"id": i, "content": mark, "special": true, "single_word": false, "lstrip": false, "rstrip": false,
			"normalized": false})
	}
	for i, word := range words {
		vocab["Ġ"+word] = s.FirstWord + i
	}
	bytes := map[string]any{"type": "ByteLevel", "add_prefix_space": false, "trim_offsets": true, "use_regex": true}
	return map[string]any{
		"version": "1.0", "added_tokens": added, "normalizer": nil, "pre_tokenizer": bytes, "post_processor": nil, "decoder": bytes,
		"model": map[string]any{"type": "BPE", "vocab": vocab, "merges": []string{}},
	}
}
