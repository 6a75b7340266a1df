// Package store holds a simulated Redis server's data: which keys exist, who owns them, when they expire, and what is
// recorded about them. It also contains the append-only file, which is a list of effects, and determines when each
// effect is on disk.
//
// Strings, deadlines, owners, and expired keys that still exist are stored in this package. All other values are stored
// in miniredis. When miniredis is to execute a command, it gets a copy of every string, which it then keeps. Every
// change is made by a method that writes its record, logs its effect for the append-only file and the replicas, and
// notifies the node.
package store

import (
	"bufio"
	"fmt"
	"strings"
	"time"

	"github.com/alicebob/miniredis/v2"
	"github.com/alicebob/miniredis/v2/server"

	"github.com/fencepost-sim/fencepost/checker/history"
	"github.com/fencepost-sim/fencepost/sim/redis/resp"
)

// Entry contains everything about an existing key except the data stored in miniredis.
type Entry struct {
	of history.Attempt // the attempt that set the key
	// members maps the key's fields, members or elements to their owners. It is nil for a string.
	members map[string]history.Attempt
	timers  map[string]timer // deadlines of fields that are not hidden
	past    []HiddenField    // in the order in which they expired
	When    int64            // deadline in ms on the wall clock; Never if the key does not expire
	seq     uint64           // number of the key's entry in the heap of deadlines; 0 if there is none
	born    uint64           // sequence number of the key's creation
	Text    bool             // the key is a string, whose value is written into records
	Value   string           // the value, if the key is a string
	lent    bool             // miniredis has a copy of the string, with the same value
}

// Data is a node's data. Strings, deadlines and owners are stored in a map (the keys field), and all other values in
// miniredis.
//
// Invariant: every key in miniredis is also in the map. Every key in the map is also in miniredis, with two exceptions:
// a string that miniredis does not have a copy of yet (see the lent field), and a hash with only hidden
// fields. miniredis itself does not store deadlines.
type Data struct {
	mini *miniredis.Miniredis
	DB   *miniredis.RedisDB // code outside Data that changes a key in it must then call Settle for the key
	srv  *server.Server     // nil before the first command that miniredis executes
	peer *server.Peer
	w    *bufio.Writer

	node     Server
	Onlooker Onlooker // receives records; set when the process starts

	// The fields below are the state of the current event loop turn. Wall and Now stay the same during a turn, because
	// Redis freezes its clock while a command, script or transaction is running.
	Wall int64 // time of the wall clock in ns
	Now  int64 // time of the wall clock in ms

	Attempt     history.Attempt // attempt that the current request belongs to
	Sent        history.Time    // when the current request left its client; 0 if unknown
	check       history.Check   // what the current command checks
	looks       []look          // what the current script or transaction has looked at
	resp.Writer                 // the reply to the current request
	Loading     bool            // the file is being replayed: no records, no effects, no expiry
	Notifies    Events          // which keyspace notifications are sent

	keys      map[string]*Entry
	free      []*Entry // entries of removed keys, for reuse
	deadlines deadlines
	stood     int // number of entries that were valid when deadlines was last cleaned
	seq       uint64
	births    uint64 // number of keys created
	made      int    // number of keys created since mini was created

	worn   map[string]bool // names of the hashes with hidden fields
	hidden []hiddenKey     // in the order in which they expired; a hidden key is not in keys

	lapsed map[string]history.Attempt // owners of keys that have expired and have not been set again
}

// Server is the node that owns the data.
type Server interface {
	// Replica reports whether the node is a replica. A replica's master decides which keys expire, and records key
	// changes.
	Replica() bool
	// Log logs an effect of the current event loop turn, for the append-only file and for the replicas. LogCommand does
	// the same for a command.
	Log(e Effect)
	LogCommand(args []string)
	// Changed is called after each change to a key. expired is true if an expired key was deleted.
	Changed(name string, expired bool)
	// Flushed is called before all keys are removed.
	Flushed()
	// Watches reports whether the current request's client is watching a key but is not in a transaction.
	Watches(name string) bool
	// ListMade is called when a list has been created.
	ListMade(name string)
	// Publish sends a message about a key to those of this node's clients that subscribe to the channel.
	Publish(channel, message string)
	// Do executes a command that is part of an effect. args are the command's name and arguments.
	Do(args []string)
}

// Onlooker receives the records, and knows the true time.
type Onlooker interface {
	// Record adds a record to the history.
	Record(e history.Event)
	// Due returns the true time at which d will have passed on the node's clock, if the clock is accurate.
	Due(d time.Duration) history.Time
}

// maxMade is the number of key creations after which Clear replaces miniredis with a new one. It is limited because
// miniredis never forgets the version number of a removed key.
const maxMade = 1 << 16

// appender is a writer that appends to a byte slice.
type appender struct{ b *[]byte }

func (a appender) Write(p []byte) (int, error) {
	*a.b = append(*a.b, p...)
	return len(p), nil
}

// New returns a node's data.
func New(node Server) *Data {
	d := &Data{node: node, keys: map[string]*Entry{}}
	d.renew()
	return d
}

// renew creates a new miniredis.
func (d *Data) renew() {
	d.mini = miniredis.NewMiniRedis()
	d.mini.SetTime(time.Unix(0, 0)) // so that miniredis does not read the machine's clock
	d.DB = d.mini.DB(0)
	d.srv = nil
	d.made = 0
}

