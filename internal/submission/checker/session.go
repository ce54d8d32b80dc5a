package checker

import (
	"errors"
	"fmt"
	"regexp"
	"strings"

	"github.com/mlperf-go/mlperf/internal/config/rounds"
	"github.com/mlperf-go/mlperf/internal/submission/python"
)

// A session is what the client and the server of mlcommons/power-dev wrote of a
// measurement (checks/power/power_checker.py).
type session struct {
	*judgement
	folder         string // performance
	client, server *python.Dict
	windows        map[string]window // of the runs, by folder
}

// errStop ends a check that has found only what is worth a warning: the official
// checker then looks no further.
var errStop = errors.New("worth a warning")

func (g *judgement) checkPowerSession() {
	s := &session{judgement: g, folder: g.folder + "/performance", windows: map[string]window{}}
	s.client, s.server = s.descriptor("client.json"), s.descriptor("server.json")
	if s.client == nil || s.server == nil {
		return
	}
	for _, c := range []struct {
		path  string
		check func() error
	}{
		{"power/client.json", func() error { return sources(s.client) }},
		{"power/server.json", func() error { return sources(s.server) }},
		{"power/server.json", s.commands},
		{"power/client.json", s.sameIDs},
		{"power/client.json", s.sameName},
		{"power/client.json", s.phases},
		{"power/client.json", s.messages},
		{"power/server.json", s.checksums},
		{"power/ptd_logs.txt", s.daemonLog},
		{"power/server.json", s.analyzers},
		{"power/server.json", s.noDebug},
	} {
		if err := c.check(); err != nil && !errors.Is(err, errStop) {
			g.fail("power-session", problem{path: s.folder + "/" + c.path, line: lineOf(err), message: plain(err)})
		}
	}
}

// descriptor reads a JSON file of the session. nil: it has a finding.
func (s *session) descriptor(name string) *python.Dict {
	path := s.folder + "/power/" + name
	v, err := readJSON(s.tree, path)
	if err != nil {
		s.fail("power-session", problem{path: path, line: lineOf(err), message: "cannot be read: " + plain(err)})
		return nil
	}
	d, isObject := v.(*python.Dict)
	if !isObject {
		s.fail("power-session", problem{path: path, message: "is not an object", found: str(v)})
		return nil
	}
	for _, key := range []string{"version", "timezone", "modules", "sources", "messages", "uuid", "session_name", "results", "phases"} {
		if _, ok := d.Get(key); !ok {
			s.fail("power-session", problem{path: path, message: "the field " + key + " is missing", wanted: key})
			d = nil
			break
		}
	}
	return d
}

// at returns the value at a path of keys (texts) and places in lists (ints).
func at(v python.Value, path ...any) (python.Value, error) {
	for _, p := range path {
		ok := false
		if v, ok = step(v, p); !ok {
			return nil, fmt.Errorf("%v of %v is missing", p, path)
		}
	}
	return v, nil
}

// step returns what a value has at a key (a text) or a place (an int).
func step(v python.Value, p any) (python.Value, bool) {
	switch p := p.(type) {
	case string:
		if d, isDict := v.(*python.Dict); isDict {
			return d.Get(p)
		}
	case int:
		if list, isList := v.([]python.Value); isList && p < len(list) {
			return list[p], true
		}
	}
	return nil, false
}

// textAt is at for a text, listAt for a list, numberAt for a number.
func textAt(v python.Value, path ...any) (string, error) {
	v, err := at(v, path...)
	text, ok := v.(string)
	if err == nil && !ok {
		err = fmt.Errorf("%v is %s, want a text", path, str(v))
	}
	return text, err
}

func listAt(v python.Value, path ...any) ([]python.Value, error) {
	v, err := at(v, path...)
	list, ok := v.([]python.Value)
	if err == nil && !ok {
		err = fmt.Errorf("%v is %s, want a list", path, shorten(str(v)))
	}
	return list, err
}

func numberAt(v python.Value, path ...any) (float64, error) {
	v, err := at(v, path...)
	if err != nil {
		return 0, err
	}
	if !python.IsNumber(v) {
		return 0, fmt.Errorf("%v is %s, want a number", path, str(v))
	}
	return python.Float(v)
}

// sources compares the checksums of the programs with those of the releases.
func sources(d *python.Dict) error {
	v, _ := d.Get("sources")
	have, _ := v.(*python.Dict)
	for _, release := range rounds.PowerSources() {
		same := have != nil && len(have.Keys()) == len(release)
		for name, sum := range release {
			same = same && python.Equal(first(have.Get(name)), sum)
		}
		if same {
			return nil
		}
	}
	return errors.New("sources are not those of a release of mlcommons/power-dev")
}

func first(v python.Value, _ bool) python.Value { return v }

func (s *session) sameIDs() error {
	for _, who := range []string{"client", "server"} {
		ids := [2]string{}
		for i, d := range []*python.Dict{s.client, s.server} {
			text, err := textAt(d, "uuid", who)
			if err != nil {
				return err
			}
			if ids[i], err = uuid(text); err != nil {
				return err
			}
		}
		if ids[0] != ids[1] {
			return fmt.Errorf("the UUID of the %s is not that of server.json", who)
		}
	}
	return nil
}

var hexID = regexp.MustCompile(`^[0-9a-fA-F]{32}$`)

// uuid returns the digits of an identifier.
func uuid(text string) (string, error) {
	plain := strings.NewReplacer("urn:", "", "uuid:", "").Replace(text)
	plain = strings.ToLower(strings.ReplaceAll(strings.Trim(plain, "{}"), "-", ""))
	if !hexID.MatchString(plain) {
		return "", fmt.Errorf("%q is not a UUID", text)
	}
	return plain, nil
}

func (s *session) sameName() error {
	c, _ := s.client.Get("session_name")
	v, _ := s.server.Get("session_name")
	if !python.Equal(c, v) {
		return fmt.Errorf("the session is called %s by the client and %s by the server", python.Repr(c), python.Repr(v))
	}
	return nil
}

// noDebug checks that the server did not run for debugging.
func (s *session) noDebug() error {
	if v, ok := s.server.Get("debug"); ok && v != false {
		return errors.New("the server ran in debug mode")
	}
	return nil
}
