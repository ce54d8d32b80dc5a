package builtin

import (
	"context"
	"fmt"

	"github.com/mlperf-go/mlperf/internal/builtin/arch"
	"github.com/mlperf-go/mlperf/internal/builtin/synth"
	"github.com/mlperf-go/mlperf/internal/models/workload"
)

// A set is a built-in data set, made or not. Models for classification share one. For all
// others the ground truth follows from what the model answers, so each has its own.
type set struct {
	key  string // its folder
	make func(ctx context.Context, dir string) error
}

// set returns the data set of a model.
func (m Maker) set(model workload.Model) (set, error) {
	switch of := model.BuiltIn.(type) {
	case workload.Recipe:
		return m.recipeSet(model, of)
	case workload.Questions:
		return m.questionSet(of), nil
	}
	return m.picturesOrVolumes(model)
}

// picturesOrVolumes returns the data set of a model of vision.
func (m Maker) picturesOrVolumes(model workload.Model) (set, error) {
	r, err := recipe(model)
	if err != nil {
		return set{}, err
	}
	switch model.Dataset {
	case "imagenet":
		return m.imageNetSet(), nil
	case "coco":
		return m.detectionSet(model, r, synth.COCO)
	case "openimages":
		return m.detectionSet(model, r, synth.OpenImages)
	case "ade20k":
		return m.maskSet(model, r)
	case "kits19":
		return m.volumeSet(model, r)
	}
	return set{}, fmt.Errorf("there is no built-in data set %q", model.Dataset)
}

// questionSet is the data set of questions for a form of prompt.
func (m Maker) questionSet(q workload.Questions) set {
	spec := synth.QuestionSpec{Seed: 1, Questions: m.samples(q.Samples), Form: q.Form}
	return set{spec.Key(), func(ctx context.Context, dir string) error { return synth.WriteQuestions(ctx, dir, spec) }}
}

// imageNetSet is the data set of pictures of things, one to each.
func (m Maker) imageNetSet() set {
	spec := m.spec()
	return set{spec.Key(), func(ctx context.Context, dir string) error {
		return synth.WriteImageNet(ctx, dir, spec, m.Observer.Items)
	}}
}

// recipeSet returns the data set of a model whose recipe says of what it is made.
func (m Maker) recipeSet(model workload.Model, r workload.Recipe) (set, error) {
	switch model.Dataset {
	case "squad":
		return m.squadSet(r), nil
	case "wmt16":
		return m.translationSet(r)
	case "librispeech":
		return m.speechSet(r), nil
	case "librispeech-whisper":
		return m.talkSet(r), nil
	case "criteo", multiHotSet:
		return m.clickSet(model, r)
	case articlePrompts, orcaPrompts, mixedPrompts:
		return m.promptSet(model, r)
	case "coco-2014-captions":
		return m.captionSet(model, r)
	}
	return set{}, fmt.Errorf("there is no built-in data set %q", model.Dataset)
}

// truth names how the ground truth of a model is found: by the model, or, without an
// engine that computes, by how the samples were drawn.
func (m Maker) truth(model workload.Model) (string, error) {
	if m.Engine == nil {
		return "", nil
	}
	a, err := architectureOf(model)
	if err != nil {
		return "", err
	}
	key, err := a.Key(arch.Options{})
	return fmt.Sprintf("%s-v%d", key, version), err
}

// samples is how many samples a data set has.
func (m Maker) samples(usual int) int {
	if m.count != 0 {
		return m.count
	}
	return usual
}
