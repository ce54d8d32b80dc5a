package synth

import (
	"bytes"
	"compress/gzip"
	"context"
	"fmt"
	"image"
	"image/jpeg"
	"maps"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/mlperf-go/mlperf/internal/testenv"
)

// unmarked are the files without a mark: they have no samples.
var unmarked = []string{
	"builtin.json", "val_map.txt", "vocab.txt", "vocab.json", "merges.txt", "tokenizer.json", "latents.pt", "fixed_latent.pt", "inference_cases.json", "dev-clean-wav.json",
	"dev-all-repack.json", "day_23_labels_sample.npy", "day_23_sparse_multi_hot_sample.npz", "train_idx.pt", "val_idx.pt",
}

// Every file with samples is known by itself, under any name, without the manifest.
func TestCopiedFilesAreKnown(t *testing.T) {
	sets := smallSets()
	for form := range questionSets {
		sets["questions "+form] = func(ctx context.Context, dir string, seed uint64) error {
			return WriteQuestions(ctx, dir, QuestionSpec{Seed: seed, Questions: 8, Form: form})
		}
	}
	sets["mixed prompts"] = func(ctx context.Context, dir string, seed uint64) error {
		return WritePrompts(ctx, dir, PromptSpec{Seed: seed, Prompts: 2, Tokens: 1000, Mixed: true}, nil)
	}
	sets["clicks of several categories"] = func(ctx context.Context, dir string, seed uint64) error {
		return WriteCriteo(ctx, dir, CriteoSpec{Seed: seed, Pairs: 3, Rows: criteoRows(9), Hot: criteoRows(2)}, nil)
	}
	sets["COCO"] = func(ctx context.Context, dir string, seed uint64) error {
		return WriteCOCO(ctx, dir, COCOSpec{Layout: COCO, Seed: seed, Images: 1}, nil, nil)
	}
	sets["volumes"] = func(_ context.Context, dir string, _ uint64) error {
		testenv.Must(t, os.Mkdir(dir, 0o755))
		return writeNIfTI(filepath.Join(dir, "imaging.nii.gz"), VolumeGrid{Shape: [3]int{1, 1, 3}}, []int16{0, 2, 1})
	}
	for kind, write := range sets {
		dir := filepath.Join(t.TempDir(), "set")
		testenv.Must(t, write(t.Context(), dir, Seed))
		known := 0
		for name, content := range filesOf(t, dir) {
			alone := filepath.Join(t.TempDir(), "other"+path.Ext(name))
			testenv.Must(t, os.WriteFile(alone, []byte(content), 0o600))
			got := HasMark(alone)
			if want := !slices.Contains(unmarked, path.Base(name)) && !strings.HasPrefix(name, liveFolder); got != want {
				t.Errorf("%s: HasMark(%s) = %v, want %v", kind, name, got, want)
			}
			if got {
				known++
			}
		}
		testenv.Must(t, os.RemoveAll(filepath.Join(dir, manifestName)))
		if known == 0 || !HasMark(dir) {
			t.Errorf("%s: the folder without its manifest is not known", kind)
		}
	}
}

