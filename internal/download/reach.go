package download

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"sync"
	"time"

	"github.com/cenkalti/backoff/v5"
)

// An UnreachableError is a server with which there is no connection at all: its name is
// unknown, it refuses, or nobody answers. Where nothing was ever heard of a server,
// another attempt a moment later is not worth the wait.
type UnreachableError struct {
	Host string
	Err  error
}

// Error implements error.
func (e *UnreachableError) Error() string {
	return fmt.Sprintf("%s cannot be reached (is there a network?): %v", e.Host, e.Err)
}

// Unwrap returns what the network says.
func (e *UnreachableError) Unwrap() error { return e.Err }

// servers asks servers for files, and knows which of them were heard of.
type servers struct {
	client *http.Client
	stall  time.Duration // without a byte, after which a connection is given up

	mu    sync.Mutex
	heard map[string]bool              // by host
	lost  map[string]*UnreachableError // by host, and nothing was heard before
}

func newServers(c *http.Client, stall time.Duration) *servers {
	return &servers{client: c, stall: stall, heard: map[string]bool{}, lost: map[string]*UnreachableError{}}
}

// do sends a request. What another attempt would not cure is permanent.
func (s *servers) do(req *http.Request) (*http.Response, error) {
	s.mu.Lock()
	lost := s.lost[req.URL.Host]
	s.mu.Unlock()
	if lost != nil {
		return nil, backoff.Permanent(lost)
	}
	resp, err := s.client.Do(req)
	s.mu.Lock()
	defer s.mu.Unlock()
	if err == nil {
		s.heard[req.URL.Host] = true
		return resp, nil
	}
	host, cause := whose(err, req.URL.Host)
	if context.Cause(req.Context()) == nil && unconnected(err) && !s.heard[host] {
		lost := &UnreachableError{Host: host, Err: cause}
		s.lost[host] = lost
		return nil, backoff.Permanent(lost)
	}
	return nil, withoutSecrets(err)
}

// unconnected reports whether an error came before there was a connection.
func unconnected(err error) bool {
	if dns := (*net.DNSError)(nil); errors.As(err, &dns) {
		return true
	}
	op := (*net.OpError)(nil)
	return errors.As(err, &op) && (op.Op == "dial" || op.Op == "proxyconnect")
}

// whose is the host that an error is about, to which we may have been sent from another,
// and what the network says.
func whose(err error, asked string) (host string, cause error) {
	failed := (*url.Error)(nil)
	if !errors.As(err, &failed) {
		return asked, err
	}
	if u, bad := url.Parse(failed.URL); bad == nil && u.Host != "" {
		asked = u.Host
	}
	return asked, failed.Err
}

// untrusted reports whether an error is about the server's certificate, or its not
// speaking TLS.
func untrusted(err error) bool {
	return errors.As(err, new(*tls.CertificateVerificationError)) || errors.As(err, new(tls.RecordHeaderError))
}

// maxRedirects is how often a server may send us elsewhere.
const maxRedirects = 10

// checkRedirect ends loops, and wants no step from https down, nor to anything that is
// not http. net/http itself keeps credentials from other hosts.
func checkRedirect(req *http.Request, via []*http.Request) error {
	from := via[len(via)-1].URL
	switch {
	case len(via) > maxRedirects:
		return final("it leads in circles, or at least to more than %d addresses", maxRedirects)
	case checkURL(req.URL.String()) != nil:
		return final("it leads to %s, which is not an address of http or https", shown(req.URL.String()))
	case from.Scheme == "https" && req.URL.Scheme != "https":
		return final("it leads from https to %s, which anybody on the way may change", shown(req.URL.String()))
	}
	return nil
}

// shown is an address as it may be printed and kept: without a password and without a
// query, which may be a signature.
func shown(address string) string {
	u, err := url.Parse(address)
	if err != nil {
		return "an address that is none"
	}
	if u.RawQuery != "" {
		u.RawQuery = "…"
	}
	return u.Redacted()
}

// withoutSecrets is an error of net/http with its address as it may be printed.
func withoutSecrets(err error) error {
	if u := (*url.Error)(nil); errors.As(err, &u) {
		return &url.Error{Op: u.Op, URL: shown(u.URL), Err: u.Err}
	}
	return err
}
