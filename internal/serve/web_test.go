package serve

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"fmt"
	"io"
	"math/big"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/mlperf-go/mlperf/internal/testenv"
	"github.com/mlperf-go/mlperf/internal/userinput"
)

// written writes a file of a test, and returns its path.
func written(t *testing.T, text string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

func TestReadTokens(t *testing.T) {
	const one, two = "first-0123456789", "second-012345678"
	for _, c := range []struct {
		name, text string
		want       []string
		wrong      string
	}{
		{"two", one + "\n" + two + "\n", []string{one, two}, ""},
		{"the last line without an end", one + "\n" + two, []string{one, two}, ""},
		{"lines of Windows", one + "\r\n" + two + "\r\n", []string{one, two}, ""},
		{"a byte order mark", "\ufeff" + one + "\n", []string{one}, ""},
		{"space around them", "\n\n  " + one + "\t\n\n", []string{one}, ""},
		{"none", "\n \n", nil, "has no token"},
		{"nothing", "", nil, "has no token"},
		{"a byte order mark alone", "\ufeff\n", nil, "has no token"},
		{"a short one", one + "\n0123456789abcde\n", nil, "token 2 has 15 characters, expected at least 16"},
		{"one that no header can have", one + "\n" + "paßwort-0123456789\n", nil, "token 2 has a character that a header cannot have"},
		{"bytes", one + "\x00\x01", nil, "token 1 has a character that a header cannot have"},
	} {
		t.Run(c.name, func(t *testing.T) {
			path := written(t, c.text)
			got, err := readTokens(path)
			if c.wrong == "" && (err != nil || !slices.Equal(got, c.want)) || c.wrong != "" && (err == nil || !strings.Contains(err.Error(), c.wrong) || !strings.Contains(err.Error(), path)) {
				t.Errorf("%q, %v, want %q, %s", got, err, c.want, c.wrong)
			}
		})
	}
	if _, err := readTokens(written(t, strings.Repeat("x", maxTokens+1))); err == nil {
		t.Error("a file without an end is read")
	}
	w := Web{Listen: "127.0.0.1:0", TokenFile: written(t, "short")}
	var of *userinput.Error
	if err := w.Check(); !errors.As(err, &of) || of.Field != "token_file" {
		t.Errorf("%v, want an error of the field token_file", err)
	}
}

func TestLocalAddresses(t *testing.T) {
	for address, want := range map[string]string{
		"127.0.0.1:80": "local", "127.8.9.1:80": "local", "[::1]:80": "local", "LocalHost:80": "local", "[::ffff:127.0.0.1]:80": "local", "unix:/x": "local", "localhost:http": "local",
		"10.0.0.1:80": "beyond", ":80": "beyond", "[::]:80": "beyond", "host:80": "beyond", "localhost.example.org:80": "beyond", "0.0.0.0:0": "beyond",
		"unix:": "expected unix:/path/of/socket", "localhost": "expected host:port, or unix:/path/of/socket", "::1:80": "expected host:port", "localhost:65536": "localhost:65536: not a port, expected a number from 0 to 65535",
		"localhost:-1": "not a port", "localhost:x": "not a port", "": "expected host:port",
	} {
		local, err := IsLocal(address)
		got := map[bool]string{true: "local", false: "beyond"}[local]
		if err != nil {
			got = err.Error()
		}
		if !strings.Contains(got, want) {
			t.Errorf("%q is %s, want %s", address, got, want)
		}
	}
}

// deserted leaves a socket as a server that was killed does.
func deserted(t *testing.T) (path string) {
	t.Helper()
	path = filepath.Join(t.TempDir(), "socket")
	fd, err := syscall.Socket(syscall.AF_UNIX, syscall.SOCK_STREAM, 0)
	if err == nil {
		err = errors.Join(syscall.Bind(fd, &syscall.SockaddrUnix{Name: path}), syscall.Close(fd))
	}
	if err != nil {
		t.Fatal(err)
	}
	return path
}

func TestDesertedSocketIsReplaced(t *testing.T) {
	path := deserted(t)
	l, err := listen(t.Context(), "unix:"+path)
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	if again, err := listen(t.Context(), "unix:"+path); !errors.Is(err, syscall.EADDRINUSE) {
		t.Errorf("the socket of a server that is there is taken: %v, %v", again, err)
	}
	if c, err := net.Dial("unix", path); err != nil {
		t.Errorf("the first server is gone: %v", err)
	} else {
		c.Close()
	}
	file := written(t, "a file of somebody")
	if l, err := listen(t.Context(), "unix:"+file); err == nil {
		l.Close()
		t.Error("a file is taken for a socket")
	}
	if text, err := os.ReadFile(file); err != nil || string(text) != "a file of somebody" {
		t.Errorf("a file that is no socket is %q, %v", text, err)
	}
	link := filepath.Join(t.TempDir(), "link")
	if err := os.Symlink(deserted(t), link); err != nil {
		t.Fatal(err)
	}
	if l, err := listen(t.Context(), "unix:"+link); err == nil {
		l.Close()
		t.Error("a link is taken for a socket")
	}
}

func TestRunNamesTheTakenAddress(t *testing.T) {
	taken, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer taken.Close()
	socket := filepath.Join(t.TempDir(), "socket")
	for name, c := range map[string]struct {
		web   Web
		field string
	}{
		"HTTP": {Web{Listen: taken.Addr().String()}, "listen"},
		"gRPC": {Web{Listen: "unix:" + socket, GRPC: taken.Addr().String()}, "grpc_listen"},
	} {
		err := c.web.Run(t.Context(), nil, func(net.Addr, net.Addr) { t.Errorf("%s: it listens", name) })
		var of *userinput.Error
		if !errors.As(err, &of) || of.Field != c.field || !errors.Is(err, syscall.EADDRINUSE) {
			t.Errorf("%s: %v, want an error of the field %s", name, err, c.field)
		}
	}
	if _, err := os.Stat(socket); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("the socket for HTTP is left: %v", err)
	}
}

