package checker

import (
	"cmp"
	"crypto/sha1"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"math"
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/mlperf-go/mlperf/internal/config/rounds"
	"github.com/mlperf-go/mlperf/internal/fileio"
)

// The checks of mlcommons/power-dev's files (checks/power_check.py, checks/power/power_checker.py): a ranging run finds the
// ranges of the analyzer, then the run under test is measured. A client beside LoadGen and a server beside the analyzer each
// describe the session in a JSON file, and the daemon of the analyzer (PTDaemon) logs samples.

func (c *resultCheck) hasPower() bool { return c.exists(c.folder + "/performance/power") }

// checkPower judges a result with power.
func (c *resultCheck) checkPower() {
	if !c.hasPower() {
		return
	}
	logs := []string{"mlperf_log_summary.txt", "mlperf_log_detail.txt", "spl.txt"}
	for folder, want := range map[string][]string{
		"run_1": logs, "ranging": logs,
		"power": {"client.json", "client.log", "ptd_logs.txt", "server.json", "server.log"},
	} {
		path := c.folder + "/performance/" + folder
		files, err := c.files(path)
		switch {
		case err != nil:
			c.fail("power-files", problem{path: path, message: "cannot be listed: " + err.Error(), wanted: strings.Join(want, ", ")})
		case folder == "power":
			c.sameFiles("power-files", path, files, want)
		default:
			c.sameFiles("power-files", path, files, want, "mlperf_log_accuracy.json")
		}
	}
	c.checkPowerSession()
	c.measurePower()
	if !rounds.Before(c.round.Version, "v6.1") {
		var err error
		if c.watts, err = c.description.designWatts(); err != nil {
			c.fail("system-nameplate", problem{path: strings.TrimSuffix(c.description.path, ".json") + "_power.yaml", message: err.Error(),
				wanted: "parts with PSUs and Min PSUs Needed"})
		}
	}
}

// measurePower computes the power of the result: watts, or millijoules of a query.
func (c *resultCheck) measurePower() {
	log, path := c.performance, c.folder+"/performance/run_1/spl.txt"
	var window [2]time.Time
	for i, key := range []string{"power_begin", "power_end"} {
		var err error
		if window[i], err = parseStamp(log.text(key)); err != nil {
			c.fail("power-metric", problem{path: log.path, line: log.line(key), message: key + ": " + err.Error(), found: log.show(key), wanted: "a time"})
			return
		}
	}
	watts, n, err := c.meanPower(path, window[0], window[1])
	if err != nil {
		c.unreadable("power-metric", path, err, "Time,<stamp>,Watts,<number>,…")
		return
	}
	if n == 0 {
		c.fail("power-metric",
			problem{path: path, message: "no sample lies in the run",
				wanted: fmt.Sprintf("samples from %v to %v", window[0].Format(time.StampMilli), window[1].Format(time.StampMilli))})
		return
	}
	c.power = watts
	scenario := strings.ToLower(c.scenarioFolder())
	if scenario != "singlestream" && scenario != "multistream" {
		return
	}
	queries, err := parseWhole(log.value("result_query_count"))
	if err != nil || queries == 0 {
		c.fail("power-metric", problem{path: log.path, line: log.line("result_query_count"), message: "result_query_count is not a count",
			found: log.show("result_query_count"), wanted: "a whole number above 0"})
		return
	}
	energy := watts * (float64(window[1].Sub(window[0]).Microseconds()) / 1e6)
	if scenario == "multistream" && strings.EqualFold(log.text("effective_scenario"), "singlestream") {
		energy *= multiStreamSamples
	}
	c.power = energy * 1000 / float64(queries)
}

// meanPower returns the mean of the samples above 0 W of a time, and how many there are. The daemon writes lines
// Time,<stamp>,Watts,<number>,…,PF,<number>,….
func (c *resultCheck) meanPower(path string, begin, end time.Time) (watts float64, n int, err error) {
	var bad error
	err = c.eachLine(path, func(line int, text string) bool {
		if !strings.HasPrefix(text, "Time") {
			return true
		}
		sample, inside, err := parseSample(text, begin, end)
		if err != nil {
			bad = lineError{line, err}
		} else if inside && sample > 0 {
			watts += sample
			n++
		}
		return err == nil
	})
	return watts / max(float64(n), 1), n, errors.Join(err, bad)
}

