package endpoint

import (
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
)

const token = "geheim+0123/456="

// keyed are servers of an address, with a key.
func keyed(t *testing.T, o Options) *Servers {
	t.Helper()
	o.TokenFile = write(t, "key", token)
	s, err := Open(o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	return s
}

// ask sends a prompt with the key, and returns what comes back.
func ask(t *testing.T, s *Servers, url string) (status int, text string, err error) {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, url, strings.NewReader("a prompt"))
	if err != nil {
		t.Fatal(err)
	}
	s.Authorize(r.Header)
	a, err := s.HTTP().Do(r)
	if err != nil {
		return 0, "", err
	}
	defer a.Body.Close()
	all, err := io.ReadAll(a.Body)
	return a.StatusCode, string(all), err
}

// A key is for the host that it was given for, and a redirection must not change what is asked.
func TestRedirectionsKeepTheRequestAndNotTheKey(t *testing.T) {
	show := func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		fmt.Fprintf(w, "%s %s, key %q", r.Method, body, r.Header.Get("Authorization"))
	}
	other := httptest.NewServer(http.HandlerFunc(show))
	defer other.Close()
	_, port, _ := net.SplitHostPort(other.Listener.Addr().String())
	turns := 0
	mux := http.NewServeMux()
	mux.HandleFunc("/here", show)
	for path, to := range map[string]string{"/same": "/here", "/away": other.URL, "/name": "http://localhost:" + port, "/twice": "/away"} {
		mux.Handle(path, http.RedirectHandler(to, http.StatusTemporaryRedirect))
	}
	mux.Handle("/moved", http.RedirectHandler("/here", http.StatusPermanentRedirect))
	mux.HandleFunc("/found", func(w http.ResponseWriter, r *http.Request) {
		http.Redirect(w, r, "/here?key=geheim%2B0123%2F456%3D", http.StatusFound)
	})
	mux.HandleFunc("/round", func(w http.ResponseWriter, r *http.Request) {
		turns++
		http.Redirect(w, r, "/round", http.StatusTemporaryRedirect)
	})
	server := httptest.NewServer(mux)
	defer server.Close()
	s := keyed(t, Options{URLs: []string{server.URL}})
	with, without := fmt.Sprintf("POST a prompt, key %q", "Bearer "+token), `POST a prompt, key ""`
	for path, want := range map[string]string{"/here": with, "/same": with, "/moved": with, "/away": without, "/name": without, "/twice": without} {
		if status, text, err := ask(t, s, server.URL+path); err != nil || status != 200 || text != want {
			t.Errorf("%s: %d %s, %v, want %s", path, status, text, err, want)
		}
	}
	for path, want := range map[string]string{"/found": "in a way that loses what was asked (want status 307 or 308)", "/round": "redirects more than 3 times"} {
		if _, text, err := ask(t, s, server.URL+path); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %s, %v, want %q", path, text, err, want)
		}
	}
	if turns != mostRedirects+1 {
		t.Errorf("%d requests were sent, want one and %d redirections", turns, mostRedirects)
	}
}

func TestARefusedRedirectionDoesNotShowTheKey(t *testing.T) {
	s := keyed(t, Options{URLs: []string{"http://host"}})
	first := httptest.NewRequest(http.MethodPost, "http://host/", nil)
	next := httptest.NewRequest(http.MethodGet, "http://me:password@host/?key=geheim%2B0123%2F456%3D", nil)
	err := s.redirect(next, []*http.Request{first})
	if err == nil || strings.Contains(err.Error(), "geheim") || strings.Contains(err.Error(), "password") || !strings.Contains(err.Error(), "http://me:xxxxx@host/?key=[key]") {
		t.Errorf("%v", err)
	}
}

func TestWhatAServerSaysBeforeItsAnswerIsBounded(t *testing.T) {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("X-Long", strings.Repeat("x", 2*maxHeader))
	}))
	defer server.Close()
	s := keyed(t, Options{URLs: []string{server.URL}})
	if _, _, err := ask(t, s, server.URL); err == nil || !strings.Contains(err.Error(), "exceeded") {
		t.Errorf("a header of 2 MiB: %v", err)
	}
}

func TestEveryRequestIsCountedOnceHoweverManyAskTogether(t *testing.T) {
	s := keyed(t, Options{URLs: []string{"http://a", "http://b", "http://c"}})
	const each, workers = 100, 9
	var group sync.WaitGroup
	for range workers {
		group.Go(func() {
			for range each {
				s.Release(s.Acquire())
			}
		})
	}
	group.Wait()
	sum := int64(0)
	for _, l := range s.Loads() {
		sum += l.Requests
		if l.Most < 1 || l.Most > workers {
			t.Errorf("%s had %d requests at once of %d", l.URL, l.Most, workers)
		}
	}
	if sum != each*workers {
		t.Errorf("%d requests are counted of %d", sum, each*workers)
	}
	kept := s.Acquire()
	s.Reset()
	for _, l := range s.Loads() {
		if want := (Load{URL: l.URL}); l.URL == kept.String() {
			if want.Most = 1; l != want {
				t.Errorf("after a reset the one under way is %+v", l)
			}
		} else if l != want {
			t.Errorf("after a reset %+v is left", l)
		}
	}
}

func TestConnectionsAreUsedAgain(t *testing.T) {
	var mu sync.Mutex
	connections := 0
	server := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("Accept-Encoding") != "" {
			t.Errorf("%q was asked for", r.Header.Get("Accept-Encoding"))
		}
		fmt.Fprint(w, "ok")
	}))
	server.Config.ConnState = func(_ net.Conn, s http.ConnState) {
		mu.Lock()
		defer mu.Unlock()
		if s == http.StateNew {
			connections++
		}
	}
	server.Start()
	defer server.Close()
	s := keyed(t, Options{URLs: []string{server.URL}})
	for range 5 {
		if _, _, err := ask(t, s, server.URL); err != nil {
			t.Fatal(err)
		}
	}
	mu.Lock()
	defer mu.Unlock()
	if connections != 1 {
		t.Errorf("%d connections were made for 5 requests one after the other", connections)
	}
}