// connect opens a connection to miniredis, which registers all its commands only then. This is slow, and most nodes
// never need it.
func (d *Data) connect() {
	conn, err := d.mini.Dial()
	if err != nil {
		panic(fmt.Sprintf("redis: miniredis does not start: %v", err)) // should never happen
	}
	_ = conn.Close()
	d.srv = d.mini.Server()
	d.w = bufio.NewWriter(appender{&d.Out})
	d.peer = server.NewPeer(d.w)
}

// Pass makes miniredis execute a command and appends its reply to Out. The caller must then call Settle for the
// command's keys.
func (d *Data) Pass(args []string) {
	for name, k := range d.keys {
		if k.Text && !k.lent {
			k.lent = true
			d.put(name, k, k.Value)
		}
	}
	if len(d.worn) > 0 && strings.ToLower(args[0])[0] != 'h' { // commands of hashes must not see the lent field
		defer d.lendHollow()()
	}
	if d.srv == nil {
		d.connect()
	}
	d.srv.Dispatch(d.peer, args)
	_ = d.w.Flush() // cannot fail with an appender
}

// Begin begins an event loop turn. wall is the wall clock time in ns.
func (d *Data) Begin(wall int64) { d.Wall, d.Now = wall, millis(wall) }

// Quietly calls f without writing records or logging effects, for example to replay effects that have already been
// recorded.
func (d *Data) Quietly(f func()) {
	was := d.Loading
	d.Loading = true
	f()
	d.Loading = was
}

// Size returns the number of keys, including hidden keys, as Redis counts them.
func (d *Data) Size() int { return len(d.keys) + len(d.hidden) }

// Peek returns a key's entry, or nil if the key does not exist or is hidden. Unlike Find, it does not delete anything.
func (d *Data) Peek(name string) *Entry { return d.keys[name] }

// Exists reports whether a key exists, even if it is hidden.
func (d *Data) Exists(name string) bool { return d.keys[name] != nil || d.IsHidden(name) }

// LogCommand logs a command in the form in which it was executed, for the append-only file and for the replicas.
func (d *Data) LogCommand(args []string) { d.node.LogCommand(args) }

// Reset returns d to its initial state, for the next run.
func (d *Data) Reset() {
	d.Clear()
	d.seq, d.births, d.Onlooker, d.Notifies = 0, 0, nil, 0
}

// Clear removes all keys.
func (d *Data) Clear() {
	d.deadlines, d.stood = d.deadlines[:0], 0
	d.hidden = d.hidden[:0]
	clear(d.lapsed)
	clear(d.worn)
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

// Type returns an existing key's type, as named by the TYPE command.
func (d *Data) Type(name string) string {
	if k := d.keys[name]; k != nil && k.Text {
		return "string"
	} else if k != nil && len(k.past) > 0 {
		return "hash"
	}
	return d.DB.Type(name)
}

// Vacate removes a key's value, because a command is about to replace it. Settle must be called after the command.
func (d *Data) Vacate(name string) {
	if k := d.keys[name]; k != nil {
		d.drop(name, k)
		k.lent = true // keeps Pass from lending the old string to miniredis again
	}
}

// put sets a string's value.
func (d *Data) put(name string, k *Entry, value string) {
	k.Value = value
	if k.lent {
		_ = d.DB.Set(name, value) // can fail only for keys of other types
	}
}

// drop removes a key's value from miniredis, if it is stored there.
func (d *Data) drop(name string, k *Entry) {
	if !k.Text || k.lent {
		d.DB.Del(name)
	}
}

// add creates an entry for a new key and returns it.
func (d *Data) add(name string, of history.Attempt, text bool) *Entry {
	d.made++
	d.births++
	var k *Entry
	if last := len(d.free) - 1; last >= 0 {
		k = d.free[last]
		d.free = d.free[:last]
	} else {
		k = new(Entry)
	}
	*k = Entry{of: of, When: Never, Text: text, born: d.births}
	d.keys[name] = k
	delete(d.lapsed, name)
	d.Notify(Made, "new", name)
	return k
}

// forget removes a key's entry after the key was removed from miniredis.
func (d *Data) forget(name string, k *Entry) {
	delete(d.keys, name)
	delete(d.worn, name)
	k.seq, k.timers, k.past = 0, nil, nil
	d.free = append(d.free, k)
}

// expireAt sets a key's deadline.
func (d *Data) expireAt(name string, k *Entry, when int64) {
	if k.When == when {
		return
	}
	k.When, k.seq = when, 0
	if when > LastTimed {
		return
	}
	d.seq++
	k.seq = d.seq
	d.push(deadline{when: when, seq: d.seq, name: name, key: k})
}

// push adds an entry to the heap. If the heap contains many obsolete entries, push removes them.
func (d *Data) push(e deadline) {
	if len(d.deadlines) > 64+4*max(len(d.keys), d.stood) {
		d.deadlines.keep(stands)
		d.stood = len(d.deadlines)
	}
	d.deadlines.push(e)
}

// stands reports whether a heap entry is still valid for its key or field.
func stands(e deadline) bool { return e.ofKey() || e.key.timers[e.field].seq == e.seq }
