package client

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"math/big"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/mlperf-go/mlperf/internal/backend/credentials"
	"github.com/mlperf-go/mlperf/internal/serve/oipserver"
	"github.com/mlperf-go/mlperf/internal/serve/oiptest"
	"github.com/mlperf-go/mlperf/internal/tensor"
)

// An authority signs certificates.
type authority struct {
	cert *x509.Certificate
	key  *ecdsa.PrivateKey
	file string
}

func newAuthority(t *testing.T) *authority {
	t.Helper()
	a := &authority{}
	a.cert = &x509.Certificate{SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "test"}, NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour),
		IsCA: true, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageCertSign}
	var der []byte
	der, a.key = a.sign(t, a.cert)
	a.file = writePEM(t, "CERTIFICATE", der)
	return a
}

func (a *authority) sign(t *testing.T, template *x509.Certificate) ([]byte, *ecdsa.PrivateKey) {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	signer := a.key
	if signer == nil {
		signer = key
	}
	der, err := x509.CreateCertificate(rand.Reader, template, a.cert, &key.PublicKey, signer)
	if err != nil {
		t.Fatal(err)
	}
	return der, key
}

// issue makes a certificate for loopback that is valid until some time from now.
func (a *authority) issue(t *testing.T, until time.Duration, names ...string) credentials.TLS {
	t.Helper()
	template := &x509.Certificate{SerialNumber: big.NewInt(2), NotBefore: time.Now().Add(-2 * time.Hour), NotAfter: time.Now().Add(until),
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth, x509.ExtKeyUsageClientAuth}, DNSNames: names}
	if len(names) == 0 {
		template.IPAddresses = []net.IP{net.IPv4(127, 0, 0, 1)}
	}
	der, key := a.sign(t, template)
	text, err := x509.MarshalECPrivateKey(key)
	if err != nil {
		t.Fatal(err)
	}
	return credentials.TLS{Cert: writePEM(t, "CERTIFICATE", der), Key: writePEM(t, "EC PRIVATE KEY", text)}
}

func writePEM(t *testing.T, kind string, der []byte) string {
	t.Helper()
	f, err := os.CreateTemp(t.TempDir(), "*.pem")
	if err != nil {
		t.Fatal(err)
	}
	if err := pem.Encode(f, &pem.Block{Type: kind, Bytes: der}); err != nil {
		t.Fatal(err)
	}
	if err := f.Close(); err != nil {
		t.Fatal(err)
	}
	return filepath.Clean(f.Name())
}

func TestCertificates(t *testing.T) {
	ca, other := newAuthority(t), newAuthority(t)
	good, client := ca.issue(t, time.Hour), ca.issue(t, time.Hour)
	foreign := other.issue(t, time.Hour)
	for _, c := range []struct {
		name        string
		server      credentials.TLS
		ca          string
		client      credentials.TLS
		wantsClient bool
		want        string
	}{
		{"all is right", good, ca.file, credentials.TLS{}, false, ""},
		{"an expired certificate", ca.issue(t, -time.Hour), ca.file, credentials.TLS{}, false, "expired"},
		{"a certificate of another host", ca.issue(t, time.Hour, "elsewhere"), ca.file, credentials.TLS{}, false, "certificate"},
		{"an authority that nobody knows", good, "", credentials.TLS{}, false, "unknown authority"},
		{"another authority", good, other.file, credentials.TLS{}, false, "unknown authority"},
		{"a client with a certificate", good, ca.file, client, true, ""},
		{"a client without one", good, ca.file, credentials.TLS{}, true, "certificate"},
		{"a client with one of others", good, ca.file, foreign, true, "certificate"},
	} {
		t.Run(c.name, func(t *testing.T) {
			config, err := credentials.TLS{CA: ca.file, Cert: c.server.Cert, Key: c.server.Key}.Client()
			if err != nil {
				t.Fatal(err)
			}
			if c.wantsClient {
				config.ClientCAs, config.ClientAuth = config.RootCAs, tls.RequireAndVerifyClientCert
			}
			endpoints, _ := serve(t, oipserver.Config{Models: []oipserver.Model{&oiptest.Doubler{Name: "m", Width: 4}}, TLS: config})
			for _, scheme := range []string{"http", "grpc"} {
				o := Options{Endpoints: []string{endpoints[scheme]}, TLS: c.client, Timeout: 5 * time.Second}
				o.TLS.CA = c.ca
				_, err := double(t.Context(), open(t, o), tensor.New(tensor.Float32, 1, 4))
				if c.wantsClient && err != nil && c.want != "" {
					continue // over TLS 1.3 a client learns of it by the end of the connection
				}
				if c.want == "" && err != nil || c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want)) {
					t.Errorf("%s: %v, want %q", scheme, err, c.want)
				}
			}
		})
	}
}
