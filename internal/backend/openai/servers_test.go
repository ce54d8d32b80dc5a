package openai

import (
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/mlperf-go/mlperf/internal/backend/credentials"
	"github.com/mlperf-go/mlperf/internal/userinput"
)

const secret = "sk-very-secret+0123/456="

// keyFile is a file with the secret.
func keyFile(t *testing.T) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "key")
	if err := os.WriteFile(path, []byte(secret+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

func TestConfigurationIsChecked(t *testing.T) {
	urls := func(list ...string) Config { return Config{URLs: list} }
	good := urls("http://host")
	for name, c := range map[string]struct {
		config      Config
		field, want string
	}{
		"no address":        {Config{}, "endpoint", "give the address of a server"},
		"a word":            {urls("host"), "endpoint", "expected http://HOST:PORT"},
		"another protocol":  {urls("ftp://host"), "endpoint", "expected http://HOST:PORT"},
		"no host":           {urls("http://:8000"), "endpoint", "expected http://HOST:PORT"},
		"a password":        {urls("http://me:geheim@host"), "endpoint", "has a user or a password"},
		"a broken password": {urls("http://me:geheim%zz@host"), "endpoint", "is not an address"},
		"a query":           {urls("http://host?key=geheim"), "endpoint", "without ?"},
		"a fragment":        {urls("http://host#geheim"), "endpoint", "without ?"},
		"the second of two": {urls("http://host", "x"), "endpoint", `"x"`},
		"a server twice":    {urls("http://host", "http://HOST:80/v1/completions"), "endpoint", "http://host and http://HOST:80/v1/completions are the same server"},
		"no file of a key":  {Config{URLs: good.URLs, TokenFile: "/nowhere"}, "token_file", "no such file"},
		"no authorities":    {Config{URLs: good.URLs, TLS: credentials.TLS{CA: "/nowhere"}}, "tls_ca", "no such file"},
		"an unknown route":  {Config{URLs: good.URLs, Route: "talk"}, "route", "auto, chat, completions, embeddings or rerank"},
	} {
		_, err := New(c.config)
		var f *userinput.Error
		if !errors.As(err, &f) || f.Field != c.field || !strings.Contains(err.Error(), c.want) || strings.Contains(err.Error(), "geheim") {
			t.Errorf("%s: %v, want %s: %s", name, err, c.field, c.want)
		}
	}
}

func TestKeyOfTheFileComesBeforeTheEnvironment(t *testing.T) {
	t.Setenv("KEY_ONE", "")
	t.Setenv("KEY_TWO", "sk-very-secret-too")
	file := keyFile(t)
	for _, c := range []struct {
		config     Config
		from, sent string
	}{
		{Config{}, "", ""},
		{Config{TokenEnv: []string{"KEY_ONE"}}, "", ""},
		{Config{TokenEnv: []string{"KEY_ONE", "KEY_TWO"}}, "the environment variable KEY_TWO", "Bearer sk-very-secret-too"},
		{Config{TokenEnv: []string{"KEY_TWO"}, TokenFile: file}, "the file " + file, "Bearer " + secret},
	} {
		c.config.URLs = []string{"http://host"}
		s, err := openServers(c.config)
		if err != nil {
			t.Fatal(err)
		}
		h := http.Header{}
		if s.setHeaders(h); s.keyFrom != c.from || h.Get("Authorization") != c.sent {
			t.Errorf("%+v: from %q, sent %q", c.config, s.keyFrom, h.Get("Authorization"))
		}
		if text := fmt.Sprintf("%v %+v %#v", s, s, s); strings.Contains(text, "sk-very") {
			t.Errorf("the key is shown: %s", text)
		}
	}
}

func TestRoutesAreBehindTheAddress(t *testing.T) {
	for address, want := range map[string]server{
		"http://host/":                         {root: "http://host/v1"},
		"http://host/v1/":                      {root: "http://host/v1"},
		"http://host:8000/openai/v1":           {root: "http://host:8000/openai/v1"},
		"https://host/openai/chat/completions": {root: "https://host/openai", route: Chat},
		"https://host/openai/v1/completions":   {root: "https://host/openai/v1", route: Completions},
		"http://host/a%20b":                    {root: "http://host/a%20b"},
	} {
		list, err := parseURLs([]string{address})
		if err != nil {
			t.Fatal(err)
		}
		if got := list[0]; got.root != want.root || got.route != want.route {
			t.Errorf("%s: %q of route %q, want %q, %q", address, got.root, got.route, want.root, want.route)
		}
	}
}

func TestLeastOutstandingServerIsNext(t *testing.T) {
	s, err := openServers(Config{URLs: []string{"http://a", "http://b", "http://c"}})
	if err != nil {
		t.Fatal(err)
	}
	next := func() string { return s.acquire().url }
	if got := next() + next() + next(); got != "http://ahttp://bhttp://c" {
		t.Errorf("the first three go to %s", got)
	}
	s.release(s.list[1])
	if got := next(); got != "http://b" {
		t.Errorf("b is free, and %s is next", got)
	}
	if got := next(); got != "http://a" {
		t.Errorf("all have one, a and c had fewer: %s", got)
	}
	s.reset()
	s.release(s.list[0])
	if a, c := s.list[0], s.list[2]; a.requests != 0 || a.maxOutstanding != 2 || a.outstanding != 1 || c.maxOutstanding != 1 {
		t.Errorf("after a reset: %+v, %+v", a, c)
	}
}

// Another host gets no key, and a redirection does not change the request.
func TestRedirections(t *testing.T) {
	show := func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		fmt.Fprintf(w, "%s %s, key %q", r.Method, body, r.Header.Get("Authorization"))
	}
	other := httptest.NewServer(http.HandlerFunc(show))
	defer other.Close()
	mux := http.NewServeMux()
	mux.HandleFunc("/here", show)
	mux.Handle("/same", http.RedirectHandler("/here", http.StatusTemporaryRedirect))
	mux.Handle("/moved", http.RedirectHandler("/here", http.StatusPermanentRedirect))
	mux.Handle("/away", http.RedirectHandler(other.URL, http.StatusTemporaryRedirect)) // another port of the same host
	mux.Handle("/round", http.RedirectHandler("/round", http.StatusTemporaryRedirect))
	mux.HandleFunc("/found", func(w http.ResponseWriter, r *http.Request) {
		http.Redirect(w, r, "/here?key="+url.QueryEscape(secret), http.StatusFound)
	})
	var connections sync.Map
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		connections.Store(r.RemoteAddr, true)
		mux.ServeHTTP(w, r)
	}))
	defer server.Close()
	s, err := openServers(Config{URLs: []string{server.URL}, TokenFile: keyFile(t)})
	if err != nil {
		t.Fatal(err)
	}
	ask := func(path string) (string, error) {
		r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, server.URL+path, strings.NewReader("a prompt"))
		if err != nil {
			t.Fatal(err)
		}
		s.setHeaders(r.Header)
		a, err := s.client.Do(r)
		if err != nil {
			return "", err
		}
		defer a.Body.Close()
		text, err := io.ReadAll(a.Body)
		return string(text), err
	}
	with, without := fmt.Sprintf("POST a prompt, key %q", "Bearer "+secret), `POST a prompt, key ""`
	for path, want := range map[string]string{"/here": with, "/same": with, "/moved": with, "/away": without} {
		if got, err := ask(path); err != nil || got != want {
			t.Errorf("%s: %s, %v, want %s", path, got, err, want)
		}
	}
	n := 0
	connections.Range(func(any, any) bool { n++; return true })
	if n != 1 {
		t.Errorf("requests one after the other need %d connections, want 1", n)
	}
	for path, want := range map[string]string{"/found": "drops the prompt", "/round": "more than 10 times"} {
		if got, err := ask(path); !errors.Is(err, errRedirect) || !strings.Contains(err.Error(), want) || strings.Contains(s.redact(err.Error()), "0123") {
			t.Errorf("%s: %s, %v, want %q", path, got, err, want)
		}
	}
}
