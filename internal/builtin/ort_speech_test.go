//go:build ort

package builtin

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/mlperf-go/mlperf/internal/accuracy"
	"github.com/mlperf-go/mlperf/internal/loadgen/mlperflog"
)

// The built-in RNN-T hears most words. What it hears does not depend on the batch: recordings of
// different lengths are filled up with zeros.
func TestORTRNNTHearsMostWordsInAnyBatch(t *testing.T) {
	t.Parallel()
	m := ortMaker(t)
	var first []string
	for _, batch := range []int{1, 6} {
		cfg := builtIn(t, m, lookup(t, "rnnt"), 6)
		cfg.MaxBatch = batch
		r := mustScore(t, cfg)
		if r.Accuracy.Value < 60 || r.Accuracy.Value > 99 {
			t.Errorf("batches of %d: %v %% of the words are right", batch, r.Accuracy.Value)
		}
		said := responses(t, cfg.OutputDir)
		if first == nil {
			first = said
		}
		for i := range said {
			if said[i] != first[i] {
				t.Errorf("recording %d is %q in batches of %d, %q alone", i, said[i], batch, first[i])
			}
		}
	}
	different := map[string]bool{}
	for _, text := range first {
		different[text] = true
	}
	if len(different) != 6 {
		t.Errorf("of 6 recordings %d have a text of their own", len(different))
	}
}

// responses returns what a run logged, by sample.
func responses(t testing.TB, dir string) []string {
	t.Helper()
	f, err := os.Open(filepath.Join(dir, mlperflog.AccuracyFile))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	var all []string
	for record, err := range accuracy.Records(f) {
		if err != nil {
			t.Fatal(err)
		}
		for int(record.QSLIndex) >= len(all) {
			all = append(all, "")
		}
		all[record.QSLIndex] = string(record.Data)
	}
	return all
}
