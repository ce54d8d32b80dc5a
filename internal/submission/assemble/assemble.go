package assemble

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"
	"unicode"

	"github.com/mlperf-go/mlperf/internal/config/rounds"
	"github.com/mlperf-go/mlperf/internal/fileio"
	"github.com/mlperf-go/mlperf/internal/submission/checker"
	"github.com/mlperf-go/mlperf/internal/submission/description"
	"github.com/mlperf-go/mlperf/internal/userinput"
)

// A Request asks for a tree. Fields without a comment are needed.
type Request struct {
	Tree     string   // the folder to make
	Runs     []string // folders to search for runs
	Rules    string   // a round
	Division string   // closed, open or network
	// Submitter and System are names of folders.
	Submitter, System string
	Description       description.Description // of the system
	Assumed           []string                // fields of the description that are filled in with this program: they are not of logs of others

	Model          string            // of logs of other LoadGens, which do not name it; may be empty
	Name           string            // of the model in the open division; empty: as the round calls it
	Implementation string            // name for the code; empty: mlperf
	Measurements   map[string]string // fields of measurements.json, as FIELD of all results or MODEL/FIELD of one benchmark
	Calibration    string            // file for calibration.md; empty: made from the runs
	// where model files of unknown source come from, for the README of their results; empty: they are refused, except in open
	ModelSource string
	Source      string // folder for src; empty: a README that names the program
	Network     string // file for network_<system>.md of the division network; empty: made from the description and the runs
	Bandwidth   string // how a datacenter system's bandwidth was provided or measured
	Readme      string // file that says how the benchmark was run, for the README of each result; empty: the command of the run
	Deviations  string // open: file that says how the model differs from closed; empty: a placeholder

	// Logs chooses the files of results on servers of text whose benchmarks v6.1 also takes without LoadGen's logs: Endpoints, those of
	// mlcommons/endpoints, or LoadGen. Empty: Endpoints where the runs have them.
	Logs string

	Infer  bool // infer results of scenarios without runs from others, where the rules allow it
	Newest bool // take the newest of several runs of the same; else they are an error
	Add    bool // to an existing tree
	Force  bool // replace the tree, or with Add its results
}

// The words of Request.Logs.
const (
	Endpoints = "endpoints"
	LoadGen   = "loadgen"
)

// A Built tree.
type Built struct {
	Tree       string          `json:"tree"`
	Results    []Placed        `json:"results"`
	LeftOut    []string        `json:"left_out"`   // runs that may not enter, with why: others of the same do, or they are of other models
	Unfinished []string        `json:"unfinished"` // fields to fill in
	Check      *checker.Report `json:"check"`      // profile strict
	// Former is where the tree is that was replaced, if it had files that the new one does not have.
	Former string `json:"former,omitempty"`
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

// An ExistsError is the error of a tree or a result that exists already.
type ExistsError struct{ Path string }

func (e *ExistsError) Error() string { return e.Path + " already exists" }

// A builder makes one tree.
type builder struct {
	Request
	round       *rounds.Round
	root        string // of the tree that is being made
	runs, tests []*run
	built       *Built
}

// Check refuses a request that no runs can satisfy, before there are any.
func Check(q Request) error { return (&builder{Request: q}).check() }

// Build makes a tree. It also makes a tree that the checker does not pass: Check says what to correct. After an error
// there is no tree, or the old one.
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
		b.built.Former, err = publish(b.root, q.Tree)
	}
	return b.built, errors.Join(err, os.RemoveAll(folder))
}

func (b *builder) make(ctx context.Context, results []*result) error {
	if err := os.Mkdir(b.root, 0o755); err != nil {
		return err
	}
	if b.Add {
		if err := os.CopyFS(b.root, os.DirFS(b.Tree)); err != nil {
			return err
		}
	}
	for _, r := range results {
		if err := errors.Join(b.place(ctx, r), b.describe(r)); err != nil {
			return fmt.Errorf("%s: %w", r.name(), err)
		}
	}
	for _, step := range []func(context.Context, []*result) error{b.system, b.source, b.deviations, b.calibration, b.bandwidth, b.network, b.mapping} {
		if err := step(ctx, results); err != nil {
			return err
		}
	}
	b.built.Unfinished = b.Description.Unfinished()
	var err error
	b.built.Check, err = checker.Check(ctx, checker.Options{Tree: b.root, Rules: b.Rules, Profile: checker.Strict, Submitter: b.Submitter})
	return err
}

