package etcd

import (
	"errors"
	"math"

	"google.golang.org/protobuf/encoding/protowire"
)

// scan reads the fields of a protobuf message one by one. Fields that nobody asks for are skipped, as those of a newer
// API are by an older server.
type scan struct {
	rest   []byte
	number protowire.Number
	kind   protowire.Type
	n      uint64
	b      []byte
	err    error
}

func scanOf[T string | []byte](message T) *scan { return &scan{rest: []byte(message)} }

// errMalformed reports bytes that are no such message.
var errMalformed = errors.New("proto: malformed message")

// next reads a field; false after the last, and if the message is malformed.
func (s *scan) next() bool {
	if len(s.rest) == 0 || s.err != nil {
		return false
	}
	number, kind, size := protowire.ConsumeTag(s.rest)
	if size < 0 {
		s.err = errMalformed
		return false
	}
	s.number, s.kind, s.rest = number, kind, s.rest[size:]
	switch kind {
	case protowire.VarintType:
		s.n, size = protowire.ConsumeVarint(s.rest)
	case protowire.BytesType:
		s.b, size = protowire.ConsumeBytes(s.rest)
	default:
		size = protowire.ConsumeFieldValue(number, kind, s.rest)
	}
	if size < 0 {
		s.err = errMalformed
		return false
	}
	s.rest = s.rest[size:]
	return true
}

// int is a field that is a number.
func (s *scan) int() int64 {
	if s.kind != protowire.VarintType {
		s.err = errMalformed
		return 0
	}
	return int64(s.n)
}

func (s *scan) flag() bool { return s.int() != 0 }

// bytes is a field that is a text or a message, valid as long as the message.
func (s *scan) bytes() []byte {
	if s.kind != protowire.BytesType {
		s.err = errMalformed
		return nil
	}
	return s.b
}

func (s *scan) text() string { return string(s.bytes()) }

// take reads a message within a message.
func (s *scan) take(read func([]byte) error) {
	if b := s.bytes(); s.err == nil {
		s.err = read(b)
	}
}

// ReadRange reads an etcdserverpb.RangeRequest.
func readRange(b []byte) (o Op, err error) {
	o.Kind = Range
	order, target := int64(0), int64(0)
	s := scanOf(b)
	for s.next() {
		switch s.number {
		case 1:
			o.Key = s.text()
		case 2:
			o.End = s.text()
		case 3:
			o.Limit = int(s.int())
		case 4:
			o.Revision = s.int()
		case 5:
			order = s.int()
		case 6:
			target = s.int()
		case 7:
			o.Serializable = s.flag()
		case 8:
			o.KeysOnly = s.flag()
		case 9:
			o.CountOnly = s.flag()
		case 10:
			o.MinMod = s.int()
		case 11:
			o.MaxMod = s.int()
		case 12:
			o.MinCreate = s.int()
		case 13:
			o.MaxCreate = s.int()
		}
	}
	o.Descending = order == 2
	if orders := []Order{ByKey, ByVersion, ByCreate, ByMod, ByValue}; target > 0 && target < int64(len(orders)) {
		o.Order = orders[target]
	}
	return o, s.err
}

// readPut reads an etcdserverpb.PutRequest.
func readPut(b []byte) (o Op, err error) {
	o.Kind = Put
	s := scanOf(b)
	for s.next() {
		switch s.number {
		case 1:
			o.Key = s.text()
		case 2:
			o.Value = s.text()
		case 3:
			o.Lease = s.int()
		case 4:
			o.Previous = s.flag()
		case 5:
			o.KeepValue = s.flag()
		case 6:
			o.KeepLease = s.flag()
		}
	}
	return o, s.err
}

// readDelete reads an etcdserverpb.DeleteRangeRequest.
func readDelete(b []byte) (o Op, err error) {
	o.Kind = Delete
	s := scanOf(b)
	for s.next() {
		switch s.number {
		case 1:
			o.Key = s.text()
		case 2:
			o.End = s.text()
		case 3:
			o.Previous = s.flag()
		}
	}
	return o, s.err
}

// readTxn reads an etcdserverpb.TxnRequest.
func readTxn(b []byte) (t Txn, err error) {
	s := scanOf(b)
	for s.next() {
		switch s.number {
		case 1:
			s.take(func(b []byte) error {
				c, err := readComparison(b)
				t.Conditions = append(t.Conditions, c)
				return err
			})
		case 2:
			s.take(func(b []byte) error { return readRequestOp(b, &t.Then) })
		case 3:
			s.take(func(b []byte) error { return readRequestOp(b, &t.Else) })
		}
	}
	return t, s.err
}

