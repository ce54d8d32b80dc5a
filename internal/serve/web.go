package serve

import (
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
	maxTokens    = 1 << 20 // bytes of a file with tokens
	usualDrain   = 30 * time.Second
	shortestWord = 16 // characters of a token
)

// Run offers models until the context ends, and then drains: it takes nothing new and answers
// requests under way; nil: all were answered. It calls listening with the addresses.
func (w Web) Run(ctx context.Context, models []oipserver.Model, listening func(http, grpc net.Addr)) error {
	config, err := w.config(models)
	if err != nil {
		return err
	}
	web, rpc, err := w.listen(ctx)
	if err != nil {
		return err
	}
	s := oipserver.New(config)
	ended := make(chan error, 2)
	go func() { ended <- s.ServeHTTP(web) }()
	var rpcAddress net.Addr
	if rpc != nil {
		rpcAddress = rpc.Addr()
		go func() { ended <- s.ServeGRPC(rpc) }()
	}
	listening(web.Addr(), rpcAddress)
	select {
	case err = <-ended:
	case <-ctx.Done():
	}
	drain := w.Drain
	if drain == 0 {
		drain = usualDrain
	}
	rest, cancel := context.WithTimeoutCause(context.WithoutCancel(ctx), drain, fmt.Errorf("requests were still under way after %v", drain))
	defer cancel()
	return errors.Join(err, s.Drain(rest))
}

// Check finds what cannot be right, in the files of keys and tokens, too, before anything is opened.
func (w Web) Check() error {
	if err := w.checkOptions(); err != nil {
		return err
	}
	_, _, err := w.secrets()
	return err
}

func (w Web) checkOptions() error {
	if (w.Cert == "") != (w.Key == "") {
		return userinput.Errorf("tls_cert", "a certificate and its key go together: want both or neither")
	}
	if w.ClientCA != "" && w.Cert == "" {
		return userinput.Errorf("tls_client_ca", "only TLS asks clients for a certificate: want tls_cert and tls_key, too")
	}
	if w.Drain < 0 {
		return userinput.Invalid("drain", w.Drain, "a time")
	}
	if err := w.checkAddress("listen", w.Listen); err != nil || w.GRPC == "" {
		return err
	}
	return w.checkAddress("grpc_listen", w.GRPC)
}

// checkAddress finds what cannot be listened at, or should not be without TLS.
func (w Web) checkAddress(name, address string) error {
	local, err := isLocal(address)
	switch {
	case err != nil:
		return userinput.Wrap(name, err)
	case !local && w.Cert == "" && !w.Insecure:
		return userinput.Errorf(name, "%s is beyond this machine, and without TLS others can read and change the traffic: "+
			"want a certificate (tls_cert, tls_key), or insecure", address)
	}
	return nil
}

// isLocal reports whether an address is for this machine only.
func isLocal(address string) (bool, error) {
	if path, ok := strings.CutPrefix(address, "unix:"); ok {
		if path == "" {
			return false, errors.New("want unix:/path/of/socket")
		}
		return true, nil
	}
	host, port, err := net.SplitHostPort(address)
	if err != nil {
		return false, fmt.Errorf("want host:port, or unix:/path/of/socket: %w", err)
	}
	if _, err := net.LookupPort("tcp", port); err != nil { // rather than after models were made
		return false, fmt.Errorf("%s has no port that there is, want a number from 0 to 65535: %w", address, err)
	}
	ip, err := netip.ParseAddr(host)
	return strings.EqualFold(host, "localhost") || err == nil && ip.Unmap().IsLoopback(), nil
}

func (w Web) config(models []oipserver.Model) (oipserver.Config, error) {
	c := oipserver.Config{Name: w.Name, Version: w.Version, Models: models}
	if err := w.checkOptions(); err != nil {
		return c, err
	}
	if w.OpenAI != nil {
		c.Routes = w.OpenAI.Routes()
	}
	var err error
	c.Tokens, c.TLS, err = w.secrets()
	return c, err
}

// secrets reads the tokens and the certificates.
func (w Web) secrets() (tokens []string, c *tls.Config, err error) {
	if w.TokenFile != "" {
		if tokens, err = readTokens(w.TokenFile); err != nil {
			return nil, nil, userinput.Wrap("token_file", err)
		}
	}
	if w.Cert != "" {
		c, err = w.tls()
	}
	return tokens, c, err
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
		if len(t) < shortestWord {
			return nil, fmt.Errorf("%s: token %d has %d characters, want at least %d", path, i+1, len(t), shortestWord)
		}
		if strings.ContainsFunc(t, func(r rune) bool { return r < ' ' || r > '~' }) {
			return nil, fmt.Errorf("%s: token %d has a character that no header can have: want letters, digits and signs of ASCII", path, i+1)
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

// listen opens the listeners; rpc is nil if gRPC is not offered.
func (w Web) listen(ctx context.Context) (web, rpc net.Listener, err error) {
	if web, err = listenAt(ctx, w.Listen); err != nil {
		return nil, nil, userinput.Wrap("listen", err)
	}
	if w.GRPC == "" {
		return web, nil, nil
	}
	if rpc, err = listenAt(ctx, w.GRPC); err != nil {
		return nil, nil, errors.Join(userinput.Wrap("grpc_listen", err), web.Close())
	}
	return web, rpc, nil
}

// listenAt listens at an address. It replaces the socket that a killed server left behind.
func listenAt(ctx context.Context, address string) (net.Listener, error) {
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

// isDeserted reports whether a socket is there without a listener.
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
