package synth

import (
	"encoding/binary"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/mlperf-go/mlperf/internal/dataset"
	"github.com/mlperf-go/mlperf/internal/preprocess/audio"
)

// loudness is how much of a tone is in a wave, by its correlation with a sine and a cosine; 1 is a tone of full amplitude.
func loudness(wave []int16, pitch float64) float64 {
	re, im := 0.0, 0.0
	for i, v := range wave {
		sin, cos := math.Sincos(2 * math.Pi * pitch / speechRate * float64(i))
		re, im = re+float64(v)*cos, im+float64(v)*sin
	}
	return 2 * math.Hypot(re, im) / float64(len(wave)) / (1 << 15)
}

func TestWAVFilesAreReadByTheirReader(t *testing.T) {
	for _, n := range []int{0, 1, 2, 999} {
		samples := make([]int16, n)
		for i := range samples {
			samples[i] = int16(i*331) - 1<<14
		}
		if n > 1 {
			samples[0], samples[1] = math.MinInt16, math.MaxInt16
		}
		got, err := audio.Decode("x.wav", wav(samples))
		if n == 0 {
			continue // whether nothing is a recording, is the reader's to say
		}
		if err != nil || len(got) != n {
			t.Fatalf("%d samples are read as %d, %v", n, len(got), err)
		}
		for i, v := range samples {
			if got[i] != float32(v)/(1<<15) {
				t.Errorf("sample %d of %d is read as %v, want %d/32768", i, n, got[i], v)
			}
		}
	}
}

// The header of RIFF, field by field: 16,000 samples of 16 bits a second in one channel.
func TestWAVFilesHaveTheirHeader(t *testing.T) {
	file := wav(make([]int16, 10))
	le := binary.LittleEndian
	for _, c := range []struct {
		name     string
		at, size int
		want     uint32
	}{
		{"what follows", 4, 4, 36 + 20}, {"the length of the format", 16, 4, 16}, {"PCM", 20, 2, 1}, {"channels", 22, 2, 1}, {"samples a second", 24, 4, 16000},
		{"bytes a second", 28, 4, 32000}, {"bytes of a sample", 32, 2, 2}, {"bits of a sample", 34, 2, 16}, {"bytes of all samples", 40, 4, 20},
	} {
		got := uint32(le.Uint16(file[c.at:]))
		if c.size == 4 {
			got = le.Uint32(file[c.at:])
		}
		if got != c.want {
			t.Errorf("%s: %d, want %d", c.name, got, c.want)
		}
	}
	if string(file[:4]) != "RIFF" || string(file[8:16]) != "WAVEfmt " || string(file[36:40]) != "data" || len(file) != 44+20 {
		t.Errorf("%q of %d bytes", file[:44], len(file))
	}
}

// Who listens closely enough hears each word of a recording where it begins, by its two tones: all but those that are missing.
func TestWordsAreHeardAtTheirTime(t *testing.T) {
	s := smallTalk()
	heard, all, missing := 0, 0, 0
	for i := range 6 {
		said := s.say(newStream("talk", s.Seed, uint64(i)))
		wave := s.record(newStream("talk recording", s.Seed, uint64(i)), said)
		for k, word := range said {
			from := int((s.Start + s.Each*float64(k)) * speechRate)
			part := wave[from:][:int(s.Each*talkTone*speechRate)]
			low, high := s.tones(word)
			for _, tones := range []struct {
				pitches []float64
				want    int
			}{{s.Low, low}, {s.High, high}} {
				loudest, at := 0.0, -1
				for n, pitch := range tones.pitches {
					if l := loudness(part, pitch); l > loudest {
						loudest, at = l, n
					}
				}
				all++
				if loudest < 0.03 {
					missing++
				} else if at == tones.want {
					heard++
				}
			}
			pause := wave[from+int(s.Each*talkTone*speechRate) : min(from+int(s.Each*speechRate), len(wave))]
			if l := loudness(pause, s.Low[low]); l > 0.02 {
				t.Errorf("recording %d: the tone of word %d goes on for %v in the pause behind it", i, k, l)
			}
		}
	}
	if heard+missing != all || missing == 0 || missing > all/10 {
		t.Errorf("%d of %d tones are heard, %d are missing", heard, all, missing)
	}
}

// The words of a recording have room in 30 s, and the first of two with the same chord is said by what was said before.
func TestTalkFollowsItsRule(t *testing.T) {
	for _, s := range []TalkSpec{smallTalk(), {Seed: 3, Low: []float64{200}, High: []float64{900}, Start: 0, Each: 3, FirstWord: 5}} {
		for i := range 50 {
			said := s.say(newStream("test", uint64(i)))
			if len(said) < fewestSpoken || len(said) > s.mostWords() || s.Start+s.Each*float64(len(said)) > longestTalk {
				t.Fatalf("%d words of %v s", len(said), s.Each)
			}
			for k, word := range said {
				want := 0
				if k >= 2 {
					low, high := s.tones(said[k-2])
					want = (low + high) % 2
				}
				if word%2 != want || word/2 >= len(s.Low)*len(s.High) {
					t.Errorf("word %d of %v is %d, want the other of its chord", k, said, word)
				}
			}
		}
	}
}

