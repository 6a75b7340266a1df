package relay

import (
	"fmt"
	"net/netip"
	"os"
	"path/filepath"
	"strings"
)

// CalledBy tells the number of the server's process. Without, a call of the server's is one that comes from [Port.Own]:
// a program that cannot be told from where to call is known by holding the socket. It must be said before [Port.Open].
func (p *Port) CalledBy(process func() int) { p.caller = process }

// calls reports whether the server's process calls from an address to another.
func (p *Port) calls(from, to netip.AddrPort) bool {
	if p.caller == nil {
		return p.own == from.Addr().Unmap()
	}
	return holds(p.caller(), from, to)
}

// Listens reports whether a process of this machine listens on a port of an address of IPv4.
func Listens(process int, at netip.AddrPort) bool {
	return holds(process, at, netip.AddrPortFrom(netip.IPv4Unspecified(), 0))
}

// holds reports whether a process of this machine has a TCP connection between two addresses of IPv4.
func holds(process int, local, remote netip.AddrPort) bool {
	inode := socketOf(local, remote)
	if inode == "" {
		return false
	}
	files := fmt.Sprintf("/proc/%d/fd", process)
	list, err := os.ReadDir(files)
	if err != nil {
		return false // it has ended
	}
	for _, f := range list {
		if to, err := os.Readlink(filepath.Join(files, f.Name())); err == nil && to == "socket:["+inode+"]" {
			return true
		}
	}
	return false
}

// socketOf finds the socket of a connection, from the side of its local address (proc(5), net/tcp).
func socketOf(local, remote netip.AddrPort) (inode string) {
	for _, table := range []string{"/proc/net/tcp", "/proc/net/tcp6"} {
		text, err := os.ReadFile(table)
		if err != nil {
			continue
		}
		for line := range strings.Lines(string(text)) {
			// number, local address, remote address, state, queues, timer, retransmits, user, time-out, inode
			f := strings.Fields(line)
			if len(f) > 9 && strings.HasSuffix(f[1], written(local)) && strings.HasSuffix(f[2], written(remote)) {
				return f[9]
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
