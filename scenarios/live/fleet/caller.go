package fleet

import (
	"fmt"
	"net/netip"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// caller returns the port of the server whose process has opened a connection from an address to another; nil if none
// has. Every connection between servers is admitted by this rule alone: an address proves nothing, since any user of
// the machine can connect from it.
func (r *Relay) caller(from, to netip.AddrPort) *Port {
	socket := socketOf(from, to)
	r.mu.Lock()
	ports := slices.Clone(r.ports)
	r.mu.Unlock()
	for _, p := range ports {
		if holds(p.process(), socket) {
			return p
		}
	}
	return nil
}

// Listens reports whether a process of this machine listens at an IPv4 address.
func Listens(process int, at netip.AddrPort) bool {
	return holds(process, socketOf(at, netip.AddrPortFrom(netip.IPv4Unspecified(), 0)))
}

// holds reports whether a process of this machine has a socket; nobody has an empty one.
func holds(process int, socket string) bool {
	if socket == "" {
		return false
	}
	files := fmt.Sprintf("/proc/%d/fd", process)
	list, err := os.ReadDir(files)
	if err != nil {
		return false // it has ended
	}
	return slices.ContainsFunc(list, func(f os.DirEntry) bool {
		to, err := os.Readlink(filepath.Join(files, f.Name()))
		return err == nil && to == socket
	})
}

// socketOf is the name by which the files of a process refer to the socket of a connection, seen from its local address
// (proc(5), net/tcp); empty if there is none.
func socketOf(local, remote netip.AddrPort) string {
	for _, table := range []string{"/proc/net/tcp", "/proc/net/tcp6"} {
		text, err := os.ReadFile(table)
		if err != nil {
			continue
		}
		for line := range strings.Lines(string(text)) {
			// number, local address, remote address, state, queues, timer, retransmits, user, time-out, inode
			f := strings.Fields(line)
			if len(f) > 9 && strings.HasSuffix(f[1], written(local)) && strings.HasSuffix(f[2], written(remote)) {
				return "socket:[" + f[9] + "]"
			}
		}
	}
	return ""
}

// written is an address as the kernel writes it: an IPv4 address is the end of an IPv6 one, each with its bytes
// reversed.
func written(at netip.AddrPort) string {
	a := at.Addr().Unmap().As4()
	return fmt.Sprintf("%02X%02X%02X%02X:%04X", a[3], a[2], a[1], a[0], at.Port())
}
