package fleet

import (
	"fmt"
	"math/rand/v2"
	"net"
)

// Operating systems do not use the ports in this range for outgoing connections, so no outgoing connection can take a
// server's port while the server restarts.
const (
	firstPort = 20_000
	lastPort  = 32_000
)

// FreePort returns a port on a loopback address. No process is listening on it, and it is not used for outgoing
// connections.
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
