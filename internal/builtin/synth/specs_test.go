package synth

import (
	"fmt"
	"math"
	"reflect"
	"slices"
	"strings"
	"testing"
)

// A keyed spec has a name for its data set.
type keyed interface {
	spec
	Key() string
}

// validSpecs has one of each kind, which can be made.
func validSpecs() []keyed {
	rows := slices.Repeat([]int64{5}, criteoTables)
	return []keyed{
		&ImageNetSpec{Seed: 1, Images: 2, Classes: 3, Jitter: 0.5},
		&COCOSpec{Layout: COCO, Seed: 1, Images: 2},
		&ADE20KSpec{Seed: 1, Images: 2},
		&KiTS19Spec{Seed: 1, Cases: 2},
		&SQuADSpec{Seed: 1, Questions: 2, FirstWord: 1500, Lengths: 3},
		&TranslationSpec{Seed: 1, Sentences: 2, Pieces: 100},
		&CriteoSpec{Seed: 1, Pairs: 2, Rows: rows, Hot: rows},
		&PromptSpec{Seed: 1, Prompts: 2, Tokens: 1000},
		&SpeechSpec{Seed: 1, Utterances: 2, Pitches: slices.Repeat([]float64{400}, len(speechLetters))},
		&TalkSpec{Seed: 1, Recordings: 2, Low: []float64{100}, High: []float64{200}, Start: 1, Each: 1, FirstWord: 50},
		&CaptionSpec{Seed: 1, Captions: 2, Tokens: leastTokens, Side: 8},
		&QuestionSpec{Form: deepSeekQuestions, Seed: 1, Questions: 2},
	}
}

// other gives a field another value.
func other(v reflect.Value) {
	switch v.Kind() {
	case reflect.Uint64:
		v.SetUint(v.Uint() + 1)
	case reflect.Int, reflect.Int64:
		v.SetInt(v.Int() + 1)
	case reflect.Float64:
		v.SetFloat(v.Float() + 0.25)
	case reflect.String:
		v.SetString(v.String() + "x")
	case reflect.Bool:
		v.SetBool(!v.Bool())
	case reflect.Slice:
		longer := reflect.Append(v, reflect.Zero(v.Type().Elem()))
		v.Set(longer)
	default:
		panic(fmt.Sprintf("no other value of %v", v.Type()))
	}
}

// A key that leaves out a field would take one data set for another.
func TestEveryFieldOfASpecIsInItsKey(t *testing.T) {
	seen := map[string]string{}
	for _, s := range validSpecs() {
		key := s.Key()
		typ := reflect.TypeOf(s).Elem()
		if first, twice := seen[key]; twice {
			t.Errorf("%v has the key of %s", typ, first)
		}
		seen[key] = typ.String()
		for i := range typ.NumField() {
			changed := reflect.New(typ)
			changed.Elem().Set(reflect.ValueOf(s).Elem())
			other(changed.Elem().Field(i))
			if got := changed.Interface().(keyed).Key(); got == key {
				t.Errorf("%v: the key is %s, whatever %s is", typ, key, typ.Field(i).Name)
			}
		}
		if s.Key() != key || strings.ContainsAny(key, `/\ :`) {
			t.Errorf("%v: the key %q is not fit for a folder, or another one now", typ, key)
		}
	}
}

