package power

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/mlperf-go/mlperf/internal/fileio"
)

// A Source is where power is read.
type Source struct {
	Kind    string        // auto, rapl, nvml, ptd or file
	Address string        // of PTDaemon
	Path    string        // of the file
	Offset  time.Duration // added to the times of the file, whose meter has a clock of its own
	Settle  time.Duration // of PTDaemon: the wait after its ranges were set
}

// The kinds of sources.
const (
	Auto = "auto" // all counters that can be read
	RAPL = "rapl"
	NVML = "nvml"
	PTD  = "ptd"
	File = "file"
)

// settle is how long the official client waits (mlcommons/power-dev).
const settle = 10 * time.Second

// Parse reads the name of a source: auto, rapl, nvml, ptd:HOST:PORT, file:CSV,
// ptd:HOST:PORT?settle=10s or file:CSV?offset=-1.5s.
func Parse(text string) (Source, error) {
	kind, rest, more := strings.Cut(text, ":")
	s := Source{Kind: kind}
	switch {
	case !more && slices.Contains([]string{Auto, RAPL, NVML}, kind):
		return s, nil
	case more && kind == PTD:
		s.Settle = settle
		address, err := s.option(rest, "settle", &s.Settle)
		if err != nil {
			return s, err
		}
		host, port, err := net.SplitHostPort(address)
		if err != nil || port == "" {
			return s, fmt.Errorf("%q is not an address, expected ptd:HOST:PORT; PTDaemon's usual port is 8888", address)
		}
		if s.Settle < 0 {
			return s, fmt.Errorf("settle is %v: must be a time", s.Settle)
		}
		s.Address = net.JoinHostPort(host, port)
		return s, nil
	case more && kind == File && rest != "":
		var err error
		if s.Path, err = s.option(rest, "offset", &s.Offset); err == nil && s.Path == "" {
			err = fmt.Errorf("%q names no file, expected file:CSV?offset=-1.5s", text)
		}
		return s, err
	}
	return s, fmt.Errorf("unknown source of power %q: must be auto, rapl, nvml, ptd:HOST:PORT or file:CSV", text)
}

// Check finds a meter that cannot be read: a file whose first line names no columns, or in a folder that is missing, or an analyser
// whose address no one listens on. A meter may make its file later. The other kinds are on this machine, and are found when they start.
func (s Source) Check(ctx context.Context) error {
	switch s.Kind {
	case File:
		_, err := fileio.Stat(s.Path)
		if err == nil {
			err = checkFile(s.Path)
		} else if errors.Is(err, fs.ErrNotExist) {
			_, err = os.Stat(filepath.Dir(s.Path))
		}
		if err != nil {
			return fmt.Errorf("the meter's file: %w", err)
		}
	case PTD:
		conn, err := dial(ctx, s.Address) // and says nothing, which would be in the analyser's log
		if err != nil {
			return err
		}
		return conn.Close()
	}
	return nil
}

// option reads the time that may follow a question mark, and returns the text before it.
func (s Source) option(rest, name string, value *time.Duration) (before string, err error) {
	before, query, _ := strings.Cut(rest, "?")
	values, err := url.ParseQuery(strings.ReplaceAll(query, "+", "%2B")) // the plus sign of +1.5s
	if err != nil {
		return before, fmt.Errorf("%q: %w", query, err)
	}
	for key := range values {
		if key != name {
			return before, fmt.Errorf("unknown option %q of %s: must be %s", key, s.Kind, name)
		}
		if *value, err = time.ParseDuration(values.Get(key)); err != nil {
			return before, fmt.Errorf("%s is %q: must be a time, for instance 1.5s", name, values.Get(key))
		}
	}
	return before, nil
}
