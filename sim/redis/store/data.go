// Package store is the data of a simulated Redis: which keys there are, who owns them, until when, and what is recorded
// of them; and its append-only file, the effects with those of them that are on disk at what time.
//
// Strings, deadlines, owners and expired keys that are still there are kept here; all other values are in miniredis,
// which is lent the strings when it executes a command. Every change goes through a method that writes its record, its
// effect for the file and the replicas, and notifies the node.
package store

import (
	"bufio"
	"fmt"
	"time"

	"github.com/alicebob/miniredis/v2"
	"github.com/alicebob/miniredis/v2/server"

	"github.com/fencepost-sim/fencepost/checker/history"
	"github.com/fencepost-sim/fencepost/sim/redis/resp"
)

// Entry is what is known of an existing key apart from its data.
type Entry struct {
	of history.Attempt // who set it
	// members are the owners of its fields or members; nil for a string or a list.
	members map[string]history.Attempt
	When    int64  // deadline, ms on the wall clock; never without
	seq     uint64 // of its entry in the heap of deadlines; 0 if it has none
	Text    bool   // a string: its value goes into the records
	Value   string // of a string
	lent    bool   // miniredis has the string, too, and always as it is here
}

// Data is the data of a node: miniredis for the values but strings, keys for these and for everything about time and
// ownership.
// Invariant: a key that exists in miniredis is in keys. One in keys exists in miniredis, unless it is a string that was
// not lent. miniredis itself knows no TTL.
type Data struct {
	mini *miniredis.Miniredis
	DB   *miniredis.RedisDB // whoever changes it settles the key, or is a method of the data
	srv  *server.Server
	peer *server.Peer
	w    *bufio.Writer

	node     Server
	Onlooker Onlooker // of this life

	// The current turn of the event loop. Redis freezes its clock for the whole of a command, script or transaction.
	Wall int64 // wall clock, ns
	Now  int64 // wall clock, ms

	Attempt     history.Attempt // of the current request
	Sent        history.Time    // when the latest request left its client; 0 if that is not known
	check       history.Check   // of the current command
	looks       []look          // of the current script or transaction
	resp.Writer                 // the reply to it
	Loading     bool            // replaying the file: no records, no effects, no expiry
	Notifies    Events          // which keyspace events are published

	keys      map[string]*Entry
	free      []*Entry // of removed keys, for reuse
	deadlines deadlines
	seq       uint64
	made      int // keys made since mini is new

	hidden []hiddenKey // in the order in which they expired; none of them is in keys

	lapsed map[string]history.Attempt // who owned the keys that have expired and were not set again
}

// Server is the node whose data it is.
type Server interface {
	// Replica reports whether another node decides what expires, and records what becomes of the keys.
	Replica() bool
	// Log notes an effect of the current turn, for the file and for the replicas; LogCommand one that is a command.
	Log(e Effect)
	LogCommand(args []string)
	// Changed is called for every key that changes, once it has, and for one that has expired, once it is deleted.
	Changed(name string, expired bool)
	// Flushed is called when all keys are about to go.
	Flushed()
	// ListMade is called for every list that is made.
	ListMade(name string)
	// Publish sends a message about a key to the subscribers of a channel of this node.
	Publish(channel, message string)
	// Do carries out a command of an effect.
	Do(args []string)
}

// Onlooker takes the records, and knows the true time.
type Onlooker interface {
	// Record writes a record.
	Record(e history.Event)
	// Due is the true time after d on the node's clock, if it runs true.
	Due(d time.Duration) history.Time
}

// maxMade bounds what miniredis keeps for ever about keys that are gone (a version each).
const maxMade = 1 << 16

// appender writes to a byte slice.
type appender struct{ b *[]byte }

func (a appender) Write(p []byte) (int, error) {
	*a.b = append(*a.b, p...)
	return len(p), nil
}

// New makes the data of a node. That is costly: a miniredis registers all its commands.
func New(node Server) *Data {
	d := &Data{node: node, keys: map[string]*Entry{}}
	d.renew()
	return d
}

// renew takes a fresh miniredis. Dial makes it register its commands; the connection itself is not used.
func (d *Data) renew() {
	d.mini = miniredis.NewMiniRedis()
	conn, err := d.mini.Dial()
	if err != nil {
		panic(fmt.Sprintf("redis: miniredis does not start: %v", err)) // it has no reason to
	}
	_ = conn.Close()
	d.mini.SetTime(time.Unix(0, 0)) // keeps it from reading the machine's clock
	d.DB = d.mini.DB(0)
	d.srv = d.mini.Server()
	d.w = bufio.NewWriter(appender{&d.Out})
	d.peer = server.NewPeer(d.w)
	d.made = 0
}