func TestSpecsEndAtTheirBounds(t *testing.T) {
	for _, s := range validSpecs() {
		if err := s.check(); err != nil {
			t.Errorf("%+v: %v", s, err)
		}
	}
	rows := func(n int, v int64) []int64 { return slices.Repeat([]int64{v}, n) }
	talk := func(change func(s *TalkSpec)) spec {
		s := TalkSpec{Recordings: 1, Low: []float64{100}, High: []float64{200}, Start: 1, Each: 1, FirstWord: talkMarkCount}
		change(&s)
		return s
	}
	pitches := func(p float64) []float64 { return slices.Repeat([]float64{p}, len(speechLetters)) }
	for _, c := range []struct {
		spec spec
		want string // "" if there is no error
	}{
		{ImageNetSpec{Images: 1, Classes: 1}, ""},
		{ImageNetSpec{Images: maxImages, Classes: maxClasses, Jitter: 1}, ""},
		{ImageNetSpec{Images: 0, Classes: 1}, "images is 0, want 1 to"},
		{ImageNetSpec{Images: maxImages + 1, Classes: 1}, "want 1 to"},
		{ImageNetSpec{Images: 1, Classes: 0}, "classes is 0, want 1 to"},
		{ImageNetSpec{Images: 1, Classes: maxClasses + 1}, "classes is"},
		{ImageNetSpec{Images: 1, Classes: 1, Jitter: 1.01}, "jitter is 1.01, want 0 to 1"},
		{ImageNetSpec{Images: 1, Classes: 1, Jitter: math.NaN()}, "jitter is NaN"},
		{ImageNetSpec{Images: 1, Classes: 1, Jitter: -0.1}, "jitter is -0.1"},
		{COCOSpec{Layout: OpenImages, Images: maxCOCOImages}, ""},
		{COCOSpec{Layout: COCO}, "images is 0, want 1 to"},
		{COCOSpec{Layout: COCO, Images: maxCOCOImages + 1}, "images is"},
		{COCOSpec{Layout: "voc", Images: 1}, `layout is "voc", want "coco" or "openimages"`},
		{ADE20KSpec{Images: maxADEImages}, ""},
		{ADE20KSpec{}, "images is 0"},
		{ADE20KSpec{Images: maxADEImages + 1}, "images is"},
		{KiTS19Spec{Cases: maxCases}, ""},
		{KiTS19Spec{Cases: -1}, "cases is -1, want 1 to"},
		{KiTS19Spec{Cases: maxCases + 1}, "cases is"},
		{SQuADSpec{Questions: 100_000, FirstWord: vocabularySize / 2, Lengths: 10}, ""},
		{SQuADSpec{Questions: 100_001, FirstWord: 1500, Lengths: 1}, "questions is 100001, want 1 to 100000"},
		{SQuADSpec{Questions: 1, FirstWord: 1499, Lengths: 1}, "first word is 1499, want 1500 to 15261"},
		{SQuADSpec{Questions: 1, FirstWord: vocabularySize/2 + 1, Lengths: 1}, "first word is 15262"},
		{SQuADSpec{Questions: 1, FirstWord: 1500, Lengths: 11}, "lengths is 11, want 1 to 10"},
		{SQuADSpec{Questions: 1, FirstWord: 1500}, "lengths is 0"},
		{TranslationSpec{Sentences: 100_000, Pieces: 1 << 17}, ""},
		{TranslationSpec{Sentences: 100_001, Pieces: 100}, "sentences is 100001"},
		{TranslationSpec{Sentences: 1, Pieces: 99}, "pieces is 99, want 100 to 131072"},
		{TranslationSpec{Sentences: 1, Pieces: 1<<17 + 1}, "pieces is 131073"},
		{CriteoSpec{Pairs: 1, Rows: rows(criteoTables, 1)}, ""},
		{CriteoSpec{Pairs: 10_000_000, Rows: rows(criteoTables, math.MaxInt32), Hot: rows(criteoTables, 1000)}, ""},
		{CriteoSpec{Pairs: 0, Rows: rows(criteoTables, 1)}, "pairs is 0, want 1 to 10000000"},
		{CriteoSpec{Pairs: 10_000_001, Rows: rows(criteoTables, 1)}, "pairs is 10000001"},
		{CriteoSpec{Pairs: 1}, "rows is [], want 26 numbers"},
		{CriteoSpec{Pairs: 1, Rows: rows(criteoTables-1, 1)}, "want 26 numbers from 1 to 2147483647"},
		{CriteoSpec{Pairs: 1, Rows: rows(criteoTables, 0)}, "want 26 numbers from 1 to 2147483647"},
		{CriteoSpec{Pairs: 1, Rows: rows(criteoTables, math.MaxInt32+1)}, "want 26 numbers from 1 to 2147483647"},
		{CriteoSpec{Pairs: 1, Rows: rows(criteoTables, 1), Hot: rows(criteoTables, 1001)}, "want 26 numbers from 1 to 1000"},
		{CriteoSpec{Pairs: 1, Rows: rows(criteoTables, 1), Hot: rows(criteoTables+1, 1)}, "want 26 numbers from 1 to 1000"},
		{PromptSpec{Prompts: 100_000, Tokens: 1 << 18}, ""},
		{PromptSpec{Prompts: 0, Tokens: 1000}, "prompts is 0, want 1 to 100000"},
		{PromptSpec{Prompts: 1, Tokens: 999}, "tokens is 999, want 1000 to 262144"},
		{PromptSpec{Prompts: 1, Tokens: 1<<18 + 1}, "tokens is 262145"},
		{SpeechSpec{Utterances: 100_000, Pitches: pitches(speechRate/2 - 1)}, ""},
		{SpeechSpec{Utterances: 100_001, Pitches: pitches(1)}, "utterances is 100001"},
		{SpeechSpec{Utterances: 1}, "pitches are 0, want 28"},
		{SpeechSpec{Utterances: 1, Pitches: pitches(speechRate / 2)}, "a pitch is 8000, want more than 0 and less than 8000"},
		{SpeechSpec{Utterances: 1, Pitches: pitches(math.NaN())}, "a pitch is NaN"},
		{talk(func(s *TalkSpec) { s.Recordings = 0 }), "recordings is 0, want 1 to 100000"},
		{talk(func(s *TalkSpec) { s.Low = nil }), "there are 0 low tones and 1 high ones, want 1 to 100"},
		{talk(func(s *TalkSpec) { s.High = slices.Repeat(s.High, mostTones) }), ""},
		{talk(func(s *TalkSpec) { s.High = slices.Repeat(s.High, mostTones+1) }), "1 low tones and 101 high ones"},
		{talk(func(s *TalkSpec) { s.High = []float64{speechRate / 2} }), "a tone is 8000"},
		{talk(func(s *TalkSpec) { s.Start = -0.1 }), "words begin at -0.1 s"},
		{talk(func(s *TalkSpec) { s.Start = math.NaN() }), "words begin at NaN s"},
		{talk(func(s *TalkSpec) { s.Each = 0.1 }), "take 0.1 s"},
		{talk(func(s *TalkSpec) { s.Start, s.Each = 3, 3 }), ""}, // room for nine words
		{talk(func(s *TalkSpec) { s.Start, s.Each = 4, 3 }), "take 3 s: of 8 none are left in 30 s"},
		{talk(func(s *TalkSpec) { s.FirstWord = talkMarkCount - 1 }), "first_word is 4, want at least 5"},
		{CaptionSpec{Captions: 100_000, Tokens: 1 << 17, Side: 1 << 10}, ""},
		{CaptionSpec{Captions: 1, Tokens: leastTokens, Side: 1}, "captions is 1, want 2 to 100000"},
		{CaptionSpec{Captions: 2, Tokens: leastTokens - 1, Side: 1}, "tokens is"},
		{CaptionSpec{Captions: 2, Tokens: leastTokens}, "side is 0, want 1 to 1024"},
		{CaptionSpec{Captions: 2, Tokens: leastTokens, Side: 1<<10 + 1}, "side is 1025"},
		{QuestionSpec{Form: ossQuestions, Questions: mostQuestions}, ""},
		{QuestionSpec{Form: longQuestions, Questions: 0}, "questions is 0, want 1 to"},
		{QuestionSpec{Form: longQuestions, Questions: mostQuestions + 1}, "questions is"},
		{QuestionSpec{Form: "riddles", Questions: 1}, `form is "riddles", want `},
	} {
		err := c.spec.check()
		if (err == nil) != (c.want == "") || err != nil && !strings.Contains(err.Error(), c.want) {
			t.Errorf("%T %.80v: error %v, want %q", c.spec, c.spec, err, c.want)
		}
	}
}

