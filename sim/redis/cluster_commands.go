package redis

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/fencepost-sim/fencepost/sim/redis/resp"
)

// clusterSubs are the simulated subcommands of CLUSTER. Clients use them to find the node that serves a key. Operators
// use them to move a slot, or to order a failover.
var clusterSubs = arities{"slots": 2, "shards": 2, "nodes": 2, "keyslot": 3, "info": 2, "myid": 2, "replicas": 3,
	"slaves": 3, "countkeysinslot": 3, "getkeysinslot": 4, "setslot": -4, "failover": -2}

// cluster implements CLUSTER. Process names are used as host names, as with cluster-announce-hostname.
func cluster(n *Node, args []string) {
	if n.notInCluster() {
		return
	}
	m := n.member
	switch strings.ToLower(args[1]) {
	case "slots":
		n.clusterSlots()
	case "shards":
		n.clusterShards()
	case "nodes":
		var b strings.Builder
		for _, p := range m.peers {
			b.WriteString(n.describe(p) + "\n")
		}
		n.data.ReplyText(b.String())
	case "keyslot":
		n.data.ReplyInt(int64(KeySlot(args[2])))
	case "info":
		n.clusterInfo()
	case "myid":
		n.data.ReplyBulk(m.self.id())
	case "replicas", "slaves":
		n.clusterReplicas(args[2])
	case "countkeysinslot", "getkeysinslot":
		n.keysInSlot(args)
	case "setslot":
		n.setSlot(args)
	case "failover":
		n.clusterFailover(args)
	}
}

// replicasUp lists those of a master's replicas that have not failed.
func (m *clusterMember) replicasUp(master *peer) []*peer {
	return slices.DeleteFunc(m.replicas(master), func(p *peer) bool { return p.health == failed })
}

// clusterSlots implements CLUSTER SLOTS.
func (n *Node) clusterSlots() {
	m := n.member
	type served struct {
		slotRange
		by *peer
	}
	var list []served
	for _, p := range m.peers {
		for _, r := range p.slots {
			list = append(list, served{r, p})
		}
	}
	slices.SortFunc(list, func(a, b served) int { return a.first - b.first })
	n.data.ReplyLen(len(list))
	for _, s := range list {
		nodes := append([]*peer{s.by}, m.replicasUp(s.by)...)
		n.data.ReplyLen(2 + len(nodes))
		n.data.ReplyInt(int64(s.first))
		n.data.ReplyInt(int64(s.last))
		for _, p := range nodes {
			n.data.ReplyLen(4)
			n.data.ReplyBulk(string(p.name))
			n.data.ReplyInt(portNumber)
			n.data.ReplyBulk(p.id())
			n.data.ReplyLen(0) // no further addresses
		}
	}
}

// portNumber is resp.Port, converted to a number.
var portNumber = func() int64 {
	n, _ := strconv.ParseInt(resp.Port, 10, 64) // no error, since the text is a constant
	return n
}()

// clusterShards implements CLUSTER SHARDS.
func (n *Node) clusterShards() {
	m := n.member
	masters := slices.DeleteFunc(slices.Clone(m.peers), func(p *peer) bool { return p.master != nil })
	n.data.ReplyLen(len(masters))
	for _, master := range masters {
		n.data.ReplyMap(2)
		n.data.ReplyBulk("slots")
		n.data.ReplyLen(2 * len(master.slots))
		for _, r := range master.slots {
			n.data.ReplyInt(int64(r.first))
			n.data.ReplyInt(int64(r.last))
		}
		nodes := append([]*peer{master}, m.replicas(master)...)
		n.data.ReplyBulk("nodes")
		n.data.ReplyLen(len(nodes))
		for _, p := range nodes {
			n.clusterShardNode(p)
		}
	}
}

func (n *Node) clusterShardNode(p *peer) {
	text := func(name, value string) {
		n.data.ReplyBulk(name)
		n.data.ReplyBulk(value)
	}
	offset := p.offset
	if p == n.member.self {
		offset = n.repl.end()
	}
	n.data.ReplyMap(7)
	text("id", p.id())
	n.data.ReplyBulk("port")
	n.data.ReplyInt(portNumber)
	text("ip", string(p.name))
	text("endpoint", string(p.name))
	text("role", map[bool]string{true: "master", false: "replica"}[p.master == nil])
	n.data.ReplyBulk("replication-offset")
	n.data.ReplyInt(offset)
	text("health", map[bool]string{true: "fail", false: "online"}[p.health == failed])
}

