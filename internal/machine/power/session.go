package power

import (
	"context"
	"crypto/rand"
	"crypto/sha1"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/mlperf-go/mlperf/internal/fileio"
)

// A Session measures two runs in the way of submissions with power
// (mlcommons/power-dev): a first one, ranging, in which the analyser finds its ranges itself, and
// a second one, testing, in ranges that hold the highest volts and amperes of the first.
//
//	s, err := power.StartSession(ctx, source)
//	err = s.Begin(ctx); … ; record, err := s.Stop() // ranging
//	err = s.Begin(ctx); … ; record, err = s.Stop()  // the run that counts
//	err = s.Close()
//	err = s.Write(dir, program)
//
// One goroutine uses it.
type Session struct {
	daemon  *ptDaemon
	settle  time.Duration
	id      string
	began   time.Time
	phases  []phase
	before  ranges // of the analyser, to restore
	highest ranges // of the first run
}

// ranges are those of volts and amperes: a number, or Auto.
type ranges struct{ volts, amps string }

const autoRange = "Auto"

// A phase is one of the two runs, with the instants of the command to begin, the begin, the command to end, and the end.
type phase struct {
	name string
	at   []time.Time
}

// phaseNames are the names of the phases in the marks of samples.
var phaseNames = []string{"ranging", "testing"}

// StartSession connects to the PTDaemon of a source.
func StartSession(ctx context.Context, source Source) (*Session, error) {
	if source.Kind != PTD {
		return nil, fmt.Errorf("a ranging run needs an analyser, ptd:HOST:PORT: %s has no ranges", source.Kind)
	}
	id := make([]byte, 16)
	_, _ = rand.Read(id) // it never fails
	s := &Session{settle: source.Settle, id: hex.EncodeToString(id), began: time.Now()}
	var err error
	if s.daemon, err = connect(ctx, source.Address); err != nil {
		return nil, err
	}
	answer, err := s.daemon.ask("RR")
	fields := strings.Split(answer, ",")
	if err == nil && (len(fields) < 5 || fields[0] != "Ranges") {
		err = fmt.Errorf("its ranges are %q: must be Ranges,…,…,…,…", answer)
	}
	if err != nil {
		return nil, s.daemon.abandon(err)
	}
	manual := func(auto, value string) string {
		if v, err := strconv.ParseFloat(value, 64); auto == "0" && err == nil && v > 0 {
			return value
		}
		return autoRange
	}
	s.before = ranges{amps: manual(fields[1], fields[2]), volts: manual(fields[3], fields[4])}
	return s, nil
}

// Begin begins the next run.
func (s *Session) Begin(ctx context.Context) error {
	if len(s.phases) == len(phaseNames) {
		return errors.New("both runs are measured already")
	}
	ph := phase{name: phaseNames[len(s.phases)], at: []time.Time{time.Now()}}
	want := ranges{autoRange, autoRange}
	if len(s.phases) > 0 {
		want = s.highest
	}
	err := s.setRanges(want)
	if err == nil {
		select {
		case <-ctx.Done():
			err = context.Cause(ctx)
		case <-time.After(s.settle):
			err = s.daemon.begin(s.label() + "_" + ph.name)
		}
	}
	if err != nil {
		return fmt.Errorf("PTDaemon: %s: %w", ph.name, err)
	}
	ph.at = append(ph.at, time.Now())
	s.phases = append(s.phases, ph)
	return nil
}

func (s *Session) setRanges(r ranges) error {
	return errors.Join(s.daemon.expect("SR,A,"+r.amps, "Range A changed"), s.daemon.expect("SR,V,"+r.volts, "Range V changed"))
}

// label names the session in the marks of samples.
func (s *Session) label() string { return s.began.UTC().Format("2006-01-02_15-04-05") }

// Stop ends the run that was begun last, and returns its record. Before Begin it is an error.
func (s *Session) Stop() (*Record, error) {
	if len(s.phases) == 0 {
		return nil, errors.New("no run was begun")
	}
	ph := &s.phases[len(s.phases)-1]
	ph.at = append(ph.at, time.Now())
	record, lines, err := s.daemon.end()
	if err != nil {
		return nil, err
	}
	ph.at = append(ph.at, time.Now())
	if len(s.phases) == 1 {
		s.highest = ranges{volts: highest(lines, "Volts"), amps: highest(lines, "Amps")}
	}
	return record, nil
}

// highest is the range that holds a field of all samples; Auto if these do not have it.
func highest(lines []string, field string) string {
	most := 0.0
	for _, line := range lines {
		fields := strings.Split(line, ",")
		for i := 0; i+1 < len(fields); i += 2 {
			if v, err := strconv.ParseFloat(fields[i+1], 64); fields[i] == field && err == nil && v > most && !math.IsInf(v, 0) {
				most = v
			}
		}
	}
	if most == 0 {
		return autoRange
	}
	return strconv.FormatFloat(most, 'f', -1, 64)
}