// check refuses a wrong request before anything is read.
func (b *builder) check() (err error) {
	if b.round, err = rounds.Find(b.Rules); err != nil {
		return userinput.Invalid("rules", b.Rules, "one of "+strings.Join(rounds.Versions(), ", "))
	}
	if !slices.Contains(rounds.Divisions(), b.Division) {
		return userinput.Invalid("division", b.Division, "closed, open or network")
	}
	if !slices.Contains([]string{"", Endpoints, LoadGen}, b.Logs) {
		return userinput.Invalid("logs", b.Logs, Endpoints+" or "+LoadGen)
	}
	b.Implementation = cmp.Or(b.Implementation, "mlperf")
	for name, value := range map[string]string{"submitter": b.Submitter, "system": b.System, "implementation": b.Implementation,
		"name": cmp.Or(b.Name, "x")} {
		if value == "" || value[0] == '.' ||
			strings.ContainsFunc(value, func(r rune) bool { return strings.ContainsRune(`/\ `, r) || !unicode.IsPrint(r) }) {
			return userinput.Invalid(name, value, "the name of a folder, without spaces")
		}
	}
	if b.Name != "" && b.Division != "open" {
		return userinput.Errorf("name", "models have names of their own in the open division only")
	}
	known := checker.FieldNames(checker.MeasurementFields())
	for name := range b.Measurements {
		model, field := measured(name)
		if !slices.Contains(known, field) {
			return userinput.Errorf("measurement", "unknown field %q: must be one of %s", field, strings.Join(known, ", "))
		}
		if model != "" && b.official(model) == "" {
			return userinput.Errorf("measurement", "%s: rules %s have no such benchmark: must be MODEL/FIELD, or FIELD for all", name, b.Rules)
		}
	}
	for name, file := range map[string]string{"readme": b.Readme, "deviations": b.Deviations} {
		if info, err := os.Stat(file); file != "" && (err != nil || !info.Mode().IsRegular()) {
			return userinput.Errorf(name, "%s is not a file that can be read", file)
		}
	}
	if b.Deviations != "" && b.Division != "open" {
		return userinput.Errorf("deviations", "the division %s has none: models of the open division may differ from closed", b.Division)
	}
	if b.Network != "" && b.Division != "network" {
		return userinput.Errorf("network", "the division %s has no document of its network", b.Division)
	}
	if b.Source != "" { // which may be a link to a folder
		if b.Source, err = filepath.EvalSymlinks(b.Source); err != nil {
			return userinput.Wrap("source", err)
		}
		if info, err := os.Stat(b.Source); err != nil || !info.IsDir() {
			return userinput.Errorf("source", "%s is not a folder", b.Source)
		}
	}
	return b.checkTree()
}

// checkTree refuses a tree that exists, unless it is a submission to add to or to replace.
func (b *builder) checkTree() error {
	_, err := os.Lstat(b.Tree)
	switch {
	case errors.Is(err, fs.ErrNotExist) && b.Add:
		return userinput.Errorf("add", "%s does not exist: build it without --add", b.Tree)
	case errors.Is(err, fs.ErrNotExist):
		return nil
	case err != nil:
		return err
	case !b.Force && !b.Add:
		return &ExistsError{b.Tree}
	}
	entries, err := os.ReadDir(b.Tree)
	for _, e := range entries {
		if ext := filepath.Ext(e.Name()); !slices.Contains(rounds.Divisions(), e.Name()) && ext != ".md" && ext != ".pdf" {
			return fmt.Errorf("%s is not a submission, it has %s: it is not replaced", b.Tree, e.Name())
		}
	}
	return err
}

// publish puts a tree in its place. An old tree stays until the new one is there, and for good if it has files by other names:
// they may be of the user. It returns where.
func publish(made, tree string) (former string, err error) {
	parent := filepath.Dir(filepath.Clean(tree))
	move := func(from, to string) error {
		below, err1 := filepath.Rel(parent, from)
		name, err2 := filepath.Rel(parent, to)
		if err := cmp.Or(err1, err2); err != nil {
			return err
		}
		return fileio.MoveIn(parent, below, name)
	}
	if _, err := os.Lstat(tree); errors.Is(err, fs.ErrNotExist) {
		return "", move(made, tree)
	}
	more, err := hasMore(tree, made)
	if err != nil {
		return "", err
	}
	first := fmt.Sprintf("%s.old-%s", filepath.Clean(tree), time.Now().Format("20060102-150405"))
	old := first
	for n := 2; fileio.Exists(old); n++ {
		old = fmt.Sprintf("%s-%d", first, n)
	}
	if err := move(tree, old); err != nil {
		return "", err
	}
	if err := move(made, tree); err != nil {
		return "", errors.Join(err, move(old, tree))
	}
	if more {
		return old, nil
	}
	return "", os.RemoveAll(old)
}

// hasMore reports whether a tree has a file, or a link, that another has not by the same name.
func hasMore(tree, other string) (more bool, err error) {
	err = filepath.WalkDir(tree, func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		rel, err := filepath.Rel(tree, path)
		if err != nil {
			return err
		}
		if info, err := os.Lstat(filepath.Join(other, rel)); err != nil || info.IsDir() {
			more = true
			return fs.SkipAll
		}
		return nil
	})
	return more, err
}
