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

// WriteFiles writes the detail log and then the summary into a folder. Without the first there
// is no second: a verdict that nobody can check is none.
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

// writeFile writes a file beside the old one and puts it in its place, so that a program
// that is killed leaves one of the two. What is no regular file is written to directly.
func writeFile(path string, write func(io.Writer) error) error {
	var err error
	if info, e := os.Lstat(path); e == nil && !info.Mode().IsRegular() {
		err = writeInto(path, write)
	} else {
		err = fileio.WriteAtomic(path, 0o644, write)
	}
	if err != nil {
		return fmt.Errorf("%s: %w", path, err)
	}
	return nil
}

func writeInto(path string, write func(io.Writer) error) error {
	file, err := os.Create(path)
	if err != nil {
		return err
	}
	return errors.Join(write(file), file.Close())
}
