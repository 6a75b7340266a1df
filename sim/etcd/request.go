package etcd

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
)

// Op is a range, put or delete, alone or in a txn, or a txn within a txn.
type Op struct {
	Kind     Kind
	Key      string
	End      string // end of the range, exclusive; empty: only Key; "\x00": all keys from Key on
	Value    string // put
	Lease    int64  // put; 0: no lease
	Previous bool   // put and delete: the reply contains what was there before
	Txn      *Txn   // the txn, if Kind is Nested
	// For a put: keep the current value or lease.
	KeepValue, KeepLease bool

	// For a range.
	Revision     int64 // at this revision; 0: the latest
	KeysOnly     bool
	CountOnly    bool
	Order        Order
	Descending   bool
	Limit        int // 0: no limit
	MinCreate    int64
	MaxCreate    int64 // 0: no limit; also for MaxMod
	MinMod       int64
	MaxMod       int64
	Serializable bool // answered from what this member has applied
}

// Kind is the kind of an operation.
type Kind uint8

const (
	Range Kind = iota + 1
	Put
	Delete
	Nested
)

// Order is the attribute by which the keys of a range are sorted.
type Order uint8

const (
	ByKey Order = iota
	ByCreate
	ByMod
	ByVersion
	ByValue
)

// Compare is one condition of a txn.
type Compare struct {
	Target string // CREATE, MOD, VERSION and LEASE compare numbers, VALUE texts
	Key    string
	End    string // as in an Op: all keys of the range must fulfil the condition
	Rel    byte   // '=', '!', '<' or '>'
	Number int64
	Text   string
}

// Txn is a list of conditions with the operations to execute if all of them hold (Then), and otherwise (Else).
type Txn struct {
	Conditions []Compare
	Then, Else []Op
}

// readOnly reports whether neither branch changes anything.
func (t *Txn) readOnly() bool {
	changes := func(o Op) bool { return o.Kind != Range && (o.Kind != Nested || !o.Txn.readOnly()) }
	return !slices.ContainsFunc(t.Then, changes) && !slices.ContainsFunc(t.Else, changes)
}

// words holds the remaining arguments of a request.
type words []string

// next returns the next argument and removes it; it returns "" if there is none.
func (w *words) next() string {
	if len(*w) == 0 {
		return ""
	}
	s := (*w)[0]
	*w = (*w)[1:]
	return s
}

// number parses the next argument as a non-negative whole number.
func (w *words) number(what string) (int64, error) {
	s := w.next()
	n, err := strconv.ParseInt(s, 10, 64)
	if err != nil || n < 0 {
		return 0, fmt.Errorf("fencepost: %s is %q, not a number from 0", what, s)
	}
	return n, nil
}

// ReadOp parses "RANGE key options…", "PUT key value [LEASE id]" or "DELETE key [PREFIX]".
func ReadOp(args []string) (o Op, err error) {
	w := words(args)
	command := w.next()
	if len(w) == 0 || w[0] == "" {
		return o, errEmptyKey
	}
	o.Key = w.next()
	switch command {
	case "RANGE":
		o.Kind = Range
	case "PUT":
		if len(w) == 0 {
			return o, errors.New("fencepost: PUT without a value")
		}
		o.Kind, o.Value = Put, w.next()
	case "DELETE":
		o.Kind = Delete
	default:
		return o, fmt.Errorf("fencepost: unknown operation %q", command)
	}
	for len(w) > 0 && err == nil {
		err = o.option(&w)
	}
	return o, err
}

func (o *Op) option(w *words) (err error) {
	name := w.next()
	switch {
	case name == "PREFIX" && o.Kind != Put:
		o.End = after(o.Key)
	case name == "LEASE" && o.Kind == Put:
		o.Lease, err = w.number(name)
	case o.Kind != Range:
		return fmt.Errorf("fencepost: unknown option %q", name)
	default:
		return o.rangeOption(name, w)
	}
	return err
}

func (o *Op) rangeOption(name string, w *words) (err error) {
	switch name {
	case "LIMIT":
		var n int64
		n, err = w.number(name)
		o.Limit = int(n)
	case "SORT":
		return o.sort(w.next(), w.next())
	case "SERIALIZABLE":
		o.Serializable = true
	default:
		to := map[string]*int64{"MINCREATE": &o.MinCreate, "MAXCREATE": &o.MaxCreate, "MINMOD": &o.MinMod,
			"MAXMOD": &o.MaxMod}[name]
		if to == nil {
			return fmt.Errorf("fencepost: unknown option %q", name)
		}
		*to, err = w.number(name)
	}
	return err
}

func (o *Op) sort(by, direction string) error {
	order := slices.Index([]string{ByKey: "KEY", ByCreate: "CREATE", ByMod: "MOD"}, by)
	if order < 0 {
		return fmt.Errorf("fencepost: SORT by %q: KEY, CREATE or MOD", by)
	}
	o.Order = Order(order)
	o.Descending = direction == "DESC"
	if !o.Descending && direction != "ASC" {
		return fmt.Errorf("fencepost: SORT %q: ASC or DESC", direction)
	}
	return nil
}

