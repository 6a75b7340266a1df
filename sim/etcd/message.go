package etcd

import "google.golang.org/protobuf/encoding/protowire"

// orders lists the values of RangeRequest.sort_target.
var orders = []Order{ByKey, ByVersion, ByCreate, ByMod, ByValue}

// readRange decodes an etcdserverpb.RangeRequest.
func readRange(b []byte) (o Op, err error) {
	o.Kind = Range
	var limit, order, target int64
	err = readFields(b, &o.Key, &o.End, &limit, &o.Revision, &order, &target, &o.Serializable, &o.KeysOnly,
		&o.CountOnly, &o.MinMod, &o.MaxMod, &o.MinCreate, &o.MaxCreate)
	o.Limit, o.Descending = int(limit), order == 2
	if target > 0 && target < int64(len(orders)) {
		o.Order = orders[target]
	}
	return o, err
}

// opReaders maps paths to the decoders for requests that consist of a single operation.
var opReaders = map[string]func([]byte) (Op, error){rangePath: readRange, putPath: readPut, deletePath: readDelete}

// readPut decodes an etcdserverpb.PutRequest.
func readPut(b []byte) (o Op, err error) {
	o.Kind = Put
	err = readFields(b, &o.Key, &o.Value, &o.Lease, &o.Previous, &o.KeepValue, &o.KeepLease)
	return o, err
}

// readDelete decodes an etcdserverpb.DeleteRangeRequest.
func readDelete(b []byte) (o Op, err error) {
	o.Kind = Delete
	err = readFields(b, &o.Key, &o.End, &o.Previous)
	return o, err
}

// readTxn decodes an etcdserverpb.TxnRequest.
func readTxn(b []byte) (t Txn, err error) {
	err = readFields(b, func(b []byte) error {
		c, err := readComparison(b)
		t.Conditions = append(t.Conditions, c)
		return err
	}, func(b []byte) error {
		return readRequestOp(b, &t.Then)
	}, func(b []byte) error {
		return readRequestOp(b, &t.Else)
	})
	return t, err
}

// readRequestOp decodes an etcdserverpb.RequestOp and appends the operation to a list. An operation of an unknown kind,
// or without a kind, has no effect.
func readRequestOp(b []byte, to *[]Op) error {
	var o Op
	kind := func(read func([]byte) (Op, error)) func([]byte) error {
		return func(b []byte) (err error) {
			o, err = read(b)
			return err
		}
	}
	err := readFields(b, kind(readRange), kind(readPut), kind(readDelete), kind(func(b []byte) (Op, error) {
		t, err := readTxn(b)
		return Op{Kind: Nested, Txn: &t}, err
	}))
	*to = append(*to, o)
	return err
}

// targets and relations list the values of the enumerations in etcdserverpb.Compare.
var (
	targets   = []string{"VERSION", "CREATE", "MOD", "VALUE", "LEASE"}
	relations = []byte{'=', '>', '<', '!'}
)

// readComparison decodes an etcdserverpb.Compare. An operand that does not match the target is ignored.
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

// watchCreation is a decoded etcdserverpb.WatchCreateRequest.
type watchCreation struct {
	Watch
	id                int64 // 0 if the server chooses the ID
	previous          bool
	noPuts, noDeletes bool
}

func readWatchCreation(b []byte) (w watchCreation, err error) {
	filter := func(n uint64) {
		w.noPuts = w.noPuts || n == 0
		w.noDeletes = w.noDeletes || n == 1
	}
	filters := func(s *scan) {
		if s.kind == protowire.VarintType {
			filter(s.n)
			return
		}
		for rest := s.bytes(); len(rest) > 0; {
			n, size := protowire.ConsumeVarint(rest)
			if size < 0 {
				s.err = errMalformed
				return
			}
			filter(n)
			rest = rest[size:]
		}
	}
	err = readFields(b, &w.Key, &w.End, &w.From, nil, filters, &w.previous, &w.id)
	return w, err
}

// header is an etcdserverpb.ResponseHeader. Inside a txn, only its revision is set.
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

// appendKeyValue appends an mvccpb.KeyValue as a field.
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

// message encodes an operation's result as a response from the KV service.
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
