package redis

import (
	"slices"
	"time"

	"github.com/fencepost-sim/fencepost/sim"
	"github.com/fencepost-sim/fencepost/sim/redis/lua"
)

// This file implements nodes that are members of a Redis Cluster (cluster.c). It contains what a node knows about the
// members, and the messages by which members learn about each other (the cluster bus). takeover.go elects replicas,
// redirect.go sends clients to the member that serves a key, and cluster_commands.go implements CLUSTER.

// DefaultNodeTimeout is the value of cluster-node-timeout in redis.conf.
const DefaultNodeTimeout = 15 * time.Second

// ClusterConfig describes a Redis Cluster.
type ClusterConfig struct {
	// Groups lists the cluster's nodes: each master, followed by its replicas. When the run starts, the masters share
	// the hash slots equally, as after redis-cli --cluster create.
	Groups [][]sim.ProcessID
	// NodeTimeout is cluster-node-timeout. A member suspects that a node has failed if the node has not answered for
	// this long. A master that can reach only a minority keeps serving for this long. Zero means DefaultNodeTimeout.
	NodeTimeout time.Duration
}

// Times and limits from redis.conf or from the Redis source code. All times except busEvery are in wall-clock ms.
const (
	busEvery         = 100 * time.Millisecond // time between two checks of the other members
	writableDelay    = 2000                   // how long a master serves no requests after a restart
	leastRejoinDelay = 500
	mostRejoinDelay  = 5000
	// time that a replica waits before it asks for votes, plus a random time of up to the same length
	voteDelay        = 500
	rankDelay        = 1000 // time that is added for each replica that has more data
	leastVoteTimeout = 2000
	orderedFor       = 5000 // maximum duration of a failover that CLUSTER FAILOVER has ordered
	validityFactor   = 10   // cluster-replica-validity-factor
	replicaPing      = 10_000
)

// clusterMember is what a node knows about its cluster. It outlives the process, as nodes.conf does.
type clusterMember struct {
	timeout int64 // NodeTimeout in ms
	peers   []*peer
	self    *peer // the entry of peers for the node itself
	epoch   int64 // the highest configuration epoch that the node knows (currentEpoch)
	voted   int64 // the last epoch in which the node has voted (lastVoteEpoch)

	up         bool  // the node serves requests (cluster_state:ok)
	began      int64 // when the process started
	minoritied int64 // when the node last reached only a minority of the masters; 0: never since its start
	round      int   // number of checks of the other members since the start
	failover

	migrating, importing map[int]*peer // slots that are being moved away from or to this node (CLUSTER SETSLOT)
}

// peer is what a member knows about another member or about itself. Times are in ms on the wall clock of the member
// that stores the peer.
type peer struct {
	name   sim.ProcessID
	master *peer // nil for a master
	slots  slotSet
	epoch  int64 // the epoch in which the member got its slots (configEpoch)
	offset int64

	health   health
	failedAt int64
	pinged   int64 // when the oldest unanswered ping was sent; 0 if all are answered
	sent     int64 // when the latest ping was sent
	pong     int64 // when the member last answered a ping
	heard    int64 // when anything last arrived from the member
	votedAt  int64 // when this node last voted for a replica of the member
	// reports maps each member that has reported this one as failing to the time of its most recent report.
	reports map[*peer]int64
}

// health is the state of a member as another member sees it.
type health uint8

const (
	healthy   health = iota
	suspected        // the member has not answered for NodeTimeout (PFAIL)
	failed           // a majority of the masters agrees that the member has failed (FAIL)
)

// id returns the node's ID in the cluster: forty hexadecimal digits, which Redis chooses at random.
func (p *peer) id() string { return lua.SHA1Hex(string(p.name)) }

// votes reports whether the member is a master with slots. Only such masters count toward a majority.
func (p *peer) votes() bool { return p.master == nil && len(p.slots) > 0 }

// newMember returns the state of a node in a newly created cluster.
func newMember(cfg *ClusterConfig, self sim.ProcessID) *clusterMember {
	m := &clusterMember{timeout: cfg.NodeTimeout.Milliseconds(), up: true, migrating: map[int]*peer{},
		importing: map[int]*peer{}}
	if m.timeout == 0 {
		m.timeout = DefaultNodeTimeout.Milliseconds()
	}
	for i, group := range cfg.Groups {
		var master *peer
		for _, name := range group {
			p := &peer{name: name, master: master, epoch: int64(i + 1), reports: map[*peer]int64{}}
			if m.peers = append(m.peers, p); master == nil {
				master, p.slots = p, shareOf(i, len(cfg.Groups))
			}
			if name == self {
				m.self = p
			}
		}
	}
	m.epoch = int64(len(m.peers)) // redis-cli gives each node a different epoch
	return m
}

