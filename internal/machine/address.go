package machine

import (
	"context"
	"net"
	"net/netip"
	"strings"
)

// HasAddress reports whether a host, by its address or its name, is certainly this machine: what is sent there leaves no network
// interface.
func HasAddress(ctx context.Context, host string) bool {
	if strings.EqualFold(host, "localhost") {
		return true
	}
	addresses := []netip.Addr{}
	if ip, err := netip.ParseAddr(host); err == nil {
		addresses = append(addresses, ip)
	} else if addresses, err = net.DefaultResolver.LookupNetIP(ctx, "ip", host); err != nil {
		return false
	}
	own, _ := net.InterfaceAddrs()
	for _, a := range addresses {
		a = a.Unmap().WithZone("")
		if a.IsLoopback() || a.IsUnspecified() { // connecting to 0.0.0.0 reaches this machine
			return true
		}
		for _, o := range own {
			if n, ok := o.(*net.IPNet); ok && n.IP.Equal(a.AsSlice()) {
				return true
			}
		}
	}
	return false
}