// Every pair of tones is a chord of its own.
func TestChordsAreAllPairsOfTones(t *testing.T) {
	s := smallTalk()
	seen := map[[2]int]bool{}
	for word := 0; word < 2*len(s.Low)*len(s.High); word += 2 {
		low, high := s.tones(word)
		if a, b := s.tones(word + 1); a != low || b != high {
			t.Errorf("words %d and %d have the chords %d, %d and %d, %d", word, word+1, low, high, a, b)
		}
		if low >= len(s.Low) || high >= len(s.High) || seen[[2]int{low, high}] {
			t.Errorf("word %d has the tones %d and %d", word, low, high)
		}
		seen[[2]int{low, high}] = true
	}
	if len(seen) != 6 {
		t.Errorf("%d chords", len(seen))
	}
}

func TestTokenizersOfTalkHaveAWordForEachToken(t *testing.T) {
	s := smallTalk()
	words := s.vocabulary()
	file := s.tokenizer(words)
	vocab := file["model"].(map[string]any)["vocab"].(map[string]int)
	taken := map[int]string{}
	for piece, id := range vocab {
		if before, ok := taken[id]; ok {
			t.Errorf("token %d is %q and %q", id, before, piece)
		}
		taken[id] = piece
	}
	for i, mark := range talkMarks {
		if taken[i] != mark {
			t.Errorf("token %d is %q, want %q", i, taken[i], mark)
		}
	}
	for i, word := range words {
		if taken[s.FirstWord+i] != "Ġ"+word || slices.Index(words, word) != i {
			t.Errorf("token %d is %q, want %q with a blank before it", s.FirstWord+i, taken[s.FirstWord+i], word)
		}
	}
	for id := talkMarkCount; id < s.FirstWord; id++ {
		if taken[id] != fmt.Sprintf("<|reserved_%d|>", id) {
			t.Errorf("token %d is %q", id, taken[id])
		}
	}
	if len(taken) != s.FirstWord+len(words) {
		t.Errorf("%d tokens", len(taken))
	}
}

// What people took down are other words now and then.
func TestSomeWordsAreTakenDownOtherwise(t *testing.T) {
	s := smallTalk()
	words := s.vocabulary()
	said := slices.Repeat([]int{4}, 4000)
	other := 0
	for _, word := range strings.Fields(s.takeDown(newStream("test", 1), words, said)) {
		if word != words[4] {
			other++
		}
	}
	if other < 120 || other > 280 { // 5 %, of which one of twelve is the same by chance
		t.Errorf("%d of %d words are others", other, len(said))
	}
}

// Both sets are read by the readers of the official ones.
func TestRecordingsAreReadByTheirReaders(t *testing.T) {
	speech, talk := filepath.Join(t.TempDir(), "speech"), filepath.Join(t.TempDir(), "talk")
	spec := smallSpeech()
	spec.Utterances = 12 // of two chapters
	if err := WriteSpeech(t.Context(), speech, spec); err != nil {
		t.Fatal(err)
	}
	if err := WriteTalk(t.Context(), talk, smallTalk()); err != nil {
		t.Fatal(err)
	}
	for dir, form := range map[string]dataset.SpeechForm{speech: dataset.ShortSpeech(), talk: dataset.JoinedSpeech()} {
		set, err := dataset.OpenSpeech(form, dir, 0)
		if err != nil {
			t.Fatal(err)
		}
		transcripts, err := dataset.ReadTranscripts(form, dir)
		if err != nil || len(transcripts) != len(set.Utterances) {
			t.Fatalf("%d transcripts of %d recordings, %v", len(transcripts), len(set.Utterances), err)
		}
		if want := map[string]int{speech: 12, talk: 4}[dir]; len(set.Utterances) != want {
			t.Errorf("%d recordings, want %d", len(set.Utterances), want)
		}
	}
	for _, name := range []string{"1000/2000/1000-2000-0009.wav", "1000/2001/1000-2001-0001.wav"} {
		if _, err := os.Stat(filepath.Join(speech, speechFolder, filepath.FromSlash(name))); err != nil {
			t.Error(err)
		}
	}
}

// A tone begins and ends without a crack: by ramps of 80 samples.
func TestTonesFadeInAndOut(t *testing.T) {
	wave := make([]float64, 400)
	addTone(wave, 0.25, 1, 0.25) // 0, -1, 0, 1 …: a cosine of four samples
	for i, v := range wave {
		most := min(1, float64(min(i, 400-i))/toneRamp)
		if math.Abs(v) > most+1e-9 {
			t.Errorf("sample %d is %v, want at most %v", i, v, most)
		}
	}
	if loud := math.Abs(wave[200]); loud < 0.999 {
		t.Errorf("in the middle it is %v", loud)
	}
	before := slices.Clone(wave)
	addTone(wave, 0.25, 1, 0.75) // half a turn later: they cancel each other out
	for i, v := range wave {
		if math.Abs(v) > 1e-6 {
			t.Errorf("sample %d of two opposite tones is %v, one alone is %v", i, v, before[i])
		}
	}
}
