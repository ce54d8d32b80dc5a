package mlperflog

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"path/filepath"

	"github.com/mlperf-go/mlperf/internal/fileio"
	"github.com/mlperf-go/mlperf/internal/loadgen"
)

// The names of the log files.
const (
	SummaryFile  = "mlperf_log_summary.txt"
	DetailFile   = "mlperf_log_detail.txt"
	AccuracyFile = "mlperf_log_accuracy.json"
	TraceFile    = "mlperf_log_trace.json"
)

// WriteFiles writes the detail log and then the summary into a folder, and returns their SHA-256 sums by name. Without the
// first it does not write the second: a verdict needs the log that proves it.
func WriteFiles(dir string, r *loadgen.Result, about About) (sums map[string]string, err error) {
	sums = map[string]string{}
	for _, f := range []struct {
		name  string
		write func(io.Writer) error
	}{
		{DetailFile, func(w io.Writer) error { return writeDetail(w, r, about) }},
		{SummaryFile, func(w io.Writer) error { return writeSummary(w, r) }},
	} {
		sum := sha256.New()
		err := writeFile(dir, f.name, func(w io.Writer) error { return f.write(io.MultiWriter(w, sum)) })
		if err != nil {
			return sums, err
		}
		sums[f.name] = hex.EncodeToString(sum.Sum(nil))
	}
	return sums, nil
}

// WriteTraceFile writes the trace into a folder.
func WriteTraceFile(dir string, r *loadgen.Result, about About) error {
	return writeFile(dir, TraceFile, func(w io.Writer) error { return writeTrace(w, r, about) })
}

func writeFile(dir, name string, write func(io.Writer) error) error {
	if err := fileio.WriteIn(dir, name, write); err != nil {
		return fmt.Errorf("%s: %w", filepath.Join(dir, name), err)
	}
	return nil
}
