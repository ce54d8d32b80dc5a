package download

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"
)

const big = 2 << 20 // several reads, so that an interruption leaves a part

// After Ctrl-C the next run asks for the rest alone, if the file at the server is the same or a checksum will tell.
func TestGetResumes(t *testing.T) {
	old, other := randomBytes(big), randomBytes(2 * big)[big:]
	for name, c := range map[string]struct {
		file    File
		etag    string                  // at first
		between func(s, mirror *server) // what happens between the runs
		want    []byte
		resumes bool
		note    string
	}{
		"the same file":                    {File{}, `"one"`, func(*server, *server) {}, old, true, ""},
		"another version":                  {File{}, `"one"`, func(s, _ *server) { s.tag(`"two"`); s.put("m.onnx", other) }, other, false, ""},
		"a shorter version":                {File{}, `"one"`, func(s, _ *server) { s.tag(`"two"`); s.put("m.onnx", other[:10]) }, other[:10], false, ""},
		"no ETag any more":                 {File{}, `"one"`, func(s, _ *server) { s.tag(""); s.put("m.onnx", other) }, other, false, ""},
		"no ETag":                          {File{}, "", func(*server, *server) {}, old, false, ""},
		"a weak ETag":                      {File{}, `W/"one"`, func(s, _ *server) { s.put("m.onnx", other) }, other, false, ""},
		"no ETag, but a checksum":          {File{SHA256: sha256Of(old)}, "", func(*server, *server) {}, old, true, ""},
		"another server":                   {File{}, `"one"`, func(s, _ *server) { s.put("m.onnx", nil); s.Close() }, old, false, ""},
		"another server, and a checksum":   {File{MD5: md5Of(old)}, `"one"`, func(s, _ *server) { s.Close() }, old, true, ""},
		"a part that was not of this file": {File{MD5: md5Of(other)}, "", func(s, m *server) { s.put("m.onnx", other); m.put("m.onnx", other) }, other, false, "fetching all of it again"},
	} {
		t.Run(name, func(t *testing.T) {
			s, mirror := newServer(t), newServer(t)
			s.put("m.onnx", old)
			mirror.put("m.onnx", old)
			s.tag(c.etag)
			c.file.Name, c.file.URLs = "m.onnx", []string{s.URL + "/m.onnx", mirror.URL + "/m.onnx"}
			it := model(c.file)
			o, n := options(t)
			interrupt(t, it, o, big/2)
			wantOnly(t, o.Dir, stateDir)
			c.between(s, mirror)
			s.sent.Store(0)
			mustGet(t, it, o)
			wantFile(t, o, "m.onnx", c.want)
			if sent := s.sent.Load() + mirror.sent.Load(); (sent < int64(len(c.want))) != c.resumes {
				t.Errorf("%d bytes were sent of %d, want the rest alone: %v", sent, len(c.want), c.resumes)
			}
			if !n.has(c.note) {
				t.Errorf("notes %q, want %q", n.lines, c.note)
			}
			wantOnly(t, filepath.Join(o.Dir, stateDir), "SHA256SUMS", "lock", "receipt.json")
		})
	}
}

// chaos answers every other request as drawn from a seed: it breaks off, refuses, closes the connection, sends the whole file, or
// another range than was asked for, or other bytes, or has another version from then on.
func chaos(t *testing.T, s *server, data []byte, seed uint64, poison bool) {
	draw := rand.New(rand.NewPCG(seed, 1))
	var version atomic.Int64
	s.fault = func(w http.ResponseWriter, r *http.Request, n int64) bool {
		from := rangeOf(r)
		if v := r.Header.Get("If-Range"); v != "" && v != fmt.Sprintf(`"%d"`, version.Load()) {
			from = 0
		}
		head := func(from int) string {
			head := fmt.Sprintf("ETag: \"%d\"\nContent-Length: %d", version.Load(), len(data)-from)
			if from > 0 {
				return fmt.Sprintf("206 Partial Content\nContent-Range: bytes %d-%d/%d\n", from, len(data)-1, len(data)) + head
			}
			return "200 OK\n" + head
		}
		body := data[from:]
		mood := draw.IntN(7)
		if n%2 == 0 || mood == 5 && !poison {
			mood = -1
		}
		switch mood {
		case 0:
			hijack(t, w, head(from), body[:len(body)/2])
		case 1:
			hijack(t, w, "503 Service Unavailable\nContent-Length: 0", nil)
		case 2:
			hijack(t, w, "", nil)
		case 3:
			hijack(t, w, head(0), data)
		case 4:
			hijack(t, w, head(min(from+1, len(data)-1)), data[min(from+1, len(data)-1):])
		case 5:
			hijack(t, w, head(from), bytes.Repeat([]byte{7}, len(body)))
		default:
			if mood == 6 {
				version.Add(1)
			}
			hijack(t, w, head(from), body)
		}
		return true
	}
}

