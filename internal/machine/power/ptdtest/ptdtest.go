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
	// Samples are its samples; nil: one a second since it was told to go.
	Samples []string
	// Clock is how far its clock is ahead.
	Clock time.Duration

	mu      sync.Mutex
	said    []string
	mark    string
	began   time.Time
	running bool
}

// New returns a daemon that works.
func New() *Daemon { return &Daemon{Answers: map[string]string{}} }

// Said are the commands that it was told.
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
			d.talk(conn)
		}
	}()
	return l.Addr().String()
}

func (d *Daemon) talk(conn net.Conn) {
	defer conn.Close()
	for s := bufio.NewScanner(conn); s.Scan(); {
		if _, err := fmt.Fprint(conn, strings.Join(d.answer(s.Text()), "\r\n")+"\r\n"); err != nil {
			return
		}
	}
}

// answer are the lines that answer a command.
func (d *Daemon) answer(command string) []string {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.said = append(d.said, command)
	verb, rest, _ := strings.Cut(command, ",")
	usual := d.usual(verb, rest)
	if text, ok := d.Answers[verb]; ok {
		usual[0] = text
	}
	return usual
}

func (d *Daemon) usual(verb, rest string) []string {
	switch verb {
	case "Hello":
		return []string{"Hello, PTDaemon here!"}
	case "Identify":
		return []string{"YokogawaWT310,5,0,0,0,0,version=1.11.1-f6fdcbd4-20220720"}
	case "RR":
		return []string{"Ranges,1,-1.0,0,300.0"}
	case "SR":
		return []string{"Range " + rest[:min(1, len(rest))] + " changed"}
	case "Go":
		d.began, d.running = time.Now(), true
		d.mark = rest[strings.LastIndexByte(rest, ',')+1:]
		return []string{"Starting untimed measurement, maximum 500000 samples at 1000ms with 0 rampup samples"}
	case "Stop":
		if !d.running {
			return []string{"Error: no measurement to stop"}
		}
		d.running = false
		return []string{"Stopping untimed measurement"}
	case "RL":
		samples := d.samples()
		return append([]string{fmt.Sprintf("Last %d samples", len(samples))}, samples...)
	}
	return []string{"Error: unknown command"}
}

// samples are one a second since it was told to go, and one that is still to come.
func (d *Daemon) samples() []string {
	if d.Samples != nil {
		return d.Samples
	}
	var list []string
	for at := d.began.Add(time.Second); at.Before(time.Now().Add(time.Second)); at = at.Add(time.Second) {
		list = append(list, Sample(at.Add(d.Clock), d.mark))
	}
	return list
}

// Sample is a line of 100 W.
func Sample(at time.Time, mark string) string {
	return fmt.Sprintf("Time,%s,Watts,100.0,Volts,230.1,Amps,0.5,PF,0.95,Mark,%s", at.Format("01-02-2006 15:04:05.000"), mark)
}
