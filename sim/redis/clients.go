package redis

import (
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/fencepost-sim/fencepost/sim"
	"github.com/fencepost-sim/fencepost/sim/redis/resp"
)

// switchMaster is the channel that announces new masters to modeled clients. Client libraries use the same channel name
// with a leading '+'.
const switchMaster = "switch-master"

// Serve handles a client's request.
func (s *Sentinel) Serve(r *sim.Incoming) {
	if a := r.Args; len(a) == 2 && strings.EqualFold(a[0], "subscribe") && a[1] == switchMaster {
		if !slices.Contains(s.subscribers, r.ConnID) {
			s.subscribers = append(s.subscribers, r.ConnID)
		}
		r.Reply(sim.AppendInt(sim.AppendBulk(sim.AppendBulk(sim.AppendArray(nil, 3), "subscribe"), a[1]), 1))
		return
	}
	if s.face == nil {
		if w := (resp.Writer{}); len(r.Args) > 0 && s.isOwn(r.Args[0]) {
			s.answer(&w, r.Args)
			r.Reply(w.Out)
			return
		}
		s.face = newFace(VersionOf(s.cfg.Version), s.answer)
		s.face.Start(s.host)
	}
	s.face.Serve(r)
}

// Closed forgets a connection that its client has closed.
func (s *Sentinel) Closed(conn uint64) {
	s.subscribers = slices.DeleteFunc(s.subscribers, func(c uint64) bool { return c == conn })
	if s.face != nil {
		s.face.Closed(conn)
	}
}

// isOwn reports whether the Sentinel itself must answer a command.
func (s *Sentinel) isOwn(name string) bool {
	return slices.Contains([]string{"sentinel", "role", "info"}, strings.ToLower(name))
}

// answer replies to a command that the Sentinel itself must answer.
func (s *Sentinel) answer(w *resp.Writer, args []string) {
	switch strings.ToLower(args[0]) {
	case "sentinel":
		s.answerSentinel(w, args)
	case "role":
		w.ReplyLen(2)
		w.ReplyBulk("sentinel")
		w.ReplyLen(len(s.groups))
		for _, g := range s.groups {
			w.ReplyBulk(g.name)
		}
	case "info":
		w.ReplyText(s.info())
	default:
		w.ReplyError("ERR unknown command '" + args[0][:min(len(args[0]), 128)] + "', with args beginning with: ")
	}
}

// answerSentinel implements SENTINEL.
func (s *Sentinel) answerSentinel(w *resp.Writer, args []string) {
	sub := ""
	if len(args) > 1 {
		sub = strings.ToLower(args[1])
	}
	words, known := map[string]int{"masters": 2, "master": 3, "replicas": 3, "slaves": 3, "sentinels": 3,
		"get-master-addr-by-name": 3}[sub]
	switch {
	case !known:
		w.ReplyError("ERR fencepost: this subcommand is not simulated, only MASTERS, MASTER, REPLICAS, SLAVES, " +
			"SENTINELS and GET-MASTER-ADDR-BY-NAME")
		return
	case len(args) != words:
		w.ReplyError("ERR wrong number of arguments for 'sentinel|" + sub + "' command")
		return
	case sub == "masters":
		w.ReplyLen(len(s.groups))
		for _, g := range s.groups {
			s.describe(w, g, g.master)
		}
		return
	}
	i := slices.IndexFunc(s.groups, func(g *group) bool { return g.name == args[2] })
	switch {
	case i < 0 && sub == "get-master-addr-by-name":
		w.ReplyNullArray()
	case i < 0:
		w.ReplyError("ERR No such master with that name")
	case sub == "get-master-addr-by-name":
		w.ReplyLen(2)
		w.ReplyBulk(string(s.groups[i].current().name))
		w.ReplyBulk(resp.Port)
	case sub == "master":
		s.describe(w, s.groups[i], s.groups[i].master)
	case sub == "sentinels": // there are no others: this Sentinel represents all of them
		w.ReplyLen(0)
	default:
		g := s.groups[i]
		w.ReplyLen(len(g.nodes) - 1)
		for _, node := range g.nodes {
			if node != g.master {
				s.describe(w, g, node)
			}
		}
	}
}

// describe writes a node's description, which contains the simulated fields of SENTINEL MASTER and SENTINEL REPLICAS.
func (s *Sentinel) describe(w *resp.Writer, g *group, node *watched) {
	type field struct{ name, value string }
	number := func(n int64) string { return strconv.FormatInt(n, 10) }
	name, flags := g.name, "master"
	if node != g.master {
		name, flags = string(node.name)+":"+resp.Port, "slave"
	}
	now := s.host.Monotonic()
	if node.down {
		flags = "s_down," + flags
	}
	fields := []field{{"name", name}, {"ip", string(node.name)}, {"port", resp.Port}, {"flags", flags},
		{"down-after-milliseconds", number(s.cfg.DownAfter.Milliseconds())}}
	if node.down {
		fields = append(fields, field{"s-down-time", number(int64((now - node.downAt) / time.Millisecond))})
	}
	if node == g.master {
		fields = append(fields, field{"num-slaves", strconv.Itoa(len(g.nodes) - 1)}, field{"num-other-sentinels", "0"},
			field{"quorum", "1"})
	} else {
		link := map[bool]string{true: "ok", false: "err"}[s.reachable(node, now) && node.last.Master == g.master.name]
		fields = append(fields, field{"master-link-status", link}, field{"master-host", string(g.master.name)},
			field{"master-port", resp.Port}, field{"slave-repl-offset", number(node.last.Offset)})
	}
	w.ReplyMap(len(fields))
	for _, f := range fields {
		w.ReplyBulk(f.name)
		w.ReplyBulk(f.value)
	}
}

// info returns the reply to INFO, which contains only the Sentinel section.
func (s *Sentinel) info() string {
	var b strings.Builder
	b.WriteString("# Sentinel\r\nsentinel_masters:" + strconv.Itoa(len(s.groups)) + "\r\n")
	for i, g := range s.groups {
		status := "ok"
		if g.master.down {
			status = "sdown"
		}
		b.WriteString("master" + strconv.Itoa(i) + ":name=" + g.name + ",status=" + status +
			",address=" + string(g.current().name) + ":" + resp.Port + ",slaves=" + strconv.Itoa(len(g.nodes)-1) +
			",sentinels=1\r\n")
	}
	return b.String()
}