// parseSample reads a sample. Of one outside of the time only that matters.
func parseSample(line string, begin, end time.Time) (watts float64, inside bool, err error) {
	fields := strings.Split(line, ",")
	if len(fields) < 2 {
		return 0, false, errors.New("no time")
	}
	at, err := parseStamp(fields[1])
	if err != nil || !at.After(begin) || !at.Before(end) {
		return 0, false, err
	}
	if len(fields) < 10 {
		return 0, false, fmt.Errorf("%d fields, expected 10 or more", len(fields))
	}
	if _, err = parseNumber(fields[9]); err != nil { // the power factor
		return 0, false, err
	}
	watts, err = parseNumber(fields[3])
	return watts, true, err
}

// parseStamp reads the time stamps of power logs.
func parseStamp(text string) (time.Time, error) {
	t, err := time.Parse("01-02-2006 15:04:05", text) // with any fraction of a second
	if err != nil {
		return t, fmt.Errorf("%q is not a time as MM-DD-YYYY HH:MM:SS.mmm", shorten(text))
	}
	return t, nil
}

// A sessionFile is client.json or server.json.
type sessionFile struct {
	Sources  map[string]string `json:"sources"`
	Messages []command         `json:"messages"`
	UUID     struct {
		Client string `json:"client"`
		Server string `json:"server"`
	} `json:"uuid"`
	Name     string             `json:"session_name"`
	Results  map[string]string  `json:"results"` // checksums of files
	Phases   map[string][][]any `json:"phases"`
	Timezone any                `json:"timezone"`
	Debug    any                `json:"debug"`
	PTD      []command          `json:"ptd_messages"`
	Devices  []struct {
		Type    any   `json:"device_type"`
		Channel any   `json:"channel"`
		Command []any `json:"command"`
	} `json:"ptd_config"`
}

// A command is a message, and the reply.
type command struct {
	Cmd   string `json:"cmd"`
	Reply any    `json:"reply"`
}

// A session is a measurement as the client and the server of mlcommons/power-dev describe it.
type session struct {
	*resultCheck
	folder         string // performance
	client, server sessionFile
}

// errStop ends a check: the official checker only warns here, and looks no further.
var errStop = errors.New("a warning")

func (c *resultCheck) checkPowerSession() {
	s := &session{resultCheck: c, folder: c.folder + "/performance"}
	if okClient, okServer := s.load("client.json", &s.client), s.load("server.json", &s.server); !okClient || !okServer {
		return
	}
	for _, check := range []struct {
		path  string
		check func() error
	}{
		{"power/client.json", func() error { return s.client.checkSources() }},
		{"power/server.json", func() error { return s.server.checkSources() }},
		{"power/server.json", func() error { return checkIdentity(s.server.PTD) }},
		{"power/server.json", func() error { return checkReplies(s.server.PTD) }},
		{"power/server.json", func() error { return checkRanges(s.server.PTD) }},
		{"power/client.json", s.checkIdentifiers},
		{"power/client.json", s.checkPhases},
		{"power/client.json", s.checkMessages},
		{"power/server.json", s.checkSums},
		{"power/ptd_logs.txt", s.checkDaemonLog},
		{"power/server.json", s.checkAnalyzers},
	} {
		if err := check.check(); err != nil && !errors.Is(err, errStop) {
			c.fail("power-session", problem{path: s.folder + "/" + check.path, line: lineOf(err), message: cause(err).Error()})
		}
	}
	if debug := s.server.Debug; debug != nil && debug != false {
		c.fail("power-session", problem{path: s.folder + "/power/server.json", message: "the server ran in debug mode"})
	}
}