// String names the analyser.
func (s *Session) String() string { return "PTDaemon " + s.daemon.analyser }

// Close gives the analyser its ranges back.
func (s *Session) Close() error {
	err := s.setRanges(s.before)
	if err != nil {
		err = fmt.Errorf("PTDaemon: setting the ranges back: %w", err)
	}
	return errors.Join(err, s.daemon.conn.Close())
}

// The folders of a measurement, as submissions have them (power_checker.py).
const (
	Ranging = "ranging" // of the first run
	Testing = "run_1"   // of the run that counts
	About   = "power"   // of the files about both
	// SamplesFile has the analyser's samples in the folder of a run.
	SamplesFile = "spl.txt"
)

// unofficial is the first sentence of every file of Write.
const unofficial = "not by the client and the server of mlcommons/power-dev, which the rules ask for"

// A message is a command and its answer.
type message struct {
	Command string `json:"cmd"`
	Answer  string `json:"reply"`
}

// A descriptor is client.json, and the part of server.json that is the same. The statements of the official programs about their
// own sources and about each other are missing, so that no checker takes it for theirs.
type descriptor struct {
	Version  string                  `json:"version"`
	Note     string                  `json:"note"`
	Timezone int                     `json:"timezone"` // seconds from UTC: all times are UTC
	Modules  map[string]string       `json:"modules"`
	Sources  map[string]string       `json:"sources"`
	Messages []message               `json:"messages"`
	UUID     map[string]string       `json:"uuid"`
	Session  string                  `json:"session_name"`
	Results  map[string]string       `json:"results"` // SHA-1 of files
	Phases   map[string][][2]float64 `json:"phases"`  // since 1970, and since the beginning, in seconds
}

// A serverDescriptor is server.json.
type serverDescriptor struct {
	descriptor
	Daemon []message `json:"ptd_messages"`
	Config []any     `json:"ptd_config"` // empty: only the user who starts the daemon knows it
}

// Write writes the files about both runs into the folder power below root, in the layout of a
// submission. The folders of the runs must be there.
func (s *Session) Write(root, program string) error {
	server := serverDescriptor{Config: []any{}, descriptor: descriptor{
		Version: program, Note: unofficial, Modules: map[string]string{}, Sources: map[string]string{},
		Messages: []message{{program, "client and server are one program"}},
		UUID:     map[string]string{"client": s.id, "server": s.id}, Session: s.label(), Results: map[string]string{}, Phases: map[string][][2]float64{},
	}}
	var log strings.Builder // the commands, with times of this machine's clock in UTC
	line := func(at time.Time, text string) { fmt.Fprintf(&log, "%s: %s\n", at.UTC().Format(ptdTime), text) }
	line(s.began, program+": "+unofficial)
	for _, e := range s.daemon.exchanges {
		server.Daemon = append(server.Daemon, message{e.command, e.answer})
		line(e.at, "said "+e.command+", answered "+e.answer)
	}
	for _, ph := range s.phases {
		for _, at := range ph.at {
			server.Phases[ph.name] = append(server.Phases[ph.name], [2]float64{float64(at.UnixMicro()) / 1e6, at.Sub(s.began).Seconds()})
		}
	}

	var errs []error
	write := func(name string, text []byte) {
		errs = append(errs, fileio.WriteFileIn(root, About+"/"+name, text))
	}
	logs := []string{"client.log", "ptd_logs.txt", "server.log"}
	for _, name := range logs {
		write(name, []byte(log.String()))
	}
	runFiles := []string{"mlperf_log_detail.txt", "mlperf_log_summary.txt", SamplesFile}
	for folder, files := range map[string][]string{About: logs, Ranging: runFiles, Testing: runFiles} {
		for _, file := range files {
			data, err := os.ReadFile(filepath.Join(root, folder, file))
			sum := sha1.Sum(data)
			server.Results[folder+"/"+file] = hex.EncodeToString(sum[:])
			errs = append(errs, err)
		}
	}
	for name, document := range map[string]any{"client.json": server.descriptor, "server.json": server} {
		text, err := json.MarshalIndent(document, "", "  ")
		errs = append(errs, err)
		if !slices.ContainsFunc(errs, func(err error) bool { return err != nil }) {
			write(name, append(text, '\n'))
		}
	}
	if err := errors.Join(errs...); err != nil {
		return fmt.Errorf("writing the files of the power measurement: %w", err)
	}
	return nil
}