// Pass makes miniredis execute a command; its reply is appended to Out. Settle finds what that did to its keys.
func (d *Data) Pass(args []string) {
	for name, k := range d.keys {
		if k.Text && !k.lent {
			k.lent = true
			d.put(name, k, k.Value)
		}
	}
	d.srv.Dispatch(d.peer, args)
	_ = d.w.Flush() // an appender does not fail
}

// Begin begins a turn of the event loop at a time of the wall clock, in ns.
func (d *Data) Begin(wall int64) { d.Wall, d.Now = wall, millis(wall) }

// Quietly carries out what has been recorded and logged before: it writes no record and no effect.
func (d *Data) Quietly(do func()) {
	was := d.Loading
	d.Loading = true
	do()
	d.Loading = was
}

// Size counts the keys, hidden ones too, as Redis does.
func (d *Data) Size() int { return len(d.keys) + len(d.hidden) }

// Peek returns the entry of a key that can be seen, or nil. It deletes nothing.
func (d *Data) Peek(name string) *Entry { return d.keys[name] }

// Exists reports whether a key is there, hidden or not.
func (d *Data) Exists(name string) bool { return d.keys[name] != nil || d.IsHidden(name) }

// LogCommand notes a command as it was executed, for the file and for the replicas.
func (d *Data) LogCommand(args []string) { d.node.LogCommand(args) }

// Reset makes d as new, for the next run.
func (d *Data) Reset() {
	d.Clear()
	d.seq, d.Onlooker, d.Notifies = 0, nil, 0
}

// Clear removes all keys.
func (d *Data) Clear() {
	d.deadlines = d.deadlines[:0]
	d.hidden = d.hidden[:0]
	clear(d.lapsed)
	if d.made > maxMade {
		clear(d.keys)
		d.renew()
		return
	}
	for _, k := range d.keys {
		if !k.Text || k.lent {
			d.DB.FlushDB()
			break
		}
	}
	clear(d.keys)
}

// Type is the type of an existing key, as TYPE answers.
func (d *Data) Type(name string) string {
	if k := d.keys[name]; k != nil && k.Text {
		return "string"
	}
	return d.DB.Type(name)
}

// Vacate takes the value of a key away before a command puts another in its place, which Settle finds.
func (d *Data) Vacate(name string) {
	if k := d.keys[name]; k != nil {
		d.drop(name, k)
		k.lent = true // or Pass would bring the string back
	}
}

// put gives a string its value.
func (d *Data) put(name string, k *Entry, value string) {
	k.Value = value
	if k.lent {
		_ = d.DB.Set(name, value) // fails on other types only
	}
}

// drop takes the value of a key from miniredis, if it has it.
func (d *Data) drop(name string, k *Entry) {
	if !k.Text || k.lent {
		d.DB.Del(name)
	}
}

// add makes the entry of a new key.
func (d *Data) add(name string, of history.Attempt, text bool) *Entry {
	d.made++
	var k *Entry
	if last := len(d.free) - 1; last >= 0 {
		k = d.free[last]
		d.free = d.free[:last]
	} else {
		k = new(Entry)
	}
	*k = Entry{of: of, When: Never, Text: text}
	d.keys[name] = k
	delete(d.lapsed, name)
	d.Notify(Made, "new", name)
	return k
}

// forget drops the entry of a key that is gone from miniredis.
func (d *Data) forget(name string, k *Entry) {
	delete(d.keys, name)
	k.seq = 0
	d.free = append(d.free, k)
}

// expireAt moves the deadline of a key.
func (d *Data) expireAt(name string, k *Entry, when int64) {
	if k.When == when {
		return
	}
	k.When, k.seq = when, 0
	if when > LastTimed {
		return
	}
	if len(d.deadlines) > 64+4*len(d.keys) {
		d.deadlines.keep(stands)
	}
	d.seq++
	k.seq = d.seq
	d.deadlines.push(deadline{when: when, seq: d.seq, name: name, key: k})
}

// stands reports whether an entry of the heap is still valid for its key.
func stands(e deadline) bool { return e.key.seq == e.seq }
