package power

import (
	"net"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/mlperf-go/mlperf/internal/power/ptdtest"
)

// analyserOf measures 100 W with a clock that is two hours ahead.
func analyserOf(samples int) *ptdtest.Daemon {
	d := ptdtest.New()
	at := time.Now().Add(2*time.Hour + time.Second)
	d.Samples = []string{}
	for i := range samples {
		d.Samples = append(d.Samples, ptdtest.Sample(at.Add(time.Duration(i)*time.Second), ptdMark))
	}
	return d
}

func TestPTDaemonMeasures(t *testing.T) {
	f := analyserOf(60)
	source, err := Parse("ptd:" + f.Serve(t))
	if err != nil {
		t.Fatal(err)
	}
	began := time.Now()
	r, err := Start(t.Context(), source)
	if err != nil {
		t.Fatal(err)
	}
	record, err := r.Stop()
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{"Hello", "Identify", "Stop", "Go,1000,0,mlperf_testing", "Stop", "RL,*,*"}, f.Said()); diff != "" {
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

func TestWhatIsNotPTDaemonIsRefused(t *testing.T) {
	for _, c := range []struct {
		name   string
		change func(*ptdtest.Daemon)
		want   string
	}{
		{"another server", func(f *ptdtest.Daemon) { f.Answers["Hello"] = "HTTP/1.1 400 Bad Request" }, "which is not PTDaemon"},
		{"busy", func(f *ptdtest.Daemon) { f.Answers["Go"] = "Error: already running" }, "it answers Go,1000,0,mlperf_testing with"},
		{"no number", func(f *ptdtest.Daemon) { f.Answers["RL"] = "Last" }, "want a number of samples"},
		{"a number that cannot be", func(f *ptdtest.Daemon) { f.Answers["RL"] = "Last 99999999999 samples" }, "want a number of samples"},
		{"no samples", func(f *ptdtest.Daemon) { f.Answers["RL"] = "Last 0 samples" }, "there are no samples"},
		{"fewer than no samples", func(f *ptdtest.Daemon) { f.Answers["RL"] = "Last -1 samples" }, `the answer to RL is "Last -1 samples", want a number of samples`},
		{"nothing in the place of a number", func(f *ptdtest.Daemon) { f.Answers["RL"] = "" }, `the answer to RL is "", want a number`},
		{"damaged samples", func(f *ptdtest.Daemon) { f.Samples[1] = "Time,noon,Watts,5" }, "sample 2"},
		{"an endless line", func(f *ptdtest.Daemon) { f.Answers["Identify"] = strings.Repeat("x", 2*maxAnswer) }, "longer than"},
	} {
		t.Run(c.name, func(t *testing.T) {
			f := analyserOf(3)
			c.change(f)
			r, err := Start(t.Context(), Source{Kind: PTD, Address: f.Serve(t)})
			if err == nil {
				_, err = r.Stop()
			}
			if err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("%v, want %q", err, c.want)
			}
		})
	}
}

func TestASampleNeedsItsTimeAndWattsAndNothingElse(t *testing.T) {
	record, err := recordOf([]string{"Time,01-31-2026 12:00:01.000,Watts,5"}, begin())
	if err != nil || len(record.Series[0].Points) != 1 {
		t.Errorf("%+v, %v, want one sample", record, err)
	}
	for _, line := range []string{"Time,01-31-2026 12:00:01.000,Watts", "Date,01-31-2026 12:00:01.000,Watts,5", "Time,01-31-2026 12:00:01.000,Volts,5"} {
		if _, err := recordOf([]string{line}, begin()); err == nil || !strings.Contains(err.Error(), "want Time,…,Watts,…") {
			t.Errorf("%s: %v", line, err)
		}
	}
}

func TestAPTDaemonThatIsNotThereIsAnError(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	address := l.Addr().String()
	l.Close()
	if _, err := Start(t.Context(), Source{Kind: PTD, Address: address}); err == nil || !strings.Contains(err.Error(), "PTDaemon") {
		t.Errorf("%v", err)
	}
}
