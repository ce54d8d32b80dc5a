package synth

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"math"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/mlperf-go/mlperf/internal/testenv"
)

func TestManifestsComeBackAsWritten(t *testing.T) {
	for _, m := range []Manifest{
		{Version: 1, Spec: &ImageNetSpec{Seed: math.MaxUint64, Images: 500, Classes: 100, Jitter: 0.15}},
		{Version: 1, Spec: &SQuADSpec{Seed: 2, Questions: 9, FirstWord: 2200, Lengths: 6}},
		{Version: 1, Spec: &TranslationSpec{Seed: 2, Sentences: 9, Pieces: 200, Lexicon: "x"}},
		{Version: 1, Spec: &CriteoSpec{Seed: 2, Pairs: 9, Rows: criteoRows(5)}},
		{Version: 7, Spec: &COCOSpec{Layout: OpenImages, Seed: 3, Images: 10}, Scores: map[string]float64{"retinanet": 31.4159, "x": 1e-300}},
	} {
		dir := t.TempDir()
		if err := m.Write(dir); err != nil {
			t.Fatal(err)
		}
		got, err := ReadManifest(dir)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(m, got); diff != "" {
			t.Errorf("the manifest changed (-written +read):\n%s", diff)
		}
		if names := namesIn(t, dir); len(names) != 1 || names[0] != "builtin.json" {
			t.Errorf("the folder has %v", names)
		}
	}
}

func TestAFolderWithoutManifestIsTold(t *testing.T) {
	if _, err := ReadManifest(t.TempDir()); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("error %v, want fs.ErrNotExist", err)
	}
}

func TestManifestErrors(t *testing.T) {
	spec := `"imagenet":{"seed":1,"images":2,"classes":3,"jitter":0.1}`
	for _, c := range []struct{ name, text, want string }{
		{"no JSON", `version`, "invalid character"},
		{"cut off", `{"version":1,` + spec, "unexpected EOF"},
		{"two manifests", `{"version":1,` + spec + `}{}`, "something after the manifest"},
		{"an unknown field", `{"version":1,"new":1,` + spec + `}`, `unknown field "new"`},
		{"no version", `{` + spec + `}`, "version is 0"},
		{"no spec", `{"version":1}`, "there is no spec"},
		{"two specs", `{"version":1,` + spec + `,"coco":{"layout":"coco","seed":1,"images":1}}`, "there are two specs"},
		{"a bad spec", `{"version":1,"imagenet":{"seed":1,"images":0,"classes":3,"jitter":0.1}}`, "images is 0"},
		{"an unknown layout", `{"version":1,"coco":{"layout":"voc","seed":1,"images":1}}`, `layout is "voc": must be "coco" or "openimages"`},
		{"a large seed", `{"version":1,"imagenet":{"seed":18446744073709551616,"images":1,"classes":3,"jitter":0.1}}`, "seed"},
	} {
		t.Run(c.name, func(t *testing.T) {
			dir := t.TempDir()
			if err := os.WriteFile(filepath.Join(dir, manifestName), []byte(c.text), 0o644); err != nil {
				t.Fatal(err)
			}
			_, err := ReadManifest(dir)
			wantError(t, err, "reading ", manifestName, c.want)
		})
	}
}

func TestBadManifestsAreNotWritten(t *testing.T) {
	dir := t.TempDir()
	wantError(t, Manifest{Version: 1}.Write(dir), "writing builtin.json: there is no spec")
	bad := Manifest{Version: 1, Spec: &small, Scores: map[string]float64{"x": math.NaN()}}
	wantError(t, bad.Write(dir), "writing builtin.json: ", "NaN")
	wantError(t, Manifest{Version: 1, Spec: &small}.Write(filepath.Join(dir, "none")), "no such file")
	if names := namesIn(t, dir); len(names) > 0 {
		t.Errorf("the folder has %v", names)
	}
}

