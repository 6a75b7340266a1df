// Package store holds the data of a simulated Redis: which keys exist, who owns them, when they expire, and what is
// recorded about them. It also holds the append-only file: the effects, and when each of them is on disk.
//
// Strings, deadlines, owners, and expired keys that still exist are stored in this package. All other values are stored
// in miniredis, to which the strings are lent when it executes a command. Every change is made by a method that writes
// its record, logs its effect for the file and the replicas, and notifies the node.
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

// Entry is what is known about an existing key apart from its data.
type Entry struct {
	of history.Attempt // the attempt that set it
	// members maps the key's fields, members or elements to their owners; nil for a string.
	members map[string]history.Attempt
	When    int64  // deadline, ms on the wall clock; Never without expiry
	seq     uint64 // seq of its entry in the heap of deadlines; 0 if it has none
	Text    bool   // it is a string, whose value is written into records
	Value   string // value of a string
	lent    bool   // miniredis also has the string, always with this value
}

// Data is the data of a node. Values except strings are in miniredis; strings, deadlines and owners are in keys.
//
// Invariant: a key that exists in miniredis is in keys. A key in keys exists in miniredis, unless it is a string that
// is not lent. miniredis itself knows no TTL.
type Data struct {
	mini *miniredis.Miniredis
	DB   *miniredis.RedisDB // any code outside Data that changes it must call Settle for the key
	srv  *server.Server
	peer *server.Peer
	w    *bufio.Writer

	node     Server
	Onlooker Onlooker // the onlooker of this life

	// State of the current turn of the event loop. Redis freezes its clock while a command, script or transaction runs.
	Wall int64 // wall clock, ns
	Now  int64 // wall clock, ms

	Attempt     history.Attempt // attempt of the current request
	Sent        history.Time    // when the latest request left its client; 0 if that is not known
	check       history.Check   // check of the current command
	looks       []look          // looks of the current script or transaction
	resp.Writer                 // the reply to the current request
	Loading     bool            // replaying the file: no records, no effects, no expiry
	Notifies    Events          // which keyspace events are published

	keys      map[string]*Entry
	free      []*Entry // entries of removed keys, for reuse
	deadlines deadlines
	seq       uint64
	made      int // number of keys made since mini was created

	hidden []hiddenKey // in the order in which they expired; none of them is in keys

	lapsed map[string]history.Attempt // owners of keys that have expired and were not set again
}

// Server is the node to which the data belongs.
type Server interface {
	// Replica reports whether the node is a replica. Its master then decides what expires, and records the changes of
	// keys.
	Replica() bool
	// Log logs an effect of the current turn, for the file and for the replicas. LogCommand does the same for a
	// command.
	Log(e Effect)
	LogCommand(args []string)
	// Changed is called after every change of a key, and after an expired key was deleted.
	Changed(name string, expired bool)
	// Flushed is called when all keys are about to be removed.
	Flushed()
	// ListMade is called for every list that is created.
	ListMade(name string)
	// Publish sends a message about a key to the subscribers of a channel of this node.
	Publish(channel, message string)
	// Do carries out the command of an effect.
	Do(args []string)
}

// Onlooker takes the records, and knows the true time.
type Onlooker interface {
	// Record writes a record.
	Record(e history.Event)
	// Due returns the true time after d on the node's clock, if the clock runs true.
	Due(d time.Duration) history.Time
}

// maxMade is the number of keys made after which miniredis is replaced: it keeps a version number of each removed key
// for ever.
const maxMade = 1 << 16

// appender is a writer that appends to a byte slice.
type appender struct{ b *[]byte }

func (a appender) Write(p []byte) (int, error) {
	*a.b = append(*a.b, p...)
	return len(p), nil
}

// New returns the data of a node. It is expensive, because a miniredis registers all its commands.
func New(node Server) *Data {
	d := &Data{node: node, keys: map[string]*Entry{}}
	d.renew()
	return d
}

// renew creates a new miniredis. Dial makes it register its commands; the connection itself is not used.
func (d *Data) renew() {
	d.mini = miniredis.NewMiniRedis()
	conn, err := d.mini.Dial()
	if err != nil {
		panic(fmt.Sprintf("redis: miniredis does not start: %v", err)) // not expected
	}
	_ = conn.Close()
	d.mini.SetTime(time.Unix(0, 0)) // so that it does not read the machine's clock
	d.DB = d.mini.DB(0)
	d.srv = d.mini.Server()
	d.w = bufio.NewWriter(appender{&d.Out})
	d.peer = server.NewPeer(d.w)
	d.made = 0
}

// Pass makes miniredis execute a command and appends its reply to Out. Settle must then be called for the command's
// keys.
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

// Begin begins a turn of the event loop at the given time of the wall clock, in ns.
func (d *Data) Begin(wall int64) { d.Wall, d.Now = wall, millis(wall) }

// Quietly calls do without writing records or logging effects, because they have been written before.
func (d *Data) Quietly(do func()) {
	was := d.Loading
	d.Loading = true
	do()
	d.Loading = was
}

// Size returns the number of keys, including hidden ones, as Redis counts them.
func (d *Data) Size() int { return len(d.keys) + len(d.hidden) }

// Peek returns the entry of a key, or nil if it does not exist or is hidden. It deletes nothing.
func (d *Data) Peek(name string) *Entry { return d.keys[name] }

// Exists reports whether a key exists, even if it is hidden.
func (d *Data) Exists(name string) bool { return d.keys[name] != nil || d.IsHidden(name) }

// LogCommand logs a command as it was executed, for the file and for the replicas.
func (d *Data) LogCommand(args []string) { d.node.LogCommand(args) }

// Reset returns d to its initial state, for the next run.
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

// Type returns the type of an existing key, as TYPE replies.
func (d *Data) Type(name string) string {
	if k := d.keys[name]; k != nil && k.Text {
		return "string"
	}
	return d.DB.Type(name)
}

// Vacate removes the value of a key before a command replaces it. Settle must be called after the command.
func (d *Data) Vacate(name string) {
	if k := d.keys[name]; k != nil {
		d.drop(name, k)
		k.lent = true // otherwise Pass would bring the string back
	}
}

// put sets the value of a string.
func (d *Data) put(name string, k *Entry, value string) {
	k.Value = value
	if k.lent {
		_ = d.DB.Set(name, value) // fails only for other types
	}
}

// drop removes the value of a key from miniredis, if it is there.
func (d *Data) drop(name string, k *Entry) {
	if !k.Text || k.lent {
		d.DB.Del(name)
	}
}

// add returns the entry of a new key.
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

// forget drops the entry of a key that was removed from miniredis.
func (d *Data) forget(name string, k *Entry) {
	delete(d.keys, name)
	k.seq = 0
	d.free = append(d.free, k)
}

// expireAt changes the deadline of a key.
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
