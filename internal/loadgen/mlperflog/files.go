package mlperflog

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"github.com/mlperf-go/mlperf/internal/loadgen"
)

// The names of the log files.
const (
	SummaryFile  = "mlperf_log_summary.txt"
	DetailFile   = "mlperf_log_detail.txt"
	AccuracyFile = "mlperf_log_accuracy.json"
	TraceFile    = "mlperf_log_trace.json"
)

// WriteFiles writes the summary and the detail log into a folder.
func WriteFiles(dir string, r *loadgen.Result, about About) error {
	return errors.Join(
		writeFile(filepath.Join(dir, SummaryFile), func(w io.Writer) error { return WriteSummary(w, r) }),
		writeFile(filepath.Join(dir, DetailFile), func(w io.Writer) error { return WriteDetail(w, r, about) }),
	)
}

// WriteTraceFile writes the trace into a folder.
func WriteTraceFile(dir string, r *loadgen.Result, about About) error {
	return writeFile(filepath.Join(dir, TraceFile), func(w io.Writer) error { return WriteTrace(w, r, about) })
}

func writeFile(path string, write func(io.Writer) error) error {
	file, err := os.Create(path)
	if err != nil {
		return fmt.Errorf("writing a log: %w", err)
	}
	err = write(file)
	if e := file.Close(); err == nil {
		err = e
	}
	if err != nil {
		return fmt.Errorf("%s: %w", path, err)
	}
	return nil
}
