package synth

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"github.com/mlperf-go/mlperf/internal/whole"
)

// FormatVersion is part of every Key and Manifest. It has to be raised with any change
// that makes another file of the same spec.
const FormatVersion = 1

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
		err = whole.Write(filepath.Join(dir, manifestName), 0o644, func(f io.Writer) error {
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
	switch spec, n := m.spec(); n {
	case 0:
		return errors.New("there is no spec, want imagenet, coco, ade20k, kits19, squad, translation, criteo, prompts, questions, speech, talk or captions")
	case 1:
		return spec.check()
	}
	return errors.New("there are two specs, want one")
}

// A spec says everything about a data set.
type spec interface{ check() error }

// spec returns the last spec, and how many there are.
func (m Manifest) spec() (last spec, n int) {
	add := func(there bool, s spec) {
		if there {
			last, n = s, n+1
		}
	}
	add(m.ImageNet != nil, m.ImageNet)
	add(m.COCO != nil, m.COCO)
	add(m.ADE20K != nil, m.ADE20K)
	add(m.KiTS19 != nil, m.KiTS19)
	add(m.SQuAD != nil, m.SQuAD)
	add(m.Criteo != nil, m.Criteo)
	add(m.Translation != nil, m.Translation)
	add(m.Prompts != nil, m.Prompts)
	add(m.Speech != nil, m.Speech)
	add(m.Talk != nil, m.Talk)
	add(m.Captions != nil, m.Captions)
	add(m.Questions != nil, m.Questions)
	return last, n
}

// describe names the content in an error.
func (m Manifest) describe() string {
	switch {
	case m.ImageNet != nil:
		return fmt.Sprintf("version %d, ImageNet %+v", m.Version, *m.ImageNet)
	case m.COCO != nil:
		return fmt.Sprintf("version %d, COCO %+v", m.Version, *m.COCO)
	case m.ADE20K != nil:
		return fmt.Sprintf("version %d, ADE20K %+v", m.Version, *m.ADE20K)
	case m.Criteo != nil:
		return fmt.Sprintf("version %d, Criteo %+v", m.Version, *m.Criteo)
	case m.Translation != nil:
		return fmt.Sprintf("version %d, translation %+v", m.Version, *m.Translation)
	case m.Prompts != nil:
		return fmt.Sprintf("version %d, prompts %+v", m.Version, *m.Prompts)
	case m.Speech != nil:
		return fmt.Sprintf("version %d, speech %+v", m.Version, *m.Speech)
	case m.Talk != nil:
		return fmt.Sprintf("version %d, talk %+v", m.Version, *m.Talk)
	case m.Captions != nil:
		return fmt.Sprintf("version %d, captions %+v", m.Version, *m.Captions)
	case m.Questions != nil:
		return fmt.Sprintf("version %d, questions %+v", m.Version, *m.Questions)
	case m.SQuAD != nil:
		return fmt.Sprintf("version %d, SQuAD %+v", m.Version, *m.SQuAD)
	}
	return fmt.Sprintf("version %d, KiTS19 %+v", m.Version, *m.KiTS19)
}

// sameSet reports whether two manifests belong to equal data sets. Scores do not matter.
func (m Manifest) sameSet(other Manifest) bool { return m.describe() == other.describe() }