// describe returns a member's line in CLUSTER NODES, without the newline.
func (n *Node) describe(p *peer) string {
	m := n.member
	flags, master := "master", "-"
	if p.master != nil {
		flags, master = "slave", p.master.id()
	}
	if p == m.self {
		flags = "myself," + flags
	}
	flags += [...]string{healthy: "", suspected: ",fail?", failed: ",fail"}[p.health]
	epoch, pong := p.epoch, p.pong
	if p.master != nil {
		epoch = p.master.epoch
	}
	if p == m.self {
		pong = 0
	}
	line := fmt.Sprintf("%s %s:%s@%d %s %s %d %d %d %s", p.id(), p.name, resp.Port, portNumber+10_000, flags, master,
		p.pinged, pong, epoch, map[bool]string{true: "connected", false: "disconnected"}[p.health == healthy])
	for _, r := range p.slots {
		if line += " " + strconv.Itoa(r.first); r.last > r.first {
			line += "-" + strconv.Itoa(r.last)
		}
	}
	if p == m.self {
		for slot := range slotCount {
			if to := m.migrating[slot]; to != nil {
				line += fmt.Sprintf(" [%d->-%s]", slot, to.id())
			} else if from := m.importing[slot]; from != nil {
				line += fmt.Sprintf(" [%d-<-%s]", slot, from.id())
			}
		}
	}
	return line
}

// clusterInfo implements CLUSTER INFO, without the message counts.
func (n *Node) clusterInfo() {
	m := n.member
	assigned, suspects, lost, size := 0, 0, 0, 0
	for _, p := range m.peers {
		count := p.slots.count()
		assigned += count
		switch p.health {
		case suspected:
			suspects += count
		case failed:
			lost += count
		}
		if p.votes() {
			size++
		}
	}
	epoch := m.self.epoch
	if m.self.master != nil {
		epoch = m.self.master.epoch
	}
	n.data.ReplyText(fmt.Sprintf("cluster_state:%s\r\ncluster_slots_assigned:%d\r\n"+
		"cluster_slots_ok:%d\r\ncluster_slots_pfail:%d\r\ncluster_slots_fail:%d\r\ncluster_known_nodes:%d\r\n"+
		"cluster_size:%d\r\ncluster_current_epoch:%d\r\ncluster_my_epoch:%d\r\n",
		map[bool]string{true: "ok", false: "fail"}[m.up], assigned, assigned-suspects-lost, suspects, lost,
		len(m.peers), size, m.epoch, epoch))
}

// withID returns the member with the given ID, or nil if there is none.
func (m *clusterMember) withID(id string) *peer {
	if i := slices.IndexFunc(m.peers, func(p *peer) bool { return p.id() == id }); i >= 0 {
		return m.peers[i]
	}
	return nil
}

// clusterReplicas implements CLUSTER REPLICAS.
func (n *Node) clusterReplicas(id string) {
	p := n.member.withID(id)
	switch {
	case p == nil:
		n.data.ReplyError("ERR Unknown node " + clip(id, 128))
		return
	case p.master != nil:
		n.data.ReplyError("ERR The specified node is not a master")
		return
	}
	list := n.member.replicas(p)
	n.data.ReplyLen(len(list))
	for _, r := range list {
		n.data.ReplyBulk(n.describe(r))
	}
}

func (n *Node) slotArg(text string) (slot int, ok bool) {
	v, ok := resp.ParseInt(text)
	if !ok || v < 0 || v >= slotCount {
		n.data.ReplyError("ERR Invalid or out of range slot")
		return 0, false
	}
	return int(v), true
}

// keysInSlot implements CLUSTER COUNTKEYSINSLOT and GETKEYSINSLOT.
func (n *Node) keysInSlot(args []string) {
	slot, ok := resp.ParseInt(args[2])
	most, lists := int64(0), len(args) == 4
	if lists && ok {
		most, ok = resp.ParseInt(args[3])
	}
	switch {
	case !ok:
		n.data.ReplyError(resp.ErrNotInt)
		return
	case slot < 0 || slot >= slotCount || most < 0:
		trouble := "ERR Invalid slot"
		if lists {
			trouble += " or number of keys"
		}
		n.data.ReplyError(trouble)
		return
	}
	keys := n.namesIn(int(slot))
	if !lists {
		n.data.ReplyInt(int64(len(keys)))
		return
	}
	keys = keys[:min(int64(len(keys)), most)]
	n.data.ReplyLen(len(keys))
	for _, key := range keys {
		n.data.ReplyBulk(key)
	}
}

