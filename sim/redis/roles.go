package redis

import (
	"slices"
	"strconv"
	"strings"

	"github.com/fencepost-sim/fencepost/sim"
	"github.com/fencepost-sim/fencepost/sim/redis/resp"
)

// role implements ROLE.
func role(n *Node, _ []string) {
	r := &n.repl
	if r.master != "" {
		state, offset := "sync", int64(-1)
		if r.linked {
			state, offset = "connected", r.offset
		}
		n.data.ReplyLen(5)
		n.data.ReplyBulk("slave")
		n.data.ReplyBulk(string(r.master))
		n.data.ReplyInt(portNumber)
		n.data.ReplyBulk(state)
		n.data.ReplyInt(offset)
		return
	}
	n.data.ReplyLen(3)
	n.data.ReplyBulk("master")
	n.data.ReplyInt(r.end())
	online := int64(0)
	for i := range r.replicas {
		if r.replicas[i].online {
			online++
		}
	}
	n.data.ReplyLen(int(online))
	for i := range r.replicas {
		if s := &r.replicas[i]; s.online {
			n.data.ReplyLen(3)
			n.data.ReplyBulk(string(s.name))
			n.data.ReplyBulk(resp.Port)
			n.data.ReplyBulk(strconv.FormatInt(s.acked, 10))
		}
	}
}

// replicaOf implements REPLICAOF and SLAVEOF. The node takes on its new role at the end of the current turn of the
// event loop. It must know the new master.
func replicaOf(n *Node, args []string) {
	if n.member != nil {
		n.data.ReplyError("ERR REPLICAOF not allowed in cluster mode.")
		return
	}
	if strings.EqualFold(args[1], "no") && strings.EqualFold(args[2], "one") {
		n.repl.involved, n.repl.ordered = true, n.host.Name()
		n.data.ReplyOK()
		return
	}
	if v, ok := resp.ParseInt(args[2]); !ok || v < 0 || v > 65535 {
		n.data.ReplyError("ERR Invalid master port")
		return
	}
	master := sim.ProcessID(args[1])
	switch {
	case master == n.repl.master:
		n.data.ReplyStatus("OK Already connected to specified master")
	case master == n.host.Name() || args[2] != resp.Port || !n.knows(master):
		n.data.ReplyError("ERR fencepost: this node does not know " + clip(args[1], 128) + ":" + args[2])
	default:
		n.repl.involved, n.repl.ordered = true, master
		n.data.ReplyOK()
	}
}

// knows reports whether the node knows another node, either from its configuration or as one of its replicas.
func (n *Node) knows(name sim.ProcessID) bool {
	return name == n.cfg.Replicates || slices.Contains(n.cfg.Replicas, name) || n.replicaNamed(name) != nil
}

// info implements INFO. It includes only the sections that are simulated.
func info(n *Node, args []string) {
	wanted := func(section string) bool {
		return len(args) == 1 || slices.ContainsFunc(args[1:], func(a string) bool {
			return strings.EqualFold(a, section) || isOneOf(a, "DEFAULT", "ALL", "EVERYTHING")
		})
	}
	var b strings.Builder
	if wanted("server") {
		b.WriteString("# Server\r\nredis_version:" + n.cfg.Version.String() + "\r\nredis_mode:" + n.mode() + "\r\n")
	}
	if wanted("replication") {
		n.infoReplication(&b)
	}
	if wanted("cluster") {
		enabled := map[bool]string{false: "0", true: "1"}[n.member != nil]
		b.WriteString("# Cluster\r\ncluster_enabled:" + enabled + "\r\n")
	}
	if wanted("keyspace") {
		b.WriteString("# Keyspace\r\n")
		if size := n.data.Size(); size > 0 {
			b.WriteString("db0:keys=" + strconv.Itoa(size) + "\r\n")
		}
	}
	n.data.ReplyText(b.String())
}

func (n *Node) infoReplication(b *strings.Builder) {
	r := &n.repl
	line := func(name, value string) { b.WriteString(name + ":" + value + "\r\n") }
	number := func(name string, v int64) { line(name, strconv.FormatInt(v, 10)) }
	b.WriteString("# Replication\r\n")
	if r.master == "" {
		line("role", "master")
	} else {
		line("role", "slave")
		line("master_host", string(r.master))
		line("master_port", resp.Port)
		line("master_link_status", map[bool]string{true: "up", false: "down"}[r.linked])
		number("slave_repl_offset", r.offset)
		line("slave_read_only", "1")
	}
	number("connected_slaves", int64(len(r.replicas)))
	if !r.involved {
		return
	}
	if n.cfg.MinReplicasToWrite > 0 {
		number("min_slaves_good_slaves", int64(r.good))
	}
	for i := range r.replicas {
		s := &r.replicas[i]
		state := map[bool]string{true: "online", false: "send_bulk"}[s.online]
		line("slave"+strconv.Itoa(i), "ip="+string(s.name)+",port="+resp.Port+",state="+state+
			",offset="+strconv.FormatInt(s.acked, 10)+",lag="+strconv.FormatInt(s.lag(n.data.Wall), 10))
	}
	if n.cfg.SemiSync { // a line that only Fencepost adds
		line("semi_sync", map[bool]string{false: "on", true: "degraded"}[r.degraded])
	}
	line("master_replid", r.id.replid())
	number("master_repl_offset", r.end())
}
