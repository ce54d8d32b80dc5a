package build

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"regexp"
	"slices"

	"github.com/mlperf-go/mlperf/internal/fileio"
	"github.com/mlperf-go/mlperf/internal/loadgen/mlperflog"
	"github.com/mlperf-go/mlperf/internal/submission/truncate"
)

const (
	scoreFile = "accuracy.txt"
	hashMark  = "hash="
)

var hashLine = regexp.MustCompile(`(?m)^hash=\w+\r?$`)

// responses writes the short form of the result's accuracy log, and accuracy.txt with its
// hash.
func (b *builder) responses(ctx context.Context, from, to string) error {
	text, err := fileio.ReadFile(filepath.Join(from, scoreFile), largestText)
	if err != nil {
		return fmt.Errorf("%w: score the run first, mlperf accuracy %s", err, from)
	}
	return b.shorten(ctx, from, to, text, true)
}

// shorten writes the short form of an accuracy log, and a text with its hash. Of some tests
// nothing but the hash is kept.
func (b *builder) shorten(ctx context.Context, from, to string, text []byte, keep bool) error {
	log := filepath.Join(from, mlperflog.AccuracyFile)
	short, hash, err := truncate.Shorten(ctx, log)
	has := hashLine.Find(text)
	switch {
	case errors.Is(err, truncate.ErrCut) && has != nil:
	case err != nil:
		return fmt.Errorf("%s: %w", log, err)
	case has == nil && !keep:
		text = []byte(hashMark + hash + "\n")
	case has == nil:
		text = fmt.Appendf(text, "\n%s%s\n", hashMark, hash)
	case !bytes.Equal(bytes.TrimRight(has, "\r"), []byte(hashMark+hash)):
		return fmt.Errorf("%s has the hash of another log, %s: %s has %s", filepath.Join(from, scoreFile), has[len(hashMark):], log, hash)
	}
	return errors.Join(b.write(to+"/"+mlperflog.AccuracyFile, short), b.write(to+"/"+scoreFile, text))
}

const largestText = 1 << 20

// cutTests are the tests whose accuracy logs are cut (truncate_accuracy_log.py).
var cutTests = []string{"TEST01", "TEST07", "TEST09"}

// audits copies what the checker wants of a compliance test, and nothing else.
func (b *builder) audits(ctx context.Context, a *audit, to string) error {
	for _, path := range fileio.Glob(a.folder, "verify_*.txt") {
		if err := b.copy(ctx, path, to+"/"+filepath.Base(path)); err != nil {
			return err
		}
	}
	if run := filepath.Join(a.folder, "performance", "run_1"); there(run) {
		if err := b.logs(ctx, run, to+"/performance/run_1"); err != nil {
			return err
		}
	}
	if from := filepath.Join(a.folder, "accuracy"); there(filepath.Join(from, mlperflog.AccuracyFile)) {
		return b.auditResponses(ctx, a.test, from, to+"/accuracy")
	}
	return nil
}

// auditResponses copies the responses of a compliance test, cut where the rules want that,
// and scores of them.
func (b *builder) auditResponses(ctx context.Context, test, from, to string) error {
	for _, name := range []string{"baseline_accuracy.txt", "compliance_accuracy.txt"} {
		if path := filepath.Join(from, name); there(path) {
			if err := b.copy(ctx, path, to+"/"+name); err != nil {
				return err
			}
		}
	}
	if !slices.Contains(cutTests, test) {
		return b.copy(ctx, filepath.Join(from, mlperflog.AccuracyFile), to+"/"+mlperflog.AccuracyFile)
	}
	text, err := fileio.ReadFile(filepath.Join(from, scoreFile), largestText)
	if err != nil && !errors.Is(err, fs.ErrNotExist) { // a test's may be missing
		return err
	}
	return b.shorten(ctx, from, to, text, test == "TEST01")
}
