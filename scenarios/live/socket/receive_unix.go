//go:build unix

package socket

import "syscall"

// receiveNow reads what a socket has, and does not wait for more: syscall.EAGAIN says that it has nothing.
func receiveNow(fd uintptr, p []byte) (int, error) {
	n, _, err := syscall.Recvfrom(int(fd), p, syscall.MSG_DONTWAIT)
	return n, err
}
