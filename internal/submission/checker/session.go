package checker

import (
	"crypto/sha1"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"regexp"
	"slices"
	"strings"

	"github.com/mlperf-go/mlperf/internal/submission/python"
	"github.com/mlperf-go/mlperf/internal/submission/rounds"
)

// A session is what the client and the server of mlcommons/power-dev wrote of a
// measurement (checks/power/power_checker.py).
type session struct {
	*judgement
	folder         string // performance
	client, server *python.Dict
}

// errStop ends a check that has found only what is worth a warning: the official
// checker then looks no further.
var errStop = errors.New("worth a warning")

func (g *judgement) checkPowerSession() {
	s := &session{judgement: g, folder: g.folder + "/performance"}
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
			g.fail("power-session", problem{path: s.folder + "/" + c.path, line: lineOf(err), message: err.Error()})
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
		switch p := p.(type) {
		case string:
			if d, isDict := v.(*python.Dict); isDict {
				v, ok = d.Get(p)
			}
		case int:
			if list, isList := v.([]python.Value); isList && p < len(list) {
				v, ok = list[p], true
			}
		}
		if !ok {
			return nil, fmt.Errorf("%v of %v is missing", p, path)
		}
	}
	return v, nil
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

// hashed are the files whose checksums both sides keep.
var hashed = []string{
	"power/client.log", "power/ptd_logs.txt", "power/server.log",
	"ranging/mlperf_log_detail.txt", "ranging/mlperf_log_summary.txt", "ranging/spl.txt",
	"run_1/mlperf_log_detail.txt", "run_1/mlperf_log_summary.txt", "run_1/spl.txt",
}

// checksums compares the files with the checksums that were taken when they were
// written.
func (s *session) checksums() error {
	server, err := at(s.server, "results")
	client, errClient := at(s.client, "results")
	serverSums, ok := server.(*python.Dict)
	clientSums, okClient := client.(*python.Dict)
	if err = errors.Join(err, errClient); err != nil || !ok || !okClient {
		return errors.Join(err, errors.New("results is not an object"))
	}
	for _, path := range hashed {
		sum, err := s.sha1(path)
		if err != nil {
			return fmt.Errorf("%s: %w", path, err)
		}
		a, inServer := serverSums.Get(path)
		b, inClient := clientSums.Get(path)
		if !inServer && !inClient {
			return fmt.Errorf("neither side has a checksum of %s", path)
		}
		if inServer && !python.Equal(a, sum) || inClient && !python.Equal(b, sum) {
			return fmt.Errorf("%s was changed: its SHA-1 is %s, not the %s of the session", path, sum, str(pick(inServer, a, b)))
		}
	}
	return nil
}

func pick(first bool, a, b python.Value) python.Value {
	if first {
		return a
	}
	return b
}

func (s *session) sha1(path string) (string, error) {
	f, err := s.tree.Open(s.folder + "/" + path)
	if err != nil {
		return "", err
	}
	sum := sha1.New()
	_, err = io.Copy(sum, f)
	return hex.EncodeToString(sum.Sum(nil)), errors.Join(err, f.Close())
}

var devices = []string{
	"YokogawaWT210", "YokogawaWT500", "YokogawaWT500_multichannel", "YokogawaWT310", "YokogawaWT310E", "YokogawaWT330",
	"YokogawaWT330E", "YokogawaWT330_multichannel", "YokogawaWT210_DC", "YokogawaWT310_DC", "YokogawaWT330_DC",
}

// analyzers checks the devices that the daemon was set up with.
func (s *session) analyzers() error {
	list, err := listAt(s.server, "ptd_config")
	if err != nil {
		return err
	}
	for _, a := range list {
		v, err := at(a, "device_type")
		if err != nil {
			return err
		}
		n, isInt := v.(int64)
		if !isInt || !slices.Contains([]int64{8, 35, 48, 49, 52, 77, 508, 549, 586}, n) {
			return fmt.Errorf("the device type %s is not supported", str(v))
		}
		if n == 77 {
			if err := twoChannels(a); err != nil {
				return err
			}
		}
	}
	return nil
}

func twoChannels(analyzer python.Value) error {
	command, err := listAt(analyzer, "command")
	if err != nil {
		return err
	}
	channels := ""
	if i := slices.Index(command, python.Value("-c")); i >= 0 {
		if channels, err = textAt(command, i+1); err != nil {
			return err
		}
	}
	used, err := listAt(analyzer, "channel")
	if err == nil && (len(strings.Split(channels, ",")) != 2 || len(used) != 2) {
		err = errors.New("a WT330_multichannel measures with one channel, want two")
	}
	return err
}
