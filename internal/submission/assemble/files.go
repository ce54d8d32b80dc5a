package assemble

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/mlperf-go/mlperf/internal/fileio"
	"github.com/mlperf-go/mlperf/internal/loadgen/mlperflog"
	"github.com/mlperf-go/mlperf/internal/submission/compliance"
	"github.com/mlperf-go/mlperf/internal/submission/truncate"
	"github.com/mlperf-go/mlperf/internal/userinput"
)

// home is the submitter's folder, from the root of the tree.
func (b *builder) home() string { return b.Division + "/" + b.Submitter }

// at returns a path in the tree that is being made.
func (b *builder) at(path string) string { return filepath.Join(b.root, filepath.FromSlash(path)) }

// modelFolder is the name of the model's folder.
func (b *builder) modelFolder(r *result) string {
	if b.Name != "" {
		return b.Name
	}
	return r.benchmark
}

// folder returns the folder of a result's logs, its measurements or its compliance tests. They have folders of their own
// up to v5.1 (submission_structure.md of the rounds).
func (b *builder) folder(part string, r *result) string {
	if !b.round.Before6() {
		part = "results"
	}
	return strings.Join([]string{b.home(), part, b.System, b.modelFolder(r), r.scenario}, "/")
}

// place copies the logs of a result into the tree.
func (b *builder) place(ctx context.Context, r *result) error {
	for _, part := range []string{"results", "measurements", "compliance"} {
		folder := b.folder(part, r)
		if _, err := os.Lstat(b.at(folder)); err == nil && !b.Force {
			return &ExistsError{folder}
		}
		if err := os.RemoveAll(b.at(folder)); err != nil {
			return err
		}
	}
	to := b.folder("results", r)
	if r.summary != nil {
		if err := b.placeEndpoints(ctx, r, to); err != nil {
			return err
		}
	} else if err := errors.Join(
		b.copyLogs(ctx, r.performance.folder, to+"/performance/run_1"),
		b.copyPower(ctx, r.performance.folder, to+"/performance"),
		b.copyLogs(ctx, r.accuracy.folder, to+"/accuracy"),
		b.shorten(ctx, r.accuracy.folder, to+"/accuracy", ""),
	); err != nil {
		return err
	}
	for _, kind := range []string{"images", "videos"} { // which accuracy scripts of some models keep
		for _, path := range fileio.Glob(filepath.Join(r.accuracy.folder, kind), "*") {
			if err := b.copy(ctx, path, to+"/accuracy/"+kind+"/"+filepath.Base(path)); err != nil {
				return err
			}
		}
	}
	for _, test := range r.tests {
		place, name := b.placeTest, test.test
		if filepath.Base(test.folder) == compliance.AuditFolder {
			place, name = b.copyAudit, compliance.AuditFolder
		}
		if err := place(ctx, test, b.folder("compliance", r)+"/"+name); err != nil {
			return err
		}
	}
	value, unit, err := r.value(b)
	placed := Placed{Path: to, Benchmark: r.benchmark, Scenario: r.scenario, Value: value, Unit: unit, Accuracy: b.score(r)}
	if r.from != nil {
		placed.InferredFrom = r.from.scenario
	}
	b.built.Results = append(b.built.Results, placed)
	return err
}

// placeTest copies the files of a compliance test that the checker wants, and no others.
func (b *builder) placeTest(ctx context.Context, test *run, to string) error {
	logs, from := filepath.Join(test.folder, "performance", "run_1"), filepath.Join(test.folder, "accuracy")
	paths := fileio.Glob(test.folder, "verify_*.txt")
	if hasLog(logs) {
		paths = append(paths, filepath.Join(logs, mlperflog.SummaryFile), filepath.Join(logs, mlperflog.DetailFile))
	}
	responses := filepath.Join(from, mlperflog.AccuracyFile)
	cut := slices.Contains([]string{"TEST01", "TEST07", "TEST09"}, test.test) // truncate_accuracy_log.py
	if fileio.Exists(responses) {
		paths = append(paths, fileio.Glob(from, "baseline_accuracy.txt")...)
		paths = append(paths, fileio.Glob(from, "compliance_accuracy.txt")...)
		if !cut {
			paths = append(paths, responses)
		}
	}
	for _, path := range paths {
		name, err := filepath.Rel(test.folder, path)
		if err := errors.Join(err, b.copy(ctx, path, to+"/"+filepath.ToSlash(name))); err != nil {
			return err
		}
	}
	if cut && fileio.Exists(responses) {
		return b.shorten(ctx, from, to+"/accuracy", test.test)
	}
	return nil
}

