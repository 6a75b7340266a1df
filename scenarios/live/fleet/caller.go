package fleet

import (
	"net/netip"
	"slices"

	"github.com/fencepost-sim/fencepost/scenarios/live/process"
)

// caller returns the port of the server whose process opened the connection between two addresses, or nil if the
// process is not one of the servers. Only this check decides whether a connection between servers is accepted. An
// address proves nothing, because any user of the machine can connect from it.
func (r *Relay) caller(from, to netip.AddrPort) *Port {
	socket := process.SocketOf(from, to)
	r.mu.Lock()
	ports := slices.Clone(r.ports)
	r.mu.Unlock()
	for _, p := range ports {
		if process.Holds(p.process(), socket) {
			return p
		}
	}
	return nil
}

// listens reports whether the process pid is listening on an IPv4 address.
func listens(pid int, at netip.AddrPort) bool {
	return process.Holds(pid, process.SocketOf(at, netip.AddrPortFrom(netip.IPv4Unspecified(), 0)))
}
