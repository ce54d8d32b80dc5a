package mlperflog

import (
	"errors"
	"fmt"
	"io"
	"os"
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

// WriteFiles writes the detail log and then the summary into a folder. Without the first it does not write the second: a
// verdict needs the log that proves it.
func WriteFiles(dir string, r *loadgen.Result, about About) error {
	err := writeFile(filepath.Join(dir, DetailFile), func(w io.Writer) error { return writeDetail(w, r, about) })
	if err != nil {
		return err
	}
	return writeFile(filepath.Join(dir, SummaryFile), func(w io.Writer) error { return writeSummary(w, r) })
}

// WriteTraceFile writes the trace into a folder.
func WriteTraceFile(dir string, r *loadgen.Result, about About) error {
	return writeFile(filepath.Join(dir, TraceFile), func(w io.Writer) error { return writeTrace(w, r, about) })
}

// writeFile replaces a file atomically. It writes into other files, e.g. a pipe.
func writeFile(path string, write func(io.Writer) error) error {
	var err error
	if info, errInfo := os.Lstat(path); errInfo == nil && !info.Mode().IsRegular() {
		var file *os.File
		if file, err = os.Create(path); err == nil {
			err = errors.Join(write(file), file.Close())
		}
	} else {
		err = fileio.WriteAtomic(path, 0o644, write)
	}
	if err != nil {
		return fmt.Errorf("%s: %w", path, err)
	}
	return nil
}