func (s *session) load(name string, file *sessionFile) bool {
	path := s.folder + "/power/" + name
	data, err := s.read(path, largestJSON)
	if err == nil {
		_, err = parseJSON(data) // which names the line
	}
	if err != nil {
		s.unreadable("power-session", path, err, "")
		return false
	}
	var members map[string]json.RawMessage
	if json.Unmarshal(data, &members) != nil {
		s.fail("power-session", problem{path: path, message: "not an object"})
		return false
	}
	for _, key := range []string{"version", "timezone", "modules", "sources", "messages", "uuid", "session_name", "results", "phases"} {
		if _, ok := members[key]; !ok {
			s.fail("power-session", problem{path: path, message: "the field " + key + " is missing", wanted: key})
			return false
		}
	}
	if err := json.Unmarshal(data, file); err != nil {
		kind := (*json.UnmarshalTypeError)(nil)
		if errors.As(err, &kind) {
			err = fmt.Errorf("the field %s is a %s: must be a %v", kind.Field, kind.Value, kind.Type)
		}
		s.fail("power-session", problem{path: path, message: err.Error()})
		return false
	}
	return true
}

// checkSources compares the checksums of the programs with those of the releases.
func (f *sessionFile) checkSources() error {
	if !slices.ContainsFunc(rounds.PowerSources(), func(release map[string]string) bool { return maps.Equal(release, f.Sources) }) {
		return errors.New("sources are not those of a release of mlcommons/power-dev")
	}
	return nil
}

var uuid = regexp.MustCompile(`^[0-9a-f]{32}$`)

// checkIdentifiers checks that both sides mean the same session.
func (s *session) checkIdentifiers() error {
	for _, of := range []struct{ side, a, b string }{
		{"client", s.client.UUID.Client, s.server.UUID.Client}, {"server", s.client.UUID.Server, s.server.UUID.Server},
	} {
		plain := strings.NewReplacer("urn:", "", "uuid:", "", "-", "", "{", "", "}", "")
		a, b := strings.ToLower(plain.Replace(of.a)), strings.ToLower(plain.Replace(of.b))
		if !uuid.MatchString(a) || !uuid.MatchString(b) {
			return fmt.Errorf("%q or %q is not a UUID", of.a, of.b)
		}
		if a != b {
			return fmt.Errorf("the UUID of the %s is not that of server.json", of.side)
		}
	}
	if s.client.Name != s.server.Name {
		return fmt.Errorf("the session is called %q by the client and %q by the server", s.client.Name, s.server.Name)
	}
	return nil
}

const daemonVersion = "1.11.1"

var versionOf = regexp.MustCompile(`version=(.+?)-`)

var analyzers = []string{
	"YokogawaWT210", "YokogawaWT500", "YokogawaWT500_multichannel", "YokogawaWT310", "YokogawaWT310E", "YokogawaWT330",
	"YokogawaWT330E", "YokogawaWT330_multichannel", "YokogawaWT210_DC", "YokogawaWT310_DC", "YokogawaWT330_DC",
}

// checkIdentity checks the version of the daemon and the model of the analyzer.
func checkIdentity(list []command) error {
	answer := ""
	if i := slices.IndexFunc(list, func(c command) bool { return c.Cmd == "Identify" }); i >= 0 {
		answer, _ = list[i].Reply.(string)
	}
	if answer == "" {
		return errors.New("the daemon did not answer Identify")
	}
	version := ""
	if m := versionOf.FindStringSubmatch(answer); m != nil {
		version = m[1]
	}
	if version != daemonVersion {
		return fmt.Errorf("version %q of the daemon is not supported, expected %s", version, daemonVersion)
	}
	if model, _, _ := strings.Cut(answer, ","); !slices.Contains(analyzers, model) {
		return fmt.Errorf("the analyzer %q is not supported: must be one of %s", model, strings.Join(analyzers, ", "))
	}
	return nil
}

