package power

import (
	"crypto/sha1"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/mlperf-go/mlperf/internal/fileio"
)

// The folders of a measurement, as submissions have them (power_checker.py).
const (
	Ranging = "ranging" // of the first run
	Testing = "run_1"   // of the one that counts
	about   = "power"   // of what is known of both
	// SamplesFile has the analyser's samples in the folder of a run.
	SamplesFile = "spl.txt"
)

// hashed are the files whose checksums are kept.
func hashed() []string {
	var list []string
	for _, file := range []string{"client.log", "ptd_logs.txt", "server.log"} {
		list = append(list, about+"/"+file)
	}
	for _, run := range []string{Ranging, Testing} {
		for _, file := range []string{"mlperf_log_detail.txt", "mlperf_log_summary.txt", SamplesFile} {
			list = append(list, run+"/"+file)
		}
	}
	return list
}

// unofficial is what every file says first.
const unofficial = "not by the client and the server of mlcommons/power-dev, which the rules ask for"

// A message is what somebody said, and the answer.
type message struct {
	Command string `json:"cmd"`
	Answer  string `json:"reply"`
}

// A descriptor is client.json, and of server.json what both have. What the official programs would say of their
// own sources and of each other is not there, so that no checker takes this for theirs.
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
	*descriptor
	Daemon []message `json:"ptd_messages"`
	Config []any     `json:"ptd_config"` // which only who starts the daemon knows
}

// Write writes what is known of both runs into the folder power below root, in the layout of a
// submission. The folders of the runs must be there.
func (p *Pair) Write(root, program string) error {
	dir := filepath.Join(root, about)
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return fmt.Errorf("writing what was measured: %w", err)
	}
	var errs []error
	log := p.log(program)
	for _, name := range []string{"client.log", "server.log", "ptd_logs.txt"} {
		errs = append(errs, os.WriteFile(filepath.Join(dir, name), []byte(log), 0o644))
	}
	d, err := p.describe(root, program)
	if err = errors.Join(append(errs, err)...); err == nil {
		err = writeJSON(filepath.Join(dir, "client.json"), d)
	}
	if err == nil {
		server := serverDescriptor{d, nil, []any{}}
		for _, said := range p.analyser.said {
			server.Daemon = append(server.Daemon, message{said.command, said.answer})
		}
		err = writeJSON(filepath.Join(dir, "server.json"), server)
	}
	if err != nil {
		return fmt.Errorf("writing what was measured: %w", err)
	}
	return nil
}

func writeJSON(path string, document any) error {
	text, err := json.MarshalIndent(document, "", "  ")
	if err != nil {
		return err
	}
	return os.WriteFile(path, append(text, '\n'), 0o644)
}

func (p *Pair) describe(root, program string) (*descriptor, error) {
	d := &descriptor{
		Version: program, Note: unofficial, Modules: map[string]string{}, Sources: map[string]string{},
		Messages: []message{{program, "client and server are one program"}},
		UUID:     map[string]string{"client": p.id, "server": p.id}, Session: p.label(), Results: map[string]string{}, Phases: map[string][][2]float64{},
	}
	for _, ph := range p.phases {
		for _, at := range ph.at {
			d.Phases[ph.name] = append(d.Phases[ph.name], [2]float64{float64(at.UnixMicro()) / 1e6, at.Sub(p.began).Seconds()})
		}
	}
	for _, name := range hashed() {
		sum, err := sha1Of(filepath.Join(root, filepath.FromSlash(name)))
		if err != nil {
			return nil, err
		}
		d.Results[name] = sum
	}
	return d, nil
}

func sha1Of(path string) (string, error) {
	f, err := fileio.Open(path)
	if err != nil {
		return "", err
	}
	sum := sha1.New()
	_, err = io.Copy(sum, f)
	return hex.EncodeToString(sum.Sum(nil)), errors.Join(err, f.Close())
}

// log is what was said to the daemon, and when, by the clock of this machine in UTC.
func (p *Pair) log(program string) string {
	var b strings.Builder
	line := func(at time.Time, text string) { fmt.Fprintf(&b, "%s: %s\n", at.UTC().Format(ptdTime), text) }
	line(p.began, program+": "+unofficial)
	for _, said := range p.analyser.said {
		line(said.at, "said "+said.command+", answered "+said.answer)
	}
	return b.String()
}
