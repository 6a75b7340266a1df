package relay

import (
	"fmt"
	"net/netip"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// caller is the port of the server whose process has opened a connection from an address to another; nil if none has.
// Every connection between servers is let in by this rule alone: an address says nothing, since any user of the machine
// can call from it.
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

// Listens reports whether a process of this machine listens on a port of an address of IPv4.
func Listens(process int, at netip.AddrPort) bool {
	return holds(process, socketOf(at, netip.AddrPortFrom(netip.IPv4Unspecified(), 0)))
}

// holds reports whether a process of this machine has a socket; an empty one is nobody's.
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

// socketOf is how the files of a process name the socket of a connection, from the side of its local address (proc(5),
// net/tcp); empty if there is none.
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

// written is how the kernel writes an address: what is IPv4 is the end of what is IPv6, each with its bytes reversed.
func written(at netip.AddrPort) string {
	a := at.Addr().Unmap().As4()
	return fmt.Sprintf("%02X%02X%02X%02X:%04X", a[3], a[2], a[1], a[0], at.Port())
}
