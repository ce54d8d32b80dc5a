package power

import (
	"fmt"
	"net"
	"net/url"
	"strings"
	"time"
)

// A Source says where power is read.
type Source struct {
	Kind    string        // auto, rapl, nvml, ptd or file
	Address string        // of PTDaemon
	Path    string        // of the file
	Offset  time.Duration // to add to the times of the file, whose meter has another clock
}

// The kinds of sources.
const (
	Auto = "auto" // all counters that can be read
	RAPL = "rapl"
	NVML = "nvml"
	PTD  = "ptd"
	File = "file"
)

// Parse reads the name of a source: auto, rapl, nvml, ptd:HOST:PORT, file:CSV or
// file:CSV?offset=-1.5s.
func Parse(text string) (Source, error) {
	kind, rest, more := strings.Cut(text, ":")
	s := Source{Kind: kind}
	switch {
	case !more && (kind == Auto || kind == RAPL || kind == NVML):
		return s, nil
	case more && kind == PTD:
		host, port, err := net.SplitHostPort(rest)
		if err != nil || port == "" {
			return s, fmt.Errorf("%q is not an address, want ptd:HOST:PORT; PTDaemon's usual port is 8888", rest)
		}
		s.Address = net.JoinHostPort(host, port)
		return s, nil
	case more && kind == File && rest != "":
		return s.file(rest)
	}
	return s, fmt.Errorf("unknown source of power %q, want auto, rapl, nvml, ptd:HOST:PORT or file:CSV", text)
}

func (s Source) file(rest string) (Source, error) {
	path, query, _ := strings.Cut(rest, "?")
	s.Path = path
	values, err := url.ParseQuery(query)
	if err != nil {
		return s, fmt.Errorf("%q: %w", query, err)
	}
	for key := range values {
		if key != "offset" {
			return s, fmt.Errorf("unknown option %q of a file, want offset", key)
		}
		if s.Offset, err = time.ParseDuration(values.Get(key)); err != nil {
			return s, fmt.Errorf("offset is %q, want a time such as -1.5s", values.Get(key))
		}
	}
	return s, nil
}