// readRequestOp reads an etcdserverpb.RequestOp and appends it. One of an unknown kind, or of none, does nothing.
func readRequestOp(b []byte, to *[]Op) error {
	s := scanOf(b)
	var o Op
	for s.next() {
		s.take(func(b []byte) (err error) {
			switch s.number {
			case 1:
				o, err = readRange(b)
			case 2:
				o, err = readPut(b)
			case 3:
				o, err = readDelete(b)
			case 4:
				var t Txn
				t, err = readTxn(b)
				o = Op{Kind: Nested, Txn: &t}
			}
			return err
		})
	}
	*to = append(*to, o)
	return s.err
}

// targets and relations are the words of an etcdserverpb.Compare.
var (
	targets   = []string{"VERSION", "CREATE", "MOD", "VALUE", "LEASE"}
	relations = []byte{'=', '>', '<', '!'}
)

// readComparison reads an etcdserverpb.Compare. The operand counts only if it is of the target.
func readComparison(b []byte) (c Compare, err error) {
	target, relation, operand := int64(0), int64(0), int64(-1)
	s := scanOf(b)
	for s.next() {
		switch s.number {
		case 1:
			relation = s.int()
		case 2:
			target = s.int()
		case 3:
			c.Key = s.text()
		case 7:
			c.Text, c.Number, operand = s.text(), 0, 3
		case 4, 5, 6:
			c.Number, c.Text, operand = s.int(), "", int64(s.number)-4
		case 8:
			c.Number, c.Text, operand = s.int(), "", 4
		case 64:
			c.End = s.text()
		}
	}
	if operand != target {
		c.Number, c.Text = 0, ""
	}
	if target >= 0 && target < int64(len(targets)) {
		c.Target = targets[target]
	}
	if relation >= 0 && relation < int64(len(relations)) {
		c.Rel = relations[relation]
	}
	return c, s.err
}

// readNumbers reads a message of numbers, by field; others are skipped.
func readNumbers(b []byte, to ...*int64) error {
	s := scanOf(b)
	for s.next() {
		if i := int(s.number) - 1; i < len(to) && to[i] != nil {
			*to[i] = s.int()
		}
	}
	return s.err
}

// watchCreation is an etcdserverpb.WatchCreateRequest.
type watchCreation struct {
	Watch
	id                int64 // 0: the server's choice
	previous          bool
	noPuts, noDeletes bool
}

func readWatchCreation(b []byte) (w watchCreation, err error) {
	s := scanOf(b)
	filter := func(n uint64) {
		w.noPuts = w.noPuts || n == 0
		w.noDeletes = w.noDeletes || n == 1
	}
	for s.next() {
		switch s.number {
		case 1:
			w.Key = s.text()
		case 2:
			w.End = s.text()
		case 3:
			w.From = s.int()
		case 5:
			if s.kind == protowire.VarintType {
				filter(s.n)
				break
			}
			for rest := s.bytes(); len(rest) > 0; {
				n, size := protowire.ConsumeVarint(rest)
				if size < 0 {
					return w, errMalformed
				}
				filter(n)
				rest = rest[size:]
			}
		case 6:
			w.previous = s.flag()
		case 7:
			w.id = s.int()
		}
	}
	return w, s.err
}

// appendNumber appends a field that is a number; zero is left out.
func appendNumber(b []byte, number protowire.Number, n int64) []byte {
	if n == 0 {
		return b
	}
	return protowire.AppendVarint(protowire.AppendTag(b, number, protowire.VarintType), uint64(n))
}

// appendText appends a field that is a text; an empty one is left out.
func appendText(b []byte, number protowire.Number, text string) []byte {
	if text == "" {
		return b
	}
	return protowire.AppendString(protowire.AppendTag(b, number, protowire.BytesType), text)
}

// appendPart appends a message within a message, also an empty one.
func appendPart(b []byte, number protowire.Number, part []byte) []byte {
	return protowire.AppendBytes(protowire.AppendTag(b, number, protowire.BytesType), part)
}

// header is an etcdserverpb.ResponseHeader; inside a txn it has only the revision.
type header struct {
	cluster, member int64
	revision        int64
	term            int64
}