// copyLogs copies the summary and the detail log of a run.
func (b *builder) copyLogs(ctx context.Context, from, to string) error {
	return errors.Join(
		b.copy(ctx, filepath.Join(from, mlperflog.SummaryFile), to+"/"+mlperflog.SummaryFile),
		b.copy(ctx, filepath.Join(from, mlperflog.DetailFile), to+"/"+mlperflog.DetailFile),
	)
}

// copyPower copies the files of a power measurement (power_checker.py), if the run has one.
func (b *builder) copyPower(ctx context.Context, run, to string) error {
	if filepath.Base(run) != "run_1" || !fileio.Exists(filepath.Join(run, "spl.txt")) {
		return nil
	}
	for _, path := range []string{
		"power/client.json", "power/client.log", "power/ptd_logs.txt", "power/server.json", "power/server.log",
		"ranging/" + mlperflog.SummaryFile, "ranging/" + mlperflog.DetailFile, "ranging/spl.txt", "run_1/spl.txt",
	} {
		if err := b.copy(ctx, filepath.Join(filepath.Dir(run), path), to+"/"+path); err != nil {
			return err
		}
	}
	return nil
}

const (
	scoreFile   = "accuracy.txt"
	largestText = 1 << 20 // bytes of a file that is read as a whole
)

// shorten writes the short form of the accuracy log of a result, or of a test, and accuracy.txt with its hash. Of TEST07
// and TEST09 accuracy.txt has the hash alone.
func (b *builder) shorten(ctx context.Context, from, to, test string) error {
	text, err := fileio.ReadFile(filepath.Join(from, scoreFile), largestText)
	switch {
	case err != nil && test == "":
		return fmt.Errorf("%w: score the run first, mlperf accuracy %s", err, from)
	case err != nil && !errors.Is(err, fs.ErrNotExist):
		return err
	}
	log := filepath.Join(from, mlperflog.AccuracyFile)
	short, hash, err := truncate.Shorten(ctx, log)
	switch {
	case errors.Is(err, truncate.ErrCut) && truncate.HashIn(text) != "":
	case err != nil:
		return fmt.Errorf("%s: %w", log, err)
	default:
		if text, err = truncate.WithHash(text, test, hash); err != nil {
			return fmt.Errorf("%s: %w", from, err)
		}
	}
	return errors.Join(b.write(to+"/"+mlperflog.AccuracyFile, short), b.write(to+"/"+scoreFile, text))
}

// copySource copies the user's code, without what a tree must not have: hidden files, compiled Python, links.
func (b *builder) copySource(ctx context.Context, to string) error {
	copied := 0
	err := filepath.WalkDir(b.Source, func(path string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		rel, err := filepath.Rel(b.Source, path)
		hidden := rel != "." && (entry.Name()[0] == '.' || entry.Name() == "__pycache__")
		switch {
		case err != nil:
			return err
		case hidden && entry.IsDir():
			return fs.SkipDir
		case hidden, entry.IsDir():
			return nil
		case !entry.Type().IsRegular():
			return fmt.Errorf("%s is a link or a special file: a tree has the files themselves", path)
		}
		copied++
		return b.copy(ctx, path, to+"/"+filepath.ToSlash(rel))
	})
	if err == nil && copied == 0 {
		err = userinput.Errorf("source", "%s has no files for a tree", b.Source)
	}
	return err
}

// copy copies a file into the tree.
func (b *builder) copy(ctx context.Context, from, to string) error {
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	src, err := fileio.Open(from)
	if err != nil {
		return err
	}
	return errors.Join(b.fill(to, src), src.Close())
}

// write writes a file of the tree.
func (b *builder) write(to string, text []byte) error { return b.fill(to, bytes.NewReader(text)) }

func (b *builder) fill(to string, from io.Reader) error {
	return fileio.WriteIn(b.root, to, func(w io.Writer) error {
		_, err := io.Copy(w, from)
		return err
	})
}
