package report

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path/filepath"

	"github.com/mlperf-go/mlperf/internal/fileio"
)

// Write stores the document in the folder of a run. It replaces an older one at once, so that
// there is always a whole one.
func (r *Results) Write(dir string) error {
	data, err := r.sealed()
	if err != nil {
		return fmt.Errorf("writing %s: %w", FileName, err)
	}
	path := filepath.Join(dir, FileName)
	if err := fileio.WriteFile(path, append(data, '\n'), 0o644); err != nil {
		return fmt.Errorf("writing the results: %s: %w", path, err)
	}
	return nil
}

// JSON prints a document.
func JSON(w io.Writer, document any) error {
	e := json.NewEncoder(w)
	e.SetIndent("", "  ")
	return e.Encode(document)
}

// maxFile is how long the document of a run may be.
const maxFile = 64 << 20

// ErrNoRun is the cause of errors about folders in which no run has left anything.
var ErrNoRun = errors.New("not the folder of a run")

// Read reads the document of a run from its folder.
func Read(dir string) (*Results, error) {
	path := filepath.Join(dir, FileName)
	data, err := fileio.ReadFile(path, maxFile)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("%s is %w: there is no %s", dir, ErrNoRun, FileName)
	}
	if err != nil {
		return nil, fmt.Errorf("reading the results: %w", err)
	}
	r, err := Parse(data)
	if err != nil {
		return nil, fmt.Errorf("reading %s: %w", path, err)
	}
	return r, nil
}

// Parse reads the document from the content of its file. A document of an older form is
// returned in the present one, one that was changed has a caveat more.
func Parse(data []byte) (*Results, error) {
	r := &Results{}
	if err := json.Unmarshal(data, r); err != nil {
		return nil, err
	}
	if r.Schema != Schema && r.Schema != schemaOfWords {
		return nil, fmt.Errorf("schema is %q, this program reads %q", r.Schema, Schema)
	}
	r.Schema = Schema
	for _, text := range r.Marks {
		r.Caveats = append(r.Caveats, "not "+text)
	}
	r.Marks = nil
	if r.breaks(data) {
		r.Caveats = append(r.Caveats, CaveatChanged)
	}
	r.Seal = ""
	switch r.Result {
	case Valid, Invalid, Interrupted:
		return r, nil
	}
	return nil, fmt.Errorf("result is %q, want %s, %s or %s", r.Result, Valid, Invalid, Interrupted)
}