// Whatever servers do, a file has its name only if it is right; and if the same is tried again and again, it comes.
func TestGetSurvivesChaos(t *testing.T) {
	data := randomBytes(7321)
	for _, file := range []File{{MD5: md5Of(data)}, {Size: int64(len(data))}} {
		for seed := range uint64(12) {
			s := newServer(t)
			chaos(t, s, data, seed, file.hasChecksum())
			file.Name, file.URLs = "m.onnx", []string{s.URL + "/m.onnx"}
			o, _ := options(t)
			var err error
			for range 40 {
				if _, err = Get(t.Context(), model(file), o); err == nil {
					break
				}
				wantOnly(t, o.Dir, stateDir)
			}
			must(t, err)
			wantFile(t, o, "m.onnx", data)
		}
	}
}

// Servers that lie leave no file, and the error names the address and what came instead.
func TestGetRefusesLies(t *testing.T) {
	data := randomBytes(3000)
	page := "<!DOCTYPE html>\n<html><head><title>Sign in &amp; agree</title></head><body></body></html>"
	answer := func(head, body string) func(http.ResponseWriter, *http.Request) {
		return func(w http.ResponseWriter, _ *http.Request) { hijack(t, w, head, []byte(body)) }
	}
	for name, c := range map[string]struct {
		fault func(w http.ResponseWriter, r *http.Request)
		file  File
		want  string
	}{
		"an HTML page": {answer("200 OK\nContent-Type: application/octet-stream", page), File{}, `/m.onnx answers with an HTML page ("Sign in & agree") instead of the file`},
		"a login page after a redirect": {func(w http.ResponseWriter, r *http.Request) {
			if r.URL.Path == "/login" {
				fmt.Fprint(w, page)
			} else {
				http.Redirect(w, r, "/login", http.StatusFound)
			}
		}, File{}, "/login, which answers with an HTML page"},
		"a page without a title":     {answer("200 OK\nContent-Type: text/html", "\xef\xbb\xbf\r\n<p>no</p>"), File{}, "an HTML page"},
		"a Git LFS pointer":          {answer("200 OK", "version https://git-lfs.github.com/spec/v1\noid sha256:12\nsize 12\n"), File{}, "Git LFS pointer"},
		"an error message in XML":    {answer("200 OK", `<?xml version="1.0"?><Error><Code>AccessDenied</Code></Error>`), File{}, "XML error"},
		"another MD5":                {nil, File{MD5: md5Of(nil)}, "has MD5 " + md5Of(data) + ", expected " + md5Of(nil)},
		"another SHA-256":            {nil, File{SHA256: sha256Of(nil)}, "has SHA-256"},
		"another size":               {nil, File{Size: 3001}, "has 3000 bytes there, expected 3001"},
		"another size, not told":     {answer("200 OK", string(data)), File{Size: 3001}, "has 3000 bytes, expected 3001"},
		"nothing":                    {answer("200 OK", ""), File{}, "the answer is empty"},
		"a body that is cut always":  {answer("200 OK\nContent-Length: 3000", ""), File{}, "given up after 3 attempts"},
		"a refusal":                  {answer("403 Forbidden", ""), File{}, "answers 403 Forbidden: it wants a login"},
		"a missing file":             {answer("404 Not Found", ""), File{}, "answers 404 Not Found: the file was removed"},
		"a server in trouble":        {answer("502 Bad Gateway\nContent-Length: 0", ""), File{}, "given up after 3 attempts: "},
		"an answer that is not HTTP": {answer("nonsense", ""), File{}, "malformed HTTP"},
	} {
		t.Run(name, func(t *testing.T) {
			s := newServer(t)
			s.put("m.onnx", data)
			if c.fault != nil {
				s.fault = func(w http.ResponseWriter, r *http.Request, _ int64) bool { c.fault(w, r); return true }
			}
			c.file.Name = "m.onnx"
			o, n := options(t)
			o.Mirror, o.MirrorOnly = strings.Replace(s.URL, "http://", "http://me:hidden@", 1), true
			_, err := Get(t.Context(), model(c.file), o)
			if err == nil || !strings.Contains(err.Error(), c.want) || !strings.Contains(err.Error(), s.Listener.Addr().String()) {
				t.Errorf("Get = %v, want %q about %s", err, c.want, s.URL)
			}
			if strings.Contains(fmt.Sprint(err, n.lines), "hidden") {
				t.Errorf("the password is shown: %v, notes %q", err, n.lines)
			}
			wantOnly(t, o.Dir, stateDir)
		})
	}
}

