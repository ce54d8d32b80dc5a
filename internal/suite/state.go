package suite

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"time"

	"github.com/gofrs/flock"

	"github.com/mlperf-go/mlperf/internal/fileio"
)

// Schema names the form of suite.json, and of the outcome.
const Schema = "mlperf-go/suite/1"

// fileName is the file in the folder of a suite that has its state.
const fileName = "suite.json"

// A state is what suite.json holds.
type state struct {
	Schema  string    `json:"schema"`
	Program string    `json:"program"`
	Updated time.Time `json:"updated"`
	Quick   bool      `json:"quick,omitempty"`
	Suite   *Suite    `json:"suite"`
	Steps   []*Step   `json:"steps"`
}

// An ExistsError says that a folder has a suite already.
type ExistsError struct{ Folder, Suite string }

func (e *ExistsError) Error() string {
	return fmt.Sprintf("%s has the results of suite %s already", e.Folder, e.Suite)
}

// hold takes a folder for this process, until it is released.
func hold(dir string) (release func(), err error) {
	lock := flock.New(filepath.Join(dir, ".lock"))
	got, err := lock.TryLock()
	if err != nil {
		return nil, fmt.Errorf("locking the folder of the suite: %w", err)
	}
	if !got {
		return nil, fmt.Errorf("%s: another process runs a suite there: wait for it, or choose another folder", dir)
	}
	return func() { _ = lock.Unlock() }, nil // it ends with the process too
}

// readState reads the state of the suite in a folder.
func readState(dir string) (*state, error) {
	path := filepath.Join(dir, fileName)
	data, err := fileio.ReadFile(path, maxState)
	if err != nil {
		return nil, err
	}
	s, err := parseState(data)
	if err != nil {
		return nil, fmt.Errorf("reading %s: %w", path, err)
	}
	return s, nil
}

// maxState is how long suite.json may be.
const maxState = 16 << 20

func parseState(data []byte) (*state, error) {
	s := &state{}
	if err := json.Unmarshal(data, s); err != nil {
		return nil, err
	}
	if s.Schema != Schema {
		return nil, fmt.Errorf("schema is %q, this program reads %q", s.Schema, Schema)
	}
	if s.Suite == nil {
		return nil, errors.New("suite is missing")
	}
	return s, nil
}

// restore looks at what the folder has. Steps that are done are still prepared, to see that
// their results are those of what would run now.
func (p *Plan) restore() error {
	if p.request.Output == "" {
		return nil
	}
	earlier, err := readState(p.request.Output)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil
	case err != nil:
		return err
	case !p.request.Resume:
		return &ExistsError{p.request.Output, earlier.Suite.Name}
	}
	had, has := earlier.Suite.Name+quickly(earlier.Quick), p.Suite.Name+quickly(p.request.Base.Quick)
	if had != has {
		return fmt.Errorf("%s has suite %s, this is %s: choose another folder", p.request.Output, had, has)
	}
	p.took = map[string]float64{}
	for _, s := range earlier.Steps {
		if s != nil {
			p.took[s.Folder] = s.Seconds
		}
	}
	return nil
}

func quickly(quick bool) string {
	if quick {
		return ", quick"
	}
	return ""
}

// save writes the state down.
func (p *Plan) save() error {
	data, err := json.MarshalIndent(state{
		Schema: Schema, Program: p.request.Base.Program, Updated: time.Now().UTC().Truncate(time.Second),
		Quick: p.request.Base.Quick, Suite: p.Suite, Steps: p.Steps,
	}, "", "  ")
	if err == nil {
		err = fileio.WriteFile(filepath.Join(p.request.Output, fileName), append(data, '\n'), 0o644)
	}
	if err != nil {
		return fmt.Errorf("writing the state of the suite: %w", err)
	}
	return nil
}
