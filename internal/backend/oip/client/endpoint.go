package client

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net"
	"net/url"
	"slices"
	"strings"

	"github.com/mlperf-go/mlperf/internal/backend/credentials"
	"github.com/mlperf-go/mlperf/internal/machine"
)

// An endpoint is the address of one server.
type endpoint struct {
	name    string // as users write it, with the address where a name has several
	grpc    bool
	tls     bool
	network string // tcp or unix
	address string
	host    string // of certificates, and of the Host header
	prefix  string // of paths over HTTP
}

// CheckEndpoint finds what cannot be an endpoint.
func CheckEndpoint(text string) error {
	_, _, err := parseEndpoint(text)
	return err
}

// parseEndpoint reads a URL. If all is true, each address of its host is an endpoint: the scheme begins with dns+, or the URL
// is dns:///host:port, which is gRPC.
func parseEndpoint(text string) (e endpoint, all bool, err error) {
	plain, all := strings.CutPrefix(text, "dns+")
	if rest, ok := strings.CutPrefix(text, "dns:///"); ok {
		plain, all = "grpc://"+rest, true
	}
	shown := credentials.Address(text)
	fail := func(what string) (endpoint, bool, error) {
		return endpoint{}, false, fmt.Errorf("endpoint %q: %s", shown, what)
	}
	u, err := url.Parse(plain)
	port, known := "", false
	if err == nil {
		port, known = map[string]string{"http": "80", "https": "443", "grpc": "8001", "grpcs": "8001"}[u.Scheme] // as Triton's
	}
	switch {
	case shown != text:
		return fail("expected no user, query or fragment in it")
	case err != nil:
		return fail("it is not a URL")
	case u.Scheme == "unix" && (u.Path == "" || u.Host != "" || all):
		return fail("expected unix:///path/of/socket")
	case u.Scheme == "unix":
		return endpoint{name: text, network: "unix", address: u.Path, host: "localhost"}, false, nil
	case !known || u.Hostname() == "":
		return fail("expected a URL with the scheme http, https, unix, grpc, grpcs or dns, as http://host:8000")
	}
	e = endpoint{name: text, grpc: strings.HasPrefix(u.Scheme, "grpc"), tls: strings.HasSuffix(u.Scheme, "s"), network: "tcp",
		host: u.Hostname(), address: net.JoinHostPort(u.Hostname(), cmp.Or(u.Port(), port)), prefix: strings.TrimSuffix(u.EscapedPath(), "/")}
	if e.grpc && e.prefix != "" {
		return fail("expected host:port without a path, which gRPC does not have")
	}
	return e, all, nil
}

// endpoints are those that URLs name: of names with several addresses one for each.
func endpoints(ctx context.Context, o Options) ([]endpoint, error) {
	lookup := o.lookup
	if lookup == nil {
		lookup = net.DefaultResolver.LookupHost
	}
	if len(o.Endpoints) == 0 {
		return nil, errors.New("no endpoint given: give the URL of a server, as http://host:8000")
	}
	var list []endpoint
	for _, text := range o.Endpoints {
		e, all, err := parseEndpoint(text)
		if err != nil {
			return nil, err
		}
		if !all {
			list = append(list, e)
			continue
		}
		addresses, err := lookup(ctx, e.host)
		if err == nil && len(addresses) == 0 {
			err = fmt.Errorf("the name %s has no address", e.host)
		}
		if err != nil {
			return nil, fmt.Errorf("endpoint %q: %w", text, err)
		}
		_, port, _ := net.SplitHostPort(e.address)
		slices.Sort(addresses)
		for _, a := range slices.Compact(addresses) {
			one := e
			one.address, one.name = net.JoinHostPort(a, port), e.name+" ("+a+")"
			list = append(list, one)
		}
	}
	seen := map[string]string{}
	for _, e := range list {
		key := fmt.Sprint(e.network, e.address, e.prefix, e.grpc)
		if other, ok := seen[key]; ok {
			return nil, fmt.Errorf("endpoints %q and %q are the same server, which would get twice the load of others: give each once", other, e.name)
		}
		seen[key] = e.name
	}
	return list, nil
}

// local reports whether an endpoint is certainly on this machine.
func (e endpoint) local(ctx context.Context) bool {
	host, _, _ := net.SplitHostPort(e.address)
	return e.network == "unix" || machine.HasAddress(ctx, host)
}
