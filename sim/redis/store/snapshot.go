package store

import (
	"cmp"
	"slices"
	"strings"

	"github.com/alicebob/miniredis/v2"

	"github.com/fencepost-sim/fencepost/checker/history"
)

// Key is the complete state of a key, as clients can observe it.
type Key struct {
	Name string
	Type string // the type as the command TYPE names it
	// a string's value; for types with members, the RESP reply to the command that reads the whole value
	Value string
	// a string's owner: the attempt that last set it; for other types, each member has its own owner
	Owner    history.Attempt
	Deadline int64 // in ms on the wall clock; Never if the key does not expire
	Members  []Member
	Entries  []miniredis.StreamEntry // a stream's
	Past     []HiddenField           // hidden fields of a hash
	ended    bool                    // the key is hidden, and its end has been recorded
}

// Snapshot is the data at one moment, sorted by name. It includes hidden keys.
type Snapshot struct{ Keys []Key }

// wholeOf maps each type to the command that reads a whole value of that type.
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

// NewestFirst returns the names of the keys, including hidden ones, for which in returns true. The most recently
// created key comes first.
func (d *Data) NewestFirst(in func(name string) bool) (names []string) {
	type birth struct {
		name string
		born uint64
	}
	var list []birth
	for name, k := range d.keys {
		if in(name) {
			list = append(list, birth{name, k.born})
		}
	}
	for i := range d.hidden {
		if h := &d.hidden[i]; in(h.Name) {
			list = append(list, birth{h.Name, h.born})
		}
	}
	slices.SortFunc(list, func(a, b birth) int { return cmp.Compare(b.born, a.born) })
	for _, b := range list {
		names = append(names, b.name)
	}
	return names
}

// look returns the state of one existing key.
func (d *Data) look(name string) Key {
	k := d.keys[name]
	l := Key{Name: name, Type: d.Type(name), Owner: k.of, Deadline: k.When}
	switch {
	case k.Text:
		l.Value = k.Value
		return l
	case l.Type == "stream":
		l.Entries, _ = d.DB.Stream(name) // no error, since the key has this type
		l.Entries = slices.Clone(l.Entries)
		return l
	}
	l.Value, l.Members, l.Past = d.wholeValue(name, l.Type), d.members(name, k), slices.Clone(k.past)
	if hasMembers(l.Type) {
		l.Owner = ""
	}
	return l
}

// wholeValue returns the RESP-encoded value of a key that is not a string.
func (d *Data) wholeValue(name, kind string) string {
	whole := slices.Clone(wholeOf[kind])
	whole[1] = name
	return d.Ask(whole...)
}

// Ask has miniredis execute a command and returns the reply, which is not sent to the client.
func (d *Data) Ask(args ...string) string {
	from := len(d.Out)
	d.Pass(args)
	reply := string(d.Out[from:])
	d.Out = d.Out[:from]
	return reply
}