// Files that were changed otherwise, and files of others.
func TestHasMark(t *testing.T) {
	picture, err := (&painter{}).draw(&Scene{}, frame{width: 20, height: 10, quality: 80, orientation: rotate90})
	testenv.Must(t, err)
	var plain bytes.Buffer
	testenv.Must(t, jpeg.Encode(&plain, image.NewGray(image.Rect(0, 0, 20, 10)), nil))
	lexicon := smallLexicon(200)
	sentences := t.TempDir()
	testenv.Must(t, TranslationSpec{Seed: Seed, Sentences: 60, Pieces: 200}.fill(sentences, lexicon))
	source := testenv.Read(t, filepath.Join(sentences, "newstest2014.tok.bpe.32000.en"))
	clicks := CriteoSpec{Seed: Seed, Pairs: 300, Rows: criteoRows(500)}.pairs()
	volume := filepath.Join(t.TempDir(), "v.nii.gz")
	testenv.Must(t, writeNIfTI(volume, VolumeGrid{Shape: [3]int{1, 1, 3}}, []uint8{0, 2, 1}))
	var repacked bytes.Buffer
	z := gzip.NewWriter(&repacked)
	z.Write(unpacked(t, volume))
	testenv.Must(t, z.Close())
	const english = "You have to be a good reader of the news to go on with a banana in the open data of a town . "
	many := map[string]string{}
	for i := range 3000 {
		many[fmt.Sprintf("val/%05d.jpg", i)] = plain.String()
	}
	with := func(name, content string) map[string]string {
		all := maps.Clone(many)
		all[name] = content
		return all
	}
	for name, c := range map[string]struct {
		files map[string]string
		want  bool
	}{
		"one of a kind":                 {with("x.JPEG", string(picture)), true},
		"the first":                     {with("val/!.jpg", string(picture)), true},
		"in a folder of folders":        {map[string]string{"a/b/c/d/x.jpg": string(picture)}, true},
		"with a tail":                   {map[string]string{"x.jpg": string(picture) + strings.Repeat("x", 1<<20)}, true},
		"cut in half":                   {map[string]string{"x.jpg": string(picture[:len(picture)/2])}, true},
		"the rest of sentences":         {map[string]string{"x.en": string(source[len(source)/2:])}, true},
		"the rest of clicks":            {map[string]string{"x.bin": string(clicks[100*4*criteoFields:])}, true},
		"a volume packed again":         {map[string]string{"x.nii.gz": repacked.String()}, true},
		"a volume unpacked":             {map[string]string{"x.nii": string(unpacked(t, volume))}, true},
		"rows of JSON among others":     {map[string]string{"x.json": strings.Repeat(" ", 5000) + `{"` + Mark + `":true}`}, true},
		"a picture encoded again":       {map[string]string{"x.jpg": plain.String()}, false}, // it is another file
		"other pictures":                {many, false},
		"clicks of another seed":        {map[string]string{"x.bin": string(CriteoSpec{Seed: 2, Pairs: 300, Rows: criteoRows(500)}.pairs())}, false},
		"clicks of nothing":             {map[string]string{"x.bin": strings.Repeat("\x00", 1<<17)}, false},
		"English":                       {map[string]string{"x.en": strings.Repeat(english, 9), "x.txt": Mark[:19]}, false},
		"a few words":                   {map[string]string{"x.en": string(source[:20])}, false},
		"no file, but a folder of that": {map[string]string{Mark + "/x": ""}, false},
	} {
		dir := t.TempDir()
		for file, content := range c.files {
			testenv.Must(t, os.MkdirAll(filepath.Dir(filepath.Join(dir, file)), 0o755))
			testenv.Must(t, os.WriteFile(filepath.Join(dir, file), []byte(content), 0o600))
		}
		if got := HasMark(dir); got != c.want {
			t.Errorf("%s: HasMark = %v, want %v", name, got, c.want)
		}
	}
	if HasMark(filepath.Join(t.TempDir(), "missing")) {
		t.Error("a missing folder has a mark")
	}
}

// Links to files and folders are followed, endless ones to their end.
func TestHasMarkBehindLinks(t *testing.T) {
	dir, elsewhere := t.TempDir(), t.TempDir()
	testenv.Must(t, os.WriteFile(filepath.Join(elsewhere, "x.json"), []byte(Mark), 0o600))
	if err := os.Symlink(dir, filepath.Join(dir, "loop")); err != nil {
		t.Skip(err)
	}
	testenv.Must(t, os.Symlink(dir, filepath.Join(dir, "loop again")))
	testenv.Must(t, os.Symlink("nowhere", filepath.Join(dir, "dangling")))
	if HasMark(dir) {
		t.Error("links to nothing have a mark")
	}
	testenv.Must(t, os.Symlink(elsewhere, filepath.Join(dir, "val")))
	link := filepath.Join(t.TempDir(), "link")
	testenv.Must(t, os.Symlink(dir, link))
	for _, path := range []string{dir, link, filepath.Join(dir, "val", "x.json")} {
		if !HasMark(path) {
			t.Errorf("%s has no mark", path)
		}
	}
}
