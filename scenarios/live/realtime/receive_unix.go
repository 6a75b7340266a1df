//go:build unix

package realtime

import "syscall"

// receiveNow reads what a socket has, without waiting for more. It returns syscall.EAGAIN if there is nothing.
func receiveNow(fd uintptr, p []byte) (int, error) {
	n, _, err := syscall.Recvfrom(int(fd), p, syscall.MSG_DONTWAIT)
	return n, err
}
