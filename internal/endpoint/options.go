package endpoint

import (
	"context"
	"fmt"
	"net"
	"net/url"
	"strings"
	"time"

	"github.com/mlperf-go/mlperf/internal/field"
)

// Options say which servers there are and how they are reached. The zero value of every field
// but URLs is useful. Errors about them are *field.Errors.
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
		return nil, field.Missing("endpoint", "want the address of a server, http://HOST:PORT")
	}
	var list []*url.URL
	for _, text := range texts {
		u, err := parseURL(text)
		if err != nil {
			return nil, field.Wrap("endpoint", err)
		}
		list = append(list, u)
	}
	return list, nil
}

func parseURL(text string) (*url.URL, error) {
	u, err := url.Parse(text)
	if err != nil {
		return nil, fmt.Errorf("%q is no address, want http://HOST:PORT", withoutUser(text))
	}
	switch {
	case u.User != nil:
		return nil, fmt.Errorf("%s has a user or a password: put the key into a file", withoutUser(text))
	case u.Scheme != "http" && u.Scheme != "https" || u.Host == "":
		return nil, fmt.Errorf("%q is no address, want http://HOST:PORT or https://HOST", text)
	case u.RawQuery != "" || u.Fragment != "":
		return nil, fmt.Errorf("%s: want an address without ? and #", strings.FieldsFunc(text, func(c rune) bool { return c == '?' || c == '#' })[0])
	}
	u.Path = strings.TrimRight(u.Path, "/")
	return u, nil
}

// withoutUser cuts what may be a password from an address.
func withoutUser(text string) string {
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
