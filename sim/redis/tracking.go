package redis

// This file implements the part of CLIENT TRACKING that remembers which client has read which key. It also remembers
// which clients want to be notified of changes to any key with a given prefix. It works like tracking.c of Redis 7.0,
// but without a limit on the number of keys and without redirection.

import (
	"maps"
	"slices"
	"strings"

	"github.com/fencepost-sim/fencepost/sim/redis/resp"
)

// options are the options of CLIENT TRACKING ON.
type options struct {
	// BCAST: notify the client of every key that begins with a prefix, whether or not it has read the key
	Broadcast bool
	OptIn     bool // remember only what the command after CLIENT CACHING YES reads
	OptOut    bool // remember everything except what the command after CLIENT CACHING NO reads
	NoLoop    bool // do not notify a client of its own changes
	Prefixes  []string
}

// parseOptions parses the arguments that follow ON or OFF in CLIENT TRACKING.
func parseOptions(args []string) (o options, trouble string) {
	for i := 0; i < len(args); i++ {
		switch strings.ToLower(args[i]) {
		case "bcast":
			o.Broadcast = true
		case "optin":
			o.OptIn = true
		case "optout":
			o.OptOut = true
		case "noloop":
			o.NoLoop = true
		case "prefix":
			if i++; i == len(args) {
				return o, resp.ErrSyntax
			}
			o.Prefixes = append(o.Prefixes, args[i])
		case "redirect":
			return o, "ERR fencepost: the redirection of CLIENT TRACKING is not simulated"
		default:
			return o, resp.ErrSyntax
		}
	}
	return o, ""
}

// trackedClient is a connection with tracking enabled.
type trackedClient struct {
	options
	Caching bool // CLIENT CACHING was called for the next command, or for the open transaction
}

// remembers reports whether the server must remember the keys that the client reads now, so that it can notify the
// client of changes to them. The CLIENT CACHING setting survives a change of mode, but it matters only with OPTIN or
// OPTOUT.
func (c *trackedClient) remembers() bool {
	return c != nil && !c.Broadcast && !(c.OptIn && !c.Caching || c.OptOut && c.Caching)
}

// flags returns the flags that CLIENT TRACKINGINFO shows. c is nil for a connection without tracking.
func (c *trackedClient) flags() []string {
	if c == nil {
		return []string{"off"}
	}
	flags := []string{"on"}
	for _, f := range []struct {
		on   bool
		name string
	}{{c.Broadcast, "bcast"}, {c.OptIn, "optin"}, {c.OptIn && c.Caching, "caching-yes"}, {c.OptOut, "optout"},
		{c.OptOut && c.Caching, "caching-no"}, {c.NoLoop, "noloop"}} {
		if f.on {
			flags = append(flags, f.name)
		}
	}
	return flags
}

// table records which keys each connection tracks. Connections are identified by number. The zero table is ready to
// use.
type table struct {
	clients map[uint64]*trackedClient
	// readers maps each key to the connections that have read it and have not been told to forget it since, in the
	// order of their first reads.
	readers map[string][]uint64
	// changed is used for broadcasting mode. It maps each changed key to the connection that changed it last, or to 0
	// if there is none.
	changed map[string]uint64
}

// active reports whether any client tracks keys, or whether keys are still remembered for clients that have stopped
// tracking.
func (t *table) active() bool { return len(t.clients)+len(t.readers) > 0 }

// client returns a connection's tracking state, or nil if the connection does not track keys.
func (t *table) client(conn uint64) *trackedClient { return t.clients[conn] }

func (t *table) reset() {
	clear(t.clients)
	clear(t.readers)
	clear(t.changed)
}

// trouble returns an error message if a connection cannot track keys with these options. Otherwise it returns "".
func (t *table) trouble(conn uint64, o options) string {
	c := t.clients[conn]
	const otherwise = " before disabling tracking for this client, and then re-enabling it with a different mode."
	switch {
	case !o.Broadcast && len(o.Prefixes) > 0:
		return "ERR PREFIX option requires BCAST mode to be enabled"
	case c != nil && c.Broadcast != o.Broadcast:
		return "ERR You can't switch BCAST mode on/off" + otherwise
	case o.Broadcast && (o.OptIn || o.OptOut):
		return "ERR OPTIN and OPTOUT are not compatible with BCAST"
	case o.OptIn && o.OptOut:
		return "ERR You can't specify both OPTIN mode and OPTOUT mode"
	case c != nil && (o.OptIn && c.OptOut || o.OptOut && c.OptIn):
		return "ERR You can't switch OPTIN/OPTOUT mode" + otherwise
	}
	for i, prefix := range o.Prefixes {
		if c != nil {
			if at := slices.IndexFunc(c.Prefixes, func(p string) bool { return overlap(p, prefix) }); at >= 0 {
				return collision(prefix, "an existing", c.Prefixes[at])
			}
		}
		for _, other := range o.Prefixes[i+1:] {
			if overlap(prefix, other) {
				return collision(prefix, "another provided", other)
			}
		}
	}
	return ""
}

