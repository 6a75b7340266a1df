package redis

import (
	"slices"
	"strings"

	"github.com/fencepost-sim/fencepost/sim/redis/resp"
)

// This file implements the list commands that wait for an element. A waiting client is served as soon as the command,
// transaction or script that created the list has ended, before anything else is executed. Clients are served in the
// order in which they started waiting, as if each client popped the element itself. So a transaction that watches the
// list sees the element appear and disappear.

// popBlocking implements BLPOP and BRPOP. pop is the command to execute when there is an element.
func popBlocking(pop string) func(n *Node, args []string) {
	return func(n *Node, args []string) {
		names := args[1 : len(args)-1]
		timeout, trouble := timeout(n.cfg.Version, args[len(args)-1])
		switch {
		case trouble != "":
			n.data.ReplyError(trouble)
		case n.popFirst(names, pop):
		case n.mustNotBlock():
			n.data.ReplyNullArray()
		default:
			n.block = &blocked{keys: names, until: n.inMillis(timeout), pop: func(name string) {
				if n.cfg.Version == Redis8 { // Redis 8 executes the whole request again
					n.popFirst(names, pop)
				} else {
					n.popFirst([]string{name}, pop)
				}
			}}
		}
	}
}

// popFirst pops from the first list that has an element, and replies with the list's name and the element. If a key
// before that list has another type, it replies with an error. It returns false if none of the keys exists.
func (n *Node) popFirst(names []string, pop string) (answered bool) {
	for _, name := range names {
		switch n.typeOf(name) {
		case "":
			continue
		case "list":
			n.data.ReplyLen(2)
			n.data.ReplyBulk(name)
			n.carryOut(pop, name)
		default:
			n.data.ReplyError(resp.ErrWrongType)
		}
		return true
	}
	return false
}

// blmove implements BLMOVE. brpoplpush implements BRPOPLPUSH.
func blmove(n *Node, args []string) {
	for _, end := range args[3:5] {
		if !isOneOf(end, "LEFT", "RIGHT") {
			n.data.ReplyError(resp.ErrSyntax)
			return
		}
	}
	n.moveBlocking(args[5], append([]string{"LMOVE"}, args[1:5]...))
}

func brpoplpush(n *Node, args []string) {
	n.moveBlocking(args[3], []string{"RPOPLPUSH", args[1], args[2]})
}

// moveBlocking executes a move between lists, or waits until there is something to move.
func (n *Node) moveBlocking(limit string, move []string) {
	timeout, trouble := timeout(n.cfg.Version, limit)
	switch {
	case trouble != "":
		n.data.ReplyError(trouble)
	case n.typeOf(move[1]) != "" || n.mustNotBlock():
		n.carryOut(move...)
	default:
		n.block = &blocked{keys: move[1:2], until: n.inMillis(timeout), pop: func(string) { n.carryOut(move...) }}
	}
}

// typeOf returns a key's type, or "" if the key does not exist. On a master, it deletes an expired key, as any command
// that looks up the key does.
func (n *Node) typeOf(name string) string {
	if n.data.Find(name) == nil {
		return ""
	}
	return n.data.Type(name)
}

// carryOut executes a data command as part of the current request.
func (n *Node) carryOut(args ...string) { n.commands[strings.ToLower(args[0])].carryOut(n.data, args) }

// listMade records that a list has been created, if any client is waiting for it.
func (n *Node) listMade(name string) {
	if !slices.Contains(n.ready, name) &&
		slices.ContainsFunc(n.waiting, func(b *blocked) bool { return slices.Contains(b.keys, name) }) {
		n.ready = append(n.ready, name)
	}
}

// serveList serves the clients that are waiting for a list, in the order in which they started waiting, until the list
// is empty.
func (n *Node) serveList(name string) {
	for _, b := range slices.Clone(n.waiting) {
		if !slices.Contains(b.keys, name) {
			continue
		}
		n.attend(b.r.ConnID)
		n.data.Attempt, n.data.Sent, n.data.Out = b.r.Attempt, b.r.Left(), n.data.Out[:0]
		if n.typeOf(name) != "list" {
			return
		}
		before := n.repl.end()
		b.pop(name)
		n.leaveLine(b)
		n.conclude(b.r, b.c, before)
	}
}

// unblockByHand implements CLIENT UNBLOCK.
func unblockByHand(n *Node, args []string) {
	id, ok := resp.ParseInt(args[2])
	byError := len(args) == 4 && strings.EqualFold(args[3], "error")
	switch {
	case len(args) > 4:
		n.data.ReplyError("ERR unknown subcommand or wrong number of arguments for '" + clip(args[1], 128) +
			"'. Try CLIENT HELP.")
		return
	case len(args) == 4 && !byError && !strings.EqualFold(args[3], "timeout"):
		n.data.ReplyError("ERR CLIENT UNBLOCK reason should be TIMEOUT or ERROR")
		return
	case !ok:
		n.data.ReplyError(resp.ErrNotInt)
		return
	}
	at := slices.IndexFunc(n.waiting, func(b *blocked) bool { return b.r.ConnID == uint64(id) && b.reply == nil })
	n.data.ReplyBool(at >= 0)
	switch {
	case at < 0:
	case byError:
		n.unblock(n.waiting[at], []byte("-UNBLOCKED client unblocked via CLIENT UNBLOCK\r\n"))
	default:
		n.unblock(n.waiting[at], n.waitedFor(n.waiting[at]))
	}
}
