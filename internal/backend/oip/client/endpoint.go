package client

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"net/url"
	"slices"
	"strings"

	"github.com/mlperf-go/mlperf/internal/backend/credentials"
)

// An endpoint is one server.
type endpoint struct {
	name    string // as users write it, with the address where a name has several
	grpc    bool
	tls     bool
	network string // tcp or unix
	address string
	host    string // of certificates, and of the Host header
	prefix  string // of paths over HTTP
}

// schemes are those of endpoints.
const schemes = "http, https, unix, grpc, grpcs or dns"

// ports are those of schemes where the URL has none, as Triton has them.
var ports = map[string]string{"http": "80", "https": "443", "grpc": "8001", "grpcs": "8001"}

// A Resolver finds the addresses of a name.
type Resolver func(ctx context.Context, host string) ([]string, error)

// CheckEndpoint finds what cannot be an endpoint.
func CheckEndpoint(text string) error {
	_, _, err := parseEndpoint(text)
	return err
}

// parseEndpoint reads a URL. All says that each address of its name is an endpoint: then the
// scheme begins with dns+, or it is dns:///host:port, which is gRPC.
func parseEndpoint(text string) (e endpoint, all bool, err error) {
	plain, all := ofAll(text)
	u, err := url.Parse(plain)
	shown := credentials.Address(text)
	switch {
	case err != nil && shown != text:
		err = errors.New("it is no address") // what url says of it may have what is not shown
	case err != nil:
	case shown != text:
		err = errors.New("want no user, question or fragment in it")
	case u.Scheme == "unix":
		e, err = socketEndpoint(u, all)
	default:
		e, err = hostEndpoint(u)
	}
	if err != nil {
		return endpoint{}, false, fmt.Errorf("endpoint %q: %w", shown, err)
	}
	e.name = text
	return e, all, nil
}

// ofAll is the URL of one address, of an endpoint that says that it is each one of its name.
func ofAll(text string) (plain string, all bool) {
	if rest, ok := strings.CutPrefix(text, "dns:///"); ok {
		return "grpc://" + rest, true
	}
	return strings.CutPrefix(text, "dns+")
}

// socketEndpoint is a socket of this machine.
func socketEndpoint(u *url.URL, all bool) (endpoint, error) {
	if u.Path == "" || u.Host != "" || all {
		return endpoint{}, errors.New("want unix:///path/of/socket")
	}
	return endpoint{network: "unix", address: u.Path, host: "localhost"}, nil
}

// hostEndpoint is a port of a host.
func hostEndpoint(u *url.URL) (endpoint, error) {
	usual, ok := ports[u.Scheme]
	if !ok || u.Host == "" || u.Opaque != "" {
		return endpoint{}, fmt.Errorf("want a URL with the scheme %s, as http://host:8000", schemes)
	}
	port := cmp.Or(u.Port(), usual)
	e := endpoint{grpc: strings.HasPrefix(u.Scheme, "grpc"), tls: strings.HasSuffix(u.Scheme, "s"), network: "tcp",
		host: u.Hostname(), address: net.JoinHostPort(u.Hostname(), port), prefix: strings.TrimSuffix(u.Path, "/")}
	if err := credentials.CheckPort(u.Port()); err != nil {
		return endpoint{}, err
	}
	if e.host == "" || e.grpc && e.prefix != "" {
		return endpoint{}, errors.New("want host:port and, of gRPC, no path")
	}
	return e, nil
}

// endpoints are those that URLs name, of names with several addresses one for each.
func endpoints(ctx context.Context, urls []string, resolve Resolver) ([]endpoint, error) {
	if len(urls) == 0 {
		return nil, fmt.Errorf("there is no endpoint")
	}
	var list []endpoint
	for _, text := range urls {
		e, all, err := parseEndpoint(text)
		if err != nil {
			return nil, err
		}
		if !all {
			list = append(list, e)
			continue
		}
		each, err := e.resolved(ctx, resolve)
		if err != nil {
			return nil, fmt.Errorf("endpoint %q: %w", text, err)
		}
		list = append(list, each...)
	}
	return list, twice(list)
}

// resolved are endpoints at all addresses of a name.
func (e endpoint) resolved(ctx context.Context, resolve Resolver) (list []endpoint, err error) {
	addresses, err := resolve(ctx, e.host)
	if err != nil {
		return nil, err
	}
	if len(addresses) == 0 {
		return nil, fmt.Errorf("the name %s has no address", e.host)
	}
	_, port, _ := net.SplitHostPort(e.address)
	slices.Sort(addresses)
	for _, a := range slices.Compact(addresses) {
		one := e
		one.address, one.name = net.JoinHostPort(a, port), e.name+" ("+a+")"
		list = append(list, one)
	}
	return list, nil
}

// twice finds a server that is named twice: it would get twice the load of the others.
func twice(list []endpoint) error {
	seen := map[string]string{}
	for _, e := range list {
		key := fmt.Sprint(e.network, e.address, e.prefix, e.grpc)
		if other, ok := seen[key]; ok {
			return fmt.Errorf("endpoints %q and %q are the same server", other, e.name)
		}
		seen[key] = e.name
	}
	return nil
}

// local reports whether an endpoint is on this machine for certain.
func (e endpoint) local() bool {
	if e.network == "unix" || strings.EqualFold(e.host, "localhost") {
		return true
	}
	host, _, _ := net.SplitHostPort(e.address)
	ip, err := netip.ParseAddr(host)
	return err == nil && ip.Unmap().IsLoopback()
}
