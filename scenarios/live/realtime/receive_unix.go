//go:build unix

package realtime

import "syscall"

// receiveNow reads the bytes that a socket has already received. It returns syscall.EAGAIN if there are none.
func receiveNow(fd uintptr, p []byte) (int, error) {
	n, _, err := syscall.Recvfrom(int(fd), p, syscall.MSG_DONTWAIT)
	return n, err
}
