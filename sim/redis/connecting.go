package redis

import (
	"maps"
	"slices"
	"strings"

	"github.com/fencepost-sim/fencepost/sim/redis/resp"
)

// hello implements HELLO: it sets the connection's protocol, and may also authenticate and name the connection.
func hello(n *Node, args []string) {
	g, trouble := parseHello(args)
	if trouble == "" && g.Auth {
		trouble = n.authenticate(g.User, g.Password)
	}
	if trouble == "" && n.cfg.Password != "" && (n.c == nil || !n.c.authed) {
		trouble = "NOAUTH HELLO must be called with the client already authenticated, " +
			"otherwise the HELLO <proto> AUTH <user> " +
			"<pass> option can be used to authenticate the client and select the RESP protocol version at the same time"
	}
	if trouble != "" {
		n.data.ReplyError(trouble)
		return
	}
	if g.Rename {
		n.state().name = g.Name
	}
	if g.Protocol > 0 {
		n.data.RESP3 = g.Protocol == 3
		if n.data.RESP3 || n.c != nil {
			n.state().resp3 = n.data.RESP3
		}
	}
	n.greet()
}

// greet replies to HELLO.
func (n *Node) greet() {
	text := func(name, value string) {
		n.data.ReplyBulk(name)
		n.data.ReplyBulk(value)
	}
	if n.face != nil {
		n.data.ReplyMap(6)
	} else {
		n.data.ReplyMap(7)
	}
	text("server", "redis")
	text("version", n.cfg.Version.String())
	n.data.ReplyBulk("proto")
	n.data.ReplyInt(map[bool]int64{false: 2, true: 3}[n.data.RESP3])
	n.data.ReplyBulk("id")
	n.data.ReplyInt(int64(n.conn))
	if n.face != nil {
		text("mode", "sentinel")
	} else {
		text("mode", n.mode())
		text("role", map[bool]string{true: "master", false: "replica"}[n.repl.master == ""])
	}
	n.data.ReplyBulk("modules")
	n.data.ReplyLen(0)
}

// mode returns the mode reported by HELLO and INFO.
func (n *Node) mode() string {
	if n.member != nil {
		return "cluster"
	}
	return "standalone"
}

// authenticate checks a user and a password, and returns an error message if they are wrong. The only user is default.
func (n *Node) authenticate(user, password string) (trouble string) {
	if user != "default" || n.cfg.Password != "" && password != n.cfg.Password {
		return "WRONGPASS invalid username-password pair or user is disabled."
	}
	if n.cfg.Password != "" {
		n.state().authed = true
	}
	return ""
}

// refusesStranger returns an error if the command requires a password that the client has not sent yet, and ""
// otherwise.
func (n *Node) refusesStranger(c *nodeCommand) string {
	if n.c != nil && n.c.authed || n.conn == 0 || n.inScript ||
		isOneOf(c.Name, "AUTH", "HELLO", "QUIT", "RESET") {
		return ""
	}
	return "NOAUTH Authentication required."
}

func auth(n *Node, args []string) {
	user, password := "default", args[1]
	switch {
	case len(args) > 3:
		n.data.ReplyError(resp.ErrSyntax)
		return
	case len(args) == 3:
		user, password = args[1], args[2]
	case n.cfg.Password == "":
		n.data.ReplyError("ERR AUTH <password> called without any password configured for the default user. " +
			"Are you sure your configuration is correct?")
		return
	}
	if trouble := n.authenticate(user, password); trouble != "" {
		n.data.ReplyError(trouble)
		return
	}
	n.data.ReplyOK()
}

// quit implements QUIT: the connection ends after the reply.
func quit(n *Node, _ []string) {
	n.quits = true
	n.data.ReplyOK()
}

// reset implements RESET, which puts a connection into the same state as a new one.
func reset(n *Node, _ []string) {
	if c := n.c; c != nil {
		n.leave(c)
		n.unsubscribeAll(n.conn, c)
		n.tracking.disable(n.conn)
		*c = connection{woff: c.woff, behind: c.behind}
		n.data.RESP3 = false
	}
	n.data.ReplyStatus("RESET")
}

// clientCommands are the simulated CLIENT subcommands, which are those that client libraries use. SETINFO and NO-TOUCH
// have existed since Redis 7.2.
var clientCommands = map[string]func(n *Node, args []string){
	"id":           func(n *Node, _ []string) { n.data.ReplyInt(int64(n.conn)) },
	"getname":      getName,
	"setname":      setName,
	"setinfo":      func(n *Node, _ []string) { n.data.ReplyOK() },
	"no-evict":     onOrOff,
	"no-touch":     onOrOff,
	"tracking":     track,
	"trackinginfo": trackingInfo,
	"caching":      caching,
	"getredir":     getRedir,
	"unblock":      unblockByHand,
}

// client implements CLIENT.
func client(n *Node, args []string) { clientCommands[strings.ToLower(args[1])](n, args) }

func getName(n *Node, _ []string) {
	if n.c != nil && n.c.name != "" {
		n.data.ReplyBulk(n.c.name)
	} else {
		n.data.ReplyNull()
	}
}

func setName(n *Node, args []string) {
	if trouble := badName(args[2]); trouble != "" {
		n.data.ReplyError(trouble)
		return
	}
	n.state().name = args[2]
	n.data.ReplyOK()
}

// onOrOff implements CLIENT NO-EVICT and CLIENT NO-TOUCH. They have no effect, because a simulated node never evicts
// anything.
func onOrOff(n *Node, args []string) {
	if !isOneOf(args[2], "ON", "OFF") {
		n.data.ReplyError(resp.ErrSyntax)
		return
	}
	n.data.ReplyOK()
}

// Closed forgets a connection closed by its client, including its transaction, watched keys and subscriptions.
func (n *Node) Closed(conn uint64) {
	if n.standsStill() {
		n.queue = append(n.queue, arrival{closed: conn})
		return
	}
	n.closed(conn)
}

func (n *Node) closed(conn uint64) {
	n.dropPostponed(conn)
	c := n.conns[conn]
	if c == nil {
		return
	}
	n.unwatch(c)
	n.unsubscribeAll(conn, c)
	n.tracking.close(conn)
	n.waiting = slices.DeleteFunc(n.waiting, func(b *blocked) bool { return b.c == c && b.reply == nil })
	for _, r := range c.behind {
		r.Drop()
	}
	c.behind = nil
	delete(n.conns, conn)
	if n.c == c {
		n.c = nil
	}
}

// hangUp closes a connection once the replies and pushes from the current event-loop turn have been sent.
func (n *Node) hangUp(conn uint64) {
	n.closed(conn)
	n.held = append(n.held, heldReply{conn: conn})
}

// hangUpAll closes all clients' connections, and drops waiting requests. A Sentinel requests this when it changes the
// node's role (CLIENT KILL TYPE normal and pubsub, in sentinelSendSlaveOf of sentinel.c).
func (n *Node) hangUpAll() {
	n.held = slices.DeleteFunc(n.held, func(h heldReply) bool {
		if h.to != nil {
			h.to.Drop()
		}
		return h.to != nil || h.end > h.from // drop everything except what closes a connection
	})
	for _, b := range n.waiting {
		b.r.Drop()
	}
	for i := range n.batch {
		if r := n.batch[i].request; r != nil {
			r.Drop()
			n.batch[i] = arrival{}
		}
	}
	for _, id := range slices.Sorted(maps.Keys(n.conns)) {
		n.hangUp(id)
	}
}
