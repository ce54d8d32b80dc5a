package page

import (
	"bufio"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/mlperf-go/mlperf/internal/loadgen"
)

// traffic is the state of a Server test of 100 queries a second after some seconds; half of a second's queries wait.
func traffic(seconds int) loadgen.Progress {
	n := uint64(100 * seconds)
	return loadgen.Progress{
		Elapsed: time.Duration(seconds)*time.Second + time.Millisecond, PlannedDuration: time.Minute, Issued: n, Planned: 6000, Completed: n - 50, Samples: 6000,
		RecentP50: 5 * time.Millisecond, RecentP90: 8 * time.Millisecond, RecentP99: 9 * time.Millisecond, RecentTarget: 9 * time.Millisecond, RecentWithin: 0.999,
		Test: &loadgen.EffectiveSettings{Scenario: loadgen.Server, TargetQPS: 100, TargetLatency: 10 * time.Millisecond, TargetLatencyPercentile: 0.99, SamplesPerQuery: 1},
	}
}

// A test that runs is shown with the figures of its page, at each change, until the run ends.
func TestLivePage(t *testing.T) {
	live := NewLive("resnet50 Server", "onnxruntime, cpu", "mlperf 1")
	server := httptest.NewServer(live)
	defer server.Close()
	get := func(path string) *http.Response {
		r, err := http.Get(server.URL + path)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = r.Body.Close() })
		return r
	}
	page, err := io.ReadAll(get("/").Body)
	if err != nil || !strings.Contains(string(page), "connect-src &#39;self&#39;") || !strings.Contains(string(page), `"live":true`) || !strings.Contains(string(page), "onnxruntime, cpu") {
		t.Errorf("%v: %.400s", err, page)
	}
	harmless(t, string(page))

	live.Phase("warm-up")
	events := bufio.NewReader(get("/events").Body)
	next := func() (s liveState) {
		t.Helper()
		line, err := events.ReadString('\n')
		for ; err == nil && line == "\n"; line, err = events.ReadString('\n') {
		}
		if err == nil {
			err = json.Unmarshal([]byte(strings.TrimPrefix(line, "data: ")), &s)
		}
		if err != nil {
			t.Fatalf("%v: %q", err, line)
		}
		return s
	}
	if s := next(); s.State != "warm-up" || s.Title != "resnet50 Server" || len(s.Figures) != 0 {
		t.Errorf("before the test: %+v", s)
	}
	live.Phase("traffic")
	for i := 1; i <= 3; i++ {
		live.Traffic(traffic(i))
		live.Gauge("tokens", "tokens/s", time.Now(), 7)
	}
	s := next()
	for s.State != "traffic" || len(s.Cards) == 0 {
		s = next()
	}
	var text strings.Builder
	for _, c := range s.Cards {
		text.WriteString(c.Name + " " + c.Value + "; ")
	}
	for _, f := range s.Figures {
		text.WriteString(f.ID + " ")
		for _, series := range f.Series {
			text.WriteString(series.Label + " ")
			for _, v := range series.Values {
				text.WriteString(strconv.FormatFloat(v, 'f', -1, 64) + " ")
			}
		}
	}
	for _, want := range []string{
		"time 3 s of 60 s; ", "until the end 57 s; ", "answered samples 250; ", "p99 of recent queries 9 ms of 10 ms; ", "waiting 50; ", "queries, of early stopping 300 of 459; ",
		"throughput due 100 100 100 answered 50 100 100 ", "queue waiting or being answered 50 50 50 ", "p99 9000000 9000000 9000000 ", "tokens 7 7 7 ",
	} {
		if !strings.Contains(text.String(), want) {
			t.Errorf("no %q in %s", want, text.String())
		}
	}
	if s.Outlook != "recent queries keep the bound" {
		t.Errorf("outlook %q", s.Outlook)
	}
	slow := traffic(4)
	slow.RecentTarget = 20 * time.Millisecond
	live.Traffic(slow)
	if s = next(); s.Tone != "bad" || s.Outlook != "on course for INVALID: p99 is 2 × the bound" {
		t.Errorf("beyond the bound: %+v", s)
	}
	live.Traffic(traffic(1)) // of the next test
	for s = next(); len(s.Figures) == 0 || len(s.Figures[0].At) != 1; s = next() {
		if len(s.Figures) > 0 && len(s.Figures[0].At) != 4 {
			t.Fatalf("of another test: %+v", s)
		}
	}
	live.End("VALID")
	if s = next(); !s.Ended || s.State != "VALID" {
		t.Errorf("at the end: %+v", s)
	}
	if rest, err := io.ReadAll(events); err != nil || strings.TrimSpace(string(rest)) != "" {
		t.Errorf("after the end: %q, %v", rest, err)
	}
}

// A page of another site that resolves its name to this machine reads nothing.
func TestLivePageIsForThisMachine(t *testing.T) {
	live := NewLive("a", "", "p")
	for _, c := range []struct {
		method, host, path string
		want               int
	}{
		{"GET", "127.0.0.1:8080", "/", 200}, {"GET", "localhost:1", "/", 200}, {"GET", "[::1]:80", "/", 200}, {"GET", "127.0.0.1", "/other", 404},
		{"GET", "evil.example:8080", "/events", 403}, {"GET", "192.168.1.2", "/", 403}, {"GET", "", "/", 403}, {"POST", "localhost", "/", 405},
	} {
		r := httptest.NewRequest(c.method, c.path, nil)
		r.Host = c.host
		w := httptest.NewRecorder()
		live.ServeHTTP(w, r)
		if w.Code != c.want {
			t.Errorf("%s %s of %q: %d, want %d", c.method, c.path, c.host, w.Code, c.want)
		}
	}
}
