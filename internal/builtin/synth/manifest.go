package synth

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"

	"github.com/mlperf-go/mlperf/internal/fileio"
)

// FormatVersion is part of every Key and Manifest. It has to be raised with any change
// that makes another file of the same spec.
const FormatVersion = 4

const manifestName = "builtin.json"

// A setKind is a kind of data set.
type setKind struct {
	name string // of its spec in manifests
	spec Spec   // of its type
}

// setKinds are all kinds of data sets.
var setKinds = []setKind{
	{"imagenet", &ImageNetSpec{}},
	{"coco", &COCOSpec{}},
	{"ade20k", &ADE20KSpec{}},
	{"kits19", &KiTS19Spec{}},
	{"brats19", &BraTS19Spec{}},
	{"squad", &SQuADSpec{}},
	{"translation", &TranslationSpec{}},
	{"criteo", &CriteoSpec{}},
	{"prompts", &PromptSpec{}},
	{"speech", &SpeechSpec{}},
	{"talk", &TalkSpec{}},
	{"captions", &CaptionSpec{}},
	{"igbh", &IGBHSpec{}},
	{"waymo", &WaymoSpec{}},
	{"questions", &QuestionSpec{}},
	{"products", &ProductSpec{}},
	{"requests", &RequestSpec{}},
	{"vbench", &VBenchSpec{}},
	{"pages", &PageSpec{}},
}

// A Spec says everything about a data set.
type Spec interface{ check() error }

// kindOf is the index of the kind of a spec; -1: the kind is unknown.
func kindOf(s Spec) int {
	return slices.IndexFunc(setKinds, func(k setKind) bool { return reflect.TypeOf(k.spec) == reflect.TypeOf(s) })
}

// A Manifest lies in the folder of a built-in data set, as builtin.json, and says how the
// set was made. It is what tells a built-in set from an official one.
type Manifest struct {
	Version int // FormatVersion of the program that made the set
	Spec    Spec
	// Scores are what the FP32 reference reaches on the set, by names that the caller
	// chooses: of models, say.
	Scores map[string]float64
}

// document is a manifest as JSON has it: a struct with a pointer for each kind of spec; one of them is set.
func (m Manifest) document() reflect.Value {
	fields := []reflect.StructField{{Name: "Version", Type: reflect.TypeFor[int](), Tag: `json:"version"`}}
	for i, k := range setKinds {
		fields = append(fields, reflect.StructField{Name: fmt.Sprint("Spec", i), Type: reflect.TypeOf(k.spec),
			Tag: reflect.StructTag(fmt.Sprintf(`json:"%s,omitempty"`, k.name))})
	}
	fields = append(fields, reflect.StructField{Name: "Scores", Type: reflect.TypeFor[map[string]float64](), Tag: `json:"scores,omitempty"`})
	d := reflect.New(reflect.StructOf(fields)).Elem()
	d.Field(0).SetInt(int64(m.Version))
	if i := kindOf(m.Spec); i >= 0 {
		d.Field(1 + i).Set(reflect.ValueOf(m.Spec))
	}
	d.Field(1 + len(setKinds)).Set(reflect.ValueOf(m.Scores))
	return d
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
			return e.Encode(m.document().Interface())
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
	document := m.document()
	d := json.NewDecoder(bytes.NewReader(data))
	d.DisallowUnknownFields()
	if err := d.Decode(document.Addr().Interface()); err != nil {
		return Manifest{}, err
	}
	if _, err := d.Token(); err != io.EOF {
		return Manifest{}, errors.New("there is something after the manifest")
	}
	m.Version, m.Scores = int(document.Field(0).Int()), document.Field(1+len(setKinds)).Interface().(map[string]float64)
	for i := range setKinds {
		switch spec := document.Field(1 + i); {
		case spec.IsNil():
		case m.Spec != nil:
			return Manifest{}, errors.New("there are two specs, expected one")
		default:
			m.Spec = spec.Interface().(Spec)
		}
	}
	return m, m.check()
}

func (m Manifest) check() error {
	if m.Version < 1 {
		return fmt.Errorf("version is %d: must be 1 or more", m.Version)
	}
	if kindOf(m.Spec) < 0 {
		var names []string
		for _, k := range setKinds {
			names = append(names, k.name)
		}
		return fmt.Errorf("there is no spec, expected one of %s", strings.Join(names, ", "))
	}
	return m.Spec.check()
}

// describe names the content in an error.
func (m Manifest) describe() string {
	return fmt.Sprintf("version %d, %s %s", m.Version, setKinds[kindOf(m.Spec)].name, strings.TrimPrefix(fmt.Sprintf("%+v", m.Spec), "&"))
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
// with anything else in it is an error and stays as it is. Errors say what was made.
func publish(ctx context.Context, dir, what string, spec Spec, fill func(folder string) error, judge Judge) error {
	err := spec.check()
	if err == nil {
		err = context.Cause(ctx)
	}
	if err == nil {
		err = publishSet(dir, Manifest{Version: FormatVersion, Spec: spec}, fill, judge)
	}
	if err != nil {
		return fmt.Errorf("making the built-in %s: %w", what, err)
	}
	return nil
}

// publishSet is publish for a manifest.
func publishSet(dir string, m Manifest, fill func(folder string) error, judge Judge) (err error) {
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
