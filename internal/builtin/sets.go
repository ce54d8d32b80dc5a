package builtin

import (
	"context"
	"encoding/binary"
	"fmt"
	"math"
	"math/bits"
	"math/rand/v2"
	"path/filepath"

	"github.com/mlperf-go/mlperf/internal/builtin/synth"
	"github.com/mlperf-go/mlperf/internal/dataset"
	"github.com/mlperf-go/mlperf/internal/models/vision"
	"github.com/mlperf-go/mlperf/internal/models/workload"
	"github.com/mlperf-go/mlperf/internal/onnx/arch"
)

// A set is a built-in data set, made or not. Models for classification share one. For all
// others the ground truth follows from what the model answers, so each has its own.
type set struct {
	key     string // its folder
	samples int    // 0: that is known when it is made
	make    func(ctx context.Context, dir string) error
}

// sets say how the built-in data sets are made, by the names of the official ones. A row is a function of the model and of its
// built-in form.
func sets() map[string]func(Maker, workload.Model) (set, error) {
	return map[string]func(Maker, workload.Model) (set, error){
		"imagenet":            of(Maker.imageNetSet),
		"coco":                of(Maker.cocoSet),
		"openimages":          of(Maker.openImagesSet),
		"ade20k":              of(Maker.maskSet),
		"kits19":              of(Maker.volumeSet),
		"brats19":             of(Maker.scanSet),
		"squad":               of(Maker.squadSet),
		"wmt16":               of(Maker.translationSet),
		"librispeech":         of(Maker.speechSet),
		"librispeech-whisper": of(Maker.talkSet),
		"criteo":              of(Maker.clickSet),
		multiHotSet:           of(Maker.clickSet),
		articlePrompts:        of(Maker.promptSet),
		orcaPrompts:           of(Maker.promptSet),
		mixedPrompts:          of(Maker.promptSet),
		"deepseek-r1":         of(Maker.questionSet),
		"gpt-oss-120b":        of(Maker.questionSet),
		"llama3.1-405b":       of(Maker.questionSet),
		productCatalogue:      of(Maker.productSet),
		"bfcl":                of(Maker.questionSet),
		"coco-2014-captions":  of(Maker.captionSet),
		"vbench-prompts":      of(Maker.videoSet),
		"frames":              of(Maker.pageSet),
		"igbh":                of(Maker.graphSet),
		"waymo":               of(Maker.frameSet),
		"streaming-100b":      of(Maker.requestSet),
	}
}

// of is a row for models whose built-in form is a B.
func of[B any](f func(Maker, workload.Model, B) (set, error)) func(Maker, workload.Model) (set, error) {
	return func(m Maker, model workload.Model) (set, error) {
		b, ok := model.BuiltIn.(B)
		if !ok {
			return set{}, fmt.Errorf("%s has no built-in form", model.Name)
		}
		return f(m, model, b)
	}
}

// set returns the data set of a model.
func (m Maker) set(model workload.Model) (set, error) {
	row, ok := sets()[model.Dataset]
	if !ok {
		return set{}, fmt.Errorf("the data set %q has no built-in form", model.Dataset)
	}
	return row(m, model)
}

// questionSet is the data set of questions for a form of prompt.
func (m Maker) questionSet(_ workload.Model, q workload.Questions) (set, error) {
	spec := synth.QuestionSpec{Seed: synth.Seed, Questions: m.samples(q.Samples), Form: q.Form}
	return set{spec.Key(), spec.Questions, func(ctx context.Context, dir string) error { return synth.WriteQuestions(ctx, dir, spec) }}, nil
}

// productCatalogue is the data set of Qwen3-VL.
const productCatalogue = "shopify-product-catalogue"

// productSet is the catalogue of products with pictures.
func (m Maker) productSet(_ workload.Model, q workload.Questions) (set, error) {
	spec := synth.ProductSpec{Seed: synth.Seed, Products: m.samples(q.Samples)}
	return set{spec.Key(), spec.Products, func(ctx context.Context, dir string) error { return synth.WriteProducts(ctx, dir, spec) }}, nil
}

