//go:build linux

package ensembles

import (
	"bytes"
	"cmp"
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"google.golang.org/grpc"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/encoding/prototext"
	"google.golang.org/protobuf/proto"

	"go.etcd.io/etcd/api/v3/etcdserverpb"
	"go.etcd.io/etcd/api/v3/mvccpb"

	"github.com/fencepost-sim/fencepost/checker/testkit"
)

// script generates random requests whose replies depend only on the earlier requests.
type script struct {
	*rand.Rand
	revision int64 // the latest reply's revision
	// If one branch of a transaction deletes a key and puts it again with the same value, etcd 3.4 crashes. A
	// transaction therefore either deletes keys, or puts keys that keep their value.
	deletes, keeps bool
	leases         int64 // the highest ID that a lease may have; the lowest is 1
}

var (
	names  = []string{"a", "a/", "a/1", "a/2", "b", "b/1", "c", "\xff", "\x00"}
	values = []string{"", "x", "y z", "\x00\xff"}
)

func pick[T any](s *script, of []T) T { return of[s.IntN(len(of))] }

// rarely returns true with a probability of 1/n.
func (s *script) rarely(n int) bool { return s.IntN(n) == 0 }

func (s *script) key() []byte {
	if s.rarely(50) {
		return nil
	}
	return []byte(pick(s, names))
}

func (s *script) end() []byte {
	switch s.IntN(5) {
	case 0:
		return []byte{0}
	case 1:
		return []byte(pick(s, names))
	case 2:
		return []byte(pick(s, names) + "0")
	}
	return nil
}

// near returns a random revision, usually one that exists.
func (s *script) near() int64 {
	if s.rarely(20) {
		return s.Int64N(5) - 2
	}
	return max(1, s.revision-s.Int64N(40)+2)
}

func (s *script) bound() int64 {
	if s.rarely(6) {
		return s.near()
	}
	return 0
}

func (s *script) lease() int64 { return 1 + s.Int64N(s.leases+2) }

func (s *script) rangeRequest() *etcdserverpb.RangeRequest {
	r := &etcdserverpb.RangeRequest{Key: s.key(), RangeEnd: s.end(), Serializable: s.rarely(3), KeysOnly: s.rarely(5),
		CountOnly: s.rarely(8), MinModRevision: s.bound(), MaxModRevision: s.bound(), MinCreateRevision: s.bound(),
		MaxCreateRevision: s.bound()}
	if s.rarely(4) {
		r.Revision = s.near()
	}
	if s.rarely(3) {
		r.Limit = s.Int64N(4)
	}
	if s.rarely(2) {
		r.SortOrder = etcdserverpb.RangeRequest_SortOrder(s.IntN(3))
		r.SortTarget = etcdserverpb.RangeRequest_SortTarget(s.IntN(5))
	}
	return r
}

func (s *script) putRequest() *etcdserverpb.PutRequest {
	r := &etcdserverpb.PutRequest{Key: s.key(), Value: []byte(pick(s, values)), PrevKv: s.rarely(3)}
	if s.rarely(4) {
		r.Lease = s.lease()
	}
	if s.keeps && s.rarely(10) {
		r.IgnoreValue = true
		if !s.rarely(4) {
			r.Value = nil
		}
	}
	if s.keeps && s.rarely(10) {
		r.IgnoreLease = true
		if !s.rarely(4) {
			r.Lease = 0
		}
	}
	return r
}

func (s *script) deleteRequest() *etcdserverpb.DeleteRangeRequest {
	return &etcdserverpb.DeleteRangeRequest{Key: s.key(), RangeEnd: s.end(), PrevKv: s.rarely(3)}
}

func (s *script) comparison() *etcdserverpb.Compare {
	c := &etcdserverpb.Compare{Key: s.key(), Result: etcdserverpb.Compare_CompareResult(s.IntN(4)),
		Target: etcdserverpb.Compare_CompareTarget(s.IntN(5))}
	if s.rarely(4) {
		c.RangeEnd = s.end()
	}
	of := c.Target
	if s.rarely(20) {
		of = etcdserverpb.Compare_CompareTarget(s.IntN(5)) // an operand that does not match the target
	}
	switch of {
	case etcdserverpb.Compare_VERSION:
		c.TargetUnion = &etcdserverpb.Compare_Version{Version: s.Int64N(4)}
	case etcdserverpb.Compare_CREATE:
		c.TargetUnion = &etcdserverpb.Compare_CreateRevision{CreateRevision: s.Int64N(2) * s.near()}
	case etcdserverpb.Compare_MOD:
		c.TargetUnion = &etcdserverpb.Compare_ModRevision{ModRevision: s.Int64N(2) * s.near()}
	case etcdserverpb.Compare_VALUE:
		c.TargetUnion = &etcdserverpb.Compare_Value{Value: []byte(pick(s, values))}
	case etcdserverpb.Compare_LEASE:
		c.TargetUnion = &etcdserverpb.Compare_Lease{Lease: s.Int64N(2) * s.lease()}
	}
	return c
}

