package synth

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/mlperf-go/mlperf/internal/fileio"
)

// FormatVersion is part of every Key and Manifest. It has to be raised with any change
// that makes another file of the same spec.
const FormatVersion = 4

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
	BraTS19  *BraTS19Spec  `json:"brats19,omitempty"`
	SQuAD    *SQuADSpec    `json:"squad,omitempty"`

	Translation *TranslationSpec `json:"translation,omitempty"`
	Criteo      *CriteoSpec      `json:"criteo,omitempty"`
	Prompts     *PromptSpec      `json:"prompts,omitempty"`
	Speech      *SpeechSpec      `json:"speech,omitempty"`
	Talk        *TalkSpec        `json:"talk,omitempty"`
	Captions    *CaptionSpec     `json:"captions,omitempty"`
	IGBH        *IGBHSpec        `json:"igbh,omitempty"`
	Waymo       *WaymoSpec       `json:"waymo,omitempty"`
	Questions   *QuestionSpec    `json:"questions,omitempty"`
	Requests    *RequestSpec     `json:"requests,omitempty"`

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
		return fmt.Errorf("version is %d: must be 1 or more", m.Version)
	}
	switch list := m.specs(); len(list) {
	case 0:
		return errors.New("there is no spec, expected imagenet, coco, ade20k, kits19, brats19, squad, translation, criteo, prompts, questions, speech, talk, captions, igbh, waymo or requests")
	case 1:
		return list[0].check()
	}
	return errors.New("there are two specs, expected one")
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
		{m.BraTS19 != nil, namedSpec{"BraTS19", m.BraTS19}},
		{m.SQuAD != nil, namedSpec{"SQuAD", m.SQuAD}},
		{m.Criteo != nil, namedSpec{"Criteo", m.Criteo}},
		{m.Translation != nil, namedSpec{"translation", m.Translation}},
		{m.Prompts != nil, namedSpec{"prompts", m.Prompts}},
		{m.Speech != nil, namedSpec{"speech", m.Speech}},
		{m.Talk != nil, namedSpec{"talk", m.Talk}},
		{m.Captions != nil, namedSpec{"captions", m.Captions}},
		{m.Questions != nil, namedSpec{"questions", m.Questions}},
		{m.IGBH != nil, namedSpec{"IGBH", m.IGBH}},
		{m.Waymo != nil, namedSpec{"Waymo", m.Waymo}},
		{m.Requests != nil, namedSpec{"requests", m.Requests}},
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

// A Judge puts the ground truth into the folder of a data set before it gets its name, and
// returns the scores for its Manifest.
type Judge func(folder string) (scores map[string]float64, err error)

// publish makes the folder of a data set, all or nothing: fill writes the files into a
// temporary folder beside it, the judge, if there is one, the ground truth, and then the
// folder gets the manifest and the name.
//
// If the data set is there already, nothing is done. If it comes to be there meanwhile,
// because another process makes the same one, ours is thrown away. A folder
// with anything else in it is an error and stays as it is.
func publish(dir string, m Manifest, fill func(folder string) error, judge Judge) (err error) {
	if there, err := published(dir, m); there || err != nil {
		return err
	}
	parent, name := filepath.Split(filepath.Clean(dir))
	if parent == "" {
		parent = "."
	}
	if err := os.MkdirAll(parent, 0o755); err != nil {
		return err
	}
	temporary, err := os.MkdirTemp(parent, ".mlperf-making-")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(temporary)) }()

	// A folder inside, because the temporary one is closed to other users.
	if err := m.make(filepath.Join(temporary, name), fill, judge); err != nil {
		return err
	}
	return install(parent, filepath.Base(temporary)+"/"+name, name, m)
}

// make makes a folder with everything in it.
func (m Manifest) make(folder string, fill func(folder string) error, judge Judge) (err error) {
	if err := os.Mkdir(folder, 0o755); err != nil {
		return err
	}
	if err := fill(folder); err != nil {
		return err
	}
	if judge != nil {
		if m.Scores, err = judge(folder); err != nil {
			return err
		}
	}
	return m.Write(folder)
}

// published reports whether a folder holds the data set of a manifest. Another content is
// an error; a missing or empty folder is neither.
func published(dir string, m Manifest) (bool, error) {
	there, err := ReadManifest(dir)
	switch {
	case err == nil && there.sameSet(m):
		return true, nil
	case err == nil:
		return false, fmt.Errorf("%s holds another data set: %s: must be %s", dir, there.describe(), m.describe())
	case !errors.Is(err, fs.ErrNotExist):
		return false, err
	}
	return false, checkEmpty(dir)
}

// checkEmpty wants a folder without a manifest to have nothing else, or not to be there.
func checkEmpty(dir string) error {
	entries, err := os.ReadDir(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err == nil && len(entries) > 0 {
		err = fmt.Errorf("%s is not empty and has no %s: it was not made here", dir, manifestName)
	}
	return err
}

// install gives a folder its name, unless the name is taken by the same data set.
func install(parent, folder, name string, m Manifest) error {
	taken := fileio.MoveIn(parent, folder, name)
	if taken == nil {
		return nil
	}
	dir := filepath.Join(parent, name)
	if there, err := published(dir, m); there || err != nil {
		return err
	}
	// An empty folder may be in the way, which not every system replaces.
	if os.Remove(dir) != nil {
		return taken
	}
	return fileio.MoveIn(parent, folder, name)
}
