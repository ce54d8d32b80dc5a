package download

import (
	"bytes"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

// A script answers requests without a network, so that time can be fake.
type script func(n int, r *http.Request) (*http.Response, error)

type scripted struct {
	n int
	f script
}

// RoundTrip implements http.RoundTripper.
func (s *scripted) RoundTrip(r *http.Request) (*http.Response, error) {
	s.n++
	resp, err := s.f(s.n, r)
	if resp != nil {
		resp.Request = r
		if resp.Header == nil {
			resp.Header = http.Header{}
		}
		if resp.Body == nil {
			resp.Body = http.NoBody
		}
	}
	return resp, err
}

// everything answers with a whole file.
func everything(data []byte) *http.Response {
	return &http.Response{StatusCode: http.StatusOK, ContentLength: int64(len(data)), Body: io.NopCloser(bytes.NewReader(data))}
}

func dialError(text string) error {
	return &net.OpError{Op: "dial", Net: "tcp", Err: errors.New(text)}
}

func redirect(to string) *http.Response {
	return &http.Response{StatusCode: http.StatusFound, Header: http.Header{"Location": {to}}}
}

// fetchScripted fetches one file in fake time and returns how long it took.
func fetchScripted(t *testing.T, f script) (time.Duration, error) {
	t.Helper()
	root, err := os.OpenRoot(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	defer root.Close()
	fe := &fetcher{
		servers: newServers(&http.Client{Transport: &scripted{f: f}, CheckRedirect: checkRedirect}, usualPace().stall),
		pace:    usualPace(), connections: 1, root: root,
		observer: silence{}, room: func(int64, int64) error { return nil },
	}
	begun := time.Now()
	_, err = fe.fetch(t.Context(), "part", []string{"http://example.org/file"}, want{})
	return time.Since(begun), err
}

func TestAttemptsAreSpacedOut(t *testing.T) {
	for name, c := range map[string]struct {
		script      script
		least, most time.Duration
		wrong       string
	}{
		"a server that comes back after three errors": {
			func(n int, _ *http.Request) (*http.Response, error) {
				if n <= 3 {
					return &http.Response{StatusCode: http.StatusServiceUnavailable}, nil
				}
				return everything([]byte("data")), nil
			}, 12 * time.Second, 16 * time.Second, ""},
		"a server that names a time": {
			func(n int, _ *http.Request) (*http.Response, error) {
				if n == 1 {
					return &http.Response{StatusCode: http.StatusTooManyRequests, Header: http.Header{"Retry-After": {"60"}}}, nil
				}
				return everything([]byte("data")), nil
			}, time.Minute, time.Minute, ""},
		"a server that names an unreasonable time": {
			func(n int, _ *http.Request) (*http.Response, error) {
				if n == 1 {
					return &http.Response{StatusCode: http.StatusTooManyRequests, Header: http.Header{"Retry-After": {"86400"}}}, nil
				}
				return everything([]byte("data")), nil
			}, 2 * time.Minute, 2 * time.Minute, ""},
		"a network that goes down": {
			func(n int, _ *http.Request) (*http.Response, error) {
				if n == 1 {
					return &http.Response{StatusCode: http.StatusServiceUnavailable}, nil
				}
				return nil, dialError("no route to host")
			}, 50 * time.Second, 70 * time.Second, "given up after 6 attempts"},
		"a network that is down": {
			func(int, *http.Request) (*http.Response, error) { return nil, dialError("no route to host") },
			0, 0, "example.org cannot be reached (is there a network?): dial tcp: no route to host"},
		"a name that nobody knows": {
			func(int, *http.Request) (*http.Response, error) {
				return nil, &net.DNSError{Err: "no such host", Name: "example.org"}
			}, 0, 0, "example.org cannot be reached (is there a network?): lookup example.org: no such host"},
		"a proxy that refuses": {
			func(int, *http.Request) (*http.Response, error) {
				return nil, &net.OpError{Op: "proxyconnect", Net: "tcp", Err: errors.New("connection refused")}
			}, 0, 0, "cannot be reached"},
		"a certificate that is none": {
			func(int, *http.Request) (*http.Response, error) {
				return nil, &tls.CertificateVerificationError{Err: errors.New("unknown authority")}
			}, 0, 0, "unknown authority"},
		"a redirect loop": {
			func(int, *http.Request) (*http.Response, error) { return redirect("http://example.org/file"), nil },
			0, 0, "it leads in circles"},
		"a redirect to a file": {
			func(int, *http.Request) (*http.Response, error) { return redirect("file:///etc/passwd"), nil },
			0, 0, "it leads to file:///etc/passwd, which is not an address of http or https"},
		"a refusal": {
			func(int, *http.Request) (*http.Response, error) {
				return &http.Response{StatusCode: http.StatusForbidden}, nil
			}, 0, 0, "403"},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				took, err := fetchScripted(t, c.script)
				if c.wrong == "" && err != nil || c.wrong != "" && (err == nil || !strings.Contains(err.Error(), c.wrong)) {
					t.Errorf("fetch = %v, want %q", err, c.wrong)
				}
				if took < c.least || took > c.most {
					t.Errorf("it took %v, want %v to %v", took, c.least, c.most)
				}
			})
		})
	}
}

// A stuck body gives some bytes and then nothing until it is closed.
type stuck struct {
	io.Reader
	closed chan struct{}
}

func (s *stuck) Read(p []byte) (int, error) {
	if n, err := s.Reader.Read(p); n > 0 || err != io.EOF {
		return n, err
	}
	<-s.closed
	return 0, errors.New("closed")
}

