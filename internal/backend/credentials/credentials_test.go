package credentials_test

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"math/big"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/mlperf-go/mlperf/internal/backend/credentials"
	"github.com/mlperf-go/mlperf/internal/testenv"
	"github.com/mlperf-go/mlperf/internal/userinput"
)

func write(t *testing.T, name, text string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), name)
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// pair makes a certificate that signs itself, and its key.
func pair(t *testing.T) (cert, key string) {
	t.Helper()
	private, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{SerialNumber: big.NewInt(1), NotAfter: time.Now().Add(time.Hour), IsCA: true, BasicConstraintsValid: true}
	der, err := x509.CreateCertificate(rand.Reader, template, template, &private.PublicKey, private)
	if err != nil {
		t.Fatal(err)
	}
	text, err := x509.MarshalECPrivateKey(private)
	if err != nil {
		t.Fatal(err)
	}
	encode := func(kind string, bytes []byte) string {
		return string(pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: bytes}))
	}
	return write(t, "cert.pem", encode("CERTIFICATE", der)), write(t, "key.pem", encode("EC PRIVATE KEY", text))
}

func TestTLS(t *testing.T) {
	cert, key := pair(t)
	_, other := pair(t)
	text := write(t, "text", "two words")
	for name, c := range map[string]struct {
		files       credentials.TLS
		field, want string
	}{
		"none":                 {},
		"an authority":         {files: credentials.TLS{CA: cert}},
		"a pair":               {files: credentials.TLS{Cert: cert, Key: key}},
		"no file":              {credentials.TLS{CA: text + "x"}, "tls_ca", "no such file"},
		"no authority":         {credentials.TLS{CA: text}, "tls_ca", "no certificate in PEM"},
		"no key":               {credentials.TLS{Cert: cert}, "tls_key", "is needed too"},
		"no certificate":       {credentials.TLS{Key: key}, "tls_cert", "is needed too"},
		"the key of another":   {credentials.TLS{Cert: cert, Key: other}, "tls_cert", other},
		"texts as a pair":      {credentials.TLS{Cert: text, Key: text}, "tls_cert", "PEM"},
		"no file of a pair":    {credentials.TLS{Cert: cert, Key: text + "x"}, "tls_key", "no such file"},
		"a device for a file":  {credentials.TLS{CA: "/dev/zero"}, "tls_ca", "/dev/zero"},
		"a folder for a file":  {credentials.TLS{Cert: t.TempDir(), Key: key}, "tls_cert", "is a folder"},
		"a key as certificate": {credentials.TLS{Cert: key, Key: key}, "tls_cert", key},
	} {
		config, err := c.files.Client()
		var of *userinput.Error
		switch {
		case c.want == "" && (err != nil || (config.RootCAs != nil) != (c.files.CA != "") || (len(config.Certificates) > 0) != (c.files.Cert != "")):
			t.Errorf("%s: %v, %v", name, config, err)
		case c.want != "" && (!errors.As(err, &of) || of.Field != c.field || !strings.Contains(err.Error(), c.want)):
			t.Errorf("%s: %v, want an error of %s with %q", name, err, c.field, c.want)
		}
	}
}

func TestReadKeyFails(t *testing.T) {
	if got, err := credentials.ReadKey(write(t, "key", " secret\n")); err != nil || got != "secret" {
		t.Errorf("ReadKey = %q, %v", got, err)
	}
	for name, c := range map[string]struct{ path, want string }{
		"empty":     {write(t, "key", " \n"), "is empty"},
		"two words": {write(t, "key", "geheim geheim"), "characters"},
		"two lines": {write(t, "key", "geheim\ngeheim"), "characters"},
		"no ASCII":  {write(t, "key", "schlüssel"), "characters"},
		"no file":   {"/nowhere", "no such file"},
		"a device":  {"/dev/zero", "device"},
	} {
		_, err := credentials.ReadKey(c.path)
		var of *userinput.Error
		if !errors.As(err, &of) || of.Field != "token_file" || !strings.Contains(err.Error(), c.want) || strings.Contains(err.Error(), "geheim") {
			t.Errorf("%s: %v, want an error of token_file with %q and without the key", name, err, c.want)
		}
	}
}

func TestRedact(t *testing.T) {
	const key = `ab/c"d+e=`
	for _, c := range []struct{ text, want string }{
		{"nothing", "nothing"},
		{"the key " + key + " is wrong, " + key, "the key [key] is wrong, [key]"},
		{`{"error":"ab/c\"d+e="}`, `{"error":"[key]"}`},
		{"https://host/?key=ab%2Fc%22d%2Be%3D", "https://host/?key=[key]"},
		{"https://host/ab%2Fc%22d+e=/", "https://host/[key]/"},
		{"", ""},
	} {
		if got := credentials.Redact(c.text, key); got != c.want {
			t.Errorf("Redact(%s) = %s, want %s", c.text, got, c.want)
		}
	}
	if got := credentials.Redact("text", ""); got != "text" {
		t.Errorf("without a key it is %q", got)
	}
}

func TestAddress(t *testing.T) {
	for text, want := range map[string]string{
		"http://host:80/path":         "http://host:80/path",
		"http://me:geheim@host/":      "http://…@host/",
		"http://me:ge@heim@host":      "http://…@host",
		"me:geheim@host":              "…@host",
		"http://host/?key=geheim":     "http://host/?…",
		"http://host/#geheim?geheim":  "http://host/#…",
		"http://geheim@host?a@geheim": "http://…@host?…",
		"?geheim":                     "?…",
		"":                            "",
	} {
		if got := credentials.Address(text); got != want {
			t.Errorf("Address(%q) = %q, want %q", text, got, want)
		}
	}
}

func TestReadKey(t *testing.T) {
	var every strings.Builder
	for r := '!'; r <= '~'; r++ {
		every.WriteRune(r)
	}
	for name, text := range map[string]string{
		"as it is": every.String(), "a line": every.String() + "\n", "a line of Windows": every.String() + "\r\n", "space around it": "\t " + every.String() + " \n\n",
	} {
		if got, err := credentials.ReadKey(write(t, "key", text)); err != nil || got != every.String() {
			t.Errorf("%s: %q, %v", name, got, err)
		}
	}
	if err := credentials.CheckKey("two words", "the environment MLPERF_API_KEY"); err == nil ||
		!testenv.Names(err, "token_file … MLPERF_API_KEY … characters") {
		t.Errorf("CheckKey = %v", err)
	}
	if err := credentials.CheckKey("", "nowhere"); err != nil {
		t.Errorf("no key has no characters that are wrong: %v", err)
	}
}
