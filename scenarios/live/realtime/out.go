package realtime

import (
	"net"
	"sync"
	"time"
)

// mostUnread is the maximum number of bytes that the other end may leave unread. Redis has a similar output buffer
// limit.
const mostUnread = 64 << 20

// Out writes to a socket for a loop. The loop never has to wait for the reader.
type Out struct {
	socket *net.TCPConn

	mu     sync.Mutex
	more   *sync.Cond
	queue  []byte
	closes bool // whether to close the socket after the queue is written
	resets bool // whether to reset the connection, too
}

// flushPatience is the maximum time to write the queue before a reset.
const flushPatience = time.Second

// NewOut returns an Out for a socket.
func NewOut(socket *net.TCPConn) *Out {
	w := &Out{socket: socket}
	w.more = sync.NewCond(&w.mu)
	return w
}

// Add queues a copy of b. It returns false if too many bytes are queued.
func (w *Out) Add(b []byte) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	if len(w.queue)+len(b) > mostUnread {
		return false
	}
	w.queue = append(w.queue, b...)
	w.more.Signal()
	return true
}

// Finish closes the socket once everything has been written.
func (w *Out) Finish() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.closes = true
	w.more.Signal()
}

// Reset resets the connection once everything has been written.
func (w *Out) Reset() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.closes, w.resets = true, true
	w.socket.SetWriteDeadline(time.Now().Add(flushPatience))
	w.more.Signal()
}

// Run writes until the socket is closed. If a write fails, Run discards the bytes; the other end sees that the
// connection has ended.
func (w *Out) Run() {
	var writing []byte
	for {
		w.mu.Lock()
		for len(w.queue) == 0 && !w.closes {
			w.more.Wait()
		}
		writing, w.queue = w.queue, writing[:0]
		over, resets := len(writing) == 0, w.resets
		w.mu.Unlock()
		if !over {
			_, err := w.socket.Write(writing)
			over = err != nil
		}
		if over {
			if resets {
				w.socket.SetLinger(0)
			}
			w.socket.Close()
			return
		}
	}
}
