package power

import (
	"context"
	"errors"
	"fmt"
	"net"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/mlperf-go/mlperf/internal/machine/power/ptdtest"
	"github.com/mlperf-go/mlperf/internal/testenv"
)

func TestPTDaemonMeasures(t *testing.T) {
	d := ptdtest.New()
	for i := range 60 { // its clock is two hours ahead
		d.Samples = append(d.Samples, ptdtest.Sample(time.Now().Add(2*time.Hour+time.Duration(i+1)*time.Second), ptdMark))
	}
	source, err := Parse("ptd:" + d.Serve(t))
	testenv.Must(t, err)
	began := time.Now()
	r, err := Start(t.Context(), source)
	testenv.Must(t, err)
	record, err := r.Stop()
	testenv.Must(t, err)
	if diff := cmp.Diff([]string{"Hello", "Identify", "Stop", "Go,1000,0,mlperf_testing", "Stop", "RL,*,*"}, d.Said()); diff != "" {
		t.Error(diff)
	}
	if d := record.Offset + 2*time.Hour; d < -time.Second || d > time.Second || !record.Marked {
		t.Errorf("the clocks are %v apart, want about -2h; marked %v", record.Offset, record.Marked)
	}
	e, err := record.Between(began.Add(2*time.Second), began.Add(50*time.Second))
	if err != nil || !near(e.Joules, 4800) {
		t.Errorf("%+v, %v, want 4800 J", e, err)
	}
	if n := len(record.Samples); n != 60 || !strings.HasSuffix(record.Samples[0], ",Watts,100.0,Volts,230.1,Amps,0.5,PF,0.95,Mark,mlperf_testing") ||
		!strings.HasPrefix(record.Samples[0], "Time,"+began.Add(time.Second).UTC().Format("01-02-2006 15")) {
		t.Errorf("%d lines, the first %q", n, record.Samples[0])
	}
}

// session measures two runs of no length.
func session(t *testing.T, d *ptdtest.Daemon) (s *Session, records []*Record, err error) {
	t.Helper()
	s, err = StartSession(t.Context(), Source{Kind: PTD, Address: d.Serve(t)})
	for i := 0; i < 2 && err == nil; i++ {
		if err = s.Begin(t.Context()); err == nil {
			var r *Record
			r, err = s.Stop()
			records = append(records, r)
		}
	}
	if s != nil {
		err = errors.Join(err, s.Close())
	}
	return s, records, err
}

func TestFailuresOfPTDaemon(t *testing.T) {
	for name, c := range map[string]struct {
		command, answer string
		samples         []string
		want            string
	}{
		"another server":     {"Hello", "HTTP/1.1 400 Bad Request", nil, "which is not PTDaemon"},
		"busy":               {"Go", "Error: already running", nil, "it answers Go,1000,0,"},
		"no number":          {"RL", "Last", nil, `the answer to RL is "Last": must be a number of samples`},
		"too large a number": {"RL", "Last 99999999999 samples", nil, "must be a number of samples"},
		"a negative number":  {"RL", "Last -1 samples", nil, "must be a number of samples"},
		"no samples":         {"RL", "Last 0 samples", nil, "there are no samples"},
		"damaged samples":    {"RL", "Last 2 samples", []string{ptdtest.Sample(time.Now(), "m"), "Time,noon,Watts,5"}, "sample 2: "},
		"an endless line":    {"Identify", strings.Repeat("x", 2*maxAnswer), nil, "longer than"},
		"no ranges":          {"RR", "Error", nil, `its ranges are "Error"`},
		"fixed ranges":       {"SR", "Error: busy", nil, `ranging: it answers SR,A,Auto with "Error: busy", expected Range A changed`},
		"ranges for good":    {"SR", "Error: gone", nil, `PTDaemon: setting the ranges back: it answers SR,A,Auto with "Error: gone", expected Range A changed…`},
	} {
		d := ptdtest.New()
		d.Answers[c.command], d.Samples = c.answer, c.samples
		_, _, err := session(t, d)
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: a session: %v, want %q", name, err, c.want)
		}
		if c.command == "RR" || c.command == "SR" { // a plain measurement sets no ranges
			continue
		}
		r, err := Start(t.Context(), Source{Kind: PTD, Address: d.Serve(t)})
		if err == nil {
			_, err = r.Stop()
		}
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v, want %q", name, err, c.want)
		}
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	testenv.Must(t, err, l.Close())
	if _, err := Start(t.Context(), Source{Kind: PTD, Address: l.Addr().String()}); err == nil || !strings.Contains(err.Error(), "PTDaemon") {
		t.Errorf("without a daemon: %v", err)
	}
}

