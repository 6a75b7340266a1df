package live

import (
	"bufio"
	"errors"
	"net"
	"sync"

	"github.com/fencepost-sim/fencepost/sim"
	"github.com/fencepost-sim/fencepost/sim/live"
)

// control is the connection by which a client of our own reports.
type control struct {
	socket net.Conn
	in     *bufio.Reader

	mu      sync.Mutex
	waiting []*sim.Signal // of those who wait for an acknowledgement, in their order
}

func dialControl(address string) (*control, error) {
	socket, err := net.Dial("tcp", address)
	if err != nil {
		return nil, err
	}
	return &control{socket: socket, in: bufio.NewReader(socket)}, nil
}

func (c *control) close() { c.socket.Close() }

// ask says something and gives the answer. It is for the time before read.
func (c *control) ask(args ...string) ([]byte, error) {
	if _, err := c.socket.Write(live.AppendRequest(nil, args)); err != nil {
		return nil, err
	}
	kind, what, err := live.ReadFrame(c.in)
	if err == nil && kind != live.FrameReply {
		err = errors.New("the answer is none")
	}
	return what, err
}

// say says something; done is raised, on the loop, when it is acknowledged.
func (c *control) say(done *sim.Signal, args []string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.waiting = append(c.waiting, done)
	c.socket.Write(live.AppendRequest(nil, args)) // the reader learns of a failure
}

// read hands what comes to the client's loop.
func (c *control) read(of *child) {
	for {
		kind, what, err := live.ReadFrame(c.in)
		if err != nil {
			of.loop.Fail(err)
			return
		}
		if kind == live.FramePush {
			of.loop.Do(func() { of.told(string(what)) })
			continue
		}
		c.mu.Lock()
		done := c.waiting[0]
		c.waiting = c.waiting[1:]
		c.mu.Unlock()
		of.loop.Do(done.Raise)
	}
}
