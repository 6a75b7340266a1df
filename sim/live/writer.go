package live

import (
	"net"
	"sync"
	"time"
)

// mostUnread is how many bytes a client may leave unread before its connection is reset, as Redis does by its limit for
// output buffers.
const mostUnread = 64 << 20

// writer writes to a socket what the loop gives it, so that the loop never waits for a client.
type writer struct {
	socket *net.TCPConn

	mu     sync.Mutex
	more   *sync.Cond
	queue  []byte
	closes bool // after the queue
	resets bool // likewise
}

// patience is how long what was said before a reset may take to be written.
const patience = time.Second

func newWriter(socket *net.TCPConn) *writer {
	w := &writer{socket: socket}
	w.more = sync.NewCond(&w.mu)
	return w
}

// add queues bytes, which are copied. It reports false if there are too many.
func (w *writer) add(b []byte) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	if len(w.queue)+len(b) > mostUnread {
		return false
	}
	w.queue = append(w.queue, b...)
	w.more.Signal()
	return true
}

// finish closes the socket when all is written.
func (w *writer) finish() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.closes = true
	w.more.Signal()
}

// reset resets the connection when all is written.
func (w *writer) reset() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.closes, w.resets = true, true
	w.socket.SetWriteDeadline(time.Now().Add(patience))
	w.more.Signal()
}

// run writes until the socket is closed. What cannot be written is lost: the reader learns of the end.
func (w *writer) run() {
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
