package access

import (
	"net"
	"net/netip"
	"strconv"
	"strings"
)

// loopback reports whether a host is this machine's loopback interface.
func loopback(host string) bool {
	if strings.EqualFold(host, "localhost") {
		return true
	}
	ip, err := netip.ParseAddr(host)
	return err == nil && ip.Unmap().IsLoopback()
}

// Host returns the host and port of the first URL, or "" if the URL cannot be parsed.
func (a Server) Host() string {
	all, err := a.urls()
	if err != nil {
		return ""
	}
	return all[0].Host
}

// At returns the URLs of a server that is listening on an address, separated by commas. If the server is listening on
// all of the machine's addresses, these are the URLs of all its global unicast addresses, followed by that of the
// loopback address.
func At(listener *net.TCPAddr) string {
	hosts := []string{listener.IP.String()}
	if listener.IP.IsUnspecified() {
		hosts = nil
		all, _ := net.InterfaceAddrs() // if this fails, only the loopback address remains
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
