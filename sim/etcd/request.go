package etcd

import "slices"

// Op is an operation: a range, a put or a delete, either alone or in a txn, or a txn that is nested in another txn.
type Op struct {
	Kind     Kind
	Key      string
	End      string // end of the range, exclusive; empty: only Key; "\x00": all keys from Key onward
	Value    string // put: the value
	Lease    int64  // put: the lease; 0 if none
	Previous bool   // put and delete: return the previous keys
	Txn      *Txn   // the nested txn, if Kind is Nested
	// KeepValue and KeepLease tell a put to keep the key's current value or lease.
	KeepValue, KeepLease bool

	// The fields below are used only by range requests.
	Revision     int64 // the revision to read; 0: the latest
	KeysOnly     bool
	CountOnly    bool
	Order        Order
	Descending   bool
	Limit        int // maximum number of keys; 0: no limit
	MinCreate    int64
	MaxCreate    int64 // latest create revision; 0: no limit. MaxMod limits the mod revision in the same way.
	MinMod       int64
	MaxMod       int64
	Serializable bool // may be answered from what this member has applied
}

// Kind is the kind of operation. Its value is the operation's field number in etcdserverpb.RequestOp and ResponseOp.
type Kind uint8

const (
	Range Kind = iota + 1
	Put
	Delete
	Nested
)

// Order is the attribute by which a range's keys are sorted.
type Order uint8

const (
	ByKey Order = iota
	ByCreate
	ByMod
	ByVersion
	ByValue
)

// Compare is one of a txn's conditions.
type Compare struct {
	Target string // CREATE, MOD, VERSION and LEASE are compared as numbers, VALUE as a string
	Key    string
	End    string // end of a range, as in Op; all keys in the range must satisfy the condition
	Rel    byte   // '=', '!', '<' or '>'
	Number int64
	Text   string
}

// Txn is a list of conditions and two lists of operations. If all conditions hold, Then is executed; otherwise, Else is
// executed.
type Txn struct {
	Conditions []Compare
	Then, Else []Op
}

// readOnly reports whether neither branch can change a key.
func (t *Txn) readOnly() bool {
	changes := func(o Op) bool { return o.Kind != Range && (o.Kind != Nested || !o.Txn.readOnly()) }
	return !slices.ContainsFunc(t.Then, changes) && !slices.ContainsFunc(t.Else, changes)
}

// prefixEnd returns the end of the range of all keys with the given prefix.
func prefixEnd(prefix string) string {
	end := []byte(prefix)
	for i := len(end) - 1; i >= 0; i-- {
		if end[i] < 0xff {
			end[i]++
			return string(end[:i+1])
		}
	}
	return "\x00"
}

// inRange reports whether a key is in a range.
func inRange(key, from, end string) bool {
	switch end {
	case "":
		return key == from
	case "\x00":
		return key >= from
	}
	return from <= key && key < end
}

// putsTwice reports whether a branch changes a key twice: by two puts, or by a put and a delete in either order.
func putsTwice(ops []Op) bool {
	_, _, twice := branchWrites(ops)
	return twice
}

// branchWrites returns the keys that a branch puts, its delete operations, and whether it changes a key twice (see
// putsTwice). It includes the operations of nested txns. Both branches of a nested txn may change the same key, since
// only one of them is executed (checkIntervals in etcdserver/api/v3rpc/key.go).
func branchWrites(ops []Op) (puts []string, deletes []*Op, twice bool) {
	for i := range ops {
		if ops[i].Kind == Delete {
			deletes = append(deletes, &ops[i])
		}
	}
	put := func(key string, other []string) {
		known := slices.Contains(puts, key)
		twice = twice || known && !slices.Contains(other, key) ||
			// In this check, etcd treats "\x00" as an ordinary end of a range, so the range is empty.
			slices.ContainsFunc(deletes, func(d *Op) bool {
				return d.End != "\x00" && inRange(key, d.Key, d.End)
			})
		if !known {
			puts = append(puts, key)
		}
	}
	for i := range ops {
		if ops[i].Kind != Nested {
			continue
		}
		then, thenDeletes, wrong := branchWrites(ops[i].Txn.Then)
		otherwise, otherDeletes, wrongToo := branchWrites(ops[i].Txn.Else)
		twice = twice || wrong || wrongToo
		for _, key := range then {
			put(key, nil)
		}
		for _, key := range otherwise {
			put(key, then)
		}
		deletes = append(append(deletes, thenDeletes...), otherDeletes...)
	}
	for i := range ops {
		if ops[i].Kind == Put {
			put(ops[i].Key, nil)
		}
	}
	return puts, deletes, twice
}

// Watch is a request to watch a range of keys, starting from a given revision.
type Watch struct {
	Key  string
	End  string // end of the range, as in Op
	From int64  // first revision to show; 0: only future changes
}