func (h header) append(b []byte, number protowire.Number) []byte {
	var part [48]byte
	p := appendNumber(part[:0], 1, h.cluster)
	p = appendNumber(p, 2, h.member)
	p = appendNumber(p, 3, h.revision)
	return appendPart(b, number, appendNumber(p, 4, h.term))
}

// appendKeyValue appends an mvccpb.KeyValue.
func appendKeyValue(b []byte, number protowire.Number, k *KeyValue, keysOnly bool) []byte {
	p := appendText(make([]byte, 0, 64+len(k.Key)+len(k.Value)), 1, k.Key)
	p = appendNumber(p, 2, k.Create)
	p = appendNumber(p, 3, k.Mod)
	p = appendNumber(p, 4, k.Version)
	if !keysOnly {
		p = appendText(p, 5, k.Value)
	}
	return appendPart(b, number, appendNumber(p, 6, k.Lease))
}

// message is what an operation came to, as the response of its own service.
func (r *result) message(h header, keysOnly bool) []byte {
	h.revision = r.revision
	b := h.append(nil, 1)
	switch r.kind {
	case Put:
		for _, k := range r.keys {
			b = appendKeyValue(b, 2, &k.KeyValue, false)
		}
	case Delete:
		b = appendNumber(b, 2, int64(r.count))
		for _, k := range r.keys {
			b = appendKeyValue(b, 3, &k.KeyValue, false)
		}
	default:
		for _, k := range r.keys {
			b = appendKeyValue(b, 2, &k.KeyValue, keysOnly)
		}
		b = appendNumber(b, 3, asNumber(r.more))
		b = appendNumber(b, 4, int64(r.count))
	}
	return b
}

// Record is a part of what a member sends a client of its gRPC services. One answer may hold several.
type Record struct {
	Kind   RecordKind
	Stream uint64
	Code   Code   // End
	Body   string // Message: the message; End: the text of an error; Pong: what the ping had
}

// RecordKind is what a Record is.
type RecordKind uint8

// A stream has its messages and one end.
const (
	Message RecordKind = iota + 1
	End
	Settings // the server has accepted the connection
	Pong
)

// Append encodes a record.
func (r Record) Append(b []byte) []byte {
	b = append(b, byte(r.Kind), byte(r.Code))
	b = protowire.AppendVarint(b, r.Stream)
	return protowire.AppendString(b, r.Body)
}

// CutRecord decodes the first record in b; ok is false if there is none.
func CutRecord(b []byte) (r Record, rest []byte, ok bool) {
	if len(b) < 2 {
		return r, nil, false
	}
	r.Kind, r.Code = RecordKind(b[0]), Code(b[1])
	stream, n := protowire.ConsumeVarint(b[2:])
	if n < 0 {
		return r, nil, false
	}
	body, size := protowire.ConsumeString(b[2+n:])
	if size < 0 {
		return r, nil, false
	}
	r.Stream, r.Body = stream, body
	return r, b[2+n+size:], true
}

// tooMany is what etcd allows in each part of a txn.
const maxTxnOps = 128

// check reports what is wrong with an operation, whatever the store holds (etcdserver/api/v3rpc/key.go).
func (o *Op) check(most int) error {
	switch {
	case o.Kind == Nested:
		return o.Txn.checkParts(most)
	case o.Kind == 0:
		return errKeyNotFound // etcd has no other for an operation of no kind
	case o.Key == "":
		return errEmptyKey
	case o.KeepValue && o.Value != "":
		return errValueProvided
	case o.KeepLease && o.Lease != 0:
		return errLeaseProvided
	}
	return nil
}

// check reports what is wrong with a txn. most is how many operations each of its parts may have.
func (t *Txn) check(most int) error {
	if err := t.checkParts(most); err != nil {
		return err
	}
	if putsTwice(t.Then) || putsTwice(t.Else) {
		return errDuplicateKey
	}
	return nil
}

func (t *Txn) checkParts(most int) error {
	count := max(len(t.Conditions), len(t.Then), len(t.Else))
	if count > most {
		return errTooManyOps
	}
	for i := range t.Conditions {
		if t.Conditions[i].Key == "" {
			return errEmptyKey
		}
	}
	for _, branch := range [][]Op{t.Then, t.Else} {
		for i := range branch {
			if err := branch[i].check(most - count); err != nil {
				return err
			}
		}
	}
	return nil
}

// clamp keeps an identity positive, as etcd's own are written.
func clamp(n uint64) int64 { return int64(n & math.MaxInt64) }
