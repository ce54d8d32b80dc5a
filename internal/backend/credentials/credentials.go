// Package credentials reads certificates and keys from files, and keeps keys out of texts.
//
//	config, err := credentials.TLS{CA: "authority.pem"}.Client()
//	key, err := credentials.ReadKey("key.txt")
//
// Errors are of the fields tls_ca, tls_cert, tls_key and token_file.
package credentials

import (
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"net/url"
	"strings"

	"github.com/mlperf-go/mlperf/internal/fileio"
	"github.com/mlperf-go/mlperf/internal/userinput"
)

// Bounds of files, in bytes.
const maxKey, maxPEM = 64 << 10, 16 << 20

// Variables are those of the environment that may have a key, the first one first.
func Variables() []string { return []string{"MLPERF_API_KEY", "OPENAI_API_KEY"} }

// ReadKey reads a key from a file, without the space around it.
func ReadKey(path string) (string, error) {
	text, err := fileio.ReadFile(path, maxKey)
	if err != nil {
		return "", userinput.Wrap("token_file", err)
	}
	key := strings.TrimSpace(string(text))
	if key == "" {
		return "", userinput.Errorf("token_file", "%s is empty: it must have a key", path)
	}
	return key, CheckKey(key, "the file "+path)
}

// CheckKey refuses a key that cannot stand in a header. The error names where the key is from.
func CheckKey(key, from string) error {
	if strings.ContainsFunc(key, func(r rune) bool { return r <= ' ' || r > '~' }) {
		return userinput.Errorf("token_file", "the key in %s has characters that no header can have (spaces, line breaks, others than ASCII)", from)
	}
	return nil
}

// Redact replaces a key in the text of a server by [key], also as JSON and URLs write it.
func Redact(text, key string) string {
	if key == "" {
		return text
	}
	quoted, _ := json.Marshal(key) // a string has JSON
	for _, form := range []string{key, string(quoted[1 : len(quoted)-1]), url.QueryEscape(key), url.PathEscape(key)} {
		text = strings.ReplaceAll(text, form, "[key]")
	}
	return text
}

// Address is the address of a server as texts may show it: without a password before an @, and without a key after ? or #.
func Address(text string) string {
	if i := strings.IndexAny(text, "?#"); i >= 0 {
		text = text[:i+1] + "…"
	}
	at := strings.LastIndexByte(text, '@')
	if at < 0 {
		return text
	}
	scheme, _, found := strings.Cut(text, "://")
	if !found {
		return "…@" + text[at+1:]
	}
	return scheme + "://…@" + text[at+1:]
}

// TLS names files in PEM.
type TLS struct {
	CA   string // authorities that signed the certificate of the other side; empty: the system's
	Cert string // of this side; empty: none
	Key  string // of the certificate
}

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

// Authorities reads the certificates of authorities; nil, the system's, without a path. Errors name the field.
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