// checkReplies checks that the daemon answered each command of the server as it should.
func checkReplies(list []command) error {
	replies := map[string]string{
		"SR,A": "Range A changed", "SR,V": "Range V changed", "Stop": "Stopping untimed measurement",
		"Go,1000,": "Starting untimed measurement, maximum 500000 samples at 1000ms with 0 rampup samples",
	}
	stops := 0
	for _, c := range list {
		for start, want := range replies {
			if !strings.HasPrefix(c.Cmd, start) {
				continue
			}
			if c.Cmd == "Stop" {
				if stops++; stops == 3 { // both measurements are over
					want = "Error: no measurement to stop"
					replies["Stop"] = want
				}
			}
			if c.Reply != any(want) {
				return fmt.Errorf("the daemon answered %s with %q, expected %q", c.Cmd, str(c.Reply), want)
			}
		}
	}
	return nil
}

// checkRanges checks that the ranges of the analyzer were set back at the end.
func checkRanges(list []command) error {
	if len(list) < 3 {
		return errors.New("ptd_messages has fewer than three commands")
	}
	ranges, _ := list[2].Reply.(string)
	fields := strings.Split(ranges, ",")
	initial := func(field int) (string, error) { // before the measurement
		switch {
		case field >= len(fields):
		case fields[field] != "0":
			return "Auto", nil
		case field+1 < len(fields):
			if v, err := parseNumber(fields[field+1]); err == nil && v > 0 {
				return fields[field+1], nil
			} else if err == nil {
				return "Auto", nil
			}
		}
		return "", fmt.Errorf("%q has no ranges", ranges)
	}
	nth := func(start string, n int) (string, error) {
		for _, c := range list {
			if strings.HasPrefix(c.Cmd, start) {
				if n--; n == 0 {
					return c.Cmd, nil
				}
			}
		}
		return "", fmt.Errorf("too few commands %s", start)
	}
	amps, errAmps := initial(1)
	volts, errVolts := initial(3)
	third, errThird := nth("SR,A", 3)
	fourth, errFourth := nth("SR,A", 4)
	last, errLast := nth("SR,V", 3)
	switch err := cmp.Or(errAmps, errVolts, errThird, errFourth, errLast); {
	case err != nil:
		return err
	case third != "SR,A,"+amps && fourth != "SR,A,"+amps:
		return fmt.Errorf("the range of amperes was set to %s and %s, expected SR,A,%s as at first", third, fourth, amps)
	case last != "SR,V,"+volts:
		return fmt.Errorf("the range of volts was set to %s, expected SR,V,%s as at first", last, volts)
	}
	return nil
}

var (
	clientVersion = regexp.MustCompile(`mlcommons/power client v(\d+)\n?$`)
	serverVersion = regexp.MustCompile(`mlcommons/power server v(\d+)\n?$`)
)

// checkMessages compares what client and server report of their messages. Each has its own time.
func (s *session) checkMessages() error {
	client, server := s.client.Messages, s.server.Messages
	if len(client) != len(server) || len(client) == 0 {
		return fmt.Errorf("the client has %d messages and the server %d", len(client), len(server))
	}
	for i, c := range client {
		if c.Cmd != server[i].Cmd || c.Cmd != "time" && !reflect.DeepEqual(c.Reply, server[i].Reply) {
			return fmt.Errorf("message %d differs: %s, %s for the client and %s, %s for the server", i, c.Cmd, str(c.Reply), server[i].Cmd,
				str(server[i].Reply))
		}
	}
	reply, _ := client[0].Reply.(string)
	a, b := clientVersion.FindStringSubmatch(client[0].Cmd), serverVersion.FindStringSubmatch(reply)
	if a == nil || b == nil || a[1] != b[1] {
		return fmt.Errorf("versions differ: %q and %q", client[0].Cmd, reply)
	}
	return nil
}

const clockTolerance = 800 // ms between client and server, and seconds in the daemon's log