func (m *clusterMember) peer(name sim.ProcessID) *peer {
	if i := slices.IndexFunc(m.peers, func(p *peer) bool { return p.name == name }); i >= 0 {
		return m.peers[i]
	}
	return nil
}

// owner returns the member that serves a slot, or nil if no member does.
func (m *clusterMember) owner(slot int) *peer {
	for _, p := range m.peers {
		if p.slots.has(slot) {
			return p
		}
	}
	return nil
}

// replicas lists a master's replicas.
func (m *clusterMember) replicas(master *peer) (list []*peer) {
	for _, p := range m.peers {
		if p.master == master && master != nil {
			list = append(list, p)
		}
	}
	return list
}

// majority counts the masters that serve slots. needed is how many of them make up a majority, and reached is how many
// this node can reach.
func (m *clusterMember) majority() (needed, reached int) {
	size := 0
	for _, p := range m.peers {
		if p.votes() {
			if size++; p.health == healthy {
				reached++
			}
		}
	}
	return size/2 + 1, reached
}

// The messages between members. Each begins with a header, which lists the slots that the sender serves.
type (
	// beat is a PING or a PONG. A PONG answers a PING or announces a change.
	beat struct {
		busHeader
		pong bool
		key  sim.Key
		// failing lists the members that the sender believes have failed.
		failing []sim.ProcessID
	}
	// obituary announces that a majority of the masters considers a member to have failed.
	obituary struct {
		busHeader
		who sim.ProcessID
	}
	// ballot asks the masters to elect the sender as its master's successor. If the failover was ordered, the master
	// need not have failed.
	ballot struct {
		busHeader
		ordered bool
	}
	// vote answers a ballot: its sender votes for the ballot's sender.
	vote struct{ busHeader }
	// correction is sent to a member that claims another member's slots. It names the member that serves them.
	correction struct {
		busHeader
		who   sim.ProcessID
		epoch int64
		slots slotSet
	}
	// broadcast carries the message of a PUBLISH or SPUBLISH to the other members.
	broadcast struct {
		busHeader
		kind          int
		name, message string
	}
)

// busHeader describes the sender of a message. A replica's slots are those that its master serves.
type busHeader struct {
	current int64         // currentEpoch
	epoch   int64         // configEpoch
	master  sim.ProcessID // empty for a master
	slots   slotSet
	offset  int64
}

func (g busHeader) header() busHeader { return g }

// Phases of messages between members. A message's random delay depends on its phase.
const (
	phaseBus       = "cluster bus"
	phaseObituary  = "cluster fail"
	phaseBallot    = "cluster vote request"
	phaseVote      = "cluster vote"
	phaseUpdate    = "cluster update"
	phaseBroadcast = "cluster publish"
)

func (n *Node) busHeader() busHeader {
	m := n.member
	g := busHeader{current: m.epoch, epoch: m.self.epoch, slots: m.self.slots, offset: n.repl.end()}
	if m.self.master != nil {
		g.master, g.epoch, g.slots = m.self.master.name, m.self.master.epoch, m.self.master.slots
	}
	return g
}

// millis returns the node's wall-clock time in ms.
func (n *Node) millis() int64 { return n.data.Wall / int64(time.Millisecond) }

// joinCluster is called when a member's process starts. On the first start, all members already know each other and
// serve requests.
func (n *Node) joinCluster() {
	if n.cfg.Cluster == nil {
		return
	}
	first := n.member == nil
	if first {
		n.member = newMember(n.cfg.Cluster, n.host.Name())
	}
	m, now := n.member, n.millis()
	n.repl.involved = true // its messages to other members are sent at the end of each turn
	m.round, m.minoritied, m.began, m.failover = 0, 0, now, failover{}
	for _, p := range m.peers {
		p.pinged, p.sent, p.pong, p.heard = 0, 0, now, now
		if p.health == failed {
			p.failedAt = now
		}
	}
	if first {
		m.began = now - writableDelay
	} else {
		m.up = false
	}
	n.host.WakeAfter(time.Duration(n.host.Rand("first look", n.second())%uint64(busEvery)), wakeBus)
}