func overlap(a, b string) bool { return strings.HasPrefix(a, b) || strings.HasPrefix(b, a) }

func collision(prefix, which, other string) string {
	return "ERR Prefix '" + prefix + "' overlaps with " + which + " prefix '" + other +
		"'. Prefixes for a single client must not overlap."
}

// enable enables tracking for a connection. The options must be valid (see [table.trouble]).
func (t *table) enable(conn uint64, o options) {
	if o.Broadcast && len(o.Prefixes) == 0 {
		o.Prefixes = []string{""}
	}
	c := t.clients[conn]
	if c == nil {
		c = &trackedClient{}
		if t.clients == nil {
			t.clients, t.readers, t.changed = map[uint64]*trackedClient{}, map[string][]uint64{}, map[string]uint64{}
		}
		t.clients[conn] = c
	}
	o.Prefixes = append(c.Prefixes, o.Prefixes...)
	slices.Sort(o.Prefixes)
	o.Prefixes = slices.Compact(o.Prefixes) // remove duplicates
	c.options = o
}

// disable disables tracking for a connection. The server still remembers the keys that the connection has read, in case
// it enables tracking again.
func (t *table) disable(conn uint64) { delete(t.clients, conn) }

// close removes a connection that has been closed.
func (t *table) close(conn uint64) {
	t.disable(conn)
	for name, list := range t.readers {
		if list = slices.DeleteFunc(list, func(c uint64) bool { return c == conn }); len(list) == 0 {
			delete(t.readers, name)
		} else {
			t.readers[name] = list
		}
	}
}

// remembers reports whether the server must remember the keys that a connection reads now.
func (t *table) remembers(conn uint64) bool { return t.clients[conn].remembers() }

// remember records that a connection has read keys.
func (t *table) remember(conn uint64, names []string) {
	for _, name := range names {
		if !slices.Contains(t.readers[name], conn) {
			t.readers[name] = append(t.readers[name], conn)
		}
	}
}

// broadcasts reports whether any client is in broadcasting mode.
func (t *table) broadcasts() bool {
	for _, c := range t.clients {
		if c.Broadcast {
			return true
		}
	}
	return false
}

// dataChanged records that a key changed while a request was being executed. It returns the connections to notify
// immediately. requester is the request's connection, or 0 if there is none. If indirect is set, the request itself did
// not make the change: a script that it ran did, or the key expired. In broadcasting mode, an indirect change does not
// count as the client's own.
func (t *table) dataChanged(name string, requester uint64, indirect bool) (notify []uint64) {
	if t.broadcasts() {
		t.changed[name] = requester
		if indirect {
			t.changed[name] = 0
		}
	}
	for _, conn := range t.readers[name] {
		if c := t.clients[conn]; c != nil && !c.Broadcast && !(c.NoLoop && conn == requester) {
			notify = append(notify, conn)
		}
	}
	delete(t.readers, name)
	return notify
}

// flushed records that all keys are gone. It returns the connections to notify: all those that track keys.
func (t *table) flushed() (notify []uint64) {
	clear(t.readers)
	return slices.Sorted(maps.Keys(t.clients))
}

// notice is a message that tells a connection to forget keys.
type notice struct {
	Conn uint64
	Keys []string
}

// broadcasting returns the changes to keys since the last call, for clients in broadcasting mode. They are grouped into
// one notice per prefix.
func (t *table) broadcasting() (list []notice) {
	if len(t.changed) == 0 {
		return nil
	}
	names := slices.Sorted(maps.Keys(t.changed))
	for _, conn := range slices.Sorted(maps.Keys(t.clients)) {
		c := t.clients[conn]
		for _, prefix := range c.Prefixes {
			n := notice{Conn: conn}
			for _, name := range names {
				if strings.HasPrefix(name, prefix) && !(c.NoLoop && t.changed[name] == conn) {
					n.Keys = append(n.Keys, name)
				}
			}
			if len(n.Keys) > 0 {
				list = append(list, n)
			}
		}
	}
	clear(t.changed)
	return list
}
