package process

import (
	"fmt"
	"net/netip"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
)

// Holds reports whether a process on this machine has the socket open. It returns false if the socket's name is empty.
func Holds(process int, socket string) bool {
	if socket == "" {
		return false
	}
	files := fmt.Sprintf("/proc/%d/fd", process)
	list, err := os.ReadDir(files)
	if err != nil {
		return false // the process has ended
	}
	return slices.ContainsFunc(list, func(f os.DirEntry) bool {
		to, err := os.Readlink(filepath.Join(files, f.Name()))
		return err == nil && to == socket
	})
}

// GroupHolds reports whether any process in the process group has a socket open. It may be called from any goroutine.
func (p *Process) GroupHolds(socket string) bool {
	list, err := os.ReadDir("/proc")
	if err != nil || socket == "" {
		return false
	}
	return slices.ContainsFunc(list, func(f os.DirEntry) bool {
		pid, err := strconv.Atoi(f.Name())
		return err == nil && groupOf(pid) == p.pid && Holds(pid, socket)
	})
}

// groupOf returns the process group of a process on this machine, or 0 if the process has ended (proc(5),
// /proc/PID/stat).
func groupOf(pid int) int {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return 0
	}
	name := strings.LastIndexByte(string(text), ')') // the name may contain any characters
	after := strings.Fields(string(text)[name+1:])   // the fields are state, parent, group
	if len(after) < 3 {
		return 0
	}
	group, _ := strconv.Atoi(after[2])
	return group
}

// SocketOf returns the name of a connection's local socket, such as "socket:[12345]", or "" if there is no such socket.
// A process's file descriptors refer to the socket by this name (proc(5), net/tcp).
func SocketOf(local, remote netip.AddrPort) string {
	here, there := written(local), written(remote)
	for _, table := range []string{"/proc/net/tcp", "/proc/net/tcp6"} {
		text, err := os.ReadFile(table)
		if err != nil {
			continue
		}
		for line := range strings.Lines(string(text)) {
			// the fields are: number, local address, remote address, state, queues, timer, retransmits, user, timeout,
			// inode
			f := strings.Fields(line)
			if len(f) > 9 && strings.HasSuffix(f[1], here) && strings.HasSuffix(f[2], there) {
				return "socket:[" + f[9] + "]"
			}
		}
	}
	return ""
}

// written formats an address the way the kernel does, for example 0100007F:18EB for 127.0.0.1:6379. The bytes of each
// four-byte word are in reverse order. An IPv4 address is the last word of the corresponding IPv6 address.
func written(at netip.AddrPort) string {
	var text string
	for word := range slices.Chunk(at.Addr().Unmap().AsSlice(), 4) {
		text += fmt.Sprintf("%02X%02X%02X%02X", word[3], word[2], word[1], word[0])
	}
	return fmt.Sprintf("%s:%04X", text, at.Port())
}