// checkPhases compares the clocks of client and server, the time of each run with that of its phase, and the power of both
// runs.
func (s *session) checkPhases() error {
	var windows [2]window
	for i, mode := range []struct{ name, folder string }{{"ranging", "ranging"}, {"testing", "run_1"}} {
		client, err := s.client.begins(mode.name)
		if err != nil {
			return err
		}
		server, err := s.server.begins(mode.name)
		if err != nil {
			return err
		}
		if len(client) != len(server) {
			return fmt.Errorf("%s has %d phases for the client and %d for the server", mode.name, len(client), len(server))
		}
		for i := range client {
			if d := math.Abs(client[i] - server[i]); !(d <= clockTolerance/1000.0) {
				return fmt.Errorf("phase %d of %s began %.0f ms apart for client and server, expected at most %d ms", i+1, mode.name, d*1000, clockTolerance)
			}
		}
		if windows[i], err = s.window(mode.folder); err != nil {
			return err
		}
		if len(client) < 3 {
			return fmt.Errorf("%s has %d phases, expected 3 or more", mode.name, len(client))
		}
		for _, t := range []float64{windows[i].begin, windows[i].end} { // one side may not know of summer time
			if !(client[1] < t && t < client[2]) && !(client[1] < t-3600 && t-3600 < client[2]) {
				return fmt.Errorf("LoadGen's run was not in the phase %s", mode.name)
			}
		}
	}
	ranging, testing := windows[0].end-windows[0].begin, windows[1].end-windows[1].begin
	if ranging == 0 {
		return errors.New("the ranging run took no time")
	}
	if (ranging-testing)/ranging > 0.5 {
		return errStop
	}
	var watts [2]float64
	for i, folder := range []string{"ranging", "run_1"} {
		mean, n, err := s.meanPower(s.folder+"/"+folder+"/spl.txt", fromSeconds(windows[i].begin), fromSeconds(windows[i].end))
		if err != nil {
			return fmt.Errorf("%s/spl.txt: %w", folder, cause(err))
		}
		if n == 0 {
			mean = -1
		}
		watts[i] = round(mean, 5)
	}
	if watts[0] == 0 {
		return errors.New("the ranging run needed no power")
	}
	if delta := round((watts[1]/watts[0]-1)*100, 2); !(delta > -5) {
		return fmt.Errorf("the run under test needed %v W, %v %% less than the ranging run's %v W, expected at most 5 %% less", watts[1], -delta, watts[0])
	}
	return nil
}

// begins returns the times at which the phases of a run began, in seconds.
func (f *sessionFile) begins(mode string) ([]float64, error) {
	phases, ok := f.Phases[mode]
	if !ok {
		return nil, fmt.Errorf("phases has no %s", mode)
	}
	times := make([]float64, len(phases))
	for i, phase := range phases {
		ok := len(phase) > 0
		if ok {
			times[i], ok = number(phase[0])
		}
		if !ok {
			return nil, fmt.Errorf("phase %d of %s has no time", i+1, mode)
		}
	}
	return times, nil
}

// A window is when a run began and ended, in seconds.
type window struct{ begin, end float64 }

var anyStamp = regexp.MustCompile(`\d*-\d*-\d* \d*:\d*:\d*\.\d*`)

// window finds the first lines of a log that have power_begin and power_end, in any case.
func (s *session) window(folder string) (w window, err error) {
	var bad error
	err = s.eachLine(s.folder+"/"+folder+"/mlperf_log_detail.txt", func(_ int, line string) bool {
		lower := strings.ToLower(line)
		switch {
		case strings.Contains(lower, "power_begin"):
			w.begin, bad = stampSeconds(anyStamp.FindString(line))
		case strings.Contains(lower, "power_end"):
			w.end, bad = stampSeconds(anyStamp.FindString(line))
		}
		return bad == nil && (w.begin == 0 || w.end == 0)
	})
	if err = errors.Join(err, bad); err == nil && (w.begin == 0 || w.end == 0) {
		err = errors.New("no power_begin and power_end")
	}
	if err != nil {
		return w, fmt.Errorf("%s/mlperf_log_detail.txt: %w", folder, cause(err))
	}
	return w, nil
}

