package realtime

import (
	"crypto/rand"
	"crypto/subtle"
	"slices"
	"strings"

	"github.com/fencepost-sim/fencepost/sim"
)

// Limits on callers without the password.
const (
	mostCallers    = 64       // at a port, before the oldest is closed
	mostRefusals   = 16       // of a connection, before it is closed
	mostUnverified = 16 << 10 // bytes of a request
)

// Replies to a caller without the password. The first two start as those of Redis do.
const (
	noAuth = "NOAUTH fencepost: Authentication required. This port is a client's, and the password stands in the URL " +
		"that the client finds in its environment, redis://:PASSWORD@HOST:PORT: give your library the whole URL, or " +
		"send AUTH PASSWORD first"
	wrongPass = "WRONGPASS fencepost: invalid username-password pair: the password stands in the URL that the client " +
		"finds in its environment"
	syntax = "ERR syntax error"
)

// Secret is the password of a client's ports, 130 random bits.
func (f *Front) Secret(client sim.ProcessID) string {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.secrets[client] == "" {
		f.secrets[client] = rand.Text()
	}
	return f.secrets[client]
}

// Login takes the password out of a request to authenticate. It returns what is left to ask the server, or otherwise
// the reply: "+OK", or the error. Other requests are left as they are.
func (c *Conn) Login(args []string) (left []string, answer string) {
	switch strings.ToUpper(args[0]) {
	case "AUTH":
		switch {
		case len(args) == 2 && c.isPassword("default", args[1]), len(args) == 3 && c.isPassword(args[1], args[2]):
			return nil, "+OK"
		case len(args) == 2, len(args) == 3:
			return nil, "-" + wrongPass
		}
		return nil, "-" + syntax
	case "HELLO":
		for i := 2; i < len(args); i++ {
			if !strings.EqualFold(args[i], "AUTH") {
				i++ // SETNAME name
				continue
			}
			switch {
			case i+2 >= len(args):
				return nil, "-" + syntax
			case !c.isPassword(args[i+1], args[i+2]):
				return nil, "-" + wrongPass
			}
			return slices.Delete(slices.Clone(args), i, i+3), ""
		}
	}
	return args, ""
}

func (c *Conn) isPassword(user, password string) bool {
	return user == "default" && subtle.ConstantTimeCompare([]byte(password), []byte(c.secret)) == 1
}

// admit takes what a caller without the password has sent: nothing of it reaches the world. It returns what is left
// once the password has arrived.
func (c *Conn) admit(b []byte, ended bool) (left []byte) {
	for len(b) > 0 && !c.over && !c.known {
		args, rest, err := cutRequest(b)
		switch {
		case err != nil:
			c.refuse("-" + noAuth)
			c.hangUp()
		case len(args) == 0 && len(rest) < len(b): // an empty line
			b = rest
		case len(args) == 0 && len(b) > mostUnverified:
			c.hangUp()
		case len(args) == 0:
			if ended {
				c.hangUp()
			}
			return b
		default:
			b = rest
			c.verify(args)
		}
	}
	if ended && !c.known {
		c.hangUp()
	}
	return b
}

// verify checks whether a request has the password.
func (c *Conn) verify(args []string) {
	left, answer := c.Login(args)
	switch {
	case answer == "+OK":
		c.begin()
		c.Send([]byte("+OK\r\n"))
	case answer != "":
		c.refuse(answer)
	case len(left) < len(args):
		c.begin()
		if !c.over {
			c.front.handler.Asked(c, left)
		}
	default:
		c.refuse("-" + noAuth)
	}
}

// refuse answers a caller without the password.
func (c *Conn) refuse(answer string) {
	if c.refusals == 0 {
		c.front.refused[c.Client]++
	}
	c.out.Add([]byte(answer + "\r\n"))
	if c.refusals++; c.refusals > mostRefusals {
		c.hangUp()
	}
}

// hangUp closes a connection that was never one of the world's, after what was sent.
func (c *Conn) hangUp() {
	c.over = true
	c.front.dismiss(c)
	c.out.Finish()
	c.in.Stop()
}

// Refused is how many connections to a client's ports have sent something without the password. It is for the loop.
func (f *Front) Refused(client sim.ProcessID) int { return f.refused[client] }

// receive adds a connection that has not given the password yet to the port's callers. If there are too many, the
// oldest is closed: whoever has the password gives it at once.
func (f *Front) receive(c *Conn) {
	f.mu.Lock()
	defer f.mu.Unlock()
	here := func(o *Conn) bool { return o.Client == c.Client && o.Server == c.Server }
	n := 0
	for _, o := range f.callers {
		if here(o) {
			n++
		}
	}
	if n >= mostCallers {
		at := slices.IndexFunc(f.callers, here)
		f.callers[at].reset()
		f.callers = slices.Delete(f.callers, at, at+1)
	}
	f.callers = append(f.callers, c)
}

// dismiss forgets a caller: it has given the password, or is gone.
func (f *Front) dismiss(c *Conn) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.callers = slices.DeleteFunc(f.callers, func(o *Conn) bool { return o == c })
}

// callersOf are those at the ports of a client.
func (f *Front) callersOf(client sim.ProcessID) (list []*Conn) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, c := range f.callers {
		if c.Client == client {
			list = append(list, c)
		}
	}
	return list
}