// ReadTxn parses "TXN", followed by any number of "IF target key relation operand", "THEN n op…" and "ELSE n op…",
// where n is the number of words of the operation.
func ReadTxn(args []string) (t Txn, err error) {
	w := words(args[1:])
	for len(w) > 0 && err == nil {
		switch clause := w.next(); clause {
		case "IF":
			var c Compare
			c, err = readCompare(&w)
			t.Conditions = append(t.Conditions, c)
		case "THEN":
			t.Then, err = readBranch(t.Then, &w)
		case "ELSE":
			t.Else, err = readBranch(t.Else, &w)
		default:
			err = fmt.Errorf("fencepost: TXN clause %q: IF, THEN or ELSE", clause)
		}
	}
	if err == nil && (putsTwice(t.Then) || putsTwice(t.Else)) {
		err = errDuplicateKey
	}
	return t, err
}

func readBranch(ops []Op, w *words) ([]Op, error) {
	n, err := w.number("the number of words")
	if err != nil {
		return ops, err
	}
	if n > int64(len(*w)) {
		return ops, fmt.Errorf("fencepost: an operation of %d words, where %d are left", n, len(*w))
	}
	o, err := ReadOp((*w)[:n])
	*w = (*w)[n:]
	return append(ops, o), err
}

func readCompare(w *words) (c Compare, err error) {
	if len(*w) < 4 {
		return c, errors.New("fencepost: IF needs a target, a key, a relation and an operand")
	}
	c.Target, c.Key = w.next(), w.next()
	switch rel := w.next(); rel {
	case "=", "!=", "<", ">":
		c.Rel = rel[0]
	default:
		return c, fmt.Errorf("fencepost: relation %q: =, !=, < or >", rel)
	}
	switch c.Target {
	case "CREATE", "MOD", "VERSION", "LEASE":
		c.Number, err = w.number(c.Target)
	case "VALUE":
		c.Text = w.next()
	default:
		err = fmt.Errorf("fencepost: IF %q: CREATE, MOD, VERSION, LEASE or VALUE", c.Target)
	}
	return c, err
}

// after returns the end of the range of keys with a prefix.
func after(prefix string) string {
	end := []byte(prefix)
	for i := len(end) - 1; i >= 0; i-- {
		if end[i] < 0xff {
			end[i]++
			return string(end[:i+1])
		}
	}
	return "\x00"
}

// among reports whether a key is in a range.
func among(key, from, end string) bool {
	switch end {
	case "":
		return key == from
	case "\x00":
		return key >= from
	}
	return from <= key && key < end
}

// putsTwice reports whether a branch puts a key twice, or puts and deletes it, in either order.
func putsTwice(ops []Op) bool {
	_, _, twice := writes(ops)
	return twice
}

// writes lists the keys that a branch puts, and its deletions, including those of the txns in it, of which only one
// branch is executed (checkIntervals in etcdserver/api/v3rpc/key.go). twice is the result of putsTwice.
func writes(ops []Op) (puts []string, deletes []*Op, twice bool) {
	for i := range ops {
		if ops[i].Kind == Delete {
			deletes = append(deletes, &ops[i])
		}
	}
	put := func(key string, other []string) {
		known := slices.Contains(puts, key)
		twice = twice || known && !slices.Contains(other, key) ||
			slices.ContainsFunc(deletes, func(d *Op) bool { // here, etcd treats "\x00" as the end of an empty range
				return d.End != "\x00" && among(key, d.Key, d.End)
			})
		if !known {
			puts = append(puts, key)
		}
	}
	for i := range ops {
		if ops[i].Kind != Nested {
			continue
		}
		then, thenDeletes, wrong := writes(ops[i].Txn.Then)
		otherwise, otherDeletes, wrongToo := writes(ops[i].Txn.Else)
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

// Watch states what a watch shows.
type Watch struct {
	Key  string
	End  string // as in an Op
	From int64  // the first revision; 0: only future ones
}

// ReadWatch parses "WATCH key [PREFIX] [REV n]".
func ReadWatch(args []string) (w Watch, err error) {
	in := words(args[1:])
	if w.Key = in.next(); w.Key == "" {
		return w, errEmptyKey
	}
	for len(in) > 0 && err == nil {
		switch name := in.next(); name {
		case "PREFIX":
			w.End = after(w.Key)
		case "REV":
			w.From, err = in.number(name)
		default:
			err = fmt.Errorf("fencepost: unknown option %q", name)
		}
	}
	return w, err
}

// Lease is a request about leases.
type Lease struct {
	Command string // GRANT, KEEPALIVE, REVOKE or TIMETOLIVE
	ID      int64  // GRANT: 0 if the server shall choose one
	TTL     int64  // GRANT: s
}

// ReadLease parses "LEASE GRANT ttl [id]", "LEASE KEEPALIVE id", "LEASE REVOKE id" or "LEASE TIMETOLIVE id".
func ReadLease(args []string) (l Lease, err error) {
	w := words(args[1:])
	l.Command = w.next()
	n, err := w.number("the operand of LEASE " + l.Command)
	if err != nil {
		return l, err
	}
	switch l.Command {
	case "GRANT":
		if l.TTL = n; len(w) > 0 {
			l.ID, err = w.number("the lease")
		}
	case "KEEPALIVE", "REVOKE", "TIMETOLIVE":
		l.ID = n
	default:
		err = errors.New(Unknown)
	}
	return l, err
}

// ReadUnwatch parses "UNWATCH watch".
func ReadUnwatch(args []string) (watch int64, err error) {
	w := words(args[1:])
	return w.number("the watch")
}