// What tells a data set from another in an error is all of its spec.
func TestManifestsNameTheirSpec(t *testing.T) {
	for _, s := range validSpecs() {
		var m Manifest
		m.Version = 3
		v := reflect.ValueOf(&m).Elem()
		for i := range v.NumField() {
			if v.Field(i).Type() == reflect.TypeOf(s) {
				v.Field(i).Set(reflect.ValueOf(s))
			}
		}
		if err := m.check(); err != nil {
			t.Errorf("%T: %v", s, err)
		}
		fields := strings.TrimPrefix(fmt.Sprintf("%+v", s), "&")
		if got := m.describe(); !strings.HasPrefix(got, "version 3, ") || !strings.HasSuffix(got, " "+fields) {
			t.Errorf("the manifest is %q, want version 3 and %s", got, fields)
		}
		if other := m; !m.sameSet(other) {
			t.Errorf("%T: the manifest is not that of its own set", s)
		}
		older := m
		older.Version = 2
		if m.sameSet(older) {
			t.Errorf("%T: the version does not matter", s)
		}
		if m.COCO == nil {
			m.COCO = &COCOSpec{Layout: COCO, Images: 1}
			if err := m.check(); err == nil || err.Error() != "there are two specs, want one" {
				t.Errorf("%T and COCO: %v", s, err)
			}
		}
	}
}
