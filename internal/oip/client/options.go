package client

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"net"
	"strings"
	"time"

	"github.com/mlperf-go/mlperf/internal/regular"
)

// Options say which servers to ask, and how.
type Options struct {
	Endpoints []string // URLs, at least one
	// Concurrency is how many requests will be under way at most, for which connections are
	// kept; 0: 64.
	Concurrency int
	Timeout     time.Duration // of a request, from its beginning to the end of its answer; 0: 2 minutes
	Retry       int           // how often a request is sent once more, to another server if there is one
	MaxAnswer   int64         // bytes of an answer; 0: 256 MiB
	Token       string        // sent with each request, as a bearer token
	TLS         Files         // of https and grpcs
	Resolve     Resolver      // nil: DNS
}

// Files are those of TLS, in PEM. Empty: the system's authorities, and no certificate.
type Files struct{ CA, Cert, Key string }

const (
	defaultConcurrency = 64
	defaultTimeout     = 2 * time.Minute
	defaultMaxAnswer   = 256 << 20
	maxPEM             = 1 << 20
)

func (o *Options) fill() error {
	for _, n := range []struct {
		name  string
		value int64
	}{{"concurrency", int64(o.Concurrency)}, {"timeout", int64(o.Timeout)}, {"retry", int64(o.Retry)}, {"largest answer", o.MaxAnswer}} {
		if n.value < 0 {
			return fmt.Errorf("the %s is negative", n.name)
		}
	}
	if o.Concurrency == 0 {
		o.Concurrency = defaultConcurrency
	}
	if o.Timeout == 0 {
		o.Timeout = defaultTimeout
	}
	if o.MaxAnswer == 0 {
		o.MaxAnswer = defaultMaxAnswer
	}
	if o.Resolve == nil {
		o.Resolve = func(ctx context.Context, host string) ([]string, error) {
			return net.DefaultResolver.LookupHost(ctx, host)
		}
	}
	return nil
}

// Config reads the files. Without a CA it leaves the choice to the system.
func (f Files) Config() (*tls.Config, error) {
	c := &tls.Config{MinVersion: tls.VersionTLS12}
	if f.CA != "" {
		pem, err := regular.ReadFile(f.CA, maxPEM)
		if err != nil {
			return nil, fmt.Errorf("reading the certificate of the authority: %w", err)
		}
		c.RootCAs = x509.NewCertPool()
		if !c.RootCAs.AppendCertsFromPEM(pem) {
			return nil, fmt.Errorf("%s has no certificate in PEM", f.CA)
		}
	}
	if (f.Cert == "") != (f.Key == "") {
		return nil, errors.New("a certificate and its key go together: want both or neither")
	}
	if f.Cert == "" {
		return c, nil
	}
	cert, err := f.pair()
	c.Certificates = []tls.Certificate{cert}
	return c, err
}

func (f Files) pair() (tls.Certificate, error) {
	cert, err := regular.ReadFile(f.Cert, maxPEM)
	if err != nil {
		return tls.Certificate{}, fmt.Errorf("reading the certificate: %w", err)
	}
	key, err := regular.ReadFile(f.Key, maxPEM)
	if err != nil {
		return tls.Certificate{}, fmt.Errorf("reading the key: %w", err)
	}
	pair, err := tls.X509KeyPair(cert, key)
	if err != nil {
		err = fmt.Errorf("%s and %s: %w", f.Cert, f.Key, err)
	}
	return pair, err
}

// ReadToken reads a token from a file, without the space around it.
func ReadToken(path string) (string, error) {
	text, err := regular.ReadFile(path, 64<<10)
	if err != nil {
		return "", fmt.Errorf("reading the token: %w", err)
	}
	token := strings.TrimSpace(string(text))
	if token == "" || strings.ContainsFunc(token, func(r rune) bool { return r <= ' ' || r > '~' }) {
		return "", fmt.Errorf("%s: want one token of visible characters", path)
	}
	return token, nil
}