// checkPeers is called ten times a second to check the other members (clusterCron). It pings members when a ping is
// due, suspects members that have not answered for too long, and takes the next step of a failover.
func (n *Node) checkPeers() {
	m, now := n.member, n.millis()
	n.host.WakeAfter(busEvery, wakeBus)
	if m.round%int(time.Second/busEvery) == 0 {
		n.pingOldest(m.round == 0)
	}
	m.round++
	for _, p := range m.peers {
		switch {
		case p == m.self:
		case p.pinged == 0 && now-p.pong > m.timeout/2, p.pinged != 0 && now-p.sent > m.timeout/2:
			n.ping(p) // the last PONG is old, or the ping is unanswered, so that Redis opens a new connection
		}
		if p != m.self && p.pinged != 0 && min(now-p.pinged, now-p.heard) > m.timeout && p.health == healthy {
			p.health = suspected
		}
	}
	n.seekMaster()
	n.judgeCluster()
}

// pingOldest pings the member whose last PONG is the oldest. If everyone is true, it pings every member instead. It
// skips members that have not answered a ping yet. In a large cluster, Redis considers only five random members and
// pings one of them.
func (n *Node) pingOldest(everyone bool) {
	var oldest *peer
	for _, p := range n.member.peers {
		if p == n.member.self || p.pinged != 0 {
			continue
		}
		if everyone {
			n.ping(p)
		} else if oldest == nil || p.pong < oldest.pong {
			oldest = p
		}
	}
	if oldest != nil {
		n.ping(oldest)
	}
}

func (n *Node) ping(p *peer) {
	if p.sent = n.millis(); p.pinged == 0 {
		p.pinged = p.sent
	}
	key := sim.Key(n.host.Monotonic() / busEvery)
	n.post(p.name, phaseBus, key, beat{busHeader: n.busHeader(), key: key, failing: n.member.failing()})
}

// failing lists the members that the node believes have failed.
func (m *clusterMember) failing() (list []sim.ProcessID) {
	for _, p := range m.peers {
		if p.health != healthy {
			list = append(list, p.name)
		}
	}
	return list
}

func (n *Node) toAll(phase string, body any) {
	for _, p := range n.member.peers {
		if p != n.member.self {
			n.post(p.name, phase, sim.Key(n.host.Monotonic()/busEvery), body)
		}
	}
}

// announceSlots sends a PONG to all other members, so that they learn at once which slots the node now serves.
func (n *Node) announceSlots() {
	n.toAll(phaseBus, beat{busHeader: n.busHeader(), pong: true, failing: n.member.failing()})
}

// hears handles a message from another member (clusterProcessPacket).
func (n *Node) hears(from sim.ProcessID, body interface{ header() busHeader }) {
	m, now := n.member, n.millis()
	if m == nil {
		return
	}
	p := m.peer(from)
	p.heard = now
	if b, is := body.(beat); is && !b.pong {
		n.post(from, phaseBus, b.key, beat{busHeader: n.busHeader(), pong: true, failing: m.failing()})
	}
	g := body.header()
	m.epoch, p.epoch, p.offset = max(m.epoch, g.current), max(p.epoch, g.epoch), g.offset
	switch b := body.(type) {
	case beat:
		n.meets(p, b, now)
	case obituary:
		if w := m.peer(b.who); w != m.self && w.health != failed {
			w.health, w.failedAt = failed, now
		}
	case ballot:
		n.voteFor(p, b)
	case vote:
		if p.votes() && g.current >= m.inEpoch {
			m.count++
			n.seekMaster()
		}
	case correction:
		if w := m.peer(b.who); b.epoch > w.epoch {
			w.master, w.epoch = nil, b.epoch
			n.claim(w, b.epoch, b.slots)
		}
	case broadcast:
		n.publish(b.kind, b.name, b.message)
	}
	n.judgeCluster()
}

