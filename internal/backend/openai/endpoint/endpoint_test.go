package endpoint

import (
	"encoding/pem"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"

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

func TestWhatCannotBeReachedIsSaidBeforeAnythingIsSent(t *testing.T) {
	good := []string{"http://host"}
	for name, test := range map[string]struct {
		o           Options
		field, want string
	}{
		"no address":          {Options{}, "endpoint", "want the address of a server"},
		"a word":              {Options{URLs: []string{"host"}}, "endpoint", "want http://HOST:PORT"},
		"a host and a port":   {Options{URLs: []string{"host:80"}}, "endpoint", "want http://HOST:PORT"},
		"another protocol":    {Options{URLs: []string{"ftp://host"}}, "endpoint", "want http://HOST:PORT"},
		"no host":             {Options{URLs: []string{"http://"}}, "endpoint", "want http://HOST:PORT"},
		"a password":          {Options{URLs: []string{"http://me:geheim@host"}}, "endpoint", "has a user or a password"},
		"a broken password":   {Options{URLs: []string{"http://me:geheim%zz@host"}}, "endpoint", "is no address"},
		"a question":          {Options{URLs: []string{"http://host?key=geheim"}}, "endpoint", "without ?"},
		"a question in none":  {Options{URLs: []string{"host?key=geheim"}}, "endpoint", "want http://HOST:PORT"},
		"a question, no port": {Options{URLs: []string{"http://host:x?key=geheim"}}, "endpoint", "is no address"},
		"an empty question":   {Options{URLs: []string{"http://host?"}}, "endpoint", "without ?"},
		"a fragment":          {Options{URLs: []string{"http://host#geheim"}}, "endpoint", "without ?"},
		"a port alone":        {Options{URLs: []string{"http://:8000"}}, "endpoint", "want http://HOST:PORT"},
		"the second of two":   {Options{URLs: []string{"http://host", "x"}}, "endpoint", `"x"`},
		"a port that is none": {Options{URLs: []string{"http://host:65536"}}, "endpoint", "http://host:65536: 65536 is no port, want a number from 1 to 65535"},
		"port 0":              {Options{URLs: []string{"http://host:0"}}, "endpoint", "want a number from 1 to 65535"},
		"a server twice":      {Options{URLs: []string{"http://host", "http://HOST:80/"}}, "endpoint", "http://host and http://HOST:80 are the same server"},
		"no file of a key":    {Options{URLs: good, TokenFile: "/nowhere"}, "token_file", "no such file"},
		"an empty key":        {Options{URLs: good, TokenFile: write(t, "key", " \n")}, "token_file", "is empty"},
		"two lines of a key":  {Options{URLs: good, TokenFile: write(t, "key", "geheim\ngeheim")}, "token_file", "characters"},
		"no authorities":      {Options{URLs: good, CA: write(t, "ca", "geheim")}, "tls_ca", "no certificate"},
		"no key":              {Options{URLs: good, Cert: "c"}, "tls_key", "missing"},
		"no certificate":      {Options{URLs: good, Key: "k"}, "tls_cert", "missing"},
		"a broken pair":       {Options{URLs: good, Cert: write(t, "c", "x"), Key: write(t, "k", "y")}, "tls_cert", "PEM"},
		"a device":            {Options{URLs: good, TokenFile: "/dev/zero"}, "token_file", "device"},
	} {
		_, err := Open(test.o)
		var f *userinput.Error
		if !errors.As(err, &f) || f.Field != test.field || !strings.Contains(err.Error(), test.want) || strings.Contains(err.Error(), "geheim") {
			t.Errorf("%s: %v, want %s: %s", name, err, test.field, test.want)
		}
	}
}

func TestAKeyIsFoundInTheFileBeforeTheEnvironment(t *testing.T) {
	t.Setenv("KEY_ONE", "")
	t.Setenv("KEY_TWO", "from-environment")
	file := write(t, "key", "from-file\n")
	for _, test := range []struct {
		o          Options
		from, sent string
	}{
		{Options{}, "", ""},
		{Options{TokenEnv: []string{"KEY_ONE"}}, "", ""},
		{Options{TokenEnv: []string{"KEY_ONE", "KEY_TWO"}}, "the environment variable KEY_TWO", "Bearer from-environment"},
		{Options{TokenEnv: []string{"KEY_TWO"}, TokenFile: file}, "the file " + file, "Bearer from-file"},
	} {
		test.o.URLs = []string{"http://host/v1/"}
		s, err := Open(test.o)
		if err != nil {
			t.Fatal(err)
		}
		r := httptest.NewRequest(http.MethodPost, "http://host", nil)
		if s.Authorize(r.Header); s.KeyFrom() != test.from || r.Header.Get("Authorization") != test.sent {
			t.Errorf("%+v: from %q, sent %q", test.o, s.KeyFrom(), r.Header.Get("Authorization"))
		}
		for _, verb := range []string{"%v", "%+v", "%#v", "%s", "%q", "%x"} {
			if text := fmt.Sprintf(verb, s) + fmt.Sprintf(verb, *s.List()[0]) + fmt.Sprintf(verb, s.key); strings.Contains(text, "from-") && test.sent != "" {
				t.Errorf("%s shows the key: %s", verb, text)
			}
		}
		if got := s.Redact("a from-file from-environment b"); test.sent != "" && !strings.Contains(got, hidden) {
			t.Errorf("Redact = %q", got)
		}
	}
}

func TestOnlyKnownCertificatesAreTrusted(t *testing.T) {
	server := httptest.NewTLSServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {}))
	server.Config.ErrorLog = nil
	defer server.Close()
	ca := write(t, "ca.pem", string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: server.Certificate().Raw})))
	for file, want := range map[string]string{"": "certificate", ca: ""} {
		s, err := Open(Options{URLs: []string{server.URL}, CA: file})
		if err != nil {
			t.Fatal(err)
		}
		r, err := s.HTTP().Get(server.URL)
		if err == nil {
			_ = r.Body.Close()
		}
		if (err == nil) != (want == "") || err != nil && !strings.Contains(err.Error(), want) {
			t.Errorf("with the authorities of %q: %v", file, err)
		}
		_ = s.Close()
	}
}

