package live

import (
	"bufio"
	"encoding/binary"
	"io"
	"net"
	"slices"
	"strconv"

	"github.com/fencepost-sim/fencepost/sim"
)

// Between a front and the world of another process of this program every answer travels in a frame, which says what it
// is: a kind, the length of what follows in four bytes, and that.
const (
	FrameReply   byte = '=' // of a request, in their order
	FramePush    byte = '>'
	FrameRefused byte = '!' // nobody listens: the end
)

// mostFramed is more than any answer of a simulated server takes.
const mostFramed = 512 << 20

// AppendFrame appends a frame to b.
func AppendFrame(b []byte, kind byte, what []byte) []byte {
	b = append(b, kind)
	b = binary.BigEndian.AppendUint32(b, uint32(len(what)))
	return append(b, what...)
}

// ReadFrame reads a frame.
func ReadFrame(r *bufio.Reader) (kind byte, what []byte, err error) {
	var head [5]byte
	if _, err := io.ReadFull(r, head[:]); err != nil {
		return 0, nil, err
	}
	n := binary.BigEndian.Uint32(head[1:])
	if n > mostFramed {
		return 0, nil, io.ErrUnexpectedEOF
	}
	what = make([]byte, n)
	_, err = io.ReadFull(r, what)
	return head[0], what, err
}

// Remote is a server of one world that is a server of another: it hands on what it is asked, over TCP, to a front of
// that world. Each connection of its clients is a connection there. It is a [sim.Server] and a [sim.Closer].
type Remote struct {
	loop    *Loop
	address string
	wrap    func(r *sim.Incoming) []string
	host    sim.Host
	spare   []*link
	links   map[uint64]*link
}

// NewRemote makes a server that hands on to a front at an address. wrap gives the request as it is sent there. It opens
// some connections at once, which the first to ask take: those that a client has from the start are open.
func NewRemote(l *Loop, address string, spare int, wrap func(r *sim.Incoming) []string) (*Remote, error) {
	s := &Remote{loop: l, address: address, wrap: wrap, links: map[uint64]*link{}}
	for range spare {
		socket, err := net.Dial("tcp", address)
		if err != nil {
			return nil, err
		}
		s.spare = append(s.spare, newLink(s, socket))
	}
	return s, nil
}

// link is a connection to the other world. What is not its reader's is the loop's.
type link struct {
	of      *Remote
	id      uint64 // of the connection here, once there is one
	socket  net.Conn
	out     *writer
	waiting []*sim.Incoming
	over    bool
}

func newLink(s *Remote, socket net.Conn) *link {
	k := &link{of: s, socket: socket, out: newWriter(socket.(*net.TCPConn))}
	go k.out.run()
	go k.read()
	return k
}

// Start begins.
func (s *Remote) Start(h sim.Host) { s.host = h }

// Serve hands a request on.
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
	k.out.add(AppendRequest(nil, s.wrap(r)))
}

// open finds a connection that nobody uses, or opens one; nil if that fails.
func (s *Remote) open() *link {
	for len(s.spare) > 0 {
		k := s.spare[0]
		s.spare = s.spare[1:]
		if !k.over {
			return k
		}
	}
	socket, err := net.Dial("tcp", s.address) // to a port on this machine: it does not wait
	if err != nil {
		return nil
	}
	return newLink(s, socket)
}

// AppendRequest appends a request as clients of Redis send it.
func AppendRequest(b []byte, args []string) []byte {
	b = append(strconv.AppendInt(append(b, '*'), int64(len(args)), 10), '\r', '\n')
	for _, a := range args {
		b = sim.AppendBulk(b, a)
	}
	return b
}

func (k *link) read() {
	r := bufio.NewReader(k.socket)
	for {
		kind, what, err := ReadFrame(r)
		if err != nil {
			k.of.loop.Do(k.ended)
			return
		}
		k.of.loop.Do(func() { k.took(kind, what) })
	}
}

// took takes a frame.
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

// ended breaks the connection here as it broke there.
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
	k.out.finish()
}

// Closed closes the connection that a client has closed.
func (s *Remote) Closed(connID uint64) {
	if k := s.links[connID]; k != nil {
		k.close()
	}
}

// Wake does nothing: it sets no timer.
func (s *Remote) Wake(uint64) {}

// ClockChanged does nothing: the clock of the server is there.
func (s *Remote) ClockChanged() {}

// Fault does nothing: faults strike the server there.
func (s *Remote) Fault(sim.ServerFault) {}

// Stop does nothing: the server's life is there.
func (s *Remote) Stop(sim.Stop) {}

var _ interface {
	sim.Server
	sim.Closer
} = (*Remote)(nil)
