package synth

import (
	"encoding/binary"
	"encoding/json"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/mlperf-go/mlperf/internal/accuracy/englishtext"
	"github.com/mlperf-go/mlperf/internal/dataset"
	"github.com/mlperf-go/mlperf/internal/preprocess/audio"
	"github.com/mlperf-go/mlperf/internal/testenv"
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
		{"what follows", 4, 4, 36 + 20 + uint32(len(wavComment()))}, {"the length of the format", 16, 4, 16}, {"PCM", 20, 2, 1}, {"channels", 22, 2, 1}, {"samples a second", 24, 4, 16000},
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
	if string(file[:4]) != "RIFF" || string(file[8:16]) != "WAVEfmt " || string(file[36:40]) != "data" || len(file) != 44+20+len(wavComment()) {
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

func smallSpeech() SpeechSpec {
	s := SpeechSpec{Seed: 1, Utterances: 30}
	for i := range speechLetters {
		s.Pitches = append(s.Pitches, 500+float64(i)*250)
	}
	return s
}

func TestRecordingsAreAsLongAsTheManifestSays(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "speech")
	if err := WriteSpeech(t.Context(), dir, smallSpeech()); err != nil {
		t.Fatal(err)
	}
	data, err := os.ReadFile(filepath.Join(dir, speechManifest))
	if err != nil {
		t.Fatal(err)
	}
	var entries []speechUtterance
	if err := json.Unmarshal(data, &entries); err != nil {
		t.Fatal(err)
	}
	texts, lengths := map[string]bool{}, map[int]bool{}
	for _, e := range entries {
		info, err := os.Stat(filepath.Join(dir, e.Files[0].Name))
		if err != nil || info.Size() != int64(44+2*e.Samples+len(wavComment())) || e.Files[0].Samples != e.Samples {
			t.Errorf("%s has %v bytes, %v; want %d samples", e.Files[0].Name, info, err, e.Samples)
		}
		if e.Duration < 0.5 || e.Duration > 15 || strings.Trim(e.Transcript, speechLetters) != "" {
			t.Errorf("%q takes %v s", e.Transcript, e.Duration)
		}
		texts[e.Transcript], lengths[e.Samples] = true, true
	}
	if len(entries) != 30 || len(texts) < 29 || len(lengths) < 25 {
		t.Errorf("%d utterances, of which %d differ, of %d lengths", len(entries), len(texts), len(lengths))
	}
}

// Each tone must be heard at its pitch: a correlation with a sine finds it.
func TestACharacterIsATone(t *testing.T) {
	s := smallSpeech()
	power := func(wave []int16, pitch float64) float64 {
		re, im := 0.0, 0.0
		for i, v := range wave {
			sin, cos := math.Sincos(2 * math.Pi * pitch / speechRate * float64(i))
			re, im = re+float64(v)*cos, im+float64(v)*sin
		}
		return re*re + im*im
	}
	for i, c := range []string{" ", "a", "m", "z", "'"} {
		wave := s.spell(newStream("test", uint64(i)), c)
		loudest, at := 0.0, -1
		for label, pitch := range s.Pitches {
			if p := power(wave, pitch); p > loudest {
				loudest, at = p, label
			}
		}
		if speechLetters[at] != c[0] {
			t.Errorf("%q sounds like %q", c, speechLetters[at])
		}
	}
}

func TestNoLetterIsSaidTwiceInARow(t *testing.T) {
	s, otherwise := smallSpeech(), 0
	for i := range 200 {
		said, transcript := s.sentence(newStream("test", uint64(i)))
		for k := 1; k < len(said); k++ {
			if said[k] == said[k-1] {
				t.Fatalf("%q", said)
			}
		}
		if said != transcript {
			otherwise++
		}
	}
	if otherwise < 20 || otherwise > 120 {
		t.Errorf("%d of 200 sentences were taken down otherwise", otherwise)
	}
}

func TestSpecsOfSpeechThatCannotBe(t *testing.T) {
	for name, change := range map[string]func(*SpeechSpec){
		"no utterances": func(s *SpeechSpec) { s.Utterances = 0 },
		"few pitches":   func(s *SpeechSpec) { s.Pitches = s.Pitches[1:] },
		"too high":      func(s *SpeechSpec) { s.Pitches[3] = 8000 },
		"no number":     func(s *SpeechSpec) { s.Pitches[3] = math.NaN() },
	} {
		spec := smallSpeech()
		change(&spec)
		if err := WriteSpeech(t.Context(), t.TempDir(), spec); err == nil || !strings.Contains(err.Error(), "making the built-in recordings") {
			t.Errorf("%s: error %v", name, err)
		}
	}
}

func smallTalk() TalkSpec {
	return TalkSpec{Seed: 1, Recordings: 4, Low: []float64{300, 600, 900}, High: []float64{2000, 2800}, Start: 0.3, Each: 0.4, FirstWord: 16}
}

func readJSON[T any](t *testing.T, path string, v *T) {
	t.Helper()
	*v = testenv.JSON[T](t, path)
}

// Recordings are as long as their words take, and what people took down are words of the tokenizer, nearly all those that
// were said.
func TestTalkIsRecordedAndTakenDown(t *testing.T) {
	dir, s := filepath.Join(t.TempDir(), "talk"), smallTalk()
	if err := WriteTalk(t.Context(), dir, s); err != nil {
		t.Fatal(err)
	}
	var entries []speechUtterance
	readJSON(t, filepath.Join(dir, talkManifest), &entries)
	var tokenizer struct {
		Added []struct {
			ID      int
			Content string
		} `json:"added_tokens"`
		Model struct{ Vocab map[string]int }
	}
	readJSON(t, filepath.Join(dir, "tokenizer.json"), &tokenizer)
	if len(tokenizer.Added) != 16 || tokenizer.Added[1].Content != "<|startoftranscript|>" || len(tokenizer.Model.Vocab) != 16+2*3*2 {
		t.Errorf("%d marks and %d tokens", len(tokenizer.Added), len(tokenizer.Model.Vocab))
	}
	for i, e := range entries {
		said, words := s.say(newStream("talk", s.Seed, uint64(i))), strings.Fields(e.Transcript)
		info, err := os.Stat(filepath.Join(dir, e.Files[0].Name))
		if want := int((0.3 + 0.4*float64(len(said))) * speechRate); err != nil || math.Abs(float64(e.Samples-want)) > 1 || info.Size() != int64(44+2*e.Samples+len(wavComment())) || e.Duration > longestTalk {
			t.Errorf("%s has %d samples, want %d, %v", e.Files[0].Name, e.Samples, want, err)
		}
		other := 0
		for k, word := range words {
			id, ok := tokenizer.Model.Vocab["Ġ"+word]
			if !ok || englishtext.Normalize(word) != word {
				t.Errorf("%q is no word, or one that the metric changes", word)
			}
			if id != s.FirstWord+said[k] {
				other++
			}
		}
		if len(words) != len(said) || other > len(words)/4 {
			t.Errorf("recording %d: %d words of %d, of which %d are others", i, len(words), len(said), other)
		}
	}
}

// Which of two words with the same chord is said follows from the last but one.
func TestTwoWordsOfOneChordAreToldApartByTheLastButOne(t *testing.T) {
	s, second := smallTalk(), 0
	for i := range 20 {
		said := s.say(newStream("test", uint64(i)))
		for k, word := range said {
			want := 0
			if k >= 2 {
				low, high := s.tones(said[k-2])
				want = (low + high) % 2
			}
			if word%2 != want {
				t.Fatalf("word %d of %v", k, said)
			}
			second += word % 2
		}
	}
	if second == 0 {
		t.Error("the second word of a chord is never said")
	}
}

func TestTalkThatCannotBeMadeIsRefused(t *testing.T) {
	for part, spoil := range map[string]func(*TalkSpec){
		"recordings is 0":        func(s *TalkSpec) { s.Recordings = 0 },
		"0 low tones":            func(s *TalkSpec) { s.Low = nil },
		"a tone is 9000":         func(s *TalkSpec) { s.High[0] = 9000 },
		"words begin at 29 s":    func(s *TalkSpec) { s.Start = 29 },
		"first_word is 2":        func(s *TalkSpec) { s.FirstWord = 2 },
		"begin at NaN s":         func(s *TalkSpec) { s.Start = math.NaN() },
		"and take 0.1 s":         func(s *TalkSpec) { s.Each = 0.1 },
		"a tone is NaN":          func(s *TalkSpec) { s.Low[0] = math.NaN() },
		"recordings is 10000000": func(s *TalkSpec) { s.Recordings = 10000000 },
	} {
		s := smallTalk()
		spoil(&s)
		if err := WriteTalk(t.Context(), filepath.Join(t.TempDir(), "talk"), s); err == nil || !strings.Contains(err.Error(), part) {
			t.Errorf("error %v, want %q", err, part)
		}
	}
}
