//go:build linux

package process

import (
	"net"
	"net/netip"
	"os/exec"
	"syscall"
	"testing"
)

// TestWhichGroupHoldsASocket checks that only the process group of the process that opened a connection holds its
// socket, even if other processes can reach the port.
func TestWhichGroupHoldsASocket(t *testing.T) {
	other := exec.Command("sleep", "1000")
	other.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	if err := other.Start(); err != nil {
		t.Fatal(err)
	}
	defer func() {
		other.Process.Kill()
		other.Wait()
	}()
	for _, host := range []string{"127.0.0.1", "::1"} {
		t.Run(host, func(t *testing.T) {
			l, err := net.Listen("tcp", net.JoinHostPort(host, "0"))
			if err != nil {
				t.Skip(err) // the machine has no IPv6
			}
			defer l.Close()
			conn, err := net.Dial("tcp", l.Addr().String())
			if err != nil {
				t.Fatal(err)
			}
			defer conn.Close()
			at := func(a net.Addr) netip.AddrPort { return a.(*net.TCPAddr).AddrPort() }
			socket := SocketOf(at(conn.LocalAddr()), at(conn.RemoteAddr()))
			for group, want := range map[int]bool{syscall.Getpgrp(): true, other.Process.Pid: false, 1 << 30: false} {
				if got := (&Process{pid: group}).GroupHolds(socket); got != want {
					t.Errorf("group %d, where ours is %d: %t", group, syscall.Getpgrp(), got)
				}
			}
			if (&Process{pid: syscall.Getpgrp()}).GroupHolds("") {
				t.Error("somebody holds no socket")
			}
		})
	}
}
