package endpoint

import (
	"fmt"
	"net"
	"net/http"
	"net/url"
	"sync"
	"time"

	"github.com/mlperf-go/mlperf/internal/backend/credentials"
)

// Servers are the servers that answer, and the connections to them. Its methods may be called
// from several goroutines at once.
type Servers struct {
	client  *http.Client
	key     secret
	keyFrom string
	list    []*Server
	proxy   func(*http.Request) (*url.URL, error)

	mu sync.Mutex // over what is outstanding
}

// A Server is one of the servers.
type Server struct {
	base        *url.URL
	outstanding int
	most        int
	requests    int64
}

// URL is the address of a route: that of the server with a path behind it.
func (s *Server) URL(path string) string { return s.base.String() + path }

// Path is the path of the server's address as it is sent, without a slash at its end.
func (s *Server) Path() string { return s.base.EscapedPath() }

// String is the address of the server.
func (s *Server) String() string { return s.base.String() }

// idleTimeout is how long a connection is kept that nobody uses. Servers close theirs, too, and
// a request that meets that fails: uvicorn, which is before most of them, waits 5 s.
const idleTimeout = 4 * time.Second

// maxHeader is how much a server may say before its answer.
const maxHeader = 1 << 20

// Open reads the files that the options name. It connects to nothing.
func Open(o Options) (*Servers, error) {
	urls, err := parseURLs(o.URLs)
	if err != nil {
		return nil, err
	}
	s := &Servers{proxy: http.ProxyFromEnvironment}
	if s.key, s.keyFrom, err = readSecret(o.TokenFile, o.TokenEnv); err != nil {
		return nil, err
	}
	config, err := credentials.TLS{CA: o.CA, Cert: o.Cert, Key: o.Key}.Client()
	if err != nil {
		return nil, err
	}
	if o.ConnectTimeout == 0 {
		o.ConnectTimeout = DefaultConnectTimeout
	}
	if o.Dial == nil {
		o.Dial = (&net.Dialer{Timeout: o.ConnectTimeout, KeepAlive: 15 * time.Second}).DialContext
	}
	transport := &http.Transport{
		Proxy: s.proxy, DialContext: o.Dial, TLSClientConfig: config, TLSHandshakeTimeout: o.ConnectTimeout,
		MaxIdleConnsPerHost: 1 << 20, IdleConnTimeout: idleTimeout, DisableCompression: true,
		MaxResponseHeaderBytes: maxHeader,
	}
	s.client = &http.Client{Transport: transport, CheckRedirect: s.redirect}
	for _, u := range urls {
		s.list = append(s.list, &Server{base: u})
	}
	return s, nil
}

// HTTP is the client that reaches the servers. It follows redirections that keep the body.
func (s *Servers) HTTP() *http.Client { return s.client }

// Close closes the connections that are not in use.
func (s *Servers) Close() error {
	s.client.CloseIdleConnections()
	return nil
}

// List are the servers.
func (s *Servers) List() []*Server { return s.list }

func (s *Servers) proxyOf(server *Server) (*url.URL, error) {
	return s.proxy(&http.Request{URL: server.base})
}

// Proxy is what the environment puts before a server, without a password; empty: nothing.
func (s *Servers) Proxy(server *Server) string {
	proxy, err := s.proxyOf(server)
	if proxy == nil || err != nil { // of which the first request tells
		return ""
	}
	return proxy.Redacted()
}

// KeyFrom says in words where the key comes from; empty: there is none.
func (s *Servers) KeyFrom() string { return s.keyFrom }

// Authorize adds the key to the head of a request to one of the servers.
func (s *Servers) Authorize(h http.Header) {
	if key := s.key.value(); key != "" {
		h.Set("Authorization", "Bearer "+key)
	}
}

// Redact takes the key out of what a server says.
func (s *Servers) Redact(text string) string { return s.key.redact(text) }

// mostRedirects is how many redirections of a request are followed.
const mostRedirects = 3

// redirect follows redirections that keep method and body, and lets no key get to another host.
func (s *Servers) redirect(next *http.Request, before []*http.Request) error {
	first := before[0]
	if next.URL.Host != first.URL.Host || next.URL.Scheme != first.URL.Scheme {
		next.Header.Del("Authorization")
	}
	switch {
	case next.Method != first.Method:
		return fmt.Errorf("the server redirects to %s in a way that loses what was asked (want status 307 or 308): give that address instead", s.Redact(next.URL.Redacted()))
	case len(before) > mostRedirects:
		return fmt.Errorf("the server redirects more than %d times", mostRedirects)
	}
	return nil
}

// Acquire chooses the server with the fewest outstanding requests, of equal ones that which
// had fewer in all. It has one more until Release.
func (s *Servers) Acquire() *Server {
	s.mu.Lock()
	defer s.mu.Unlock()
	best := s.list[0]
	for _, server := range s.list[1:] {
		if server.outstanding < best.outstanding || server.outstanding == best.outstanding && server.requests < best.requests {
			best = server
		}
	}
	best.outstanding++
	best.requests++
	best.most = max(best.most, best.outstanding)
	return best
}

// Release says that a request is over.
func (s *Servers) Release(server *Server) {
	s.mu.Lock()
	server.outstanding--
	s.mu.Unlock()
}

// A Load is what a server had to do.
type Load struct {
	URL      string `json:"url"`
	Requests int64  `json:"requests"`
	Most     int    `json:"most_outstanding"`
}

// Loads says what each server had to do since Reset.
func (s *Servers) Loads() []Load {
	s.mu.Lock()
	defer s.mu.Unlock()
	var list []Load
	for _, server := range s.list {
		list = append(list, Load{server.String(), server.requests, server.most})
	}
	return list
}

// Reset begins to count anew.
func (s *Servers) Reset() {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, server := range s.list {
		server.requests, server.most = 0, server.outstanding
	}
}
