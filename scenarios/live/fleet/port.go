package fleet

import (
	"fmt"
	"math/rand/v2"
	"net"
)

// These are the limits of a range of ports that operating systems do not use for outgoing connections. Therefore no
// outgoing connection can take the port of a server while the server restarts.
const (
	firstPort = 20_000
	lastPort  = 32_000
)

// FreePort returns a port of a loopback address on which no process listens at the moment and which is not used for
// outgoing connections.
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