// namesIn lists the keys in a slot. As in Redis 7.0, the newest key comes first. Clients must not rely on any order:
// Redis before 7.0 sorts the keys, and Redis 7.4 and later list them in the order of a randomly seeded hash function.
func (n *Node) namesIn(slot int) []string {
	return n.data.NewestFirst(func(name string) bool { return KeySlot(name) == slot })
}

// setSlot implements CLUSTER SETSLOT. Operators use it to move a slot from one master to another.
func (n *Node) setSlot(args []string) {
	m := n.member
	if m.self.master != nil {
		n.data.ReplyError("ERR Please use SETSLOT only with masters.")
		return
	}
	slot, ok := n.slotArg(args[2])
	if !ok {
		return
	}
	var p *peer
	how := strings.ToLower(args[3])
	if len(args) == 5 && isOneOf(how, "MIGRATING", "IMPORTING", "NODE") {
		if p = m.withID(args[4]); p == nil && how != "migrating" && how != "importing" {
			n.data.ReplyError("ERR Unknown node " + clip(args[4], 128))
			return
		}
	}
	switch mine := m.owner(slot) == m.self; {
	case how == "migrating" && len(args) == 5 && !mine:
		n.data.ReplyError("ERR I'm not the owner of hash slot " + strconv.Itoa(slot))
	case how == "importing" && len(args) == 5 && mine:
		n.data.ReplyError("ERR I'm already the owner of hash slot " + strconv.Itoa(slot))
	case p == nil && len(args) == 5 && isOneOf(how, "MIGRATING", "IMPORTING"):
		n.data.ReplyError("ERR I don't know about node " + clip(args[4], 128))
	case p != nil && p.master != nil:
		n.data.ReplyError("ERR Target node is not a master")
	case p != nil && how == "migrating":
		m.migrating[slot] = p
		n.data.ReplyOK()
	case p != nil && how == "importing":
		m.importing[slot] = p
		n.data.ReplyOK()
	case p != nil:
		n.giveSlot(slot, p)
	case how == "stable" && len(args) == 4:
		delete(m.migrating, slot)
		delete(m.importing, slot)
		n.data.ReplyOK()
	default:
		n.data.ReplyError("ERR Invalid CLUSTER SETSLOT action or number of arguments. Try CLUSTER HELP")
	}
}

// giveSlot implements CLUSTER SETSLOT NODE: p becomes the owner of the slot. If this node becomes the owner of a slot
// that it was importing, it chooses a new epoch, unless its epoch is the latest, so that the other members accept it as
// the owner. As in Redis, a slot that contains keys continues to migrate if the order names its owner.
func (n *Node) giveSlot(slot int, p *peer) {
	m := n.member
	if m.owner(slot) == m.self && p != m.self {
		if len(n.namesIn(slot)) > 0 {
			n.data.ReplyError(fmt.Sprintf(
				"ERR Can't assign hashslot %d to a different node while I still hold keys for this hash slot.", slot))
			return
		}
	}
	if len(n.namesIn(slot)) == 0 {
		delete(m.migrating, slot)
	}
	this := slotSet{{slot, slot}}
	if p == m.self && m.importing[slot] != nil {
		if m.self.epoch != m.epoch {
			m.epoch++
			m.self.epoch = m.epoch
		}
		delete(m.importing, slot)
	}
	for _, q := range m.peers {
		if q.slots.has(slot) {
			q.slots = q.slots.minus(this)
		}
	}
	p.slots = p.slots.union(this)
	n.announceSlots()
	n.data.ReplyOK()
}

// clusterFailover implements CLUSTER FAILOVER FORCE and CLUSTER FAILOVER TAKEOVER. It refuses CLUSTER FAILOVER without
// an option, which is not simulated: there, Redis first stops the master and lets the replica catch up.
func (n *Node) clusterFailover(args []string) {
	m := n.member
	how := strings.ToLower(strings.Join(args[2:], " "))
	switch {
	case how != "" && how != "force" && how != "takeover":
		n.data.ReplyError(resp.ErrSyntax)
	case m.self.master == nil:
		n.data.ReplyError("ERR You should send CLUSTER FAILOVER to a replica")
	case how == "":
		n.data.ReplyError("ERR fencepost: CLUSTER FAILOVER is simulated only with FORCE or TAKEOVER")
	case how == "takeover":
		m.epoch++
		m.self.epoch = m.epoch
		n.takeOver()
		n.data.ReplyOK()
	default:
		n.orderFailOver(n.host.Name())
		n.data.ReplyOK()
	}
}
