package power

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/mlperf-go/mlperf/internal/power/ptdtest"
)

// A counter that was set back is no wrap: after one, most of its span would have been used within a
// second.
func TestACounterThatWasSetBackIsAnError(t *testing.T) {
	for _, c := range []struct {
		name, last, now string
		want            string // J, or the error
	}{
		{"as it goes on", "1000000", "3000000", "2"},
		{"as it stands still", "1000000", "1000000", "0"},
		{"wrapped", "9000000", "1000000", "2"},
		{"wrapped after just half of it", "5000000", "0", "5"},
		{"set back to nothing", "1000000", "0", "intel-rapl:0 went back from 1000000 to 0 µJ of 10000000, which is no wrap: it was set back"},
		{"farther than it can wrap", "30000000", "0", "intel-rapl:0 went back from 30000000 to 0 µJ of 10000000, which is no wrap: it was set back"},
		{"farther on than its span", "0", "9000000", "intel-rapl:0 went back from 0 to 9000000 µJ of 10000000, which is no wrap: it was set back"},
		{"no number", "1", "much", `energy_uj: strconv.ParseUint: parsing "much": invalid syntax`},
	} {
		root := rapl(t, map[string][3]string{"intel-rapl:0": {"package-0", c.last, "10000000"}})
		list, err := openRAPL(root)
		if err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(root, "sys/class/powercap/intel-rapl:0/energy_uj"), []byte(c.now), 0o644); err != nil {
			t.Fatal(err)
		}
		joules, err := list[0].joules()
		if got := fmt.Sprint(joules); err == nil && got != c.want || err != nil && !strings.HasSuffix(err.Error(), c.want) {
			t.Errorf("%s: %s J, %v, want %s", c.name, got, err, c.want)
		}
		if err := list[0].close(); err != nil {
			t.Error(err)
		}
	}
}

func TestZonesWithoutASpanAreNotCounted(t *testing.T) {
	root := rapl(t, map[string][3]string{"intel-rapl:0": {"package-0", "1", "2"}})
	if err := os.Remove(filepath.Join(root, "sys/class/powercap/intel-rapl:0/max_energy_range_uj")); err != nil {
		t.Fatal(err)
	}
	if _, err := openRAPL(root); !errors.Is(err, os.ErrNotExist) || !strings.HasPrefix(err.Error(), "RAPL: ") {
		t.Errorf("error %v", err)
	}
	file := filepath.Join(t.TempDir(), "sys/class/powercap")
	if err := errors.Join(os.MkdirAll(filepath.Dir(file), 0o755), os.WriteFile(file, nil, 0o644)); err != nil {
		t.Fatal(err)
	}
	if _, err := openRAPL(strings.TrimSuffix(file, "/sys/class/powercap")); err == nil || !strings.HasPrefix(err.Error(), "RAPL: ") {
		t.Errorf("of a file: %v", err)
	}
}

func TestOneCounterThatFailsDoesNotHideAnother(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		good, bad := &fakeCounter{watts: 10, since: time.Now()}, &fakeCounter{watts: 10, since: time.Now(), fails: 2500 * time.Millisecond}
		r, err := start(t.Context(), Source{Kind: RAPL}, finders{RAPL: func() ([]counter, error) { return []counter{good, bad}, nil }})
		if err != nil {
			t.Fatal(err)
		}
		if r.String() != "fake, fake" {
			t.Errorf("it measures %s", r)
		}
		time.Sleep(5 * time.Second)
		record, err := r.Stop()
		if want := "reading the energy of fake: gone"; err == nil || err.Error() != want {
			t.Errorf("error %v, want %q", err, want)
		}
		if a, b := len(record.Series[0].Points), len(record.Series[1].Points); a < 6 || b != 3 {
			t.Errorf("%d and %d readings, want one a second and three", a, b)
		}
		if !good.closed || !bad.closed {
			t.Error("a counter is open")
		}
	})
}

func TestWhatAutoCannotReadIsNoted(t *testing.T) {
	none := errors.New("none here")
	r, err := start(t.Context(), Source{Kind: Auto}, finders{RAPL: func() ([]counter, error) { return nil, none }, NVML: func() ([]counter, error) { return nil, errors.New("nor there") }})
	if err != nil {
		t.Fatal(err)
	}
	if want := "nothing: none here; nor there"; r.String() != want {
		t.Errorf("it measures %q, want %q", r, want)
	}
	record, err := r.Stop()
	if err != nil || len(record.Series) != 0 || len(record.Notes) != 2 {
		t.Errorf("%+v, %v, want two notes", record, err)
	}
	if _, err := record.Between(begin(), seconds(1)); err == nil || err.Error() != "no power was measured" {
		t.Errorf("error %v", err)
	}
	if _, err := start(t.Context(), Source{Kind: NVML}, finders{NVML: func() ([]counter, error) { return nil, none }}); !errors.Is(err, none) {
		t.Errorf("what was asked for and is not there: %v", err)
	}
}

