package synth

import (
	"encoding/json"
	"errors"
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestManifestsComeBackAsWritten(t *testing.T) {
	for _, m := range []Manifest{
		{Version: 1, ImageNet: &ImageNetSpec{Seed: math.MaxUint64, Images: 500, Classes: 100, Jitter: 0.15}},
		{Version: 1, SQuAD: &SQuADSpec{Seed: 2, Questions: 9, FirstWord: 2200, Lengths: 6}},
		{Version: 1, Translation: &TranslationSpec{Seed: 2, Sentences: 9, Pieces: 200, Lexicon: "x"}},
		{Version: 1, Criteo: &CriteoSpec{Seed: 2, Pairs: 9, Rows: criteoRows(5)}},
		{Version: 7, COCO: &COCOSpec{Layout: OpenImages, Seed: 3, Images: 10}, Scores: map[string]float64{"retinanet": 31.4159, "x": 1e-300}},
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
		{"an unknown layout", `{"version":1,"coco":{"layout":"voc","seed":1,"images":1}}`, `layout is "voc", want "coco" or "openimages"`},
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

func TestAManifestWithoutASpecIsToldAllThatThereAre(t *testing.T) {
	err := Manifest{Version: 1}.check()
	kinds := reflect.TypeFor[Manifest]()
	for i := range kinds.NumField() {
		name, _, optional := strings.Cut(kinds.Field(i).Tag.Get("json"), ",")
		if kinds.Field(i).Type.Kind() == reflect.Pointer && optional {
			wantError(t, err, name)
		}
	}
}

func TestBadManifestsAreNotWritten(t *testing.T) {
	dir := t.TempDir()
	wantError(t, Manifest{Version: 1}.Write(dir), "writing builtin.json: there is no spec")
	bad := Manifest{Version: 1, ImageNet: &small, Scores: map[string]float64{"x": math.NaN()}}
	wantError(t, bad.Write(dir), "writing builtin.json: ", "NaN")
	wantError(t, Manifest{Version: 1, ImageNet: &small}.Write(filepath.Join(dir, "none")), "no such file")
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
		text, err := json.Marshal(m)
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