func TestRunListensAtSocketsAndOverGRPC(t *testing.T) {
	socket := filepath.Join(t.TempDir(), "socket")
	w := Web{Name: "mlperf", Version: "7", Listen: "unix:" + socket, GRPC: "127.0.0.1:0", TokenFile: written(t, "first-0123456789\n")}
	ctx, cancel := context.WithCancel(t.Context())
	ended, addresses := make(chan error, 1), make(chan [2]net.Addr, 1)
	go func() {
		ended <- w.Run(ctx, nil, func(http, grpc net.Addr) { addresses <- [2]net.Addr{http, grpc} })
	}()
	at := <-addresses
	if at[0].String() != socket || at[1] == nil {
		t.Errorf("it listens at %v", at)
	}
	c := http.Client{Transport: &http.Transport{DisableKeepAlives: true, DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
		return (&net.Dialer{}).DialContext(ctx, "unix", socket)
	}}}
	for token, want := range map[string]string{"first-0123456789": `"name":"mlperf","version":"7"`, "another-012345678": "expected one of the server's tokens"} {
		r, err := http.NewRequest(http.MethodGet, "http://localhost/v2", nil)
		if err != nil {
			t.Fatal(err)
		}
		r.Header.Set("Authorization", "Bearer "+token)
		a, err := c.Do(r)
		if err != nil {
			t.Fatal(err)
		}
		text, err := io.ReadAll(a.Body)
		if a.Body.Close(); err != nil || !strings.Contains(string(text), want) {
			t.Errorf("with %s: %s, %v, want %s", token, text, err, want)
		}
	}
	cancel()
	if err := <-ended; err != nil {
		t.Errorf("it ended with %v", err)
	}
	if _, err := os.Stat(socket); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("its socket is left: %v", err)
	}
}

// certificate makes one for 127.0.0.1 that signs itself, and returns the files of it and its key.
func certificate(t *testing.T) (cert, key string) {
	t.Helper()
	private, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	about := &x509.Certificate{SerialNumber: big.NewInt(1), NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour), IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)},
		IsCA: true, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageCertSign | x509.KeyUsageDigitalSignature, ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth, x509.ExtKeyUsageClientAuth}}
	of, err := x509.CreateCertificate(rand.Reader, about, about, &private.PublicKey, private)
	if err != nil {
		t.Fatal(err)
	}
	secret, err := x509.MarshalECPrivateKey(private)
	if err != nil {
		t.Fatal(err)
	}
	return written(t, string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: of}))), written(t, string(pem.EncodeToMemory(&pem.Block{Type: "EC PRIVATE KEY", Bytes: secret})))
}

func TestClientCertificates(t *testing.T) {
	cert, key := certificate(t)
	c, err := Web{Listen: "0.0.0.0:1", Cert: cert, Key: key}.config()
	if err != nil || c.TLS == nil || c.TLS.MinVersion != tls.VersionTLS12 || len(c.TLS.Certificates) != 1 || c.TLS.ClientAuth != tls.NoClientCert {
		t.Fatalf("%+v, %v, want TLS from 1.2 on, of a certificate, beyond this machine", c.TLS, err)
	}
	if c, err = (Web{Listen: "localhost:1", Cert: cert, Key: key, ClientCA: cert}).config(); err != nil || c.TLS.ClientAuth != tls.RequireAndVerifyClientCert || c.TLS.ClientCAs == nil {
		t.Errorf("%+v, %v, want clients to show certificates", c.TLS, err)
	}
	for name, w := range map[string]Web{"a key for a certificate": {Cert: key, Key: key}, "a certificate for a key": {Cert: cert, Key: cert}, "a key for an authority": {Cert: cert, Key: key, ClientCA: key},
		"a folder": {Cert: t.TempDir(), Key: key}} {
		w.Listen = "localhost:1"
		if err := w.Check(); err == nil {
			t.Errorf("%s is accepted", name)
		}
	}
	if _, other := certificate(t); (Web{Listen: "localhost:1", Cert: cert, Key: other}).Check() == nil {
		t.Error("the key of another certificate is accepted")
	}
	if c, err = (Web{Listen: "localhost:1"}).config(); err != nil || c.TLS != nil || c.Tokens != nil || c.Routes != nil {
		t.Errorf("%+v, %v, want nothing that nobody asked for", c, err)
	}
}

func TestWrongOptionsNameTheirField(t *testing.T) {
	for want, w := range map[string]Web{
		"tls_cert": {Key: "k"}, "tls_client_ca": {ClientCA: "c"}, "drain": {Drain: -time.Second}, "listen": {Listen: "0.0.0.0:8000"}, "grpc_listen": {Listen: "127.0.0.1:0", GRPC: "0.0.0.0:1"},
		"token_file": {Listen: "127.0.0.1:0", TokenFile: filepath.Join(t.TempDir(), "missing")},
	} {
		var of *userinput.Error
		if err := w.Check(); !errors.As(err, &of) || of.Field != want {
			t.Errorf("%+v: %v, want an error of the field %s", w, err, want)
		}
		if err := w.Run(t.Context(), nil, nil); !testenv.Names(err, fmt.Sprint(w.Check())) {
			t.Errorf("Run says %v, Check %v", err, w.Check())
		}
	}
	if err := (Web{Listen: "0.0.0.0:8000", Insecure: true}).Check(); err != nil {
		t.Errorf("insecure beyond this machine: %v", err)
	}
}