// talker answers one connection with what is given, line by line, and then hangs up.
func talker(t *testing.T, answers ...string) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	testenv.Must(t, err)
	done := make(chan struct{})
	t.Cleanup(func() { l.Close(); <-done })
	go func() {
		defer close(done)
		conn, err := l.Accept()
		if err != nil {
			return
		}
		defer conn.Close()
		buffer := make([]byte, 4096)
		for _, answer := range answers {
			if _, err := conn.Read(buffer); err != nil {
				return
			}
			if _, err := fmt.Fprint(conn, answer); err != nil {
				return
			}
		}
	}()
	return l.Addr().String()
}

func TestPTDaemonHangsUp(t *testing.T) {
	// Answers may end in any line end.
	answers := []string{"Hello, PTDaemon here!\r\n", "Yokogawa\n", "Error: nothing\r\r\n", "Starting\r\n", "Stopping\r\n", "Last,1,samples\n" + ptdtest.Sample(begin(), "m") + "\r\n"}
	record := func(answers []string) (*Record, error) {
		r, err := Start(t.Context(), Source{Kind: PTD, Address: talker(t, answers...)})
		if err != nil {
			return nil, err
		}
		return r.Stop()
	}
	if r, err := record(answers); err != nil || r.Series[0].Name != "PTDaemon Yokogawa" || len(r.Samples) != 1 {
		t.Errorf("%+v, %v", r, err)
	}
	answers[5] = strings.Replace(answers[5], "1", "3", 1)
	for n, want := range []string{"Hello: ", "Identify: ", "Stop: ", "Go,1000,0,mlperf_testing: ", "PTDaemon: Stop: ", "PTDaemon: RL,*,*: ", "PTDaemon: sample 2 of 3: EOF"} {
		if _, err := record(answers[:n]); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("after %d answers: %v, want %q", n, err, want)
		}
	}
}

func TestSessionMeasuresInTheRangesOfTheFirstRun(t *testing.T) {
	d := ptdtest.New()
	s, records, err := session(t, d)
	testenv.Must(t, err)
	if err := s.Begin(t.Context()); err == nil {
		t.Error("there is a third run")
	}
	label := s.label()
	want := []string{
		"Hello", "Identify", "RR", "SR,A,Auto", "SR,V,Auto", "Go,1000,0," + label + "_ranging", "Stop", "RL,*,*",
		"SR,A,0.5", "SR,V,230.1", "Go,1000,0," + label + "_testing", "Stop", "RL,*,*", "SR,A,Auto", "SR,V,300.0",
	}
	if diff := cmp.Diff(want, d.Said()); diff != "" {
		t.Error(diff)
	}
	if ranging, testing := records[0], records[1]; !strings.HasSuffix(ranging.Samples[0], label+"_ranging") || !strings.HasSuffix(testing.Samples[0], label+"_testing") || !testing.Marked {
		t.Errorf("samples %q and %q", ranging.Samples, testing.Samples)
	}
	err = s.Write(t.TempDir(), "mlperf test")
	if err == nil || !strings.Contains(err.Error(), "mlperf_log_detail.txt") || !strings.HasPrefix(s.String(), "PTDaemon ") {
		t.Errorf("Write without the runs = %v, want an error that names the file; it is called %q", err, s)
	}
	if _, err := StartSession(t.Context(), Source{Kind: RAPL}); err == nil || !strings.Contains(err.Error(), "rapl has no ranges") {
		t.Errorf("of a counter: %v", err)
	}
	// An end while ranges settle.
	ctx, cancel := context.WithCancelCause(t.Context())
	s, err = StartSession(ctx, Source{Kind: PTD, Address: ptdtest.New().Serve(t), Settle: time.Hour})
	testenv.Must(t, err)
	gone := errors.New("gone")
	cancel(gone)
	if err := s.Begin(ctx); !errors.Is(err, gone) {
		t.Errorf("interrupted: %v", err)
	}
	testenv.Must(t, s.Close())
}

