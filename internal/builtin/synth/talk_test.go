package synth

import (
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/mlperf-go/mlperf/internal/accuracy/englishtext"
	"github.com/mlperf-go/mlperf/internal/testenv"
)

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
		if want := int((0.3 + 0.4*float64(len(said))) * speechRate); err != nil || math.Abs(float64(e.Samples-want)) > 1 || info.Size() != int64(44+2*e.Samples) || e.Duration > longestTalk {
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
