package synth

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
)

// A Judge puts the ground truth into the folder of a data set before anybody sees it, and
// returns the scores for its Manifest. The folder does not have its final name yet.
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
	folder := filepath.Join(temporary, name)
	if err := m.make(folder, fill, judge); err != nil {
		return err
	}
	return install(folder, dir, m)
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
		return false, fmt.Errorf("%s holds another data set: %s, want %s", dir, there.describe(), m.describe())
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
func install(folder, dir string, m Manifest) error {
	taken := os.Rename(folder, dir)
	if taken == nil {
		return nil
	}
	if there, err := published(dir, m); there || err != nil {
		return err
	}
	// An empty folder may be in the way, which not every system replaces.
	if os.Remove(dir) != nil {
		return taken
	}
	return os.Rename(folder, dir)
}