func stampSeconds(stamp string) (float64, error) {
	t, err := parseStamp(stamp)
	return float64(t.UnixMicro()) / 1e6, err
}

func fromSeconds(s float64) time.Time { return time.UnixMicro(int64(math.Round(s * 1e6))).UTC() }

// round is Python's round: to the nearest decimal number, half to even.
func round(v float64, digits int) float64 {
	r, _ := strconv.ParseFloat(strconv.FormatFloat(v, 'f', digits, 64), 64)
	return r
}

// hashed are the files whose SHA-1 both sides keep.
var hashed = []string{
	"power/client.log", "power/ptd_logs.txt", "power/server.log",
	"ranging/mlperf_log_detail.txt", "ranging/mlperf_log_summary.txt", "ranging/spl.txt",
	"run_1/mlperf_log_detail.txt", "run_1/mlperf_log_summary.txt", "run_1/spl.txt",
}

// checkSums compares the files with the checksums that were taken when they were written: at least one side must have one.
func (s *session) checkSums() error {
	// Like the official checker, it goes through no links to folders, and every file below must open.
	root, err := filepath.EvalSymlinks(s.at(s.folder))
	if err != nil {
		return err
	}
	var files []string
	err = filepath.WalkDir(root, func(path string, entry fs.DirEntry, err error) error {
		if info, errInfo := os.Stat(path); err != nil || errInfo == nil && info.IsDir() {
			return nil // a folder that cannot be listed has no files
		}
		rel, err := filepath.Rel(root, path)
		if err != nil {
			return err
		}
		f, err := fileio.Open(path)
		if err != nil {
			return fmt.Errorf("%s cannot be opened: %w", filepath.ToSlash(rel), cause(err))
		}
		files = append(files, filepath.ToSlash(rel))
		return f.Close()
	})
	if err != nil {
		return err
	}
	for _, path := range append([]string{"power/client.json", "power/server.json"}, hashed...) {
		if !slices.Contains(files, path) {
			return fmt.Errorf("%s is missing, or behind a link to a folder", path)
		}
	}
	for _, path := range hashed {
		f, err := fileio.Open(s.at(s.folder + "/" + path))
		if err != nil {
			return err
		}
		h := sha1.New()
		_, err = io.Copy(h, f)
		if err := errors.Join(err, f.Close()); err != nil {
			return err
		}
		sum, known := hex.EncodeToString(h.Sum(nil)), false
		for _, side := range []sessionFile{s.server, s.client} {
			taken, has := side.Results[path]
			if known = known || has; has && taken != sum {
				return fmt.Errorf("%s was changed: its SHA-1 is %s, not the %s of the session", path, sum, taken)
			}
		}
		if !known {
			return fmt.Errorf("neither side has a checksum of %s", path)
		}
	}
	return nil
}

// deviceTypes are the supported types of the daemon; twoChannels is YokogawaWT330_multichannel.
var deviceTypes = []float64{8, 35, 48, 49, 52, twoChannels, 508, 549, 586}

const twoChannels = 77

// checkAnalyzers checks the devices that the daemon was set up with.
func (s *session) checkAnalyzers() error {
	if s.server.Devices == nil {
		return errors.New("ptd_config is missing")
	}
	for _, d := range s.server.Devices {
		kind, ok := number(d.Type)
		if !ok || !slices.Contains(deviceTypes, kind) {
			return fmt.Errorf("the device type %s is not supported", str(d.Type))
		}
		if kind != twoChannels {
			continue
		}
		channels := ""
		if i := slices.Index(d.Command, any("-c")); i >= 0 && i+1 < len(d.Command) {
			channels = str(d.Command[i+1])
		}
		if used, _ := d.Channel.([]any); strings.Count(channels, ",") != 1 || len(used) != 2 {
			return fmt.Errorf("a WT330_multichannel measures with the channels %q and uses %s, expected two", channels, str(d.Channel))
		}
	}
	return nil
}

