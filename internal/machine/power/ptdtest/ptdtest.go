// Package ptdtest is a small stand-in for SPEC's PTDaemon, for tests.
//
//	d := ptdtest.New()
//	address := d.Serve(t)
//	… a measurement …
//	fmt.Println(d.Said()) // [Hello Identify …]
//
// It knows the commands of package power, and answers with the entries of Answers, or in a form that the checker of submissions
// accepts. It measures 100 W. Everything else of the protocol is left out.
package ptdtest

import (
	"bufio"
	"fmt"
	"net"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"
)

// A Daemon answers one connection after the other.
type Daemon struct {
	// Answers replace those to commands, by their first word.
	Answers map[string]string
	// Samples are its samples; nil: one a second since the command to go.
	Samples []string

	mu      sync.Mutex
	said    []string
	mark    string
	began   time.Time
	running bool
}

// New returns a daemon that works.
func New() *Daemon { return &Daemon{Answers: map[string]string{}} }

// Said are the commands that it has received.
func (d *Daemon) Said() []string {
	d.mu.Lock()
	defer d.mu.Unlock()
	return slices.Clone(d.said)
}

// Serve answers until the test ends, at the address that it returns.
func (d *Daemon) Serve(t testing.TB) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	done := make(chan struct{})
	t.Cleanup(func() { l.Close(); <-done })
	go func() {
		defer close(done)
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			for s := bufio.NewScanner(conn); s.Scan(); {
				if _, err := fmt.Fprint(conn, strings.Join(d.answer(s.Text()), "\r\n")+"\r\n"); err != nil {
					break
				}
			}
			conn.Close()
		}
	}()
	return l.Addr().String()
}

// answer returns the lines that answer a command.
func (d *Daemon) answer(command string) []string {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.said = append(d.said, command)
	verb, rest, _ := strings.Cut(command, ",")
	lines := []string{map[string]string{
		"Hello":    "Hello, PTDaemon here!",
		"Identify": "YokogawaWT310,5,0,0,0,0,version=1.11.1-f6fdcbd4-20220720",
		"RR":       "Ranges,1,-1.0,0,300.0",
		"SR":       "Range " + rest[:min(1, len(rest))] + " changed",
		"Go":       "Starting untimed measurement, maximum 500000 samples at 1000ms with 0 rampup samples",
		"Stop":     "Error: no measurement to stop",
	}[verb]}
	switch {
	case verb == "Go":
		d.began, d.running, d.mark = time.Now(), true, rest[strings.LastIndexByte(rest, ',')+1:]
	case verb == "Stop" && d.running:
		d.running, lines[0] = false, "Stopping untimed measurement"
	case verb == "RL":
		samples := d.Samples
		if samples == nil { // the last one is still to come
			for at := d.began.Add(time.Second); at.Before(time.Now().Add(time.Second)); at = at.Add(time.Second) {
				samples = append(samples, Sample(at, d.mark))
			}
		}
		lines = append([]string{fmt.Sprintf("Last %d samples", len(samples))}, samples...)
	}
	if text, ok := d.Answers[verb]; ok {
		lines[0] = text
	}
	return lines
}

// Sample is a line of 100 W.
func Sample(at time.Time, mark string) string {
	return fmt.Sprintf("Time,%s,Watts,100.0,Volts,230.1,Amps,0.5,PF,0.95,Mark,%s", at.Format("01-02-2006 15:04:05.000"), mark)
}
