package etcdserver

import (
	"context"

	"github.com/fencepost-sim/fencepost/sim"
	"github.com/fencepost-sim/fencepost/sim/etcd"
)

// answer is the reply of a member, in the form in which the simulated member gives it.
type answer struct {
	header
	text  []byte
	lease int64 // ID of the granted lease; 0: none
	ttl   int64 // TTL of the lease in s
}

// ask sends a request to a member. An error is etcd's own, or says why it is unknown what was done.
func (q *request) ask(ctx context.Context, g *gateway) (answer, error) {
	switch {
	case q.txn != nil:
		return q.askTxn(ctx, g)
	case q.op != nil:
		return q.askOp(ctx, g)
	case q.args[0] == "STATUS":
		return q.askStatus(ctx, g)
	}
	return q.askLease(ctx, g)
}

// result is the result of one operation.
type result struct {
	Header  header     `json:"header"`
	Count   int64      `json:"count,string"`
	Deleted int64      `json:"deleted,string"`
	Kvs     []keyValue `json:"kvs"`
}

var paths = map[etcd.Kind]string{etcd.Range: "/v3/kv/range", etcd.Put: "/v3/kv/put", etcd.Delete: "/v3/kv/deleterange"}

func (q *request) askOp(ctx context.Context, g *gateway) (a answer, err error) {
	var r result
	_, f := operation(q.op)
	if err = g.ask(ctx, paths[q.op.Kind], f, &r); err != nil {
		return a, err
	}
	a.header, a.text = r.Header, r.append(nil, q.op.Kind)
	return a, nil
}

// append writes the result of an operation of kind k in the form of the simulated member.
func (r *result) append(b []byte, k etcd.Kind) []byte {
	switch k {
	case etcd.Put:
		return sim.AppendInt(sim.AppendArray(b, 1), r.Header.Revision)
	case etcd.Delete:
		return sim.AppendInt(sim.AppendInt(sim.AppendArray(b, 2), r.Header.Revision), r.Deleted)
	}
	b = sim.AppendInt(sim.AppendInt(sim.AppendArray(b, 3), r.Header.Revision), r.Count)
	b = sim.AppendArray(b, len(r.Kvs))
	for i := range r.Kvs {
		b = etcd.AppendKey(b, r.Kvs[i].words())
	}
	return b
}

func (q *request) askTxn(ctx context.Context, g *gateway) (a answer, err error) {
	var r struct {
		Header    header `json:"header"`
		Succeeded bool   `json:"succeeded"`
		Responses []struct {
			Range  *result `json:"response_range"`
			Put    *result `json:"response_put"`
			Delete *result `json:"response_delete_range"`
		} `json:"responses"`
	}
	if err = g.ask(ctx, "/v3/kv/txn", transaction(q.txn), &r); err != nil {
		return a, err
	}
	held := int64(0)
	if r.Succeeded {
		held = 1
	}
	a.header = r.Header
	a.text = sim.AppendInt(sim.AppendInt(sim.AppendArray(a.text, 3), r.Header.Revision), held)
	a.text = sim.AppendArray(a.text, len(r.Responses))
	for i := range r.Responses {
		of, kind := r.Responses[i].Range, etcd.Range
		switch o := &r.Responses[i]; {
		case o.Put != nil:
			of, kind = o.Put, etcd.Put
		case o.Delete != nil:
			of, kind = o.Delete, etcd.Delete
		case of == nil:
			of = &result{}
		}
		a.text = of.append(a.text, kind)
	}
	return a, nil
}

func (q *request) askLease(ctx context.Context, g *gateway) (a answer, err error) {
	var r struct {
		Header  header `json:"header"`
		ID      int64  `json:"ID,string"`
		TTL     int64  `json:"TTL,string"`
		Granted int64  `json:"grantedTTL,string"`
	}
	switch q.lease.Command {
	case "GRANT":
		err = g.ask(ctx, "/v3/lease/grant", fields{"TTL": q.lease.TTL, "ID": q.lease.ID}, &r)
	case "REVOKE":
		err = g.ask(ctx, "/v3/lease/revoke", fields{"ID": q.lease.ID}, &r)
	case "TIMETOLIVE":
		err = g.ask(ctx, "/v3/lease/timetolive", fields{"ID": q.lease.ID}, &r)
	case "KEEPALIVE":
		stream := struct {
			Result any      `json:"result"`
			Error  *refused `json:"error"`
		}{Result: &r}
		if err = g.ask(ctx, "/v3/lease/keepalive", fields{"ID": q.lease.ID}, &stream); err == nil &&
			stream.Error != nil {
			err = stream.Error
		}
	}
	if err != nil {
		return a, err
	}
	a.header = r.Header
	switch q.lease.Command {
	case "REVOKE":
		a.text = sim.AppendInt(sim.AppendArray(nil, 1), r.Header.Revision)
	case "TIMETOLIVE":
		a.text = sim.AppendInt(sim.AppendInt(sim.AppendInt(sim.AppendArray(nil, 3), r.ID), r.TTL), r.Granted)
	case "GRANT":
		a.lease, a.ttl = r.ID, r.TTL
		fallthrough
	default:
		a.text = sim.AppendInt(sim.AppendInt(sim.AppendArray(nil, 2), r.ID), r.TTL)
	}
	return a, nil
}

// status is what a member reports about itself.
type status struct {
	Header header `json:"header"`
	Leader string `json:"leader"` // ID of the leader; empty if none is known
	Member string `json:"-"`
}

func (g *gateway) status(ctx context.Context) (s status, err error) {
	var r struct {
		Header struct {
			header
			Member string `json:"member_id"`
		} `json:"header"`
		Leader string `json:"leader"`
	}
	err = g.ask(ctx, "/v3/maintenance/status", fields{}, &r)
	return status{r.Header.header, r.Leader, r.Header.Member}, err
}

func (q *request) askStatus(ctx context.Context, g *gateway) (a answer, err error) {
	s, err := g.status(ctx)
	if err != nil {
		return a, err
	}
	a.header = s.Header
	b := sim.AppendInt(sim.AppendArray(nil, 3), s.Header.Revision)
	b = sim.AppendBulk(b, string(q.member.cluster.named(s.Leader)))
	a.text = sim.AppendInt(b, int64(s.Header.Term))
	return a, nil
}
