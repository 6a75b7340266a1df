package etcdserver

import (
	"io"
	"sync"
)

// outbox is a buffer for bytes to be sent on a connection. The world can always add bytes without waiting. The reader
// waits until there are bytes.
type outbox struct {
	mu     sync.Mutex
	news   *sync.Cond // signals that there are bytes, or that no more will come
	queue  []byte
	closed bool
}

func newOutbox() *outbox {
	o := &outbox{}
	o.news = sync.NewCond(&o.mu)
	return o
}

func (o *outbox) add(b []byte) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.queue = append(o.queue, b...)
	o.news.Signal()
}

// close tells the reader that there will be no more bytes.
func (o *outbox) close() {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.closed = true
	o.news.Signal()
}

// Read returns the next bytes, or io.EOF after the last ones.
func (o *outbox) Read(b []byte) (int, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	for len(o.queue) == 0 {
		if o.closed {
			return 0, io.EOF
		}
		o.news.Wait()
	}
	n := copy(b, o.queue)
	o.queue = o.queue[n:]
	return n, nil
}
