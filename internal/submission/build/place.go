package build

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/mlperf-go/mlperf/internal/fileio"
	"github.com/mlperf-go/mlperf/internal/loadgen/mlperflog"
)

// A tree's paths differ up to v5.1: there, measurements and compliance tests have folders of
// their own (submission_structure.md of the rounds).

// folder is where the logs of a result are.
func (b *builder) folder(r *result) string { return b.below("results", r) }

// measurements is where what describes a result is.
func (b *builder) measurements(r *result) string {
	if b.round.Before6() {
		return b.below("measurements", r)
	}
	return b.folder(r)
}

// tests is where the compliance tests of a result are.
func (b *builder) tests(r *result) string {
	if b.round.Before6() {
		return b.below("compliance", r)
	}
	return b.folder(r)
}

func (b *builder) below(part string, r *result) string {
	return strings.Join([]string{b.home(), part, b.System, b.modelFolder(r), r.scenario}, "/")
}

// modelFolder is the name of the model's folder.
func (b *builder) modelFolder(r *result) string {
	if b.Name != "" {
		return b.Name
	}
	return r.benchmark
}

// place copies the logs of all results.
func (b *builder) place(ctx context.Context, results []*result) error {
	for _, r := range results {
		if err := b.placeOne(ctx, r); err != nil {
			return fmt.Errorf("%s: %w", r.name(), err)
		}
	}
	return nil
}

func (b *builder) placeOne(ctx context.Context, r *result) error {
	if err := b.vacate(r); err != nil {
		return err
	}
	folder := b.folder(r)
	for _, part := range []struct {
		copy     func(ctx context.Context, from, to string) error
		from, to string
	}{
		{b.logs, r.performance.folder, folder + "/performance/run_1"},
		{b.power, r.performance.folder, folder + "/performance"},
		{b.logs, r.accuracy.folder, folder + "/accuracy"},
		{b.responses, r.accuracy.folder, folder + "/accuracy"},
		{b.images, r.accuracy.folder, folder + "/accuracy"},
	} {
		if err := part.copy(ctx, part.from, part.to); err != nil {
			return err
		}
	}
	for _, a := range r.audits {
		if err := b.audits(ctx, a, b.tests(r)+"/"+a.test); err != nil {
			return err
		}
	}
	return b.note(r)
}

// note keeps what was placed.
func (b *builder) note(r *result) error {
	value, unit, err := r.value(b)
	if err != nil {
		return err
	}
	placed := Placed{Path: b.folder(r), Benchmark: r.benchmark, Scenario: r.scenario, Value: value, Unit: unit, Accuracy: b.score(r)}
	if r.from != nil {
		placed.InferredFrom = r.from.scenario
	}
	b.built.Results = append(b.built.Results, placed)
	return nil
}

// vacate makes room for a result in a tree that was there.
func (b *builder) vacate(r *result) error {
	for _, folder := range []string{b.folder(r), b.measurements(r), b.tests(r)} {
		_, err := os.Lstat(b.at(folder))
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err == nil && !b.Force {
			err = &ExistsError{folder}
		}
		if err != nil {
			return err
		}
		if err := os.RemoveAll(b.at(folder)); err != nil {
			return err
		}
	}
	return nil
}

// logs copies the summary and the detail log of a run.
func (b *builder) logs(ctx context.Context, from, to string) error {
	for _, name := range []string{mlperflog.SummaryFile, mlperflog.DetailFile} {
		if err := b.copy(ctx, filepath.Join(from, name), to+"/"+name); err != nil {
			return err
		}
	}
	return nil
}

// powerFiles are those of a run whose power was measured (power_checker.py).
var powerFiles = map[string][]string{
	"power":   {"client.json", "client.log", "ptd_logs.txt", "server.json", "server.log"},
	"ranging": {mlperflog.SummaryFile, mlperflog.DetailFile, "spl.txt"},
	"run_1":   {"spl.txt"},
}

// power copies the files of a power measurement, if the run has one.
func (b *builder) power(ctx context.Context, run, to string) error {
	if filepath.Base(run) != "run_1" {
		return nil
	}
	if _, err := os.Stat(filepath.Join(run, "spl.txt")); err != nil {
		return nil
	}
	for folder, names := range powerFiles {
		for _, name := range names {
			if err := b.copy(ctx, filepath.Join(filepath.Dir(run), folder, name), to+"/"+folder+"/"+name); err != nil {
				return err
			}
		}
	}
	return nil
}

// images copies what accuracy scripts of models that make pictures keep beside accuracy.txt.
func (b *builder) images(ctx context.Context, from, to string) error {
	for _, folder := range []string{"images", "videos"} {
		files, err := os.ReadDir(filepath.Join(from, folder))
		if err != nil {
			continue // most models make none
		}
		for _, f := range files {
			if err := b.copy(ctx, filepath.Join(from, folder, f.Name()), to+"/"+folder+"/"+f.Name()); err != nil {
				return err
			}
		}
	}
	return nil
}

func there(path string) bool {
	_, err := os.Stat(path)
	return err == nil
}

// copy copies a file into the tree.
func (b *builder) copy(ctx context.Context, from, to string) error {
	return copyFile(ctx, from, b.at(to))
}

func copyFile(ctx context.Context, from, to string) error {
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	src, err := fileio.Open(from)
	if err != nil {
		return err
	}
	return errors.Join(fill(to, src), src.Close())
}

// write writes a file of the tree.
func (b *builder) write(to string, text []byte) error {
	return fill(b.at(to), bytes.NewReader(text))
}
