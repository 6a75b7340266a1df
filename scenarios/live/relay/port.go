package relay

import (
	"fmt"
	"math/rand/v2"
	"net"
)

// Ports from which systems take none for connections that call out: what listens there can be started again.
const (
	firstPort = 20_000
	lastPort  = 32_000
)

// FreePort is a port of a loopback address that nobody listens on right now, and that no connection calls out from.
func FreePort(host string) (port int, err error) {
	for range 100 {
		port = firstPort + rand.IntN(lastPort-firstPort)
		var l net.Listener
		if l, err = net.Listen("tcp", net.JoinHostPort(host, fmt.Sprint(port))); err == nil {
			return port, l.Close()
		}
	}
	return 0, err
}