func (s *stuck) Close() error {
	select {
	case <-s.closed:
	default:
		close(s.closed)
	}
	return nil
}

func TestAStalledConnectionIsGivenUpAndTheRestAskedFor(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		took, err := fetchScripted(t, func(n int, r *http.Request) (*http.Response, error) {
			var from, to int
			fmt.Sscanf(r.Header.Get("Range"), "bytes=%d-%d", &from, &to)
			resp := &http.Response{
				StatusCode: http.StatusPartialContent, ContentLength: int64(1000 - from),
				Header: http.Header{"Content-Range": {fmt.Sprintf("bytes %d-999/1000", from)}},
			}
			if n == 1 {
				resp.Body = &stuck{strings.NewReader(strings.Repeat("a", 600)), make(chan struct{})}
			} else {
				if from != 600 {
					t.Errorf("byte %d is asked for, want 600", from)
				}
				resp.Body = io.NopCloser(strings.NewReader(strings.Repeat("b", 400)))
			}
			return resp, nil
		})
		if err != nil {
			t.Fatal(err)
		}
		if took < 30*time.Second || took > 34*time.Second {
			t.Errorf("it took %v, want half a minute and a pause", took)
		}
	})
}

// A dripping body gives a burst at once, and then some bytes at intervals, until it is at its end or closed.
type dripping struct {
	burst, drop, left int
	every             time.Duration
	closed            chan struct{}
}

func (d *dripping) Read(p []byte) (int, error) {
	n := min(d.burst, len(p))
	if d.burst -= n; n == 0 {
		select {
		case <-d.closed:
			return 0, errors.New("closed")
		case <-time.After(d.every):
			n = min(d.drop, d.left, len(p))
		}
	}
	if d.left -= n; n == 0 {
		return 0, io.EOF
	}
	return n, nil
}

func (d *dripping) Close() error { return (&stuck{closed: d.closed}).Close() }

// drip fetches a file of a size of which a server sends a drop at intervals, in each answer anew.
func drip(t *testing.T, size, drop int, every time.Duration) (asked int, took time.Duration, err error) {
	t.Helper()
	took, err = fetchScripted(t, func(n int, r *http.Request) (*http.Response, error) {
		asked = n
		var from, to int
		fmt.Sscanf(r.Header.Get("Range"), "bytes=%d-%d", &from, &to)
		burst := 0
		if from == 0 {
			burst = 1000 // so that the answer looks like the file
		}
		return &http.Response{
			StatusCode: http.StatusPartialContent, ContentLength: int64(size - from), Body: &dripping{burst, drop, size - from, every, make(chan struct{})},
			Header: http.Header{"Content-Range": {fmt.Sprintf("bytes %d-%d/%d", from, size-1, size)}},
		}, nil
	})
	return asked, took, err
}

func TestAServerThatOnlyDripsIsGivenUp(t *testing.T) {
	for _, c := range []struct {
		name  string
		drop  int
		every time.Duration
		want  string
	}{
		{"a byte a second", 1, 1100 * time.Millisecond, "http://example.org/file: only 27 bytes came in 30s"},
		{"some bytes, less often", 900, 11 * time.Second, "http://example.org/file: only 1800 bytes came in 30s"},
	} {
		synctest.Test(t, func(t *testing.T) {
			asked, took, err := drip(t, 1<<20, c.drop, c.every)
			if err == nil || !strings.Contains(err.Error(), "given up after 6 attempts: "+c.want) {
				t.Errorf("%s: %v, want %s", c.name, err, c.want)
			}
			if asked != 6 || took < 3*time.Minute || took > 5*time.Minute {
				t.Errorf("%s: it was asked %d times in %v", c.name, asked, took)
			}
		})
	}
}

func TestASlowServerIsWaitedFor(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		// 512 bytes a second: 1 MiB takes half an hour.
		asked, took, err := drip(t, 1000+2000*512, 512, time.Second)
		if err != nil || asked != 1 || took < 2000*time.Second || took > 2002*time.Second {
			t.Errorf("%v, asked %d times in %v", err, asked, took)
		}
	})
}

func TestABodyThatNeverBeginsIsGivenUp(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		_, err := fetchScripted(t, func(int, *http.Request) (*http.Response, error) {
			body := &stuck{strings.NewReader("abc"), make(chan struct{})}
			return &http.Response{StatusCode: http.StatusOK, ContentLength: 600, Body: body}, nil
		})
		if err == nil || !strings.Contains(err.Error(), "http://example.org/file: nothing came for 30s") {
			t.Errorf("fetch = %v, want that nothing came", err)
		}
	})
}

func TestWaitingEndsWithTheContext(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		stop := errors.New("stop")
		ctx, cancel := context.WithCancelCause(t.Context())
		time.AfterFunc(time.Second, func() { cancel(stop) })
		begun := time.Now()
		err := usualPace().retry(ctx, func(string) {}, func() (bool, error) { return false, errors.New("broke off") })
		if !errors.Is(err, stop) || time.Since(begun) != time.Second {
			t.Errorf("retry = %v after %v, want %v after 1s", err, time.Since(begun), stop)
		}
	})
}

func TestWhoGetsOnIsNotGivenUp(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n := 0
		err := usualPace().retry(t.Context(), func(string) {}, func() (bool, error) {
			if n++; n == 50 {
				return true, nil
			}
			return n%5 == 0, errors.New("broke off")
		})
		if err != nil || n != 50 {
			t.Errorf("retry = %v after %d attempts, want 50", err, n)
		}
	})
}
