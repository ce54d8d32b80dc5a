package download

import (
	"bytes"
	"crypto/md5"
	"crypto/sha256"
	"encoding/hex"
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
	atOnce   atomic.Int64
	most     atomic.Int64 // requests at a time

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

func (s *server) remove(name string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.files, name)
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
	now := s.atOnce.Add(1)
	defer s.atOnce.Add(-1)
	for most := s.most.Load(); now > most && !s.most.CompareAndSwap(most, now); most = s.most.Load() {
	}
	w = &counting{w, &s.sent}
	if s.fault != nil && s.fault(w, r, n) {
		return
	}
	s.mu.Lock()
	data, ok := s.files[strings.TrimPrefix(r.URL.Path, "/")]
	etag := s.etag
	s.mu.Unlock()
	if !ok {
		http.NotFound(w, r)
		return
	}
	if etag != "" {
		w.Header().Set("ETag", etag)
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

// rangeOf returns the range that is asked for.
func rangeOf(t testing.TB, r *http.Request) (from, to int) {
	if _, err := fmt.Sscanf(r.Header.Get("Range"), "bytes=%d-%d", &from, &to); err != nil {
		t.Errorf("range %q: %v", r.Header.Get("Range"), err)
	}
	return from, to
}

// randomBytes are bytes that no part of which occurs elsewhere.
func randomBytes(n int) []byte {
	b := make([]byte, n)
	c := rand.NewChaCha8([32]byte{1})
	c.Read(b)
	return b
}

func md5Of(b []byte) string    { s := md5.Sum(b); return hex.EncodeToString(s[:]) }
func sha256Of(b []byte) string { s := sha256.Sum256(b); return hex.EncodeToString(s[:]) }

// notes is an Observer that remembers what it is told.
type notes struct {
	mu      sync.Mutex
	lines   []string
	onBytes func(done, of int64)
}

func (n *notes) Phase(string)   {}
func (n *notes) Items(int, int) {}
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

const testChunk = 1000

// hasty is a pace for tests: small chunks, no pauses worth mentioning.
func hasty() pace {
	return pace{chunk: testChunk, attempts: 3, pause: time.Microsecond, maxPause: time.Microsecond, stall: 10 * time.Second}
}

// options are those of a download into a fresh folder.
func options(t *testing.T) (Options, *notes) {
	n := &notes{}
	return Options{Dir: filepath.Join(t.TempDir(), "item"), Observer: n, pace: hasty()}, n
}

// plainItem is a model of one file.
func plainItem(f File) (*Manifest, Item) {
	it := Item{Kind: Model, Name: "m", Title: "M", License: "l", Files: []File{f}}
	return manifestOf(it), it
}

func manifestOf(it Item) *Manifest {
	return &Manifest{
		Format: 1, Licenses: map[string]License{"l": {Name: "L", URL: "https://example.org", Summary: "s"}}, Items: []Item{it},
	}
}

// mustGet downloads what has to succeed.
func mustGet(t *testing.T, it Item, o Options) Result {
	t.Helper()
	got, err := Get(t.Context(), manifestOf(it), it, o)
	if err != nil {
		t.Fatal(err)
	}
	return got
}

// wantFile compares a file below the folder of a download.
func wantFile(t *testing.T, o Options, name string, want []byte) {
	t.Helper()
	got, err := os.ReadFile(filepath.Join(o.Dir, name))
	if err != nil {
		t.Error(err)
	} else if !bytes.Equal(got, want) {
		t.Errorf("%s has %d bytes that differ from the %d that are wanted", name, len(got), len(want))
	}
}

// wantNothing checks that a failed download left no file but in our own folder.
func wantNothing(t *testing.T, o Options) {
	t.Helper()
	entries, err := os.ReadDir(o.Dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		if e.Name() != stateDir {
			t.Errorf("%s was left", e.Name())
		}
	}
}
