package tune

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/gofrs/flock"

	"github.com/mlperf-go/mlperf/internal/fileio"
)

// An OtherSearchError says that a journal cannot be gone on with.
type OtherSearchError struct {
	Path   string
	Reason string
}

func (e *OtherSearchError) Error() string { return e.Path + " " + e.Reason }

// A Journal keeps the measurements of a search, one line each. What was appended is there
// even if the program is killed. It is one process's until it is closed.
type Journal struct {
	Header Header
	Done   []Measurement
	file   *os.File
	lock   *flock.Flock
}

// maxJournal is how long a file of measurements may be.
const maxJournal = 64 << 20

// openJournal opens the journal of a search, or begins one. If there is one of another
// search, that is an error, unless it is to begin afresh.
func openJournal(path string, h Header, fresh bool) (*Journal, error) {
	h.Schema = JournalSchema
	lock, err := hold(path)
	if err != nil {
		return nil, err
	}
	j := &Journal{Header: h, lock: lock}
	if err := j.open(path, fresh); err != nil {
		return nil, errors.Join(err, lock.Unlock())
	}
	return j, nil
}

// hold takes a journal for this process: two that write to one would overwrite each other's lines.
func hold(path string) (*flock.Flock, error) {
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return nil, fmt.Errorf("keeping the measurements: %w", err)
	}
	lock := flock.New(path + ".lock")
	got, err := lock.TryLock()
	if err != nil {
		return nil, fmt.Errorf("locking the measurements: %w", err)
	}
	if !got {
		return nil, fmt.Errorf("%s: another process searches for this profile: wait for it, or write another one", path)
	}
	return lock, nil
}

func (j *Journal) open(path string, fresh bool) error {
	if fresh {
		return j.begin(path)
	}
	whole, err := j.read(path)
	if err != nil {
		return err
	}
	if whole == 0 {
		return j.begin(path)
	}
	return j.goOn(path, whole)
}

// read takes over what a search before left, and returns how long it is; 0: nothing, or it was killed before the
// first line was there.
func (j *Journal) read(path string) (whole int, err error) {
	data, err := fileio.ReadFile(path, maxJournal)
	if errors.Is(err, fs.ErrNotExist) {
		return 0, nil
	}
	if err != nil {
		return 0, fmt.Errorf("reading the measurements so far: %w", err)
	}
	kept, done, whole, err := parseJournal(data)
	if err != nil {
		return 0, &OtherSearchError{path, "cannot be read: " + err.Error()}
	}
	if whole == 0 {
		return 0, nil
	}
	if names := kept.differences(j.Header); len(names) > 0 {
		return 0, &OtherSearchError{path, "is of another search (" + strings.Join(names, ", ") + ")"}
	}
	j.Header, j.Done = kept, done
	return whole, nil
}

// goOn appends to a file. A line that a killed program left unfinished is overwritten.
func (j *Journal) goOn(path string, whole int) (err error) {
	if j.file, err = os.OpenFile(path, os.O_RDWR, 0o644); err != nil {
		return fmt.Errorf("keeping the measurements: %w", err)
	}
	_, seek := j.file.Seek(int64(whole), io.SeekStart)
	if err := errors.Join(j.file.Truncate(int64(whole)), seek); err != nil {
		return errors.Join(fmt.Errorf("keeping the measurements: %w", err), j.file.Close())
	}
	return nil
}

func (j *Journal) begin(path string) (err error) {
	if j.file, err = os.Create(path); err != nil {
		return fmt.Errorf("keeping the measurements: %w", err)
	}
	if err := j.line(j.Header); err != nil {
		return errors.Join(err, j.file.Close())
	}
	return nil
}

// Append keeps a measurement.
func (j *Journal) Append(m Measurement) error {
	j.Done = append(j.Done, m)
	return j.line(m)
}

func (j *Journal) line(content any) error {
	data, err := json.Marshal(content)
	if err == nil {
		_, err = j.file.Write(append(data, '\n'))
	}
	if err != nil {
		return fmt.Errorf("keeping the measurements: %w", err)
	}
	return nil
}

// Close closes the file, and lets go of it.
func (j *Journal) Close() error { return errors.Join(j.file.Close(), j.lock.Unlock()) }

// parseJournal reads a journal from the content of its file. A last line without an end is
// left out; whole is the length of the lines before it.
func parseJournal(data []byte) (h Header, done []Measurement, whole int, err error) {
	whole = bytes.LastIndexByte(data, '\n') + 1
	number := 0
	for line := range bytes.Lines(data[:whole]) {
		number++
		if number == 1 {
			err = h.parse(line)
		} else {
			var m Measurement
			m, err = parseMeasurement(line)
			done = append(done, m)
		}
		if err != nil {
			return Header{}, nil, 0, fmt.Errorf("line %d: %w", number, err)
		}
	}
	return h, done, whole, nil
}

func parseMeasurement(line []byte) (m Measurement, err error) {
	if err := strict(line, &m); err != nil {
		return m, err
	}
	if m.Stage < 0 || m.Stage >= stageCount {
		return m, fmt.Errorf("stage is %d, want 0 to %d", m.Stage, stageCount-1)
	}
	if m.Took < 0 || m.Length < 0 || m.Value < 0 {
		return m, errors.New("a time or the value is negative")
	}
	return m, nil
}
