package redis

import (
	"bufio"
	"fmt"
	"time"

	"github.com/alicebob/miniredis/v2"
	"github.com/alicebob/miniredis/v2/server"

	"github.com/fencepost-sim/fencepost/checker/history"
)

// key is what the node knows of an existing key beside its data.
type key struct {
	of history.Attempt // who set it
	// members are the owners of its fields or members; nil for a string or a list.
	members map[string]history.Attempt
	when    int64  // deadline, ms on the wall clock; never without
	seq     uint64 // of its entry in the heap of deadlines; 0 if it has none
	text    bool   // a string: its value goes into the records
}

// dataset is the data of a node: miniredis for the values, keys for everything about time and ownership.
// Invariant: a key is in keys if and only if it exists in miniredis, and else in hidden or not there; miniredis itself
// knows no TTL.
type dataset struct {
	mini *miniredis.Miniredis
	DB   *miniredis.RedisDB // whoever changes it settles the key, or is a method of the data
	srv  *server.Server
	peer *server.Peer
	w    *bufio.Writer

	node Server

	// The current turn of the event loop. Redis freezes its clock for the whole of a command, script or transaction.
	wall int64 // wall clock, ns
	ms   int64 // wall clock, ms

	attempt history.Attempt // of the current request
	writer                  // the reply to it
	loading bool            // replaying the file: no records, no effects, no expiry

	keys      map[string]*key
	free      []*key // of removed keys, for reuse
	deadlines deadlines
	seq       uint64
	made      int // keys made since mini is new

	hidden []hiddenKey // in the order in which they expired; none of them is in keys
}

// Server is the node whose data it is.
type Server interface {
	// Replica reports whether another node decides what expires, and records what becomes of the keys.
	Replica() bool
	// Record writes a record.
	Record(e history.Event)
	// Due is the true time after d on the node's clock, if it runs true.
	Due(d time.Duration) history.Time
	// Log notes an effect of the current turn, for the file and for the replicas; LogCommand one that is a command.
	Log(e effect)
	LogCommand(args []string)
	// Changed is told of every key that changes, once it has.
	Changed(name string)
	// Do carries out a command of an effect.
	Do(args []string)
}

// maxMade bounds what miniredis keeps for ever about keys that are gone (a version each).
const maxMade = 1 << 16

// appender writes to a byte slice.
type appender struct{ b *[]byte }

func (a appender) Write(p []byte) (int, error) {
	*a.b = append(*a.b, p...)
	return len(p), nil
}

func newDataset(node Server) *dataset {
	d := &dataset{node: node, keys: map[string]*key{}}
	d.renew()
	return d
}

// renew takes a fresh miniredis. Dial makes it register its commands; the connection itself is not used.
func (d *dataset) renew() {
	d.mini = miniredis.NewMiniRedis()
	conn, err := d.mini.Dial()
	if err != nil {
		panic(fmt.Sprintf("redis: miniredis does not start: %v", err)) // it has no reason to
	}
	_ = conn.Close()
	d.mini.SetTime(time.Unix(0, 0)) // keeps it from reading the machine's clock
	d.DB = d.mini.DB(0)
	d.srv = d.mini.Server()
	d.w = bufio.NewWriter(appender{&d.out})
	d.peer = server.NewPeer(d.w)
	d.made = 0
}

// pass has miniredis execute a command; its reply is appended to out.
func (d *dataset) pass(args []string) {
	d.srv.Dispatch(d.peer, args)
	_ = d.w.Flush() // an appender does not fail
}

// begin begins a turn of the event loop at a time of the wall clock, in ns.
func (d *dataset) begin(wall int64) { d.wall, d.ms = wall, millis(wall) }

// quietly carries out what has been recorded and logged before.
func (d *dataset) quietly(do func()) {
	was := d.loading
	d.loading = true
	do()
	d.loading = was
}

// size counts the keys, hidden ones too, as Redis does.
func (d *dataset) size() int { return len(d.keys) + len(d.hidden) }

// peek is what is known of a key that can be seen, or nil. It deletes nothing.
func (d *dataset) peek(name string) *key { return d.keys[name] }

// exists reports whether a key is there, hidden or not.
func (d *dataset) exists(name string) bool { return d.keys[name] != nil || d.isHidden(name) }

// logCommand notes a command as it was executed, for the file and for the replicas.
func (d *dataset) logCommand(args []string) { d.node.LogCommand(args) }

// reset makes d as good as new, for the next run.
func (d *dataset) reset() {
	d.clear()
	d.seq = 0
}

// clear removes all keys.
func (d *dataset) clear() {
	d.deadlines = d.deadlines[:0]
	d.hidden = d.hidden[:0]
	if d.made > maxMade {
		clear(d.keys)
		d.renew()
		return
	}
	if len(d.keys) == 0 {
		return
	}
	clear(d.keys)
	d.DB.FlushDB()
}

func (d *dataset) get(name string) string {
	v, err := d.DB.Get(name)
	if err != nil {
		return "" // not a string: callers have asked before
	}
	return v
}

// add makes the entry of a key that has come to be.
func (d *dataset) add(name string, of history.Attempt, text bool) *key {
	d.made++
	var k *key
	if last := len(d.free) - 1; last >= 0 {
		k = d.free[last]
		d.free = d.free[:last]
	} else {
		k = new(key)
	}
	*k = key{of: of, when: never, text: text}
	d.keys[name] = k
	return k
}

// forget drops the entry of a key that is gone from miniredis.
func (d *dataset) forget(name string, k *key) {
	delete(d.keys, name)
	d.free = append(d.free, k)
}

// expireAt moves the deadline of a key.
func (d *dataset) expireAt(name string, k *key, when int64) {
	if k.when == when {
		return
	}
	k.when, k.seq = when, 0
	if when > lastTimed {
		return
	}
	if len(d.deadlines) > 64+4*len(d.keys) {
		d.deadlines.keep(d.stands)
	}
	d.seq++
	k.seq = d.seq
	d.deadlines.push(deadline{when: when, seq: d.seq, name: name})
}

// stands reports whether an entry of the heap still speaks of its key.
func (d *dataset) stands(e deadline) bool {
	k := d.keys[e.name]
	return k != nil && k.seq == e.seq
}
