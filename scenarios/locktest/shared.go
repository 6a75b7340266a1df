package locktest

import (
	"fmt"
	"io"

	"github.com/fencepost-sim/fencepost/checker/history"
)

// common contains the object that one client's locks share.
type common struct {
	turn   chan struct{} // contains one element while a lock uses the fields below
	object any           // nil: not made yet
}

func newCommon() *common { return &common{turn: make(chan struct{}, 1)} }

// Shared returns the object that a client's locks have in common, such as a connection pool or the factory that makes
// the locks for all keys. Call it in New if clients use several locks (Config.Locks). The first call for a client
// creates the object by calling open, and later calls return the same object. If open returns an error, Shared returns
// that error, and the next call tries again. If the object is an [io.Closer], it is closed at the end of the run, at
// the same time as the locks. Like the locks, it must not be shared between clients.
func Shared[T any](c *Client, open func() (T, error)) (T, error) {
	s := c.shared
	s.turn <- struct{}{}
	defer func() { <-s.turn }()
	if s.object == nil {
		object, err := open()
		if err != nil {
			return object, err
		}
		s.object = object
		if closer, closes := s.object.(io.Closer); closes {
			c.guest.AtEnd("Close", func() { _ = closer.Close() })
		}
	}
	object, is := s.object.(T)
	if !is {
		return object, fmt.Errorf("Shared was called for a %T of %s, and earlier for a %T: "+
			"give all locks the same object", object, c.Name, s.object)
	}
	return object, nil
}

// sharedBy returns the object that a client's locks share in this run.
func (h *host) sharedBy(client history.Process) *common {
	if h.common[client] == nil {
		h.common[client] = newCommon()
	}
	return h.common[client]
}