// meets handles a PING or PONG.
func (n *Node) meets(p *peer, b beat, now int64) {
	m := n.member
	if b.pong {
		p.pong, p.pinged = now, 0
		switch {
		case p.health == suspected,
			p.health == failed && (!p.votes() || now-p.failedAt > 2*m.timeout):
			p.health = healthy
		}
	}
	if b.master == "" {
		p.master = nil
	} else {
		p.master, p.slots = m.peer(b.master), nil
	}
	if owner := p.master; owner == nil && !slices.Equal(p.slots, b.slots) || owner != nil &&
		!slices.Equal(owner.slots, b.slots) {
		if owner == nil {
			n.claim(p, b.epoch, b.slots)
		}
		n.correct(p, b.busHeader)
	}
	if m.self.master == nil && p.master == nil && p.epoch == m.self.epoch && m.self.id() < p.id() {
		m.epoch++ // two masters have the same epoch: one of them takes a new one (clusterHandleConfigEpochCollision)
		m.self.epoch = m.epoch
	}
	if !p.votes() {
		return
	}
	for _, w := range m.peers {
		if w == m.self || w == p {
			continue
		}
		if !slices.Contains(b.failing, w.name) {
			delete(w.reports, p)
			continue
		}
		w.reports[p] = now
		n.mayBury(w, now)
	}
}

// mayBury marks a suspected member as failed if a majority of the masters believes it has failed.
func (n *Node) mayBury(w *peer, now int64) {
	m := n.member
	if w.health != suspected {
		return
	}
	count := 0
	if m.self.votes() {
		count++
	}
	for p, at := range w.reports {
		if now-at > 2*m.timeout {
			delete(w.reports, p)
		} else if p.votes() {
			count++
		}
	}
	if needed, _ := m.majority(); count >= needed {
		w.health, w.failedAt = failed, now
		n.toAll(phaseObituary, obituary{n.busHeader(), w.name})
	}
}

// claim gives a master the slots that it claims (clusterUpdateSlotsConfigWith). epoch is the epoch in which it got
// them. claim leaves out slots whose current owner got them in the same or a later epoch, and slots that the node is
// importing. If this takes all slots from the node or its master, the node becomes a replica of the new owner.
func (n *Node) claim(p *peer, epoch int64, slots slotSet) {
	m := n.member
	mine := m.self
	if mine.master != nil {
		mine = mine.master
	}
	if p == m.self {
		return
	}
	gained := slotsFor(func(slot int) bool {
		owner := m.owner(slot)
		return slots.has(slot) && m.importing[slot] == nil && owner != p && (owner == nil || owner.epoch < epoch)
	})
	before := len(mine.slots)
	for _, q := range m.peers {
		if q != p && len(q.slots) > 0 {
			q.slots = q.slots.minus(gained)
		}
	}
	p.slots = p.slots.union(gained)
	if before > 0 && len(mine.slots) == 0 {
		m.self.master = p
		m.failover = failover{}
		clear(m.migrating)
		clear(m.importing)
		n.obey(p.name)
	}
}

// correct handles a message whose sender claims slots that another member got in a later epoch. It tells the sender
// which member serves these slots.
func (n *Node) correct(to *peer, g busHeader) {
	for _, q := range n.member.peers {
		owner := to
		if to.master != nil {
			owner = to.master
		}
		if q == owner || q == to || q.epoch <= g.epoch {
			continue
		}
		if slices.ContainsFunc(g.slots, q.slots.overlaps) {
			n.post(to.name, phaseUpdate, n.second(), correction{n.busHeader(), q.name, q.epoch, q.slots})
			return
		}
	}
}

// judgeCluster decides whether the node serves requests (clusterUpdateState). Every slot must have an owner that has
// not failed (cluster-require-full-coverage), and the node must be able to reach a majority of the masters. A master
// that has restarted, or that can reach the majority again, first waits for a while to learn whether it has been
// replaced.
func (n *Node) judgeCluster() {
	m, now := n.member, n.millis()
	master := m.self.master == nil
	if master && !m.up && now-m.began < writableDelay {
		return
	}
	covered := 0
	for _, p := range m.peers {
		if p.health != failed {
			covered += p.slots.count()
		}
	}
	needed, reached := m.majority()
	if reached < needed {
		m.minoritied = now
	}
	up := covered == slotCount && reached >= needed
	if up && !m.up && master && m.minoritied != 0 &&
		now-m.minoritied < min(max(m.timeout, leastRejoinDelay), mostRejoinDelay) {
		return
	}
	m.up = up
}
