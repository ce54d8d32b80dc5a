package report

import (
	"bytes"
	"context"
	"crypto/sha256"
	_ "embed"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/mlperf-go/mlperf/internal/config/limitation"
	"github.com/mlperf-go/mlperf/internal/fileio"
	"github.com/mlperf-go/mlperf/internal/userinput"
)

// Write stores the document in the folder of a run. It replaces an older one atomically. Texts of others in the document, for
// instance of a model file, a server or the environment, become printable lines, for those who print it after this too.
func (r *Results) Write(dir string) error {
	userinput.Lines(r)
	data, err := r.sealed()
	if err != nil {
		return fmt.Errorf("writing %s: %w", FileName, err)
	}
	path := filepath.Join(dir, FileName)
	if err := fileio.WriteFileIn(dir, FileName, append(data, '\n')); err != nil {
		return fmt.Errorf("writing the results: %s: %w", path, err)
	}
	return nil
}

// JSON prints a document.
func JSON(w io.Writer, document any) error {
	text, err := json.MarshalIndent(document, "", "  ")
	if err == nil {
		_, err = w.Write(append(userinput.PrintableJSON(text), '\n'))
	}
	return err
}

// maxFile is how long the document of a run may be.
const maxFile = 64 << 20

// ErrNoRun is the cause of errors about folders without a run.
var ErrNoRun = errors.New("not the folder of a run")

// Read reads the document of a run from its folder, and marks by limitations what is not as the run wrote it: the document, or
// the files beside it.
func Read(dir string) (*Results, error) {
	r, err := ReadDocument(dir)
	if err != nil {
		return nil, err
	}
	for _, name := range slices.Sorted(maps.Keys(r.Files)) {
		switch sum, _, err := fileio.SHA256(context.Background(), filepath.Join(dir, filepath.FromSlash(name))); {
		case err == nil && sum != r.Files[name]:
			r.limit(limitation.FileChanged, name)
		case err != nil && !(IsPicture(name) && errors.Is(err, fs.ErrNotExist)):
			r.limit(limitation.FileMissing, name)
		}
	}
	return r, nil
}

// IsPicture reports whether a file only shows what the others prove.
func IsPicture(name string) bool { return path.Base(name) == ChartsFile }

// ChartsFile is the name of the file with the data of charts.
const ChartsFile = "charts.json"

// ReadDocument is Read without a look at the other files. A document of another program wraps ErrNoRun.
func ReadDocument(dir string) (*Results, error) {
	path := filepath.Join(dir, FileName)
	data, err := fileio.ReadFile(path, maxFile)
	switch {
	case errors.Is(err, fs.ErrNotExist) && !fileio.Exists(dir):
		return nil, fmt.Errorf("%s is %w: it does not exist", dir, ErrNoRun)
	case errors.Is(err, fs.ErrNotExist):
		return nil, fmt.Errorf("%s is %w: it has no %s", dir, ErrNoRun, FileName)
	case err != nil:
		return nil, fmt.Errorf("reading the results: %w", err)
	}
	if foreign(data) {
		return nil, fmt.Errorf("%s is %w: its %s is of another program", dir, ErrNoRun, FileName)
	}
	r, err := Parse(data)
	if err != nil {
		return nil, fmt.Errorf("reading %s: %w", path, err)
	}
	return r, nil
}

// foreign reports whether a file of the same name is of another program: it does not name a schema of ours, and is not
// the cut beginning of such a file either.
func foreign(data []byte) bool {
	var d struct{ Schema string }
	if json.Unmarshal(data, &d) == nil {
		return !strings.HasPrefix(d.Schema, schemas)
	}
	return !bytes.Contains(data, []byte(schemas)) && !strings.HasPrefix(beginning, string(bytes.TrimSpace(data)))
}

// Parse reads the document from the content of its file. A document that was changed after the run gets the limitation RecordChanged.
func Parse(data []byte) (*Results, error) {
	r := &Results{}
	if err := json.Unmarshal(data, r); err != nil {
		return nil, err
	}
	schema := r.Schema
	switch schema {
	case Schema:
	case schema2, schema3:
		if err := r.takeOlder(data); err != nil {
			return nil, err
		}
		r.Schema = Schema
	default:
		return nil, fmt.Errorf("schema is %q, this program reads %q, %q and %q", schema, Schema, schema3, schema2)
	}
	r.takeNotScored()
	switch {
	case r.Seal == "" && schema == schema2:
		r.limit(limitation.Unsealed, "")
	case !r.fits(data):
		r.limit(limitation.RecordChanged, "")
	}
	r.Seal = ""
	userinput.Lines(r) // after the seal, which is that of the texts as they are
	switch r.Result {
	case Valid, Invalid, Interrupted:
		return r, nil
	}
	return nil, fmt.Errorf("result is %q: must be %s, %s or %s", r.Result, Valid, Invalid, Interrupted)
}

// The schemas follow from the types: go test -update writes them anew.
var (
	//go:embed results.schema.json
	schemaJSON []byte
	//go:embed sweep.schema.json
	sweepSchemaJSON []byte
	//go:embed requests.schema.json
	requestsSchemaJSON []byte
)

// JSONSchemas are the JSON Schemas of the files that runs write, by the names of the documents: of requests.jsonl.gz, that of each line
// but the first.
func JSONSchemas() map[string][]byte {
	return map[string][]byte{"results": schemaJSON, "sweep": sweepSchemaJSON, "requests": requestsSchemaJSON}
}

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

// fits reports whether a document fits its seal.
func (r *Results) fits(data []byte) bool {
	var plain bytes.Buffer
	if err := json.Compact(&plain, data); err != nil {
		return false
	}
	body, last := bytes.CutSuffix(plain.Bytes(), []byte(`,"seal":"`+r.Seal+`"}`))
	return last && sealOf(append(body, '}')) == r.Seal
}