func (s *script) branch(depth int) (ops []*etcdserverpb.RequestOp) {
	for range s.IntN(4) {
		o := &etcdserverpb.RequestOp{}
		switch s.IntN(7) {
		case 0, 1:
			o.Request = &etcdserverpb.RequestOp_RequestRange{RequestRange: s.rangeRequest()}
		case 2, 3, 4:
			o.Request = &etcdserverpb.RequestOp_RequestPut{RequestPut: s.putRequest()}
		case 5:
			if s.deletes {
				o.Request = &etcdserverpb.RequestOp_RequestDeleteRange{RequestDeleteRange: s.deleteRequest()}
			}
		default:
			if depth > 0 {
				o.Request = &etcdserverpb.RequestOp_RequestTxn{RequestTxn: s.txnRequest(depth - 1)}
			}
		}
		if o.Request == nil {
			o.Request = &etcdserverpb.RequestOp_RequestRange{RequestRange: s.rangeRequest()}
		}
		ops = append(ops, o)
	}
	return ops
}

func (s *script) txnRequest(depth int) *etcdserverpb.TxnRequest {
	t := &etcdserverpb.TxnRequest{Success: s.branch(depth), Failure: s.branch(depth)}
	for range s.IntN(3) {
		t.Compare = append(t.Compare, s.comparison())
	}
	return t
}

// request returns a random request, with its method and an empty response.
func (s *script) request() (method string, request, response proto.Message) {
	s.deletes = s.rarely(2)
	s.keeps = !s.deletes
	const kv, lease = "/etcdserverpb.KV/", "/etcdserverpb.Lease/"
	switch n := s.IntN(100); {
	case n < 25:
		return kv + "Range", s.rangeRequest(), &etcdserverpb.RangeResponse{}
	case n < 50:
		return kv + "Put", s.putRequest(), &etcdserverpb.PutResponse{}
	case n < 60:
		return kv + "DeleteRange", s.deleteRequest(), &etcdserverpb.DeleteRangeResponse{}
	case n < 82:
		return kv + "Txn", s.txnRequest(2), &etcdserverpb.TxnResponse{}
	case n < 83:
		revision := s.revision - s.Int64N(60)
		if s.rarely(3) {
			revision = s.near()
		}
		return kv + "Compact", &etcdserverpb.CompactionRequest{Revision: revision, Physical: s.rarely(2)},
			&etcdserverpb.CompactionResponse{}
	case n < 88:
		r := &etcdserverpb.LeaseGrantRequest{TTL: 100_000, ID: s.lease()}
		if s.rarely(10) {
			r.TTL = 9_000_000_001
		}
		s.leases = max(s.leases, min(r.ID, 30))
		return lease + "LeaseGrant", r, &etcdserverpb.LeaseGrantResponse{}
	case n < 92:
		return lease + "LeaseRevoke", &etcdserverpb.LeaseRevokeRequest{ID: s.lease()},
			&etcdserverpb.LeaseRevokeResponse{}
	case n < 96:
		return lease + "LeaseTimeToLive", &etcdserverpb.LeaseTimeToLiveRequest{ID: s.lease(), Keys: s.rarely(2)},
			&etcdserverpb.LeaseTimeToLiveResponse{}
	case n < 97:
		return lease + "LeaseLeases", &etcdserverpb.LeaseLeasesRequest{}, &etcdserverpb.LeaseLeasesResponse{}
	case n < 98:
		return pick(s, []string{kv + "Rang", "/etcdserverpb.Lock/Lock", "/x/y"}), &etcdserverpb.RangeRequest{},
			&etcdserverpb.RangeResponse{}
	}
	return s.service()
}

func (s *script) service() (method string, request, response proto.Message) {
	return "/etcdserverpb.Maintenance/Status", &etcdserverpb.StatusRequest{}, &etcdserverpb.StatusResponse{}
}