// videoSet is the data set of prompts for videos. It has no truth: networks of others score videos.
func (m Maker) videoSet(_ workload.Model, r workload.Recipe) (set, error) {
	spec := synth.VBenchSpec{Seed: synth.Seed, Prompts: m.samples(r.Samples), Tokens: arch.VideoTokens()}
	for _, n := range arch.VideoLatents(m.FullSize) {
		spec.Latents = append(spec.Latents, int(n))
	}
	return set{spec.Key(), spec.Prompts, func(ctx context.Context, dir string) error { return synth.WriteVBench(ctx, dir, spec) }}, nil
}

// pageSet is the data set of pages and questions about them. The questions say their answers, and the pages are what they are.
func (m Maker) pageSet(_ workload.Model, r workload.Recipe) (set, error) {
	spec := synth.PageSpec{Seed: synth.Seed, Pages: m.samples(r.Samples), Questions: 64, FirstWord: arch.BERTFirstWord}
	return set{spec.Key(), spec.Pages, func(ctx context.Context, dir string) error { return synth.WritePages(ctx, dir, spec) }}, nil
}

// imageNetSet is the data set of pictures of things, one to each.
func (m Maker) imageNetSet(workload.Model, vision.BuiltIn) (set, error) {
	spec := m.spec()
	return set{spec.Key(), spec.Images, func(ctx context.Context, dir string) error {
		return synth.WriteImageNet(ctx, dir, spec, m.Observer.Items)
	}}, nil
}

// truth names how the ground truth of a model is found: by the model, or, without an
// engine that computes, by how the samples were drawn.
func (m Maker) truth(model workload.Model) (string, error) {
	if m.Engine == nil {
		return "", nil
	}
	r, err := recipe(model)
	if err != nil {
		return "", err
	}
	key, err := r.Network.Key(arch.Options{})
	return fmt.Sprintf("%s-v%d", key, version), err
}

// truthOfParts names the ground truth as truth does, by a model of several files.
func (m Maker) truthOfParts(r workload.Recipe) (string, error) {
	if m.Engine == nil {
		return "", nil
	}
	path, err := m.partsPath(r)
	if err != nil {
		return "", err
	}
	return filepath.Base(path), nil
}

// judgeBy returns the judge of a data set whose ground truth comes from a model, nil without one.
func judgeBy(truth string, judge synth.Judge) synth.Judge {
	if truth == "" {
		return nil
	}
	return judge
}

// samples is how many samples a data set has.
func (m Maker) samples(usual int) int {
	if m.count != 0 {
		return m.count
	}
	return usual
}

// judged is how many samples a data set has whose truth a model makes.
func (m Maker) judged(usual int) int {
	if n := m.samples(usual); m.Most == 0 || m.Most > n {
		return n
	}
	return m.Most
}

// meanRun is how many pairs a sample has on average.
const meanRun = 270

// multiHotSet is the data set of DLRM-v2, the other than that of DLRM.
const multiHotSet = "criteo-multihot"

// clickSet is the data set of user-item pairs. Its labels are drawn with the chance that the
// model gives in FP32 on the CPU: so the model is as right as one can be, which is far
// from always.
func (m Maker) clickSet(model workload.Model, r workload.Recipe) (set, error) {
	rows := m.options(r.Parts[0]).Rows
	if rows == 0 {
		rows = r.Parts[0].Network.Rows
	}
	spec := synth.CriteoSpec{Seed: synth.Seed, Pairs: meanRun * m.samples(r.Samples), Rows: arch.DLRMRows(rows)}
	if model.Dataset == multiHotSet {
		spec.Rows, spec.Hot = arch.DLRMv2Rows(rows), arch.DLRMv2Hot()
	}
	var err error
	if spec.Truth, err = m.truthOfParts(r); err != nil {
		return set{}, err
	}
	return set{spec.Key(), len(dataset.AggregatePairs(spec.Pairs)), func(ctx context.Context, dir string) error {
		judge := judgeBy(spec.Truth, func(folder string) (map[string]float64, error) { return m.markClicks(ctx, model, spec, folder) })
		return synth.WriteCriteo(ctx, dir, spec, judge)
	}}, nil
}

