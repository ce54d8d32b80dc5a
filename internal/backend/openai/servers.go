package openai

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"net/url"
	"os"
	"strings"
	"sync"
	"time"

	"github.com/mlperf-go/mlperf/internal/backend"
	"github.com/mlperf-go/mlperf/internal/backend/credentials"
	"github.com/mlperf-go/mlperf/internal/userinput"
)

// servers are the servers that answer prompts, and the HTTP client that reaches them.
type servers struct {
	client  *http.Client
	key     *string // behind a pointer, which is all that %v shows of it; nil: none
	keyFrom string  // where the key is from; empty: there is none
	extras  extras
	list    []*server

	mu sync.Mutex // over the counts of the servers
}

// A server has an address, and counts since the last reset.
type server struct {
	url   string // as results show it
	root  string // what the routes are behind, e.g. http://host/v1
	route string // Chat or Completions if the address ends in that route
	proxy string // which the environment puts before it, without its password

	requests       int64
	outstanding    int
	maxOutstanding int
}

const (
	completionsRoute = "/completions"
	chatRoute        = "/chat/completions"
	modelsRoute      = "/models"
)

// idleTimeout is how long an idle connection is kept. A request on a connection that the server closes at that
// moment fails: uvicorn, which most servers run on, closes them after 5 s.
const idleTimeout = 4 * time.Second

// openServers reads the files that the configuration names. It connects to nothing.
func openServers(c Config) (*servers, error) {
	s := &servers{}
	var err error
	if s.list, err = parseURLs(c.URLs); err != nil {
		return nil, err
	}
	if s.key, s.keyFrom, err = readKey(c.TokenFile, c.TokenEnv); err != nil {
		return nil, err
	}
	if s.extras, err = c.Extras.read(); err != nil {
		return nil, err
	}
	config, err := c.TLS.Client()
	if err != nil {
		return nil, err
	}
	dial := c.Dial
	if dial == nil {
		dial = backend.Dialer().DialContext
	}
	s.client = &http.Client{CheckRedirect: s.redirect, Transport: &http.Transport{
		Proxy: http.ProxyFromEnvironment, DialContext: dial, TLSClientConfig: config, TLSHandshakeTimeout: backend.ConnectTimeout,
		MaxIdleConnsPerHost: 1 << 20, IdleConnTimeout: idleTimeout, DisableCompression: true,
	}}
	return s, nil
}

// parseURLs reads the addresses of servers.
func parseURLs(texts []string) ([]*server, error) {
	if len(texts) == 0 {
		return nil, userinput.Missing("endpoint", "give the address of a server, http://HOST:PORT")
	}
	var list []*server
	seen := map[string]string{}
	for _, text := range texts {
		u, err := url.Parse(text)
		switch shown := credentials.Address(text); {
		case err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Hostname() == "":
			return nil, userinput.Errorf("endpoint", "%q is not an address, expected http://HOST:PORT or https://HOST", shown)
		case u.User != nil:
			return nil, userinput.Errorf("endpoint", "%s has a user or a password: put the key into a file", shown)
		case strings.ContainsAny(text, "?#"):
			return nil, userinput.Errorf("endpoint", "%s: must be an address without ? and #", shown)
		}
		u.Path, u.RawPath = strings.TrimRight(u.Path, "/"), strings.TrimRight(u.RawPath, "/")
		s := &server{url: u.String()}
		path, chat := strings.CutSuffix(u.EscapedPath(), chatRoute)
		path, completions := strings.CutSuffix(path, completionsRoute)
		path = strings.TrimSuffix(strings.TrimSuffix(path, "/"+Embeddings), "/"+Rerank)
		switch {
		case chat:
			s.route = Chat
		case completions:
			s.route = Completions
		}
		path = cmp.Or(path, "/v1")
		s.root = u.Scheme + "://" + u.Host + path
		same := strings.ToLower(u.Hostname()) + ":" + cmp.Or(u.Port(), map[string]string{"http": "80", "https": "443"}[u.Scheme]) + path
		if other := seen[same]; other != "" {
			return nil, userinput.Errorf("endpoint", "%s and %s are the same server, which would get twice the load of others: give each once", other, s.url)
		}
		seen[same] = s.url
		if proxy, err := http.ProxyFromEnvironment(&http.Request{URL: u}); err == nil && proxy != nil {
			s.proxy = proxy.Redacted()
		}
		list = append(list, s)
	}
	return list, nil
}

// readKey takes the key from the file, else from the first variable of the environment that has one.
func readKey(file string, variables []string) (key *string, from string, err error) {
	if file != "" {
		text, err := credentials.ReadKey(file)
		return &text, "the file " + file, err
	}
	for _, name := range variables {
		if text := strings.TrimSpace(os.Getenv(name)); text != "" {
			from = "the environment variable " + name
			return &text, from, credentials.CheckKey(text, from)
		}
	}
	return nil, "", nil
}

// setHeaders fills in the head of a request to one of the servers.
func (s *servers) setHeaders(h http.Header) {
	maps.Copy(h, s.extras.header)
	h.Set("Content-Type", "application/json")
	h.Set("Accept-Encoding", "identity")
	if s.key != nil {
		h.Set("Authorization", "Bearer "+*s.key)
	}
}

// redact takes the key, and what else is secret, out of the text of a server.
func (s *servers) redact(text string) string {
	for _, secret := range s.extras.secrets {
		text = credentials.Redact(text, secret)
	}
	if s.key == nil {
		return text
	}
	return credentials.Redact(text, *s.key)
}

// errRedirect marks redirections that are not followed.
var errRedirect = errors.New("the server redirects")

// redirect follows redirections that keep method and body. Another host gets no key; net/http keeps it for another port.
func (s *servers) redirect(next *http.Request, before []*http.Request) error {
	first := before[0]
	if next.URL.Host != first.URL.Host || next.URL.Scheme != first.URL.Scheme {
		next.Header.Del("Authorization")
		for name := range s.extras.header {
			next.Header.Del(name)
		}
	}
	switch {
	case next.Method != first.Method:
		return fmt.Errorf("%w to %s with a status that drops the prompt (not 307 or 308): give that address instead", errRedirect,
			s.redact(next.URL.Redacted()))
	case len(before) > 10: // as net/http
		return fmt.Errorf("%w more than 10 times", errRedirect)
	}
	return nil
}

// acquire chooses the server with the fewest outstanding requests, of equal ones that with fewer in all, and counts a
// request to it, which is outstanding until release.
func (s *servers) acquire() *server {
	s.mu.Lock()
	defer s.mu.Unlock()
	best := s.list[0]
	for _, other := range s.list[1:] {
		if other.outstanding < best.outstanding || other.outstanding == best.outstanding && other.requests < best.requests {
			best = other
		}
	}
	best.outstanding++
	best.requests++
	best.maxOutstanding = max(best.maxOutstanding, best.outstanding)
	return best
}

func (s *servers) release(server *server) {
	s.mu.Lock()
	server.outstanding--
	s.mu.Unlock()
}

// reset sets the counts back.
func (s *servers) reset() {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, server := range s.list {
		server.requests, server.maxOutstanding = 0, server.outstanding
	}
}
