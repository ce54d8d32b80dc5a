package oipserver

import "time"

// Limits bound what clients may take. Zero fields have a default.
type Limits struct {
	Connections int           // over HTTP, and over gRPC; 4096
	Header      time.Duration // until the header of a request is there; 5 s
	Idle        time.Duration // between requests; 2 minutes
	Body        time.Duration // until a body is there, and a second more for each MiB; 10 s
	Answer      time.Duration // until an answer is taken, and a second more for each MiB; 30 s
}

func (l *Limits) fill() {
	if l.Connections == 0 {
		l.Connections = 4096
	}
	for _, d := range []struct {
		value *time.Duration
		usual time.Duration
	}{{&l.Header, 5 * time.Second}, {&l.Idle, 2 * time.Minute}, {&l.Body, 10 * time.Second}, {&l.Answer, 30 * time.Second}} {
		if *d.value == 0 {
			*d.value = d.usual
		}
	}
}

// maxHeader is how many bytes the header of a request may have.
const maxHeader = 16 << 10

// perMiB is the time that a client may take for a MiB at least.
const perMiB = time.Second

func allowance(base time.Duration, bytes int64) time.Time {
	return time.Now().Add(base + time.Duration(bytes>>20)*perMiB)
}
