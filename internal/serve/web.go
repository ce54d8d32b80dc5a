package serve

import (
	"cmp"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"os"
	"strings"
	"syscall"
	"time"

	"github.com/mlperf-go/mlperf/internal/backend/credentials"
	"github.com/mlperf-go/mlperf/internal/fileio"
	"github.com/mlperf-go/mlperf/internal/serve/oipserver"
	"github.com/mlperf-go/mlperf/internal/userinput"
)

// A Web says where models are offered, and to whom.
type Web struct {
	Name, Version string // of the server
	Listen        string // address over HTTP, or unix:PATH
	GRPC          string // address over gRPC; empty: not offered
	// Insecure allows addresses beyond this machine without TLS.
	Insecure  bool
	Cert, Key string        // of TLS, files in PEM; empty: no TLS
	ClientCA  string        // whose certificates clients have to show; empty: none
	TokenFile string        // of bearer tokens, one a line; empty: clients need none
	OpenAI    *OpenAI       // models that write texts; nil: none
	Drain     time.Duration // how long requests that are under way may take at the end; 0: 30 s
}

const (
	maxTokens     = 1 << 20 // bytes of a file with tokens
	usualDrain    = 30 * time.Second
	shortestToken = 16 // characters
)

// Run offers models until the context ends, and then drains: it takes no new requests and answers
// those under way; nil: all were answered. It calls listening with the addresses.
func (w Web) Run(ctx context.Context, models []oipserver.Model, listening func(http, grpc net.Addr)) error {
	config, err := w.config()
	if err != nil {
		return err
	}
	config.Models = models
	web, err := listen(ctx, w.Listen)
	if err != nil {
		return userinput.Wrap("listen", err)
	}
	s := oipserver.New(config)
	ended := make(chan error, 2)
	var rpcAddress net.Addr
	if w.GRPC != "" {
		rpc, err := listen(ctx, w.GRPC)
		if err != nil {
			return errors.Join(userinput.Wrap("grpc_listen", err), web.Close())
		}
		rpcAddress = rpc.Addr()
		go func() { ended <- s.ServeGRPC(rpc) }()
	}
	go func() { ended <- s.ServeHTTP(web) }()
	listening(web.Addr(), rpcAddress)
	select {
	case err = <-ended:
	case <-ctx.Done():
	}
	drain := cmp.Or(w.Drain, usualDrain)
	rest, cancel := context.WithTimeoutCause(context.WithoutCancel(ctx), drain, fmt.Errorf("requests were still under way after %v", drain))
	defer cancel()
	return errors.Join(err, s.Drain(rest))
}

// Check finds wrong options, and reads the files of keys and tokens, before anything is opened.
func (w Web) Check() error {
	_, err := w.config()
	return err
}

// config is that of the server, without models.
func (w Web) config() (c oipserver.Config, err error) {
	c = oipserver.Config{Name: w.Name, Version: w.Version}
	if (w.Cert == "") != (w.Key == "") {
		return c, userinput.Errorf("tls_cert", "a certificate and its key go together: give both or neither")
	}
	if w.ClientCA != "" && w.Cert == "" {
		return c, userinput.Errorf("tls_client_ca", "only TLS asks clients for a certificate: give tls_cert and tls_key, too")
	}
	if w.Drain < 0 {
		return c, userinput.Invalid("drain", w.Drain, "a time")
	}
	for _, at := range []struct{ field, address string }{{"listen", w.Listen}, {"grpc_listen", w.GRPC}} {
		if at.address == "" && at.field == "grpc_listen" {
			continue
		}
		local, err := IsLocal(at.address)
		if err != nil {
			return c, userinput.Wrap(at.field, err)
		}
		if !local && w.Cert == "" && !w.Insecure {
			return c, userinput.Errorf(at.field, "%s is beyond this machine, and without TLS others can read and change the traffic: "+
				"give a certificate (tls_cert, tls_key), or insecure", at.address)
		}
	}
	if w.OpenAI != nil {
		c.Routes = w.OpenAI.Routes()
	}
	if w.TokenFile != "" {
		if c.Tokens, err = readTokens(w.TokenFile); err != nil {
			return c, userinput.Wrap("token_file", err)
		}
	}
	if w.Cert != "" {
		c.TLS, err = w.tls()
	}
	return c, err
}

// IsLocal reports whether an address to listen at is for this machine only.
func IsLocal(address string) (bool, error) {
	if path, ok := strings.CutPrefix(address, "unix:"); ok {
		if path == "" {
			return false, errors.New("expected unix:/path/of/socket")
		}
		return true, nil
	}
	host, port, err := net.SplitHostPort(address)
	if err != nil {
		return false, fmt.Errorf("expected host:port, or unix:/path/of/socket: %w", err)
	}
	if _, err := net.LookupPort("tcp", port); err != nil { // rather than after models were made
		return false, fmt.Errorf("%s: not a port, expected a number from 0 to 65535: %w", address, err)
	}
	ip, err := netip.ParseAddr(host)
	return strings.EqualFold(host, "localhost") || err == nil && ip.Unmap().IsLoopback(), nil
}

func readTokens(path string) ([]string, error) {
	text, err := fileio.ReadFile(path, maxTokens)
	if err != nil {
		return nil, err
	}
	tokens := strings.Fields(strings.TrimPrefix(string(text), "\ufeff"))
	if len(tokens) == 0 {
		return nil, fmt.Errorf("%s has no token", path)
	}
	for i, t := range tokens {
		if len(t) < shortestToken {
			return nil, fmt.Errorf("%s: token %d has %d characters, expected at least %d", path, i+1, len(t), shortestToken)
		}
		if strings.ContainsFunc(t, func(r rune) bool { return r < ' ' || r > '~' }) {
			return nil, fmt.Errorf("%s: token %d has a character that a header cannot have: expected letters, digits and signs of ASCII", path, i+1)
		}
	}
	return tokens, nil
}

func (w Web) tls() (*tls.Config, error) {
	pair, err := credentials.TLS{Cert: w.Cert, Key: w.Key}.Pair()
	if err != nil {
		return nil, err
	}
	c := &tls.Config{MinVersion: tls.VersionTLS12, Certificates: []tls.Certificate{pair}}
	if w.ClientCA == "" {
		return c, nil
	}
	c.ClientAuth = tls.RequireAndVerifyClientCert
	c.ClientCAs, err = credentials.Authorities("tls_client_ca", w.ClientCA)
	return c, err
}

// listen listens at an address. It replaces the socket that a killed server left behind.
func listen(ctx context.Context, address string) (net.Listener, error) {
	var c net.ListenConfig
	path, ok := strings.CutPrefix(address, "unix:")
	if !ok {
		return c.Listen(ctx, "tcp", address)
	}
	l, err := c.Listen(ctx, "unix", path)
	if errors.Is(err, syscall.EADDRINUSE) && isDeserted(ctx, path) && os.Remove(path) == nil {
		return c.Listen(ctx, "unix", path)
	}
	return l, err
}

// isDeserted reports whether a path is a socket without a listener.
func isDeserted(ctx context.Context, path string) bool {
	if info, err := os.Lstat(path); err != nil || info.Mode()&os.ModeSocket == 0 {
		return false
	}
	var d net.Dialer
	c, err := d.DialContext(ctx, "unix", path)
	if err == nil {
		c.Close()
	}
	return errors.Is(err, syscall.ECONNREFUSED)
}
