package access

import (
	"net"
	"net/netip"
	"strconv"
	"strings"
)

// loopback reports whether a host is this machine alone.
func loopback(host string) bool {
	if strings.EqualFold(host, "localhost") {
		return true
	}
	ip, err := netip.ParseAddr(host)
	return err == nil && ip.Unmap().IsLoopback()
}

// Host is the host and port of the first URL; empty if there is none.
func (a Server) Host() string {
	all, err := a.urls()
	if err != nil {
		return ""
	}
	return all[0].Host
}

// At are the URLs at which a server is reached that listens at an address: of one that listens at all addresses of the
// machine, each of them, that of the machine itself last.
func At(listener *net.TCPAddr) string {
	hosts := []string{listener.IP.String()}
	if listener.IP.IsUnspecified() {
		hosts = nil
		all, _ := net.InterfaceAddrs() // without them the machine itself is left
		for _, a := range all {
			if n, ok := a.(*net.IPNet); ok && n.IP.IsGlobalUnicast() {
				hosts = append(hosts, n.IP.String())
			}
		}
		hosts = append(hosts, "127.0.0.1")
	}
	for i, host := range hosts {
		hosts[i] = "tls://" + net.JoinHostPort(host, strconv.Itoa(listener.Port))
	}
	return strings.Join(hosts, ",")
}