// markClicks draws the labels. The score of the model is measured later.
func (m Maker) markClicks(ctx context.Context, model workload.Model, spec synth.CriteoSpec, folder string) (map[string]float64, error) {
	responses, err := m.answers(ctx, model, folder)
	if err != nil {
		return nil, err
	}
	r := newChance("clicks", spec.Seed)
	var labels []bool
	for _, response := range responses {
		for i := 0; i < len(response); i += 8 {
			p := math.Float32frombits(binary.LittleEndian.Uint32(response[i:]))
			labels = append(labels, r.happens(float64(p)))
		}
	}
	return nil, spec.WriteLabels(folder, labels)
}

// The data sets of prompts.
const (
	articlePrompts = "cnn_dailymail"
	orcaPrompts    = "open-orca"
	mixedPrompts   = "mixtral"
)

// promptSet is the data set of prompts. Its targets are what the model answers in FP32 on the CPU,
// with half of the words replaced: so the model is as right as one can be, and every word
// that it says otherwise counts.
func (m Maker) promptSet(model workload.Model, r workload.Recipe) (set, error) {
	rows := m.network(r.Parts[0]).Rows
	if o := m.options(r.Parts[0]); o.Rows != 0 {
		rows = o.Rows
	}
	spec := synth.PromptSpec{Seed: synth.Seed, Prompts: m.samples(r.Samples), Tokens: int(rows), Mixed: model.Dataset == mixedPrompts}
	if m.Engine != nil && !m.FullSize {
		truth, err := m.truthOfParts(r)
		if err != nil {
			return set{}, err
		}
		spec.Truth = truth + " " + model.Dataset // which says how long answers are
	}
	return set{spec.Key(), spec.Prompts, func(ctx context.Context, dir string) error {
		judge := judgeBy(spec.Truth, func(folder string) (map[string]float64, error) {
			return m.markPrompts(ctx, model, spec, r.TokenBytes, folder)
		})
		return synth.WritePrompts(ctx, dir, spec, judge)
	}}, nil
}

// markPrompts writes the targets, and scores the model's answers by them.
func (m Maker) markPrompts(ctx context.Context, model workload.Model, spec synth.PromptSpec, width int, folder string) (map[string]float64, error) {
	responses, err := m.answers(ctx, model, folder)
	if err != nil {
		return nil, err
	}
	said := make([][]int32, len(responses))
	for i, response := range responses {
		var answer []int32
		for at := 0; at+width <= len(response); at += width {
			answer = append(answer, int32(binary.LittleEndian.Uint32(response[at:])))
		}
		said[i] = spec.Disturbed(i, answer)
	}
	if err := spec.WriteTargets(folder, said); err != nil {
		return nil, err
	}
	return m.scores(ctx, model, folder, responses)
}

// chance gives random numbers that follow from what they are for. Only the generator is
// taken from math/rand/v2: what is made of its bits is not promised to stay as it is.
type chance struct{ pcg rand.PCG }

func newChance(purpose string, numbers ...uint64) *chance {
	return &chance{synth.Seeded(purpose, numbers...)}
}

// uniform returns a number from 0 up to but not including 1.
func (c *chance) uniform() float64 { return float64(c.pcg.Uint64()>>11) * 0x1p-53 }

// bell returns a number of mean 0 and variance 1, as the sum of twelve uniform ones.
func (c *chance) bell() float64 {
	sum := -6.0
	for range 12 {
		sum += c.uniform()
	}
	return sum
}

// below returns a whole number from 0 to n-1.
func (c *chance) below(n int) int {
	high, _ := bits.Mul64(c.pcg.Uint64(), uint64(n))
	return int(high)
}

// happens says yes with a probability.
func (c *chance) happens(probability float64) bool { return c.uniform() < probability }
