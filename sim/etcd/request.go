package etcd

import (
	"errors"
	"fmt"
	"strconv"
)

// op is a range, put or delete, alone or within a txn.
type op struct {
	kind   opKind
	key    string
	prefix bool
	value  string // put
	lease  int64  // put; 0 without

	// Of a range.
	order        order
	descending   bool
	limit        int // 0 without
	minCreate    int64
	maxCreate    int64 // 0 without, as below
	minMod       int64
	maxMod       int64
	serializable bool // answered from what this member has applied
}

type opKind uint8

const (
	opRange opKind = iota + 1
	opPut
	opDelete
)

type order uint8

const (
	byKey order = iota
	byCreate
	byMod
)

// compare is one condition of a txn.
type compare struct {
	target string // CREATE, MOD, VERSION, LEASE: numbers; VALUE: text
	key    string
	rel    byte // '=', '!', '<' or '>'
	number int64
	text   string
}

// txn is conditions and what is done if all of them hold, or else.
type txn struct {
	conditions []compare
	then, els  []op
}

func (t *txn) readOnly() bool {
	for _, ops := range [2][]op{t.then, t.els} {
		for i := range ops {
			if ops[i].kind != opRange {
				return false
			}
		}
	}
	return true
}

// words hands out the arguments of a request one by one.
type words []string

func (w *words) next() string {
	if len(*w) == 0 {
		return ""
	}
	s := (*w)[0]
	*w = (*w)[1:]
	return s
}

// number reads a whole number that is not negative.
func (w *words) number(what string) (int64, error) {
	s := w.next()
	n, err := strconv.ParseInt(s, 10, 64)
	if err != nil || n < 0 {
		return 0, fmt.Errorf("fencepost: %s is %q, not a number from 0", what, s)
	}
	return n, nil
}

// readOp reads "RANGE key options…", "PUT key value [LEASE id]" or "DELETE key [PREFIX]".
func readOp(args []string) (o op, err error) {
	w := words(args)
	command := w.next()
	if len(w) == 0 || w[0] == "" {
		return o, errors.New(errEmptyKey)
	}
	o.key = w.next()
	switch command {
	case "RANGE":
		o.kind = opRange
	case "PUT":
		if len(w) == 0 {
			return o, errors.New("fencepost: PUT without a value")
		}
		o.kind, o.value = opPut, w.next()
	case "DELETE":
		o.kind = opDelete
	default:
		return o, fmt.Errorf("fencepost: unknown operation %q", command)
	}
	for len(w) > 0 && err == nil {
		err = o.option(&w)
	}
	return o, err
}

func (o *op) option(w *words) (err error) {
	name := w.next()
	switch {
	case name == "PREFIX" && o.kind != opPut:
		o.prefix = true
	case name == "LEASE" && o.kind == opPut:
		o.lease, err = w.number(name)
	case o.kind != opRange:
		return fmt.Errorf("fencepost: unknown option %q", name)
	default:
		return o.rangeOption(name, w)
	}
	return err
}

func (o *op) rangeOption(name string, w *words) (err error) {
	switch name {
	case "LIMIT":
		var n int64
		n, err = w.number(name)
		o.limit = int(n)
	case "SORT":
		return o.sort(w.next(), w.next())
	case "MINCREATE":
		o.minCreate, err = w.number(name)
	case "MAXCREATE":
		o.maxCreate, err = w.number(name)
	case "MINMOD":
		o.minMod, err = w.number(name)
	case "MAXMOD":
		o.maxMod, err = w.number(name)
	case "SERIALIZABLE":
		o.serializable = true
	default:
		return fmt.Errorf("fencepost: unknown option %q", name)
	}
	return err
}

func (o *op) sort(by, direction string) error {
	switch by {
	case "KEY":
		o.order = byKey
	case "CREATE":
		o.order = byCreate
	case "MOD":
		o.order = byMod
	default:
		return fmt.Errorf("fencepost: SORT by %q: KEY, CREATE or MOD", by)
	}
	o.descending = direction == "DESC"
	if !o.descending && direction != "ASC" {
		return fmt.Errorf("fencepost: SORT %q: ASC or DESC", direction)
	}
	return nil
}

// readTxn reads "TXN", any number of "IF target key relation operand", and of "THEN n op…" and "ELSE n op…", where n is
// how many words the operation has.
func readTxn(args []string) (t txn, err error) {
	w := words(args[1:])
	for len(w) > 0 && err == nil {
		switch clause := w.next(); clause {
		case "IF":
			var c compare
			c, err = readCompare(&w)
			t.conditions = append(t.conditions, c)
		case "THEN":
			t.then, err = readBranch(t.then, &w)
		case "ELSE":
			t.els, err = readBranch(t.els, &w)
		default:
			err = fmt.Errorf("fencepost: TXN clause %q: IF, THEN or ELSE", clause)
		}
	}
	if err == nil && (putsTwice(t.then) || putsTwice(t.els)) {
		err = errors.New(errDuplicateKey)
	}
	return t, err
}

func readBranch(ops []op, w *words) ([]op, error) {
	n, err := w.number("the number of words")
	if err != nil {
		return ops, err
	}
	if n > int64(len(*w)) {
		return ops, fmt.Errorf("fencepost: an operation of %d words, where %d are left", n, len(*w))
	}
	o, err := readOp((*w)[:n])
	*w = (*w)[n:]
	return append(ops, o), err
}

func readCompare(w *words) (c compare, err error) {
	if len(*w) < 4 {
		return c, errors.New("fencepost: IF needs a target, a key, a relation and an operand")
	}
	c.target, c.key = w.next(), w.next()
	switch rel := w.next(); rel {
	case "=", "!=", "<", ">":
		c.rel = rel[0]
	default:
		return c, fmt.Errorf("fencepost: relation %q: =, !=, < or >", rel)
	}
	switch c.target {
	case "CREATE", "MOD", "VERSION", "LEASE":
		c.number, err = w.number(c.target)
	case "VALUE":
		c.text = w.next()
	default:
		err = fmt.Errorf("fencepost: IF %q: CREATE, MOD, VERSION, LEASE or VALUE", c.target)
	}
	return c, err
}

func putsTwice(ops []op) bool {
	for i := range ops {
		for j := range ops[:i] {
			if ops[i].kind == opPut && ops[j].kind == opPut && ops[i].key == ops[j].key {
				return true
			}
		}
	}
	return false
}
