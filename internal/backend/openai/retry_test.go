package openai

import (
	"net/http"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/mlperf-go/mlperf/internal/backend"
	"github.com/mlperf-go/mlperf/internal/backend/openai/tokenserver"
)

func TestRepetitionsWaitLongerEachTimeButNotForEver(t *testing.T) {
	const ms = time.Millisecond
	for attempts, want := range map[int]time.Duration{0: 50 * ms, 1: 100 * ms, 2: 200 * ms, 6: 3200 * ms, 7: 5 * time.Second, 8: 5 * time.Second, 40: 5 * time.Second, 99: 5 * time.Second} {
		if got := pause(attempts, 0); got != want {
			t.Errorf("pause(%d, 0) = %v, want %v", attempts, got, want)
		}
	}
	for asked, want := range map[time.Duration]time.Duration{ms: 50 * ms, 3 * time.Second: 3 * time.Second, time.Minute: time.Minute, time.Hour: time.Minute} {
		if got := pause(0, asked); got != want {
			t.Errorf("pause(0, %v) = %v, want %v", asked, got, want)
		}
	}
}

// A server says when it wants to be asked again, in seconds or by its calendar.
func TestARepetitionWaitsAsLongAsTheServerAsks(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		inHalfAMinute := time.Now().Add(30 * time.Second).UTC().Format(http.TimeFormat)
		for _, c := range []struct {
			after string
			want  time.Duration
		}{
			{"", firstPause}, {"0", firstPause}, {"3", 3 * time.Second}, {"86400", mostAfter}, {"99999999999", firstPause}, {"-3", firstPause}, {"soon", firstPause},
			{inHalfAMinute, 30 * time.Second}, {"Sun, 06 Nov 1994 08:49:37 GMT", firstPause},
		} {
			if got := pause(0, retryAfter(http.Header{"Retry-After": {c.after}})); got != c.want {
				t.Errorf("Retry-After: %s: %v, want %v", c.after, got, c.want)
			}
		}
		var busy atomic.Bool
		tokens := tokenserver.New(tokenserver.Options{})
		_, c := serve(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if busy.CompareAndSwap(true, false) {
				w.Header().Set("Retry-After", "7")
				w.WriteHeader(http.StatusServiceUnavailable)
				return
			}
			tokens.ServeHTTP(w, r)
		}))
		c.Retries = 1
		g, _, err := open(t, c)
		if err != nil {
			t.Fatal(err)
		}
		busy.Store(true)
		if h, err := ask(t, g, backend.Prompt{Text: "x"}); err != nil || h.whole < 7*time.Second || h.whole > 8*time.Second {
			t.Errorf("%v, after %v, want 7s", err, h.whole)
		}
	})
}

func TestWhyNoModelIsKnownIsSaid(t *testing.T) {
	for text, want := range map[string]string{
		`404 {"detail":"Not Found"}`:           `http://server does not tell which models it has: status 404: Not Found: {"detail":"Not Found"}`,
		`200 <html>`:                           "http://server does not tell which models it has: it answers <html>",
		`200 {"data":[]}`:                      "http://server has no models",
		`200 {"data":[{"id":"a"},{"id":"b"}]}`: "http://server has a, b",
	} {
		synctest.Test(t, func(t *testing.T) {
			_, c := serve(t, http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
				if text[0] == '4' {
					w.WriteHeader(http.StatusNotFound)
				}
				_, _ = w.Write([]byte(text[len("200 "):]))
			}))
			c.Model = ""
			if _, _, err := open(t, c); err == nil || !contains(err, want) {
				t.Errorf("%s: %v, want %q", text, err, want)
			}
		})
	}
}
