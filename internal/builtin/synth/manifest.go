package synth

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	"github.com/mlperf-go/mlperf/internal/fileio"
)

// FormatVersion is part of every Key and Manifest. It has to be raised with any change
// that makes another file of the same spec.
const FormatVersion = 3

const manifestName = "builtin.json"

// A Manifest lies in the folder of a built-in data set, as builtin.json, and says how the
// set was made. It is what tells a built-in set from an official one. Exactly one
// of the specs is set.
type Manifest struct {
	Version  int           `json:"version"` // FormatVersion of the program that made the set
	ImageNet *ImageNetSpec `json:"imagenet,omitempty"`
	COCO     *COCOSpec     `json:"coco,omitempty"`
	ADE20K   *ADE20KSpec   `json:"ade20k,omitempty"`
	KiTS19   *KiTS19Spec   `json:"kits19,omitempty"`
	SQuAD    *SQuADSpec    `json:"squad,omitempty"`

	Translation *TranslationSpec `json:"translation,omitempty"`
	Criteo      *CriteoSpec      `json:"criteo,omitempty"`
	Prompts     *PromptSpec      `json:"prompts,omitempty"`
	Speech      *SpeechSpec      `json:"speech,omitempty"`
	Talk        *TalkSpec        `json:"talk,omitempty"`
	Captions    *CaptionSpec     `json:"captions,omitempty"`
	Questions   *QuestionSpec    `json:"questions,omitempty"`

	// Scores are what the FP32 reference reaches on the set, by names that the caller
	// chooses: of models, say.
	Scores map[string]float64 `json:"scores,omitempty"`
}

// ReadManifest reads the manifest of a data set's folder. The error is fs.ErrNotExist if
// there is none: the set is not built in.
func ReadManifest(dir string) (Manifest, error) {
	path := filepath.Join(dir, manifestName)
	data, err := os.ReadFile(path)
	if err != nil {
		return Manifest{}, err
	}
	m, err := parseManifest(data)
	if err != nil {
		return Manifest{}, fmt.Errorf("reading %s: %w", path, err)
	}
	return m, nil
}

// Write puts the manifest into a data set's folder, in the place of the one that is
// there. Readers see the old or the new one; of two writers the later wins.
func (m Manifest) Write(dir string) error {
	err := m.check()
	if err == nil {
		err = fileio.WriteAtomic(filepath.Join(dir, manifestName), 0o644, func(f io.Writer) error {
			e := json.NewEncoder(f)
			e.SetIndent("", "  ")
			return e.Encode(m)
		})
	}
	if err != nil {
		return fmt.Errorf("writing %s: %w", manifestName, err)
	}
	return nil
}

// parseManifest is strict: whatever it does not know was written by another version.
func parseManifest(data []byte) (Manifest, error) {
	var m Manifest
	d := json.NewDecoder(bytes.NewReader(data))
	d.DisallowUnknownFields()
	if err := d.Decode(&m); err != nil {
		return Manifest{}, err
	}
	if _, err := d.Token(); err != io.EOF {
		return Manifest{}, errors.New("there is something after the manifest")
	}
	return m, m.check()
}

func (m Manifest) check() error {
	if m.Version < 1 {
		return fmt.Errorf("version is %d, want 1 or more", m.Version)
	}
	switch list := m.specs(); len(list) {
	case 0:
		return errors.New("there is no spec, want imagenet, coco, ade20k, kits19, squad, translation, criteo, prompts, questions, speech, talk or captions")
	case 1:
		return list[0].check()
	}
	return errors.New("there are two specs, want one")
}

// A spec says everything about a data set.
type spec interface{ check() error }

// A namedSpec is a spec of a manifest.
type namedSpec struct {
	name string
	spec
}

// specs returns those that there are.
func (m Manifest) specs() []namedSpec {
	all := []struct {
		there bool
		spec  namedSpec
	}{
		{m.ImageNet != nil, namedSpec{"ImageNet", m.ImageNet}},
		{m.COCO != nil, namedSpec{"COCO", m.COCO}},
		{m.ADE20K != nil, namedSpec{"ADE20K", m.ADE20K}},
		{m.KiTS19 != nil, namedSpec{"KiTS19", m.KiTS19}},
		{m.SQuAD != nil, namedSpec{"SQuAD", m.SQuAD}},
		{m.Criteo != nil, namedSpec{"Criteo", m.Criteo}},
		{m.Translation != nil, namedSpec{"translation", m.Translation}},
		{m.Prompts != nil, namedSpec{"prompts", m.Prompts}},
		{m.Speech != nil, namedSpec{"speech", m.Speech}},
		{m.Talk != nil, namedSpec{"talk", m.Talk}},
		{m.Captions != nil, namedSpec{"captions", m.Captions}},
		{m.Questions != nil, namedSpec{"questions", m.Questions}},
	}
	var list []namedSpec
	for _, s := range all {
		if s.there {
			list = append(list, s.spec)
		}
	}
	return list
}

// describe names the content in an error.
func (m Manifest) describe() string {
	text := fmt.Sprintf("version %d", m.Version)
	for _, s := range m.specs() {
		text += fmt.Sprintf(", %s %s", s.name, strings.TrimPrefix(fmt.Sprintf("%+v", s.spec), "&"))
	}
	return text
}

// sameSet reports whether two manifests belong to equal data sets. Scores do not matter.
func (m Manifest) sameSet(other Manifest) bool { return m.describe() == other.describe() }