var (
	stampedLine = regexp.MustCompile(`^(\d\d-\d\d-\d{4} \d\d:\d\d:\d\d\.\d{3})(.*)$`)
	activated   = regexp.MustCompile(`Uncertainty checking for Yokogawa\S+ is activated`)
	uncertain   = regexp.MustCompile(`Uncertainty \d+.\d+%, which is above 1.00% limit for the last sample!`)
	// rangingErrors are how the errors begin that ranging may have.
	rangingErrors = []string{
		"Can't evaluate uncertainty of this sample!", "Bad watts reading nan from ", "Bad amps reading nan from ",
		"Bad pf reading nan from ", "Bad volts reading nan from ", "Current appears to be too high for set range",
	}
)

// checkDaemonLog checks that the uncertainty of the analyzer was checked, and that the daemon had no errors in the run.
func (s *session) checkDaemonLog() error {
	if _, err := parseWhole(s.server.Timezone); err != nil {
		return fmt.Errorf("timezone: %w", err)
	}
	run, err := s.window("run_1")
	if err != nil {
		return err
	}
	lines := []string{}
	if err := s.eachLine(s.folder+"/power/ptd_logs.txt", func(_ int, line string) bool {
		lines = append(lines, line)
		return true
	}); err != nil {
		return err
	}
	ranging, err := findRanging(lines, ": Go with mark '"+s.server.Name+"_ranging'")
	if err != nil {
		return err
	}
	i := slices.IndexFunc(lines, activated.MatchString)
	if i < 0 {
		return errors.New("the check of uncertainty was not activated")
	}
	if t, _, err := stamped(lines[i]); err != nil || !(t < ranging.begin) {
		return lineError{i + 1, errors.Join(errors.New("the check of uncertainty was activated after ranging began"), err)}
	}
	for i, line := range lines {
		if err := daemonComplaint(line, run, ranging); errors.Is(err, errStop) {
			return err
		} else if err != nil {
			return lineError{i + 1, err}
		}
	}
	return nil
}

// stamped takes the time off the start of a line.
func stamped(line string) (seconds float64, rest string, err error) {
	m := stampedLine.FindStringSubmatch(line)
	if m == nil {
		return math.Inf(1), line, nil
	}
	seconds, err = stampSeconds(m[1])
	return seconds, m[2], err
}

// findRanging finds the time of ranging in the daemon's log.
func findRanging(lines []string, mark string) (w window, err error) {
	for i, line := range lines {
		t, rest, err := stamped(line)
		if err != nil {
			return w, lineError{i + 1, err}
		}
		if rest = strings.TrimSpace(rest); math.IsInf(t, 1) {
			continue
		}
		if w.begin == 0 && rest == mark {
			w.begin = t
		}
		if w.begin != 0 && rest == ": Completed test" {
			w.end = t
			return w, nil
		}
	}
	return w, errors.New("the time of ranging is not in the log")
}

// daemonComplaint judges a warning or an error of the daemon. errStop: the official checker warns of it and reads no further.
func daemonComplaint(line string, run, ranging window) error {
	for _, kind := range []string{"WARNING:", "ERROR:"} {
		_, text, found := strings.Cut(line, kind)
		if !found || text == "" {
			continue
		}
		t, _, err := stamped(line)
		if err == nil && math.IsInf(t, 1) {
			err = fmt.Errorf("%q has no time", shorten(line))
		}
		if err != nil {
			return err
		}
		text = strings.TrimSpace(text)
		inRanging := ranging.begin < t && t < ranging.end
		switch {
		case kind == "WARNING:" && !(run.begin+clockTolerance < t && t < run.end-clockTolerance):
		case kind == "WARNING:" && uncertain.MatchString(text):
			return fmt.Errorf("during the test: %s", shorten(text))
		case kind == "WARNING:", text == "USB.":
			return errStop
		case !inRanging:
			return fmt.Errorf("an error outside of ranging: %s", shorten(text))
		case !slices.ContainsFunc(rangingErrors, func(ok string) bool { return strings.HasPrefix(text, ok) }):
			return errStop
		}
	}
	return nil
}
