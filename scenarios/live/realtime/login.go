package realtime

import (
	"crypto/rand"
	"crypto/subtle"
	"slices"
	"strings"

	"github.com/fencepost-sim/fencepost/sim"
)

// Limits on connections that have not been authenticated with the password.
const (
	mostCallers    = 64       // number of such connections at a port; if there are more, the oldest one is closed
	mostRefusals   = 16       // number of refused requests on a connection; after that, it is closed
	mostUnverified = 16 << 10 // length of a request in bytes
)

// Replies on unauthenticated connections. The first two begin like Redis's own replies.
const (
	noAuth = "NOAUTH fencepost: Authentication required. " +
		"This port belongs to one client, and the password is part of the URL in that client's environment, " +
		"redis://:PASSWORD@HOST:PORT: give your library the whole URL, or send AUTH PASSWORD first"
	wrongPass = "WRONGPASS fencepost: invalid username-password pair: " +
		"the password is part of the URL in the client's environment"
	syntax = "ERR syntax error"
)

// Secret returns the password for a client's ports. It consists of 130 random bits.
func (f *Front) Secret(client sim.ProcessID) string {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.secrets[client] == "" {
		f.secrets[client] = rand.Text()
	}
	return f.secrets[client]
}

// Share sets the password for a client's ports. Use it for connections that no other process can open.
func (f *Front) Share(client sim.ProcessID, secret string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.secrets[client] = secret
}

// Login handles a request that may contain a password. It checks the password and removes it, and returns the rest of
// the request, which is for the server. If nothing is left, it returns the reply to the client instead: "+OK", or an
// error. It returns other requests unchanged.
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
				i++ // skip SETNAME and its name
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

// admit consumes the bytes that a caller sends, up to and including the password, and does not pass any of them on.
// Once the password has arrived, admit returns the bytes that follow it.
func (c *Conn) admit(b []byte, ended bool) (left []byte) {
	for len(b) > 0 && !c.over && !c.known {
		args, rest, err := cutRequest(b)
		switch {
		case err != nil:
			c.refuse("-" + noAuth)
			c.hangUp()
		case len(args) == 0 && len(rest) < len(b): // an empty line or array
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

// verify checks whether a request contains the password.
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

// refuse sends an error on a connection that has not been authenticated.
func (c *Conn) refuse(answer string) {
	if c.refusals == 0 {
		c.front.refused[c.Client]++
	}
	c.out.Add([]byte(answer + "\r\n"))
	if c.refusals++; c.refusals > mostRefusals {
		c.hangUp()
	}
}

// hangUp closes a connection that was never accepted, after sending what was written to it so far.
func (c *Conn) hangUp() {
	c.over = true
	c.front.dismiss(c)
	c.out.Finish()
	c.in.Stop()
}

// Refused returns the number of refused connections to a client's ports. It must be called on the loop's goroutine.
func (f *Front) Refused(client sim.ProcessID) int { return f.refused[client] }

// receive adds a new connection to the list of unauthenticated connections. If there are too many, it closes the oldest
// one, because a caller that knows the password sends it immediately.
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

// dismiss removes a connection from the list of unauthenticated connections, because it is now authenticated or has
// ended.
func (f *Front) dismiss(c *Conn) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.callers = slices.DeleteFunc(f.callers, func(o *Conn) bool { return o == c })
}

// callersOf returns the unauthenticated connections to a client's ports.
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