func TestGetTriesOtherAddresses(t *testing.T) {
	data := randomBytes(3000)
	bad, good := newServer(t), newServer(t)
	bad.put("m.onnx", []byte(strings.Repeat("x", len(data))))
	good.put("m.onnx", data)
	o, n := options(t)
	mustGet(t, model(File{Name: "m.onnx", URLs: []string{bad.URL + "/m.onnx", good.URL + "/m.onnx"}, SHA256: sha256Of(data)}), o)
	wantFile(t, o, "m.onnx", data)
	if !n.has("SHA-256") || !n.has("trying "+good.URL) {
		t.Errorf("notes: %q", n.lines)
	}
	// An error of the disk does not lead to another server.
	o, _ = options(t)
	o.free = func(string) (uint64, error) { return 2999, nil }
	before := good.requests.Load()
	wantError(t, model(File{Name: "m.onnx", URLs: []string{bad.URL + "/m.onnx", good.URL + "/m.onnx"}}), o, "needs 3.00 kB more, 3.00 kB are free there")
	if good.requests.Load() != before {
		t.Error("the second server was asked")
	}
}

func TestSources(t *testing.T) {
	f := File{Name: "dir/a b.bin", URLs: []string{"http://1/a", "http://2/a"}}
	closed := f
	closed.Registration = true
	for _, c := range []struct {
		o    Options
		file File
		want []string
	}{
		{Options{}, f, []string{"http://1/a", "http://2/a"}},
		{Options{Mirror: "http://m/x/"}, f, []string{"http://m/x/a%20b.bin", "http://1/a", "http://2/a"}},
		{Options{Mirror: "http://m", MirrorOnly: true}, f, []string{"http://m/a%20b.bin"}},
		{Options{}, closed, nil},
		{Options{Mirror: "http://m"}, closed, []string{"http://m/a%20b.bin"}},
	} {
		if got := c.o.Sources(c.file); !slices.Equal(got, c.want) {
			t.Errorf("%+v: %q, want %q", c.o, got, c.want)
		}
	}
}

func TestGetTakesEmptyFiles(t *testing.T) {
	s := newServer(t)
	s.put("empty.txt", nil)
	o, _ := options(t)
	mustGet(t, model(File{Name: "empty.txt", URLs: []string{s.URL + "/empty.txt"}}), o)
	wantFile(t, o, "empty.txt", nil)
}

// A password and a signature go to their server alone, and into no file.
func TestGetKeepsSecrets(t *testing.T) {
	data := randomBytes(big)
	other, mirror := newServer(t), newServer(t)
	other.put("m.onnx", data)
	other.fault = func(_ http.ResponseWriter, r *http.Request, _ int64) bool {
		if _, _, has := r.BasicAuth(); has {
			t.Errorf("the other server gets %v", r.Header)
		}
		return false
	}
	mirror.fault = func(w http.ResponseWriter, r *http.Request, _ int64) bool {
		if user, password, _ := r.BasicAuth(); user != "me" || password != "hidden" {
			t.Error("the mirror is not told who asks")
		}
		// Another host, not only another port, for which net/http keeps credentials.
		http.Redirect(w, r, strings.Replace(other.URL, "127.0.0.1", "localhost", 1)+"/m.onnx?signature=hidden", http.StatusFound)
		return true
	}
	o, _ := options(t)
	o.Mirror, o.MirrorOnly = strings.Replace(mirror.URL, "http://", "http://me:hidden@", 1), true
	interrupt(t, model(File{Name: "m.onnx"}), o, big/2)
	must(t, filepath.WalkDir(filepath.Join(o.Dir, stateDir), func(path string, d os.DirEntry, err error) error {
		if data, _ := os.ReadFile(path); bytes.Contains(data, []byte("hidden")) {
			t.Errorf("%s has the password", path)
		}
		return err
	}))
}

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

