package download

import (
	"bytes"
	"context"
	"crypto/md5"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

// A server serves files, and misbehaves as told.
type server struct {
	*httptest.Server
	mu       sync.Mutex
	files    map[string][]byte
	etag     string
	requests atomic.Int64
	sent     atomic.Int64 // bytes of bodies

	// fault, if not nil, may answer in the place of the server; false: it did not.
	fault func(w http.ResponseWriter, r *http.Request, n int64) bool
}

func newServer(t testing.TB) *server {
	t.Helper()
	s := &server{files: map[string][]byte{}, etag: `"one"`}
	s.Server = httptest.NewServer(s)
	t.Cleanup(s.Close)
	return s
}

func (s *server) put(name string, data []byte) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.files[name] = data
}

// tag sets the ETag of all files.
func (s *server) tag(etag string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.etag = etag
}

// ServeHTTP implements http.Handler.
func (s *server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	n := s.requests.Add(1)
	w = &counting{w, &s.sent}
	if s.fault != nil && s.fault(w, r, n) {
		return
	}
	s.mu.Lock()
	data, ok := s.files[strings.TrimPrefix(r.URL.Path, "/")]
	if s.etag != "" {
		w.Header().Set("ETag", s.etag)
	}
	s.mu.Unlock()
	if !ok {
		http.NotFound(w, r)
		return
	}
	w.Header().Set("Content-Type", "application/octet-stream")
	http.ServeContent(w, r, "", time.Time{}, bytes.NewReader(data))
}

type counting struct {
	http.ResponseWriter
	n *atomic.Int64
}

// Write implements io.Writer.
func (c *counting) Write(p []byte) (int, error) {
	n, err := c.ResponseWriter.Write(p)
	c.n.Add(int64(n))
	return n, err
}

// Unwrap lets http.ResponseController hijack.
func (c *counting) Unwrap() http.ResponseWriter { return c.ResponseWriter }

// hijack answers with a head and a body of our own and closes the connection.
func hijack(t testing.TB, w http.ResponseWriter, head string, body []byte) {
	conn, buf, err := http.NewResponseController(w).Hijack()
	if err != nil {
		t.Error(err)
		return
	}
	defer conn.Close()
	fmt.Fprintf(buf, "HTTP/1.1 %s\r\nConnection: close\r\n\r\n", strings.ReplaceAll(head, "\n", "\r\n"))
	buf.Write(body)
	buf.Flush()
}

// rangeOf returns the first byte that is asked for.
func rangeOf(r *http.Request) (from int) {
	fmt.Sscanf(r.Header.Get("Range"), "bytes=%d-", &from)
	return from
}

// randomBytes are bytes that do not repeat.
func randomBytes(n int) []byte {
	b := make([]byte, n)
	rand.NewChaCha8([32]byte{1}).Read(b)
	return b
}

func md5Of(b []byte) string    { s := md5.Sum(b); return hex.EncodeToString(s[:]) }
func sha256Of(b []byte) string { s := sha256.Sum256(b); return hex.EncodeToString(s[:]) }

// notes is an Observer that remembers lines.
type notes struct {
	silence
	mu      sync.Mutex
	lines   []string
	onBytes func(done, of int64)
	onPhase func(name string)
}

func (n *notes) Phase(name string) {
	if n.onPhase != nil {
		n.onPhase(name)
	}
}

func (n *notes) Bytes(done, of int64) {
	if n.onBytes != nil {
		n.onBytes(done, of)
	}
}

func (n *notes) Note(text string) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.lines = append(n.lines, text)
}

func (n *notes) has(part string) bool {
	n.mu.Lock()
	defer n.mu.Unlock()
	return strings.Contains(strings.Join(n.lines, "\n"), part)
}

// options are those of a download into a fresh folder.
func options(t *testing.T) (Options, *notes) {
	n := &notes{}
	hasty := retryPolicy{attempts: 3, pause: time.Microsecond, maxPause: time.Microsecond, stall: 10 * time.Second}
	return Options{Dir: filepath.Join(t.TempDir(), "item"), Observer: n, retries: hasty}, n
}

// model is an item of some files.
func model(files ...File) Item { return Item{Kind: Model, Name: "m", Title: "M", Files: files} }

// mustGet downloads what has to succeed.
func mustGet(t *testing.T, it Item, o Options) Result {
	t.Helper()
	got, err := Get(t.Context(), it, o)
	must(t, err)
	return got
}

// wantError downloads what has to fail with a text.
func wantError(t *testing.T, it Item, o Options, want string) {
	t.Helper()
	if _, err := Get(t.Context(), it, o); err == nil || !strings.Contains(err.Error(), want) {
		t.Errorf("Get = %v, want %q", err, want)
	}
}

// interrupt downloads and cancels once so many bytes have come.
func interrupt(t *testing.T, it Item, o Options, after int64) {
	t.Helper()
	ctx, cancel := context.WithCancelCause(t.Context())
	stop := errors.New("interrupted")
	o.Observer = &notes{onBytes: func(done, _ int64) {
		if done >= after {
			cancel(stop)
		}
	}}
	if _, err := Get(ctx, it, o); !errors.Is(err, stop) {
		t.Fatalf("Get = %v, want %v", err, stop)
	}
}

// wantFile compares a file below the folder of a download.
func wantFile(t *testing.T, o Options, name string, want []byte) {
	t.Helper()
	got, err := os.ReadFile(filepath.Join(o.Dir, name))
	must(t, err)
	if !bytes.Equal(got, want) {
		t.Errorf("%s has %d bytes that differ from the %d that are wanted", name, len(got), len(want))
	}
}

// wantOnly checks which entries a folder has.
func wantOnly(t *testing.T, dir string, names ...string) {
	t.Helper()
	entries, err := os.ReadDir(dir)
	must(t, err)
	var got []string
	for _, e := range entries {
		got = append(got, e.Name())
	}
	if strings.Join(got, " ") != strings.Join(names, " ") {
		t.Errorf("%s has %q, want %q", dir, got, names)
	}
}

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// put writes a file below a folder.
func put(t *testing.T, dir, name, text string) string {
	t.Helper()
	path := filepath.Join(dir, filepath.FromSlash(name))
	must(t, os.MkdirAll(filepath.Dir(path), 0o755))
	must(t, os.WriteFile(path, []byte(text), 0o644))
	return path
}
