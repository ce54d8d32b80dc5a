package report

import (
	"bytes"
	"crypto/sha256"
	_ "embed"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path/filepath"

	"github.com/mlperf-go/mlperf/internal/fileio"
)

// Write stores the document in the folder of a run. It replaces an older one atomically.
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

// ErrNoRun is the cause of errors about folders without a run.
var ErrNoRun = errors.New("not the folder of a run")

// Read reads the document of a run from its folder.
func Read(dir string) (*Results, error) {
	path := filepath.Join(dir, FileName)
	data, err := fileio.ReadFile(path, maxFile)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("%s is %w: it has no %s", dir, ErrNoRun, FileName)
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

// Parse reads the document from the content of its file. A document that was changed after the run gets CaveatChanged.
func Parse(data []byte) (*Results, error) {
	r := &Results{}
	if err := json.Unmarshal(data, r); err != nil {
		return nil, err
	}
	if r.Schema != Schema {
		return nil, fmt.Errorf("schema is %q, this program reads %q", r.Schema, Schema)
	}
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

// schemaJSON follows from the types of this package: go test -update writes it anew.
//
//go:embed results.schema.json
var schemaJSON []byte

// JSONSchema is the JSON Schema of results.json.
func JSONSchema() []byte { return schemaJSON }

// sealed is the document as it is stored: its last field is a digest of all others.
func (r *Results) sealed() ([]byte, error) {
	document := *r
	document.Seal = ""
	body, err := json.Marshal(&document)
	if err != nil {
		return nil, err
	}
	document.Seal = sealOf(body)
	return json.MarshalIndent(&document, "", "  ")
}

// sealOf is the seal of a compact document without one.
func sealOf(body []byte) string {
	sum := sha256.Sum256(body)
	return hex.EncodeToString(sum[:])
}

// breaks reports whether a document does not fit its seal. Documents without a seal fit.
func (r *Results) breaks(data []byte) bool {
	if r.Seal == "" {
		return false
	}
	var plain bytes.Buffer
	if err := json.Compact(&plain, data); err != nil {
		return true
	}
	body, last := bytes.CutSuffix(plain.Bytes(), []byte(`,"seal":"`+r.Seal+`"}`))
	return !last || sealOf(append(body, '}')) != r.Seal
}