// plain formats a reply without the fields that differ between clusters. It sorts the parts whose order etcd does not
// define.
func plain(m proto.Message) string {
	drop := func(h *etcdserverpb.ResponseHeader) {
		if h != nil {
			h.ClusterId, h.MemberId, h.RaftTerm = min(h.ClusterId, 1), min(h.MemberId, 1), min(h.RaftTerm, 1)
		}
	}
	if h, has := m.(interface {
		GetHeader() *etcdserverpb.ResponseHeader
	}); has {
		drop(h.GetHeader())
	}
	switch m := m.(type) {
	case *etcdserverpb.LeaseTimeToLiveResponse:
		if m.TTL > 0 {
			m.TTL = 1
		}
		slices.SortFunc(m.Keys, bytes.Compare)
	case *etcdserverpb.LeaseLeasesResponse:
		slices.SortFunc(m.Leases, func(a, b *etcdserverpb.LeaseStatus) int { return cmp.Compare(a.ID, b.ID) })
	case *etcdserverpb.MemberListResponse:
		m.Members = nil
	case *etcdserverpb.StatusResponse:
		m.DbSize, m.DbSizeInUse, m.Leader, m.RaftIndex, m.RaftAppliedIndex, m.RaftTerm = 1, 1, 1, 1, 1, 1
	}
	b, err := prototext.MarshalOptions{}.Marshal(m)
	if err != nil {
		return err.Error()
	}
	return string(bytes.ReplaceAll(b, []byte("  "), []byte(" ")))
}

// settled makes the order of the keys in a response comparable. If keys have the same value in the field by which they
// are sorted, etcd returns them in random order, so settled sorts them by name. It returns false if a limit truncated
// the list, because the response then contains a random choice of keys.
func settled(request, response proto.Message) (comparable bool) {
	switch r := request.(type) {
	case *etcdserverpb.RangeRequest:
		if r.SortTarget != etcdserverpb.RangeRequest_VERSION && r.SortTarget != etcdserverpb.RangeRequest_VALUE &&
			r.SortTarget != etcdserverpb.RangeRequest_CREATE && r.SortTarget != etcdserverpb.RangeRequest_MOD {
			return true
		}
		kvs := response.(*etcdserverpb.RangeResponse).GetKvs()
		slices.SortFunc(kvs, func(a, b *mvccpb.KeyValue) int { return bytes.Compare(a.Key, b.Key) })
		return r.Limit == 0
	case *etcdserverpb.TxnRequest:
		t := response.(*etcdserverpb.TxnResponse)
		branch := r.Failure
		if t.GetSucceeded() {
			branch = r.Success
		}
		for i, o := range t.GetResponses() {
			switch in := branch[i].Request.(type) {
			case *etcdserverpb.RequestOp_RequestRange:
				if !settled(in.RequestRange, o.GetResponseRange()) {
					return false
				}
			case *etcdserverpb.RequestOp_RequestTxn:
				if !settled(in.RequestTxn, o.GetResponseTxn()) {
					return false
				}
			}
		}
	}
	return true
}

// answer sends a request to a server and returns the formatted reply: the response, or gRPC's code and message.
func answer(ctx context.Context, c *grpc.ClientConn, method string, request, response proto.Message) (string, bool) {
	if err := c.Invoke(ctx, method, request, response); err != nil {
		s := status.Convert(err)
		return fmt.Sprintf("%v: %s", s.Code(), s.Message()), true
	}
	comparable := settled(request, response)
	return plain(response), comparable
}

// TestRequestsAreAnsweredAsByEtcd sends the same random requests, one after another, to a simulated member and to
// Debian's etcd 3.4. It compares the replies field by field. With FENCEPOST_FULL=1 it sends 200,000 requests.
func TestRequestsAreAnsweredAsByEtcd(t *testing.T) {
	n := testkit.Size(3000, 3000, 200_000)
	real, simulated := connect(t, realEtcd(t)), connect(t, simulatedEtcd(t))
	s := &script{Rand: rand.New(rand.NewPCG(1, 2)), revision: 1}
	answers, unordered, wrong := map[string]bool{}, 0, 0
	for i := range n {
		method, request, response := s.request()
		want, comparable := answer(t.Context(), real, method, request, response)
		other := response.ProtoReflect().New().Interface()
		got, _ := answer(t.Context(), simulated, method, request, other)
		if h, has := response.(interface {
			GetHeader() *etcdserverpb.ResponseHeader
		}); has {
			s.revision = max(s.revision, h.GetHeader().GetRevision())
		}
		answers[want] = true
		switch {
		case !comparable:
			unordered++
		case got != want:
			t.Errorf("request %d: %s %v\nsimulated  %s\netcd       %s", i, method, request, got, want)
			if wrong++; wrong == 5 {
				t.FailNow()
			}
		}
	}
	if len(answers) < n/10 || unordered > n/10 {
		t.Errorf("%d requests have %d answers, of which %d are not compared", n, len(answers), unordered)
	}
	t.Logf("%d requests, %d answers, of which %d cut off in no order; %d differ", n, len(answers), unordered, wrong)
}