// silent is a body that gives some bytes and then nothing until the request ends.
type silent struct {
	io.Reader
	r *http.Request
}

func (s silent) Read(p []byte) (int, error) {
	if n, err := s.Reader.Read(p); n > 0 || err != io.EOF {
		return n, err
	}
	<-s.r.Context().Done()
	return 0, s.r.Context().Err()
}

func TestAttemptsAreSpacedOut(t *testing.T) {
	whole := &http.Response{StatusCode: http.StatusOK, ContentLength: 4, Body: io.NopCloser(strings.NewReader("data"))}
	after := func(first *http.Response, times int, err error) script {
		return func(n int, _ *http.Request) (*http.Response, error) {
			if n <= times {
				return first, nil
			}
			if err != nil {
				return nil, err
			}
			answer := *whole
			answer.Body = io.NopCloser(strings.NewReader("data"))
			return &answer, nil
		}
	}
	noRoute := &net.OpError{Op: "dial", Net: "tcp", Err: errors.New("no route to host")}
	wait := func(seconds string) *http.Response {
		return &http.Response{StatusCode: http.StatusTooManyRequests, Header: http.Header{"Retry-After": {seconds}}}
	}
	busy := &http.Response{StatusCode: http.StatusServiceUnavailable}
	for name, c := range map[string]struct {
		script      script
		least, most time.Duration
		wrong       string
	}{
		"a server that comes back":        {after(busy, 3, nil), 12 * time.Second, 16 * time.Second, ""},
		"a server that names a time":      {after(wait("60"), 1, nil), time.Minute, time.Minute, ""},
		"a server that names a long time": {after(wait("86400"), 1, nil), 2 * time.Minute, 2 * time.Minute, ""},
		"a network that goes down":        {after(busy, 1, noRoute), 50 * time.Second, 70 * time.Second, "given up after 6 attempts"},
		"a network that is down":          {after(nil, 0, noRoute), 0, 0, "example.org cannot be reached (is there a network?): dial tcp: no route to host"},
		"a name that is unknown":          {after(nil, 0, &net.DNSError{Err: "no such host", Name: "example.org"}), 0, 0, "example.org cannot be reached"},
		"a refusal":                       {after(&http.Response{StatusCode: http.StatusForbidden}, 9, nil), 0, 0, "403"},
		"a server that never says anything": {func(_ int, r *http.Request) (*http.Response, error) {
			<-r.Context().Done()
			return nil, r.Context().Err()
		}, 230 * time.Second, 270 * time.Second, "nothing came for 30s"},
		"a body that stops": {func(n int, r *http.Request) (*http.Response, error) {
			if n > 1 && rangeOf(r) != 600 {
				t.Errorf("byte %d is asked for, want 600", rangeOf(r))
			}
			if n > 1 {
				return &http.Response{StatusCode: http.StatusPartialContent, ContentLength: 400, Body: io.NopCloser(strings.NewReader(strings.Repeat("b", 400))), Header: http.Header{"Content-Range": {"bytes 600-999/1000"}}}, nil
			}
			return &http.Response{StatusCode: http.StatusOK, ContentLength: 1000, Body: io.NopCloser(silent{strings.NewReader(strings.Repeat("a", 600)), r}), Header: http.Header{"Etag": {`"1"`}}}, nil
		}, 31 * time.Second, 34 * time.Second, ""},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				o, _ := options(t)
				o.retries = defaultRetries()
				must(t, os.MkdirAll(filepath.Join(o.Dir, stateDir), 0o755))
				root, err := os.OpenRoot(o.Dir)
				must(t, err)
				defer root.Close()
				o.free = func(string) (uint64, error) { return 1 << 40, nil }
				j := &job{Options: o, root: root, heard: &sync.Map{}, client: &http.Client{Transport: &scripted{f: c.script}}}
				begun := time.Now()
				_, err = j.fetch(t.Context(), File{Name: "f", URLs: []string{"http://example.org/f"}}, inState("f"), func(int64, int64) {})
				if c.wrong == "" && err != nil || c.wrong != "" && (err == nil || !strings.Contains(err.Error(), c.wrong)) {
					t.Errorf("fetch = %v, want %q", err, c.wrong)
				}
				if took := time.Since(begun); took < c.least || took > c.most {
					t.Errorf("it took %v, want %v to %v", took, c.least, c.most)
				}
			})
		})
	}
}
