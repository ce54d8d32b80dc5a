package build

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"unicode"

	"github.com/mlperf-go/mlperf/internal/config/rounds"
	"github.com/mlperf-go/mlperf/internal/submission/checker"
	"github.com/mlperf-go/mlperf/internal/submission/description"
	"github.com/mlperf-go/mlperf/internal/userinput"
)

// A Request asks for a tree. What has no comment is needed.
type Request struct {
	Tree     string   // the folder to make
	Runs     []string // folders in which runs are looked for
	Rules    string   // a round
	Division string   // closed, open or network
	// Submitter and System are names of folders.
	Submitter, System string
	Description       description.Description // of the system

	Model          string            // of runs that do not say it: logs of other LoadGens; may be empty
	Name           string            // of the model in the open division; empty: as the round calls it
	Implementation string            // name for the code; empty: mlperf
	Measurements   map[string]string // fields of measurements.json that somebody gave
	Calibration    string            // file for calibration.md; empty: made from what is known
	Source         string            // folder for src; empty: a README that says which program it was
	Bandwidth      string            // how a datacenter system's bandwidth was provided or measured

	Infer  bool // results of scenarios without runs come from others, where the rules allow it
	Newest bool // of several runs of the same, the newest counts; else they are an error
	Add    bool // to a tree that is there
	Force  bool // replace the tree, or with Add the results that it has
}

// A Built tree.
type Built struct {
	Tree       string          `json:"tree"`
	Results    []Placed        `json:"results"`
	LeftOut    []string        `json:"left_out"`   // runs that may not enter, with why: others of the same do, or they are of other models
	Unfinished []string        `json:"unfinished"` // fields that somebody has to fill in
	Check      *checker.Report `json:"check"`      // profile strict
}

// A Placed result.
type Placed struct {
	Path         string  `json:"path"` // from the root of the tree
	Benchmark    string  `json:"benchmark"`
	Scenario     string  `json:"scenario"`
	Value        float64 `json:"value"`
	Unit         string  `json:"unit"`
	InferredFrom string  `json:"inferred_from,omitempty"` // a scenario
	Accuracy     string  `json:"accuracy"`                // five significant figures
}

// A builder makes one tree.
type builder struct {
	Request
	round *rounds.Round
	root  string // of the tree that is being made
	built *Built
}

// Build makes a tree. One that the checker does not pass is made, too: Check says what to
// mend. An error means that there is no tree, or still the old one.
func Build(ctx context.Context, q Request) (*Built, error) {
	b := &builder{Request: q, built: &Built{Tree: q.Tree, Results: []Placed{}, LeftOut: []string{}}}
	if err := b.check(); err != nil {
		return nil, err
	}
	results, err := b.results(ctx)
	if err != nil {
		return nil, err
	}
	parent := filepath.Dir(filepath.Clean(q.Tree))
	if err := os.MkdirAll(parent, 0o755); err != nil {
		return nil, err
	}
	folder, err := os.MkdirTemp(parent, ".mlperf-submission-")
	if err != nil {
		return nil, err
	}
	b.root = filepath.Join(folder, "tree")
	err = b.make(ctx, results)
	if err == nil {
		err = publish(b.root, q.Tree)
	}
	return b.built, errors.Join(err, os.RemoveAll(folder))
}

func (b *builder) make(ctx context.Context, results []*result) error {
	if err := b.start(ctx); err != nil {
		return err
	}
	for _, step := range []func(context.Context, []*result) error{b.place, b.texts, b.judge} {
		if err := step(ctx, results); err != nil {
			return err
		}
	}
	return nil
}

// judge looks at the tree as the checker does.
func (b *builder) judge(ctx context.Context, _ []*result) (err error) {
	b.built.Unfinished = b.Description.Unfinished()
	b.built.Check, err = checker.Check(ctx, checker.Options{Tree: b.root, Rules: b.Rules, Profile: checker.Strict, Submitter: b.Submitter})
	return err
}

// check refuses what cannot end well before anything is read.
func (b *builder) check() (err error) {
	if b.round, err = rounds.Find(b.Rules); err != nil {
		return userinput.Invalid("rules", b.Rules, "one of "+strings.Join(rounds.Versions(), ", "))
	}
	if !slices.Contains([]string{"closed", "open", "network"}, b.Division) {
		return userinput.Invalid("division", b.Division, "closed, open or network")
	}
	b.Implementation = cmp.Or(b.Implementation, defaultImplementation)
	for _, step := range []func() error{b.checkNames, b.checkSource, b.free} {
		if err := step(); err != nil {
			return err
		}
	}
	return nil
}

// checkSource wants a folder of code, or none. It may be a link.
func (b *builder) checkSource() (err error) {
	if b.Source == "" {
		return nil
	}
	if b.Source, err = filepath.EvalSymlinks(b.Source); err != nil {
		return userinput.Wrap("source", err)
	}
	info, err := os.Stat(b.Source)
	if err == nil && !info.IsDir() {
		err = fmt.Errorf("%s is not a folder", b.Source)
	}
	return userinput.Wrap("source", err)
}

// checkNames refuses names that no folder of a tree may have, and fields that there are not.
func (b *builder) checkNames() error {
	for name, value := range map[string]string{"submitter": b.Submitter, "system": b.System, "implementation": b.Implementation, "name": cmp.Or(b.Name, "x")} {
		if !namesFolder(value) {
			return userinput.Invalid(name, value, "the name of a folder, without spaces")
		}
	}
	if b.Name != "" && b.Division != "open" {
		return userinput.Errorf("name", "models have names of their own in the open division only")
	}
	known := checker.FieldNames(checker.MeasurementFields())
	for name := range b.Measurements {
		if !slices.Contains(known, name) {
			return userinput.Errorf("measurement", "there is no field %q; there are %s", name, strings.Join(known, ", "))
		}
	}
	return nil
}

// notInNames reports whether a character may not be in the name of a folder: it separates
// folders, or cannot be seen.
func notInNames(r rune) bool { return r == '/' || r == '\\' || r == ' ' || !unicode.IsPrint(r) }

// namesFolder reports whether a folder of a tree may have that name.
func namesFolder(name string) bool {
	return name != "" && !strings.HasPrefix(name, ".") && !strings.ContainsFunc(name, notInNames)
}

const defaultImplementation = "mlperf"

// free refuses a tree that is there, unless it is to be replaced or grown.
func (b *builder) free() error {
	_, err := os.Lstat(b.Tree)
	switch {
	case err == nil && !b.Force && !b.Add:
		return &ExistsError{b.Tree}
	case err == nil:
		return b.replaceable()
	case !errors.Is(err, os.ErrNotExist):
		return err
	case b.Add:
		return userinput.Errorf("add", "there is no %s to add to", b.Tree)
	}
	return nil
}

// An ExistsError says that there is something where a tree or a result should go.
type ExistsError struct{ Path string }

func (e *ExistsError) Error() string { return e.Path + " is there already" }

// home is the submitter's folder, from the root of the tree.
func (b *builder) home() string { return b.Division + "/" + b.Submitter }

// at is a path in the tree that is being made.
func (b *builder) at(path string) string { return filepath.Join(b.root, filepath.FromSlash(path)) }
