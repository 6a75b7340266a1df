package realtime

import (
	"slices"

	"github.com/fencepost-sim/fencepost/sim"
)

// Remote is a server in one world that represents a server in another world. It forwards its clients' requests over TCP
// to a [Front] in the other world, with one TCP connection per client connection. Remote is a [sim.Server] and a
// [sim.Closer].
type Remote struct {
	loop  *Loop
	to    Door
	wrap  func(r *sim.Incoming) []string
	host  sim.Host
	spare []*link
	links map[uint64]*link
}

// NewRemote returns a server that forwards requests to a [Front]. to is the Front's address. wrap converts a request to
// the form that the Front expects. spare is the number of connections that NewRemote opens in advance, so that the
// first clients do not have to wait.
func NewRemote(l *Loop, to Door, spare int, wrap func(r *sim.Incoming) []string) (*Remote, error) {
	s := &Remote{loop: l, to: to, wrap: wrap, links: map[uint64]*link{}}
	for range spare {
		k, err := s.dial()
		if err != nil {
			return nil, err
		}
		s.spare = append(s.spare, k)
	}
	return s, nil
}

// link is a connection from this world to a server in another world.
type link struct {
	*Framed
	of      *Remote
	id      uint64 // number of the connection in this world, once there is one
	waiting []*sim.Incoming
	over    bool
}

// dial opens a link.
func (s *Remote) dial() (k *link, err error) {
	k = &link{of: s}
	k.Framed, err = DialFramed(s.loop, s.to, k.took, k.ended)
	return k, err
}

// Start stores the host for later use.
func (s *Remote) Start(h sim.Host) { s.host = h }

// Serve forwards a request.
func (s *Remote) Serve(r *sim.Incoming) {
	k := s.links[r.ConnID]
	if k == nil {
		if k = s.open(); k == nil {
			r.Drop()
			return
		}
		k.id = r.ConnID
		s.links[r.ConnID] = k
	}
	k.waiting = append(k.waiting, r)
	k.Say(s.wrap(r))
}

// open returns a spare connection or, if there is none, a new one. It returns nil if it cannot open one.
func (s *Remote) open() *link {
	for len(s.spare) > 0 {
		k := s.spare[0]
		s.spare = s.spare[1:]
		if !k.over {
			return k
		}
	}
	k, err := s.dial() // the port is on this machine, so dialing takes hardly any time
	if err != nil {
		return nil
	}
	return k
}

// took handles a frame from the other world.
func (k *link) took(kind byte, what []byte) {
	switch {
	case k.over:
	case kind == FramePush:
		k.of.host.Push(k.id, sim.Key(0), what)
	case kind == FrameReply && len(k.waiting) > 0:
		r := k.waiting[0]
		k.waiting = slices.Delete(k.waiting, 0, 1)
		r.Reply(what)
	}
}

// ended handles the end of the link. If requests are pending, it drops them. Otherwise it closes the client's
// connection.
func (k *link) ended() {
	if k.over {
		return
	}
	k.close()
	if len(k.waiting) == 0 && k.id != 0 {
		k.of.host.HangUp(k.id)
	}
	for _, r := range k.waiting {
		r.Drop()
	}
}

func (k *link) close() {
	k.over = true
	delete(k.of.links, k.id)
	k.end()
}

// Closed closes a connection's link after a client has closed the connection.
func (s *Remote) Closed(connID uint64) {
	if k := s.links[connID]; k != nil {
		k.close()
	}
}

// Wake does nothing, because the server does not set any timers.
func (s *Remote) Wake(uint64) {}

// ClockChanged does nothing, because the server's clock is in another world.
func (s *Remote) ClockChanged() {}

// Fault does nothing, because the server's faults happen in the world where it runs.
func (s *Remote) Fault(sim.ServerFault) {}

// Stop does nothing, because the server runs in another world.
func (s *Remote) Stop(sim.Stop) {}

var _ interface {
	sim.Server
	sim.Closer
} = (*Remote)(nil)