func TestSamples(t *testing.T) {
	line := func(second float64, watts string) string {
		return "Time," + seconds(second).Format(ptdTime) + ",Watts," + watts + ",Mark,x"
	}
	// The first sample is that of the first second. While an analyser looks for its ranges it reads no power:
	// checks/power_check.py passes over such samples, and wants them in spl.txt.
	r, err := recordOf([]string{line(0, "nan"), line(1, "5"), line(2, "-1.0"), line(3, "0"), line(4, "7"), line(5, "NaN")}, seconds(99))
	testenv.Must(t, err)
	want := []string{line(100, "nan"), line(101, "5"), line(102, "-1.0"), line(103, "0"), line(104, "7"), line(105, "NaN")}
	if points := r.Series[0].Points; len(points) != 2 || !points[0].At.Equal(seconds(101)) || points[1].Joules != 3*6 || r.Offset != 100*time.Second || !slices.Equal(r.Samples, want) {
		t.Errorf("offset %v, points %v, samples %q; want 1m40s, 5 W and 7 W three seconds later, %q", r.Offset, points, r.Samples, want)
	}
	if len(r.Notes) != 1 || r.Notes[0] != "4 of 6 samples of PTDaemon have no power above 0 and were left out" {
		t.Errorf("notes %q", r.Notes)
	}
	if r, err := recordOf([]string{"Time,01-31-2026 12:00:01.000,Watts,5"}, begin()); err != nil || r.Notes != nil || len(r.Series[0].Points) != 1 {
		t.Errorf("of a sample without a mark: %v, notes %q", err, r.Notes)
	}
	for _, c := range []struct {
		lines []string
		want  string
	}{
		{[]string{line(0, "5"), "Watts"}, `sample 2 is "Watts": must be Time,…,Watts,…`},
		{[]string{"Time,x,Volts,5"}, `sample 1 is "Time,x,Volts,5"`},
		{[]string{"Date,01-31-2026 12:00:01.000,Watts,5"}, "must be Time,…,Watts,…"},
		{[]string{line(0, "5"), line(0, "5")}, "sample 2: the time 01-31-2026 12:00:00.000 is not after the one before"},
		{[]string{line(0, "-5")}, "none of 1 samples has a power above 0"},
		{[]string{line(0, "5"), line(1, "much")}, `sample 2: "much" is not a power in watts`},
		{[]string{line(0, "+Inf")}, `sample 1: "+Inf" is not a power in watts`},
		{[]string{line(0, "5"), "Time,noon,Watts,nan,Mark,x"}, `sample 2: "noon" is not a time`},
	} {
		if _, err := recordOf(c.lines, begin()); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%q: %v, want %q", c.lines, err, c.want)
		}
	}
}

func FuzzSamples(f *testing.F) {
	f.Add("Time,01-31-2026 12:00:00.000,Watts,10,Volts,230,Amps,1,PF,0.9,Mark,x")
	f.Fuzz(func(t *testing.T, line string) {
		r, err := recordOf([]string{line}, begin())
		if err == nil && len(r.Samples) != 1 {
			t.Errorf("%q gives %d lines", line, len(r.Samples))
		}
	})
}
