package builtin

import (
	"context"
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"github.com/mlperf-go/mlperf/internal/builtin/synth"
	"github.com/mlperf-go/mlperf/internal/fileio"
	"github.com/mlperf-go/mlperf/internal/models/workload"
	"github.com/mlperf-go/mlperf/internal/onnx/arch"
	"github.com/mlperf-go/mlperf/internal/preprocess/audio"
)

// options are those with which a part is built: smaller than the real one, unless that is
// wanted.
func (m Maker) options(p workload.Part) arch.Options {
	o := arch.Options{Layers: p.Layers, Rows: p.Rows}
	if m.FullSize {
		o = arch.Options{}
	}
	if m.Rows > 0 && p.Rows > 0 && p.Beside {
		o.Rows = m.Rows
	}
	return o
}

// network is that of a part: of the real file, if that is wanted.
func (m Maker) network(p workload.Part) arch.Architecture {
	if m.FullSize && p.Full.Name != "" {
		return p.Full
	}
	return p.Network
}

// partsPath names the file of a recipe with one part, or the folder of its files, by
// everything that their content follows from. A file with data beside it lies in a folder of that name.
func (m Maker) partsPath(r workload.Recipe) (string, error) {
	var keys []string
	for _, p := range r.Parts {
		key, err := m.network(p).Key(m.options(p))
		if err != nil {
			return "", err
		}
		keys = append(keys, key)
	}
	path := filepath.Join(m.Dir, modelsDir, strings.Join(keys, "-"))
	switch {
	case len(keys) > 1:
		return path, nil
	case m.mayHaveData(r.Parts[0]):
		return filepath.Join(path, keys[0]+".onnx"), nil
	}
	return path + ".onnx", nil
}

// mayHaveData reports whether a part may have a data file beside it. One of them without the other is no model, so both
// lie in a folder that appears when both are there, so that none is kept alone.
func (m Maker) mayHaveData(p workload.Part) bool { return p.Beside || m.FullSize }

// makeParts writes the files, which appear when all are complete.
func (m Maker) makeParts(ctx context.Context, r workload.Recipe, path string) error {
	if err := m.checkRoom(r, filepath.Join(m.Dir, modelsDir)); err != nil {
		return err
	}
	switch {
	case len(r.Parts) > 1:
		return fileio.WriteDir(path, func(folder string) error {
			for _, p := range r.Parts {
				if err := m.makePart(ctx, p, filepath.Join(folder, p.Role+".onnx")); err != nil {
					return err
				}
			}
			return nil
		})
	case m.mayHaveData(r.Parts[0]):
		return fileio.WriteDir(filepath.Dir(path), func(folder string) error {
			return m.makePart(ctx, r.Parts[0], filepath.Join(folder, filepath.Base(path)))
		})
	}
	return m.makePart(ctx, r.Parts[0], path)
}

func (m Maker) makePart(ctx context.Context, p workload.Part, path string) error {
	graph, _, err := m.network(p).Build(m.options(p))
	if err != nil {
		return err
	}
	if weightBytes(graph) > largestFile || p.Beside {
		return graph.WriteFileBeside(ctx, path)
	}
	return graph.WriteFile(ctx, path)
}

// largestFile is what a model file may have without a data file beside it: protobuf's limit, and some
// room.
const largestFile = 2e9

// Smaller says what a built-in model lacks of the real one, empty if nothing.
func (m Maker) Smaller(model workload.Model) string {
	r, ok := model.BuiltIn.(workload.Recipe)
	if !ok {
		return ""
	}
	var lacks []string
	for _, p := range r.Parts {
		lacks = append(lacks, m.lacks(p)...)
	}
	return strings.Join(slices.Compact(lacks), ", ")
}

// lacks lists what a part lacks of the real one.
func (m Maker) lacks(p workload.Part) (list []string) {
	a, o := p.Network, m.options(p)
	if o.Layers != 0 {
		list = append(list, fmt.Sprintf("%d of %d layers", o.Layers, a.Layers))
	}
	if o.Rows != 0 && o.Rows < a.Rows {
		list = append(list, fmt.Sprintf("%d of %d rows in its tables", o.Rows, a.Rows))
	}
	if p.Full.Name != "" && !m.FullSize {
		list = append(list, fmt.Sprintf("a %s in the place of %s", a.Title, p.Full.Name))
	}
	return list
}

// squadSet is the data set of questions about texts. The models are made to know the
// answers.
func (m Maker) squadSet(_ workload.Model, r workload.Recipe) (set, error) {
	spec := synth.SQuADSpec{Seed: synth.Seed, Questions: m.samples(r.Samples), FirstWord: arch.BERTFirstWord, Lengths: arch.BERTLengths}
	return set{spec.Key(), 0, func(ctx context.Context, dir string) error { return synth.WriteSQuAD(ctx, dir, spec) }}, nil // samples are windows
}

// translationSet is the data set of sentences. They are translated as the model was made to.
func (m Maker) translationSet(_ workload.Model, r workload.Recipe) (set, error) {
	a, o := r.Parts[0].Network, m.options(r.Parts[0])
	key, err := a.Key(o)
	if err != nil {
		return set{}, err
	}
	rows := int(a.Rows)
	if o.Rows != 0 {
		rows = int(o.Rows)
	}
	spec := synth.TranslationSpec{Seed: synth.Seed, Sentences: m.samples(r.Samples), Pieces: rows, Lexicon: key}
	return set{spec.Key(), spec.Sentences, func(ctx context.Context, dir string) error {
		var lexicon synth.Lexicon
		lexicon.Pieces, lexicon.First = arch.GNMTLexicon(rows)
		return synth.WriteTranslation(ctx, dir, spec, lexicon)
	}}, nil
}

// speechSet is the data set of recordings. The model is made to hear what is said.
func (m Maker) speechSet(_ workload.Model, r workload.Recipe) (set, error) {
	spec := synth.SpeechSpec{Seed: synth.Seed, Utterances: m.samples(r.Samples)}
	for _, band := range arch.RNNTBands() {
		spec.Pitches = append(spec.Pitches, audio.BandPitch(band, 80))
	}
	return set{spec.Key(), spec.Utterances, func(ctx context.Context, dir string) error { return synth.WriteSpeech(ctx, dir, spec) }}, nil
}

// talkSet is the data set of recordings of words. The model is made to hear what is said.
func (m Maker) talkSet(_ workload.Model, r workload.Recipe) (set, error) {
	const bands = 128
	spec := synth.TalkSpec{Seed: synth.Seed, Recordings: m.samples(r.Samples), Start: arch.WhisperStart, Each: arch.WhisperEach,
		FirstWord: arch.WhisperFirstWord}
	low, high := arch.WhisperTones()
	for _, band := range low {
		spec.Low = append(spec.Low, audio.BandPitch(band, bands))
	}
	for _, band := range high {
		spec.High = append(spec.High, audio.BandPitch(band, bands))
	}
	return set{spec.Key(), spec.Recordings, func(ctx context.Context, dir string) error { return synth.WriteTalk(ctx, dir, spec) }}, nil
}