func TestTheServerWithTheFewestOutstandingRequestsIsNext(t *testing.T) {
	s, err := Open(Options{URLs: []string{"http://a", "http://b", "http://c"}})
	if err != nil {
		t.Fatal(err)
	}
	next := func() string { return s.Acquire().String() }
	if got := next() + next() + next(); got != "http://ahttp://bhttp://c" {
		t.Errorf("the first three go to %s", got)
	}
	s.Release(s.List()[1])
	if got := next(); got != "http://b" {
		t.Errorf("b is free, and %s is next", got)
	}
	if got := next(); got != "http://a" {
		t.Errorf("all have one, a and c had fewer: %s", got)
	}
	s.Reset()
	s.Release(s.List()[0])
	if l := s.Loads(); l[0] != (Load{"http://a", 0, 2}) || l[2] != (Load{"http://c", 0, 1}) {
		t.Errorf("%+v", l)
	}
}

func TestAServerBehindAPathIsReachedThere(t *testing.T) {
	s, err := Open(Options{URLs: []string{"https://host:8000/openai/v1/"}})
	if err != nil {
		t.Fatal(err)
	}
	if got := s.List()[0]; got.URL("/x") != "https://host:8000/openai/v1/x" || got.Path() != "/openai/v1" {
		t.Errorf("%s, %s", got.URL("/x"), got.Path())
	}
}

func TestProxiesAreNamedWithoutTheirPasswords(t *testing.T) {
	proxy, err := url.Parse("http://me:geheim@proxy:3128")
	if err != nil {
		t.Fatal(err)
	}
	for at, want := range map[string]string{"http://host": "", "http://far": "http://me:xxxxx@proxy:3128", "http://broken": ""} {
		s, err := Open(Options{URLs: []string{at}})
		if err != nil {
			t.Fatal(err)
		}
		s.proxy = func(r *http.Request) (*url.URL, error) {
			switch r.URL.Host {
			case "far":
				return proxy, nil
			case "broken":
				return nil, errors.New("no address of a proxy")
			}
			return nil, nil
		}
		if got := s.Proxy(s.List()[0]); got != want {
			t.Errorf("%s is behind %q, want %q", at, got, want)
		}
	}
}
