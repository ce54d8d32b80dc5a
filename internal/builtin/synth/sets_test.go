package synth

import (
	"context"
	"errors"
	"maps"
	"path/filepath"
	"strings"
	"testing"
)

// smallSets are writers of small data sets of all kinds but volumes, by what errors call them.
func smallSets() map[string]func(ctx context.Context, dir string, seed uint64) error {
	return map[string]func(ctx context.Context, dir string, seed uint64) error{
		"ImageNet": func(ctx context.Context, dir string, seed uint64) error {
			return WriteImageNet(ctx, dir, ImageNetSpec{Seed: seed, Images: 1, Classes: 1}, nil)
		},
		"ADE20K": func(ctx context.Context, dir string, seed uint64) error {
			return WriteADE20K(ctx, dir, ADE20KSpec{Seed: seed, Images: 1}, nil, nil)
		},
		"Criteo": func(ctx context.Context, dir string, seed uint64) error {
			return WriteCriteo(ctx, dir, CriteoSpec{Seed: seed, Pairs: 2, Rows: criteoRows(9)}, nil)
		},
		"SQuAD": func(ctx context.Context, dir string, seed uint64) error {
			return WriteSQuAD(ctx, dir, SQuADSpec{Seed: seed, Questions: 2, FirstWord: 1500, Lengths: 6})
		},
		"translation": func(ctx context.Context, dir string, seed uint64) error {
			return WriteTranslation(ctx, dir, TranslationSpec{Seed: seed, Sentences: 2, Pieces: 200, Lexicon: "small"}, smallLexicon(200))
		},
		"prompts": func(ctx context.Context, dir string, seed uint64) error {
			return WritePrompts(ctx, dir, PromptSpec{Seed: seed, Prompts: 2, Tokens: 1000}, nil)
		},
		"questions": func(ctx context.Context, dir string, seed uint64) error {
			return WriteQuestions(ctx, dir, QuestionSpec{Seed: seed, Questions: 8, Form: longQuestions})
		},
		"products": func(ctx context.Context, dir string, seed uint64) error {
			return WriteProducts(ctx, dir, ProductSpec{Seed: seed, Products: 4})
		},
		"speech": func(ctx context.Context, dir string, seed uint64) error {
			spec := smallSpeech()
			spec.Seed, spec.Utterances = seed, 1
			return WriteSpeech(ctx, dir, spec)
		},
		"talk": func(ctx context.Context, dir string, seed uint64) error {
			spec := smallTalk()
			spec.Seed, spec.Recordings = seed, 1
			return WriteTalk(ctx, dir, spec)
		},
		"captions": func(ctx context.Context, dir string, seed uint64) error {
			spec := smallCaptions()
			spec.Seed = seed
			return WriteCaptions(ctx, dir, spec, nil)
		},
		"IGBH": func(ctx context.Context, dir string, seed uint64) error {
			return WriteIGBH(ctx, dir, IGBHSpec{Seed: seed, Papers: 200, Width: 3}, nil)
		},
		"Waymo": smallWaymo,
		"vbench": func(ctx context.Context, dir string, seed uint64) error {
			return WriteVBench(ctx, dir, VBenchSpec{Seed: seed, Prompts: 3, Tokens: 400, Latents: []int{16, 2, 3, 4}})
		},
		"pages": func(ctx context.Context, dir string, seed uint64) error {
			return WritePages(ctx, dir, PageSpec{Seed: seed, Pages: 8, Questions: 4, FirstWord: 2200})
		},
		"requests": func(ctx context.Context, dir string, seed uint64) error {
			return WriteRequests(ctx, dir, RequestSpec{Seed: seed, Requests: 3, Candidates: 5}, nil)
		},
	}
}

func TestASetOfAnyKindIsLeftAloneAndNotTakenForAnother(t *testing.T) {
	for kind, write := range smallSets() {
		t.Run(kind, func(t *testing.T) {
			dir := filepath.Join(t.TempDir(), "set")
			if err := write(t.Context(), dir, 1); err != nil {
				t.Fatal(err)
			}
			before := filesOf(t, dir)
			if err := write(t.Context(), dir, 1); err != nil {
				t.Errorf("it is there already: %v", err)
			}
			wantError(t, write(t.Context(), dir, 2), "holds another data set: version ", ", "+strings.ToLower(kind)+" {", "Seed:1", "Seed:2")
			if !maps.Equal(filesOf(t, dir), before) {
				t.Error("the set changed")
			}
		})
	}
}

func TestASetOfAnyKindThatIsStoppedIsNotThere(t *testing.T) {
	cause := errors.New("the user had enough")
	ctx, stop := context.WithCancelCause(t.Context())
	stop(cause)
	for kind, write := range smallSets() {
		parent := t.TempDir()
		if err := write(ctx, filepath.Join(parent, "set"), 1); !errors.Is(err, cause) {
			t.Errorf("%s: error %v, want %v", kind, err, cause)
		}
		if names := namesIn(t, parent); len(names) > 0 {
			t.Errorf("%s left %v behind", kind, names)
		}
	}
}
