package credentials

import (
	"crypto/tls"
	"crypto/x509"

	"github.com/mlperf-go/mlperf/internal/fileio"
	"github.com/mlperf-go/mlperf/internal/userinput"
)

// TLS names files in PEM.
type TLS struct {
	CA   string // authorities that the other side's certificate may be of; empty: the system's
	Cert string // our own certificate; empty: none
	Key  string // of the certificate
}

// maxPEM is how long a file with certificates may be.
const maxPEM = 16 << 20

// Client returns the settings of connections to a server.
func (t TLS) Client() (*tls.Config, error) {
	pool, err := Authorities("tls_ca", t.CA)
	if err != nil {
		return nil, err
	}
	config := &tls.Config{MinVersion: tls.VersionTLS12, RootCAs: pool}
	switch {
	case t.Cert == "" && t.Key == "":
		return config, nil
	case t.Key == "":
		return nil, userinput.Missing("tls_key", "the key of the certificate is needed too")
	case t.Cert == "":
		return nil, userinput.Missing("tls_cert", "the certificate of the key is needed too")
	}
	pair, err := t.Pair()
	if err != nil {
		return nil, err
	}
	config.Certificates = []tls.Certificate{pair}
	return config, nil
}

// Pair reads the certificate and its key.
func (t TLS) Pair() (tls.Certificate, error) {
	cert, err := fileio.ReadFile(t.Cert, maxPEM)
	if err != nil {
		return tls.Certificate{}, userinput.Wrap("tls_cert", err)
	}
	key, err := fileio.ReadFile(t.Key, maxPEM)
	if err != nil {
		return tls.Certificate{}, userinput.Wrap("tls_key", err)
	}
	pair, err := tls.X509KeyPair(cert, key)
	if err != nil {
		return pair, userinput.Errorf("tls_cert", "%s and %s: %w", t.Cert, t.Key, err)
	}
	return pair, nil
}

// Authorities reads the certificates of authorities; of no path they are nil, the system's. Errors are of the field.
func Authorities(name, path string) (*x509.CertPool, error) {
	if path == "" {
		return nil, nil
	}
	text, err := fileio.ReadFile(path, maxPEM)
	if err != nil {
		return nil, userinput.Wrap(name, err)
	}
	pool := x509.NewCertPool()
	if !pool.AppendCertsFromPEM(text) {
		return nil, userinput.Errorf(name, "%s has no certificate in PEM", path)
	}
	return pool, nil
}