// FuzzManifest: what is accepted is sane and survives being written.
func FuzzManifest(f *testing.F) {
	f.Add([]byte(`{"version":1,"imagenet":{"seed":1,"images":2,"classes":3,"jitter":0.1},"scores":{"a":1}}`))
	f.Add([]byte(`{"version":1,"coco":{"layout":"openimages","seed":1,"images":2}}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		m, err := parseManifest(data)
		if err != nil {
			return
		}
		text, err := json.Marshal(m.document().Interface())
		if err != nil {
			t.Fatal(err)
		}
		again, err := parseManifest(text)
		if err != nil {
			t.Fatal(err)
		}
		if !again.sameSet(m) || len(again.Scores) != len(m.Scores) {
			t.Errorf("%s became %s", data, text)
		}
	})
}

var small = ImageNetSpec{Seed: 1, Images: 4, Classes: 3, Jitter: 0.1}

func TestOfManyWritersOneSetRemains(t *testing.T) {
	testenv.SkipLong(t, "takes long")
	alone := filepath.Join(t.TempDir(), "set")
	if err := WriteImageNet(t.Context(), alone, small, nil); err != nil {
		t.Fatal(err)
	}
	parent := t.TempDir()
	dir := filepath.Join(parent, "set")
	errs := make([]error, 5)
	var group sync.WaitGroup
	for i := range errs {
		group.Go(func() { errs[i] = WriteImageNet(t.Context(), dir, small, nil) })
	}
	group.Wait()
	if err := errors.Join(errs...); err != nil {
		t.Errorf("writers failed: %v", err)
	}
	if names := namesIn(t, parent); len(names) != 1 {
		t.Errorf("besides the set there are others: %v", names)
	}
	if !maps.Equal(filesOf(t, dir), filesOf(t, alone)) {
		t.Error("the set differs from one that was made alone")
	}
}

func TestASetThatIsThereIsLeftAlone(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "set")
	if err := WriteImageNet(t.Context(), dir, small, nil); err != nil {
		t.Fatal(err)
	}
	m, err := ReadManifest(dir)
	if err != nil {
		t.Fatal(err)
	}
	m.Scores = map[string]float64{"resnet50": 73.8}
	if err := m.Write(dir); err != nil {
		t.Fatal(err)
	}
	before := filesOf(t, dir)
	err = WriteImageNet(t.Context(), dir, small, func(int, int) { t.Error("images were made again") })
	if err != nil {
		t.Fatal(err)
	}
	if !maps.Equal(filesOf(t, dir), before) {
		t.Error("the set, or its scores, changed")
	}
}

func TestOtherFoldersAreNotTouched(t *testing.T) {
	other := small
	other.Seed = 99
	for name, c := range map[string]struct {
		prepare func(dir string) error
		want    string
	}{
		"another set": {
			func(dir string) error { return WriteImageNet(t.Context(), dir, other, nil) },
			"holds another data set: version 4, imagenet {Seed:99",
		},
		"a set for detection": {
			func(dir string) error {
				return WriteCOCO(t.Context(), dir, COCOSpec{Layout: COCO, Seed: 1, Images: 1}, nil, nil)
			},
			"holds another data set: version 4, coco {Layout:coco",
		},
		"a folder of the user": {
			func(dir string) error {
				return errors.Join(os.Mkdir(dir, 0o755), os.WriteFile(filepath.Join(dir, "notes"), nil, 0o644))
			},
			"is not empty and has no builtin.json",
		},
		"a file":         {func(dir string) error { return os.WriteFile(dir, nil, 0o644) }, "not a directory"},
		"a bad manifest": {badManifest, "reading "},
	} {
		t.Run(name, func(t *testing.T) {
			parent := t.TempDir()
			dir := filepath.Join(parent, "set")
			if err := c.prepare(dir); err != nil {
				t.Fatal(err)
			}
			before := filesOf(t, parent)
			err := WriteImageNet(t.Context(), dir, small, nil)
			wantError(t, err, "making the built-in ImageNet: ", c.want)
			if !maps.Equal(filesOf(t, parent), before) {
				t.Error("files changed")
			}
		})
	}
}

func badManifest(dir string) error {
	return errors.Join(os.Mkdir(dir, 0o755), os.WriteFile(filepath.Join(dir, manifestName), []byte("{}"), 0o644))
}

func TestAnEmptyFolderIsFilled(t *testing.T) {
	dir := t.TempDir()
	if err := WriteImageNet(t.Context(), dir, small, nil); err != nil {
		t.Fatal(err)
	}
	if n := len(filesOf(t, dir)); n != 6 {
		t.Errorf("there are %d files, want 6", n)
	}
}

func TestInterruptionLeavesNothingBehind(t *testing.T) {
	cause := errors.New("the user had enough")
	for name, write := range map[string]func(ctx context.Context, dir string, progress func(int, int)) error{
		"ImageNet": func(ctx context.Context, dir string, progress func(int, int)) error {
			return WriteImageNet(ctx, dir, small, progress)
		},
		"COCO": func(ctx context.Context, dir string, progress func(int, int)) error {
			return WriteCOCO(ctx, dir, COCOSpec{Layout: COCO, Seed: 1, Images: 4}, nil, progress)
		},
	} {
		for _, after := range []int{0, 1, 3} {
			parent := t.TempDir()
			ctx, cancel := context.WithCancelCause(t.Context())
			stop := func(done, _ int) {
				if done >= after {
					cancel(cause)
				}
			}
			stop(0, 0)
			if err := write(ctx, filepath.Join(parent, "set"), stop); !errors.Is(err, cause) {
				t.Errorf("%s stopped after %d images with the error %v", name, after, err)
			}
			if names := namesIn(t, parent); len(names) > 0 {
				t.Errorf("%s stopped after %d images left %v behind", name, after, names)
			}
			cancel(nil)
		}
	}
}

func TestAFileThatCannotBeWrittenLeavesNothingBehind(t *testing.T) {
	parent := t.TempDir()
	err := publish(t.Context(), filepath.Join(parent, "set"), "set", &small, func(folder string) error {
		return errors.Join(blocked(folder, small.Name(2)), small.fill(t.Context(), folder, nil))
	}, nil)
	wantError(t, err, "is a folder", small.Name(2))
	if names := namesIn(t, parent); len(names) > 0 {
		t.Errorf("%v were left behind", names)
	}
}

// blocked makes a folder where a file is to be written.
func blocked(folder, name string) error { return os.Mkdir(filepath.Join(folder, name), 0o755) }

func TestFoldersThatCannotBeMade(t *testing.T) {
	parent := t.TempDir()
	file := filepath.Join(parent, "file")
	if err := os.WriteFile(file, nil, 0o644); err != nil {
		t.Fatal(err)
	}
	err := WriteImageNet(t.Context(), filepath.Join(file, "set"), small, nil)
	wantError(t, err, "making the built-in ImageNet: ", "not a directory")

	if os.Geteuid() == 0 {
		t.Skip("the superuser may write everywhere")
	}
	if err := os.Chmod(parent, 0o555); err != nil {
		t.Fatal(err)
	}
	defer os.Chmod(parent, 0o755)
	err = WriteImageNet(t.Context(), filepath.Join(parent, "set"), small, nil)
	wantError(t, err, "making the built-in ImageNet: ", "permission denied")
	if names := namesIn(t, parent); len(names) != 1 {
		t.Errorf("the folder now has %v", names)
	}
}

// A keyed spec has a name for its data set.
type keyed interface {
	Spec
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
		&BraTS19Spec{Seed: 1, Cases: 2},
		&SQuADSpec{Seed: 1, Questions: 2, FirstWord: 1500, Lengths: 3},
		&TranslationSpec{Seed: 1, Sentences: 2, Pieces: 100},
		&CriteoSpec{Seed: 1, Pairs: 2, Rows: rows, Hot: rows},
		&PromptSpec{Seed: 1, Prompts: 2, Tokens: 1000},
		&SpeechSpec{Seed: 1, Utterances: 2, Pitches: slices.Repeat([]float64{400}, len(speechLetters))},
		&TalkSpec{Seed: 1, Recordings: 2, Low: []float64{100}, High: []float64{200}, Start: 1, Each: 1, FirstWord: 50},
		&CaptionSpec{Seed: 1, Captions: 2, Tokens: leastTokens, Side: 8},
		&QuestionSpec{Form: deepSeekQuestions, Seed: 1, Questions: 2},
		&ProductSpec{Seed: 1, Products: 2},
		&IGBHSpec{Seed: 1, Papers: 200, Width: 3},
		&WaymoSpec{Seed: 1, Frames: 2},
		&RequestSpec{Seed: 1, Requests: 2, Candidates: 3},
		&VBenchSpec{Seed: 1, Prompts: 2, Tokens: 300, Latents: []int{1, 2, 3, 4}},
		&PageSpec{Seed: 1, Pages: 8, Questions: 2, FirstWord: 2200},
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
	talk := func(change func(s *TalkSpec)) Spec {
		s := TalkSpec{Recordings: 1, Low: []float64{100}, High: []float64{200}, Start: 1, Each: 1, FirstWord: talkMarkCount}
		change(&s)
		return s
	}
	pitches := func(p float64) []float64 { return slices.Repeat([]float64{p}, len(speechLetters)) }
	for _, c := range []struct {
		spec Spec
		want string // "" if there is no error
	}{
		{ImageNetSpec{Images: 1, Classes: 1}, ""},
		{ImageNetSpec{Images: maxImages, Classes: maxClasses, Jitter: 1}, ""},
		{ImageNetSpec{Images: 0, Classes: 1}, "images is 0: must be 1 to"},
		{ImageNetSpec{Images: maxImages + 1, Classes: 1}, "must be 1 to"},
		{ImageNetSpec{Images: 1, Classes: 0}, "classes is 0: must be 1 to"},
		{ImageNetSpec{Images: 1, Classes: maxClasses + 1}, "classes is"},
		{ImageNetSpec{Images: 1, Classes: 1, Jitter: 1.01}, "jitter is 1.01: must be 0 to 1"},
		{ImageNetSpec{Images: 1, Classes: 1, Jitter: math.NaN()}, "jitter is NaN"},
		{ImageNetSpec{Images: 1, Classes: 1, Jitter: -0.1}, "jitter is -0.1"},
		{COCOSpec{Layout: OpenImages, Images: maxCOCOImages}, ""},
		{COCOSpec{Layout: COCO}, "images is 0: must be 1 to"},
		{COCOSpec{Layout: COCO, Images: maxCOCOImages + 1}, "images is"},
		{COCOSpec{Layout: "voc", Images: 1}, `layout is "voc": must be "coco" or "openimages"`},
		{ADE20KSpec{Images: maxADEImages}, ""},
		{ADE20KSpec{}, "images is 0"},
		{ADE20KSpec{Images: maxADEImages + 1}, "images is"},
		{KiTS19Spec{Cases: maxCases}, ""},
		{KiTS19Spec{Cases: -1}, "cases is -1: must be 1 to"},
		{BraTS19Spec{Cases: maxCases}, ""},
		{BraTS19Spec{}, "cases is 0: must be 1 to"},
		{KiTS19Spec{Cases: maxCases + 1}, "cases is"},
		{SQuADSpec{Questions: 100_000, FirstWord: vocabularySize / 2, Lengths: 10}, ""},
		{SQuADSpec{Questions: 100_001, FirstWord: 1500, Lengths: 1}, "questions is 100001: must be 1 to 100000"},
		{SQuADSpec{Questions: 1, FirstWord: 1499, Lengths: 1}, "first word is 1499: must be 1500 to 15261"},
		{SQuADSpec{Questions: 1, FirstWord: vocabularySize/2 + 1, Lengths: 1}, "first word is 15262"},
		{SQuADSpec{Questions: 1, FirstWord: 1500, Lengths: 11}, "lengths is 11: must be 1 to 10"},
		{SQuADSpec{Questions: 1, FirstWord: 1500}, "lengths is 0"},
		{TranslationSpec{Sentences: 100_000, Pieces: 1 << 17}, ""},
		{TranslationSpec{Sentences: 100_001, Pieces: 100}, "sentences is 100001"},
		{TranslationSpec{Sentences: 1, Pieces: 99}, "pieces is 99: must be 100 to 131072"},
		{TranslationSpec{Sentences: 1, Pieces: 1<<17 + 1}, "pieces is 131073"},
		{CriteoSpec{Pairs: 1, Rows: rows(criteoTables, 1)}, ""},
		{CriteoSpec{Pairs: 10_000_000, Rows: rows(criteoTables, math.MaxInt32), Hot: rows(criteoTables, 1000)}, ""},
		{CriteoSpec{Pairs: 0, Rows: rows(criteoTables, 1)}, "pairs is 0: must be 1 to 10000000"},
		{CriteoSpec{Pairs: 10_000_001, Rows: rows(criteoTables, 1)}, "pairs is 10000001"},
		{CriteoSpec{Pairs: 1}, "rows is []: must be 26 numbers"},
		{CriteoSpec{Pairs: 1, Rows: rows(criteoTables-1, 1)}, "must be 26 numbers from 1 to 2147483647"},
		{CriteoSpec{Pairs: 1, Rows: rows(criteoTables, 0)}, "must be 26 numbers from 1 to 2147483647"},
		{CriteoSpec{Pairs: 1, Rows: rows(criteoTables, math.MaxInt32+1)}, "must be 26 numbers from 1 to 2147483647"},
		{CriteoSpec{Pairs: 1, Rows: rows(criteoTables, 1), Hot: rows(criteoTables, 1001)}, "must be 26 numbers from 1 to 1000"},
		{CriteoSpec{Pairs: 1, Rows: rows(criteoTables, 1), Hot: rows(criteoTables+1, 1)}, "must be 26 numbers from 1 to 1000"},
		{IGBHSpec{Papers: 1_000_000, Width: 1024}, ""},
		{IGBHSpec{Papers: 199, Width: 1}, "papers is 199: must be 200 to 1000000"},
		{RequestSpec{Requests: 1_000_000, Candidates: 2048}, ""},
		{RequestSpec{Candidates: 1}, "requests is 0: must be 1 to 1000000"},
		{RequestSpec{Requests: 1, Candidates: 2049}, "candidates is 2049: must be 1 to 2048"},
		{IGBHSpec{Papers: 200, Width: 1025}, "width is 1025: must be 1 to 1024"},
		{WaymoSpec{Frames: 100_000}, ""},
		{WaymoSpec{Frames: 0}, "frames is 0: must be 1 to 100000"},
		{PromptSpec{Prompts: 100_000, Tokens: 1 << 18}, ""},
		{PromptSpec{Prompts: 0, Tokens: 1000}, "prompts is 0: must be 1 to 100000"},
		{PromptSpec{Prompts: 1, Tokens: 999}, "tokens is 999: must be 1000 to 262144"},
		{PromptSpec{Prompts: 1, Tokens: 1<<18 + 1}, "tokens is 262145"},
		{SpeechSpec{Utterances: 100_000, Pitches: pitches(speechRate/2 - 1)}, ""},
		{SpeechSpec{Utterances: 100_001, Pitches: pitches(1)}, "utterances is 100001"},
		{SpeechSpec{Utterances: 1}, "pitches are 0: must be 28"},
		{SpeechSpec{Utterances: 1, Pitches: pitches(speechRate / 2)}, "a pitch is 8000: must be more than 0 and less than 8000"},
		{SpeechSpec{Utterances: 1, Pitches: pitches(math.NaN())}, "a pitch is NaN"},
		{talk(func(s *TalkSpec) { s.Recordings = 0 }), "recordings is 0: must be 1 to 100000"},
		{talk(func(s *TalkSpec) { s.Low = nil }), "there are 0 low tones and 1 high ones, expected 1 to 100"},
		{talk(func(s *TalkSpec) { s.High = slices.Repeat(s.High, mostTones) }), ""},
		{talk(func(s *TalkSpec) { s.High = slices.Repeat(s.High, mostTones+1) }), "1 low tones and 101 high ones"},
		{talk(func(s *TalkSpec) { s.High = []float64{speechRate / 2} }), "a tone is 8000"},
		{talk(func(s *TalkSpec) { s.Start = -0.1 }), "words begin at -0.1 s"},
		{talk(func(s *TalkSpec) { s.Start = math.NaN() }), "words begin at NaN s"},
		{talk(func(s *TalkSpec) { s.Each = 0.1 }), "take 0.1 s"},
		{talk(func(s *TalkSpec) { s.Start, s.Each = 3, 3 }), ""}, // room for nine words
		{talk(func(s *TalkSpec) { s.Start, s.Each = 4, 3 }), "take 3 s: of 8 none are left in 30 s"},
		{talk(func(s *TalkSpec) { s.FirstWord = talkMarkCount - 1 }), "first_word is 4: must be at least 5"},
		{CaptionSpec{Captions: 100_000, Tokens: 1 << 17, Side: 1 << 10}, ""},
		{CaptionSpec{Captions: 1, Tokens: leastTokens, Side: 1}, "captions is 1: must be 2 to 100000"},
		{CaptionSpec{Captions: 2, Tokens: leastTokens - 1, Side: 1}, "tokens is"},
		{CaptionSpec{Captions: 2, Tokens: leastTokens}, "side is 0: must be 1 to 1024"},
		{CaptionSpec{Captions: 2, Tokens: leastTokens, Side: 1<<10 + 1}, "side is 1025"},
		{VBenchSpec{Prompts: 100_000, Tokens: 1 << 18, Latents: []int{16, 21, 90, 160}}, ""},
		{VBenchSpec{Prompts: 0, Tokens: 300, Latents: []int{1, 1, 1, 1}}, "prompts is 0: must be 1 to 100000"},
		{VBenchSpec{Prompts: 1, Tokens: 299, Latents: []int{1, 1, 1, 1}}, "tokens is 299: must be 300 to 262144"},
		{VBenchSpec{Prompts: 1, Tokens: 300, Latents: []int{1, 1, 1}}, "latents are [1 1 1]"},
		{VBenchSpec{Prompts: 1, Tokens: 300, Latents: []int{1, 1, 0, 1}}, "latents are [1 1 0 1]: must be four extents up to 1024"},
		{VBenchSpec{Prompts: 1, Tokens: 300, Latents: []int{1024, 1024, 1024, 1}}, "at most 67108864 numbers"},
		{QuestionSpec{Form: ossQuestions, Questions: mostQuestions}, ""},
		{QuestionSpec{Form: longQuestions, Questions: 0}, "questions is 0: must be 1 to"},
		{QuestionSpec{Form: longQuestions, Questions: mostQuestions + 1}, "questions is"},
		{QuestionSpec{Form: "riddles", Questions: 1}, `form is "riddles": must be `},
		{PageSpec{Pages: 3, Questions: 1, FirstWord: 2200}, "pages is 3: must be 4 to 20000"},
		{PageSpec{Pages: 4, FirstWord: 2200}, "questions is 0: must be 1 to 100000"},
		{PageSpec{Pages: 4, Questions: 1, FirstWord: 1}, "first word is 1: must be 1500 to"},
		{ProductSpec{Products: mostProducts}, ""},
		{ProductSpec{}, "products is 0: must be 1 to"},
		{ProductSpec{Products: mostProducts + 1}, "products is"},
	} {
		err := c.spec.check()
		if (err == nil) != (c.want == "") || err != nil && !strings.Contains(err.Error(), c.want) {
			t.Errorf("%T %.80v: error %v, want %q", c.spec, c.spec, err, c.want)
		}
	}
}

// What tells a data set from another in an error is all of its spec.
func TestManifestsNameTheirSpec(t *testing.T) {
	if specs := len(validSpecs()); specs != len(setKinds) {
		t.Errorf("%d specs of %d kinds", specs, len(setKinds))
	}
	for _, s := range validSpecs() {
		m := Manifest{Version: 3, Spec: s}
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
	}
}
