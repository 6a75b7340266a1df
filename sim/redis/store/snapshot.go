package store

import (
	"slices"
	"strings"

	"github.com/fencepost-sim/fencepost/checker/history"
)

// Key is a key as an onlooker sees it.
type Key struct {
	Name     string
	Type     string          // as TYPE replies
	Value    string          // a string's value; for other types, the RESP reply of the command that reads all of it
	Owner    history.Attempt // a string's owner, who set it last; the members of other types have their own
	Deadline int64           // ms on the wall clock; Never without expiry
	Members  []Member
	ended    bool // it is hidden, and its end is already recorded
}

// Snapshot is the data at one moment, including hidden keys, sorted by name.
type Snapshot struct{ Keys []Key }

// wholeOf maps each type to the command that reads all of a value.
var wholeOf = map[string][]string{
	"hash": {"HGETALL", ""},
	"list": {"LRANGE", "", "0", "-1"},
	"set":  {"SMEMBERS", ""},
	"zset": {"ZRANGE", "", "0", "-1", "WITHSCORES"},
}

// Snapshot returns the current data.
func (d *Data) Snapshot() *Snapshot {
	s := &Snapshot{Keys: make([]Key, 0, len(d.keys)+len(d.hidden))}
	for name := range d.keys {
		s.Keys = append(s.Keys, d.look(name))
	}
	for i := range d.hidden {
		s.Keys = append(s.Keys, d.hidden[i].Key)
	}
	slices.SortFunc(s.Keys, func(a, b Key) int { return strings.Compare(a.Name, b.Name) })
	return s
}

// look returns one existing key.
func (d *Data) look(name string) Key {
	k := d.keys[name]
	l := Key{Name: name, Type: d.Type(name), Owner: k.of, Deadline: k.When}
	if k.Text {
		l.Value = k.Value
		return l
	}
	l.Value, l.Members = d.whole(name, l.Type), d.members(name, k)
	if hasMembers(l.Type) {
		l.Owner = ""
	}
	return l
}

// whole returns all of a value that is not a string, in RESP.
func (d *Data) whole(name, kind string) string {
	whole := slices.Clone(wholeOf[kind])
	whole[1] = name
	return d.Ask(whole...)
}

// Ask makes miniredis execute a command and returns the reply to the caller. The client does not get the reply.
func (d *Data) Ask(args ...string) string {
	from := len(d.Out)
	d.Pass(args)
	reply := string(d.Out[from:])
	d.Out = d.Out[:from]
	return reply
}
