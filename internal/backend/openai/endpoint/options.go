package endpoint

import (
	"cmp"
	"context"
	"fmt"
	"net"
	"net/url"
	"strings"
	"time"

	"github.com/mlperf-go/mlperf/internal/backend/credentials"
	"github.com/mlperf-go/mlperf/internal/userinput"
)

// Options say which servers there are and how they are reached. The zero value of every field
// but URLs is useful. Errors about them are *userinput.Errors.
type Options struct {
	URLs []string // http or https; at least one

	TokenFile string   // file with the key; empty: TokenEnv
	TokenEnv  []string // variables of the environment, of which the first with a key counts

	CA        string // file with certificates (PEM) of authorities to trust instead of the system's
	Cert, Key string // files (PEM) that this client shows of itself; both or none

	ConnectTimeout time.Duration // of a connection; 0: DefaultConnectTimeout

	// Dial connects instead of the network; for tests.
	Dial func(ctx context.Context, network, address string) (net.Conn, error) `json:"-"`
}

// DefaultConnectTimeout is how long a connection may take to be made.
const DefaultConnectTimeout = 10 * time.Second

// parseURLs checks the addresses.
func parseURLs(texts []string) ([]*url.URL, error) {
	if len(texts) == 0 {
		return nil, userinput.Missing("endpoint", "want the address of a server, http://HOST:PORT")
	}
	var list []*url.URL
	seen := map[string]string{}
	for _, text := range texts {
		u, err := parseURL(text)
		if err != nil {
			return nil, userinput.Wrap("endpoint", err)
		}
		at := place(u)
		if other, ok := seen[at]; ok {
			return nil, userinput.Errorf("endpoint", "%s and %s are the same server, which would get twice the load of others: want each once", other, u)
		}
		seen[at] = u.String()
		list = append(list, u)
	}
	return list, nil
}

// place is the same text for addresses of the same server, as far as they show it.
func place(u *url.URL) string {
	port := cmp.Or(u.Port(), map[string]string{"http": "80", "https": "443"}[u.Scheme])
	return u.Scheme + "://" + net.JoinHostPort(strings.ToLower(u.Hostname()), port) + u.EscapedPath()
}

func parseURL(text string) (*url.URL, error) {
	u, err := url.Parse(text)
	switch shown := credentials.Address(text); {
	case err != nil:
		return nil, fmt.Errorf("%q is no address, want http://HOST:PORT", shown)
	case u.User != nil:
		return nil, fmt.Errorf("%s has a user or a password: put the key into a file", shown)
	case !isWeb(u.Scheme) || u.Hostname() == "":
		return nil, fmt.Errorf("%q is no address, want http://HOST:PORT or https://HOST", shown)
	case strings.ContainsAny(text, "?#"):
		return nil, fmt.Errorf("%s: want an address without ? and #", shown)
	}
	if err := credentials.CheckPort(u.Port()); err != nil {
		return nil, fmt.Errorf("%s: %w", u, err)
	}
	u.Path, u.RawPath = strings.TrimRight(u.Path, "/"), strings.TrimRight(u.RawPath, "/")
	return u, nil
}

func isWeb(scheme string) bool { return scheme == "http" || scheme == "https" }
