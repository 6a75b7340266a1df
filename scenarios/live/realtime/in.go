package realtime

import (
	"net"
	"sync"
	"syscall"
)

// In reads from a socket on behalf of a loop. A goroutine reads bytes as they arrive. The loop can also call Take to
// read everything that has arrived so far.
type In struct {
	raw  syscall.RawConn
	post func() // makes the loop call Collected

	mu    sync.Mutex
	room  *sync.Cond
	in    []byte // bytes that were read and not collected yet
	ended bool   // whether the connection has ended, so that nothing more will arrive
	noted bool   // whether the loop has been asked to collect
}

// mostRead is the number of uncollected bytes at which In stops reading.
const mostRead = 1 << 20

// NewIn returns an In for a socket. When bytes are available, it calls post, on any goroutine; post must make the loop
// call Collected.
func NewIn(socket *net.TCPConn, post func()) *In {
	b := &In{post: post}
	b.room = sync.NewCond(&b.mu)
	b.raw, _ = socket.SyscallConn() // cannot fail for an open socket
	return b
}

// Run reads from the socket until the connection ends.
func (b *In) Run() {
	for {
		err := b.raw.Read(func(fd uintptr) bool {
			b.mu.Lock()
			defer b.mu.Unlock()
			return b.receive(fd)
		})
		b.mu.Lock()
		b.ended = b.ended || err != nil
		news := !b.noted
		b.noted = true
		b.mu.Unlock()
		if news {
			b.post()
		}
		b.mu.Lock()
		for len(b.in) > mostRead && !b.ended {
			b.room.Wait()
		}
		ended := b.ended
		b.mu.Unlock()
		if ended {
			return
		}
	}
}

// receive reads the bytes that the socket has already received. It reports whether it has read any bytes or the
// connection has ended. The caller must hold mu.
func (b *In) receive(fd uintptr) bool {
	var p [16 << 10]byte
	for {
		n, err := receiveNow(fd, p[:])
		switch {
		case err == syscall.EINTR:
		case err == syscall.EAGAIN:
			return false
		case err != nil || n == 0:
			b.ended = true
			return true
		default:
			b.in = append(b.in, p[:n]...)
			return true
		}
	}
}

// Take reads everything that has arrived at the socket, and reports whether Collected has something to return.
func (b *In) Take() bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.raw.Control(func(fd uintptr) {
		for !b.ended && b.receive(fd) {
		}
	})
	return len(b.in) > 0 || b.ended
}

// Collected returns what has been read since the last call. ended is true if nothing more will arrive.
func (b *In) Collected() (in []byte, ended bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	in, b.in, b.noted = b.in, nil, false
	b.room.Signal()
	return in, b.ended
}

// Stop makes Run return.
func (b *In) Stop() {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.ended = true
	b.room.Signal()
}