func TestARecorderEndsWithItsContext(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		f := &fakeCounter{watts: 10, since: time.Now()}
		r, err := start(ctx, Source{Kind: RAPL}, finders{RAPL: func() ([]counter, error) { return []counter{f}, nil }})
		if err != nil {
			t.Fatal(err)
		}
		time.Sleep(1500 * time.Millisecond)
		cancel()
		time.Sleep(10 * time.Second)
		record, err := r.Stop()
		if n := len(record.Series[0].Points); err != nil || n != 3 { // at the begin, after a second, and at the end
			t.Errorf("%d readings, %v, want 3", n, err)
		}
	})
}

// talker answers one connection with what is given, line by line, and then hangs up.
func talker(t *testing.T, answers ...string) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
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

func TestADaemonThatHangsUpIsAnErrorThatSaysWhere(t *testing.T) {
	good := []string{"Hello, PTDaemon here!\r\n", "Yokogawa\r\n", "Stopping\r\n", "Starting\r\n", "Stopping\r\n", "Last 3 samples\r\n" + ptdtest.Sample(begin(), "m") + "\r\n"}
	for n, want := range []string{"Hello: ", "Identify: ", "Stop: ", "Go,1000,0,mlperf_testing: ", "PTDaemon: Stop: ", "PTDaemon: RL,*,*: ", "PTDaemon: sample 2 of 3: EOF"} {
		r, err := Start(t.Context(), Source{Kind: PTD, Address: talker(t, good[:n]...)})
		if err == nil {
			_, err = r.Stop()
		}
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("after %d answers: %v, want %q", n, err, want)
		}
	}
}

func TestAnswersMayEndInAnyLineEnd(t *testing.T) {
	sample := ptdtest.Sample(begin(), "m")
	r, err := Start(t.Context(), Source{Kind: PTD, Address: talker(t, "Hello, PTDaemon\n", "Yokogawa\r\n", "Error: nothing\n", "Starting now\r\n", "ok\r\r\n", "Last,1,samples\n"+sample+"\r\n")})
	if err != nil {
		t.Fatal(err)
	}
	if got, want := r.String(), "PTDaemon at "+r.source.Address; got != want {
		t.Errorf("it measures %q, want %q", got, want)
	}
	record, err := r.Stop()
	if err != nil || record.Series[0].Name != "PTDaemon Yokogawa" || len(record.Samples) != 1 {
		t.Errorf("%+v, %v", record, err)
	}
}

func TestNumbersOfSamplesAreBounded(t *testing.T) {
	for head, want := range map[string]int{"Last 5 samples": 5, "Last,5,samples": 5, "Last 0 samples": 0, fmt.Sprintf("Last %d samples", maxSamples): maxSamples} {
		if n, err := countOf(head); err != nil || n != want {
			t.Errorf("countOf(%q) = %d, %v, want %d", head, n, err, want)
		}
	}
	for _, head := range []string{"", "Last", "5", "Last five samples", "Last -5 samples", fmt.Sprintf("Last %d samples", maxSamples+1), "Last 5.0 samples", "Last 0x5 samples"} {
		if n, err := countOf(head); err == nil || !strings.Contains(err.Error(), "want a number of samples") {
			t.Errorf("countOf(%q) = %d, %v", head, n, err)
		}
	}
}

func TestAPairIsBegunBeforeItIsStopped(t *testing.T) {
	p, err := StartPair(t.Context(), Source{Kind: PTD, Address: ptdtest.New().Serve(t)})
	if err != nil {
		t.Fatal(err)
	}
	if r, err := p.Stop(); err == nil || err.Error() != "no run was begun" {
		t.Errorf("Stop = %v, %v", r, err)
	}
	if want := "PTDaemon YokogawaWT310,5,0,0,0,0,version=1.11.1-f6fdcbd4-20220720"; p.String() != want {
		t.Errorf("it measures %q, want %q", p, want)
	}
	if err := p.Close(); err != nil {
		t.Error(err)
	}
}

func TestRangesThatCannotBeSetBackAreAnError(t *testing.T) {
	d := ptdtest.New()
	d.Answers["SR"] = "Error: gone"
	p, err := StartPair(t.Context(), Source{Kind: PTD, Address: d.Serve(t)})
	if err != nil {
		t.Fatal(err)
	}
	if err := p.Close(); err == nil || !strings.HasPrefix(err.Error(), `PTDaemon: setting the ranges back: it answers SR,A,Auto with "Error: gone", want Range A changed…`) {
		t.Errorf("error %v", err)
	}
}

func TestAFileNeedsAName(t *testing.T) {
	if _, err := Parse("file:?offset=1s"); err == nil || err.Error() != `"file:?offset=1s" names no file, want file:CSV?offset=-1.5s` {
		t.Errorf("error %v", err)
	}
}
