//go:build linux

package ensembles

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/protobuf/proto"

	pb "go.etcd.io/etcd/api/v3/etcdserverpb"

	"github.com/fencepost-sim/fencepost/checker/testkit"
)

// etcdSide is either the real or the simulated etcd. It includes two connections, the latest revision in the answers,
// and a stream of watches. If a watch begins in the past, lag is how long it may take to show the events it missed. The
// real etcd sends missed events every 100 ms, the simulated one immediately.
type etcdSide struct {
	t        *testing.T
	conns    [2]*grpc.ClientConn
	revision int64
	*watching
	lag time.Duration
}

// ask sends a request and returns the answer. It returns "" if a limit truncated a list for which etcd does not define
// an order.
func (s *etcdSide) ask(conn int, method string, request, response proto.Message) string {
	text, ordered := answer(s.t.Context(), s.conns[conn], "/etcdserverpb."+method, request, response)
	if h, has := response.(interface{ GetHeader() *pb.ResponseHeader }); has {
		s.revision = max(s.revision, h.GetHeader().GetRevision())
	}
	if !ordered {
		return ""
	}
	return text
}

// etcdKeys lists a lock's keys: its prefix, two candidates, and a neighboring key on each side.
var etcdKeys = []string{"lock", "lock/1", "lock/2", "lock0", "lo"}

func etcdKey(r *rand.Rand) []byte {
	if r.IntN(40) == 0 {
		return nil
	}
	return []byte(oneOf(r, etcdKeys...))
}

// etcdEnd returns a random end for a range, such as none, the end of a prefix, the end of all keys, or an end that
// comes before the range's beginning.
func etcdEnd(r *rand.Rand) []byte {
	return oneOf(r, nil, nil, nil, []byte("lock0"), []byte{0}, []byte("lock/"), []byte("a"), []byte("m"))
}

// etcdLease returns a random lease ID. It chooses from a few IDs, some of which belong to existing leases.
func etcdLease(r *rand.Rand) int64 {
	return oneOf[int64](r, 0, 0, 1, 2, 3, 77, -1)
}

// revisionNear returns a function that computes a random revision from the latest one. The result is often 0 or close
// to the latest revision, and sometimes far from it.
func revisionNear(r *rand.Rand) func(latest int64) int64 {
	if n := r.IntN(12); n < 2 {
		return func(int64) int64 { return []int64{-1, 1 << 40}[n] }
	}
	if r.IntN(2) == 0 {
		return func(int64) int64 { return 0 }
	}
	back := r.Int64N(12) - 2
	return func(latest int64) int64 { return max(1, latest-back) }
}

// etcdOp returns a random request for the KV service, to be sent alone or as part of a Txn.
func etcdOp(r *rand.Rand, latest int64, alone bool) proto.Message {
	switch r.IntN(5) {
	case 0, 1:
		q := &pb.PutRequest{Key: etcdKey(r), Value: []byte(oneOf(r, "", "me", "you", "\xff")), Lease: etcdLease(r),
			PrevKv: r.IntN(2) == 0}
		if alone && r.IntN(6) == 0 {
			q.IgnoreLease, q.IgnoreValue = r.IntN(2) == 0, r.IntN(2) == 0
		}
		return q
	case 2:
		return &pb.DeleteRangeRequest{Key: etcdKey(r), RangeEnd: etcdEnd(r), PrevKv: r.IntN(2) == 0}
	}
	q := &pb.RangeRequest{Key: etcdKey(r), RangeEnd: etcdEnd(r), Revision: revisionNear(r)(latest)}
	switch r.IntN(6) {
	case 0: // look for the oldest waiter, or the one before a given one, as clients do
		q.Key, q.RangeEnd, q.Limit = []byte("lock/"), []byte("lock0"), 1
		q.SortTarget = pb.RangeRequest_CREATE
		q.SortOrder = oneOf(r, pb.RangeRequest_ASCEND, pb.RangeRequest_DESCEND)
		q.MaxCreateRevision = revisionNear(r)(latest)
	case 1:
		q.CountOnly = true
	case 2:
		q.KeysOnly, q.Limit = true, oneOf[int64](r, -1, 0, 1, 2, 100)
	case 3: // a lease that does not exist crashes etcd 3.4
		q.SortTarget, q.SortOrder = pb.RangeRequest_SortTarget(r.IntN(5)), pb.RangeRequest_SortOrder(r.IntN(3))
	case 4:
		q.Serializable, q.MinModRevision, q.MaxModRevision = true, revisionNear(r)(latest), revisionNear(r)(latest)
	}
	return q
}

// etcdIf returns a random condition for a Txn, in most cases that a key exists or has an expected revision.
func etcdIf(r *rand.Rand, latest int64) *pb.Compare {
	c := &pb.Compare{Key: etcdKey(r), Result: pb.Compare_CompareResult(r.IntN(4))}
	if r.IntN(5) == 0 {
		c.RangeEnd = etcdEnd(r)
	}
	switch r.IntN(6) {
	case 0, 1:
		c.Target, c.TargetUnion = pb.Compare_CREATE, &pb.Compare_CreateRevision{CreateRevision: revisionNear(r)(latest)}
	case 2:
		c.Target, c.TargetUnion = pb.Compare_MOD, &pb.Compare_ModRevision{ModRevision: revisionNear(r)(latest)}
	case 3:
		c.Target, c.TargetUnion = pb.Compare_VALUE, &pb.Compare_Value{Value: []byte(oneOf(r, "me", "you", ""))}
	case 4:
		c.Target, c.TargetUnion = pb.Compare_LEASE, &pb.Compare_Lease{Lease: etcdLease(r)}
	default: // leave out the value for the chosen target
		c.Target = pb.Compare_CompareTarget(r.IntN(5))
	}
	return c
}

func etcdThen(r *rand.Rand, latest int64, depth, most int) (ops []*pb.RequestOp) {
	for range r.IntN(most) {
		op := &pb.RequestOp{}
		switch q := etcdOp(r, latest, false).(type) {
		case *pb.PutRequest:
			op.Request = &pb.RequestOp_RequestPut{RequestPut: q}
		case *pb.DeleteRangeRequest:
			op.Request = &pb.RequestOp_RequestDeleteRange{RequestDeleteRange: q}
		case *pb.RangeRequest:
			op.Request = &pb.RequestOp_RequestRange{RequestRange: q}
		}
		if depth > 0 && r.IntN(6) == 0 {
			op.Request = &pb.RequestOp_RequestTxn{RequestTxn: etcdTxn(r, latest, depth-1, most)}
		}
		ops = append(ops, op)
	}
	return ops
}

func etcdTxn(r *rand.Rand, latest int64, depth, most int) *pb.TxnRequest {
	q := &pb.TxnRequest{Success: etcdThen(r, latest, depth, most), Failure: etcdThen(r, latest, depth, most)}
	for range r.IntN(3) {
		q.Compare = append(q.Compare, etcdIf(r, latest))
	}
	return q
}

// etcdRequest returns a random request that depends only on r and the latest revision.
func etcdRequest(r *rand.Rand, latest int64) (area, method string, request, response proto.Message) {
	switch n := r.IntN(20); {
	case n < 7:
		switch q := etcdOp(r, latest, true).(type) {
		case *pb.PutRequest:
			return "Put", "KV/Put", q, &pb.PutResponse{}
		case *pb.DeleteRangeRequest:
			return "DeleteRange", "KV/DeleteRange", q, &pb.DeleteRangeResponse{}
		default:
			return "Range", "KV/Range", q, &pb.RangeResponse{}
		}
	case n < 13:
		most := 4
		if r.IntN(40) == 0 {
			most = 140 // more operations than a Txn may have
		}
		return "Txn", "KV/Txn", etcdTxn(r, latest, 2, most), &pb.TxnResponse{}
	case n < 15:
		return "leases", "Lease/LeaseGrant", &pb.LeaseGrantRequest{ID: oneOf[int64](r, 1, 2, 3, -1),
			TTL: oneOf[int64](r, 600, 600, 600, 9_000_000_000, 9_000_000_001, 1<<62)}, &pb.LeaseGrantResponse{}
	case n < 16:
		return "leases", "Lease/LeaseRevoke", &pb.LeaseRevokeRequest{ID: etcdLease(r)}, &pb.LeaseRevokeResponse{}
	case n < 18:
		return "leases", "Lease/LeaseTimeToLive", &pb.LeaseTimeToLiveRequest{ID: etcdLease(r), Keys: r.IntN(2) == 0},
			&pb.LeaseTimeToLiveResponse{}
	case n < 19:
		if r.IntN(4) == 0 {
			return "members", "Cluster/MemberList", &pb.MemberListRequest{}, &pb.MemberListResponse{}
		}
		return "leases", "Lease/LeaseLeases", &pb.LeaseLeasesRequest{}, &pb.LeaseLeasesResponse{}
	}
	return "Compact", "KV/Compact", &pb.CompactionRequest{Revision: latest - r.Int64N(60) + 1},
		&pb.CompactionResponse{}
}

// etcdStep returns a random step.
func etcdStep(r *rand.Rand) step[*etcdSide] {
	conn, seed := r.IntN(2), r.Uint64()
	fixed := func() *rand.Rand { return rand.New(rand.NewPCG(seed, 1)) }
	switch n := r.IntN(25); {
	case n == 0:
		return contention(fixed)
	case n == 1:
		return keepAlives(r, conn)
	case n < 5:
		q := etcdWatch(fixed(), 100)
		return step[*etcdSide]{"Watch", fmt.Sprint("watch (revisions of latest 100) ", q), func(s *etcdSide) string {
			const progress = -1
			for _, q := range []*pb.WatchRequest{etcdWatch(fixed(), s.revision),
				{RequestUnion: &pb.WatchRequest_ProgressRequest{}}} {
				if err := s.Send(q); err != nil {
					return err.Error()
				}
			}
			for a := range s.came { // when the second request has been answered, etcd has carried out the first
				if s.show(a); a.WatchId == progress && !a.Created {
					break
				}
			}
			if q.GetCreateRequest().GetStartRevision() != 0 {
				time.Sleep(s.lag)
			}
			return ""
		}}
	}
	area, method, request, _ := etcdRequest(fixed(), 100)
	return step[*etcdSide]{area, fmt.Sprintf("%s (revisions of latest 100) %v", method, request),
		func(s *etcdSide) string {
			_, method, request, response := etcdRequest(fixed(), s.revision)
			return s.ask(conn, method, request, response)
		}}
}

func etcdWatch(r *rand.Rand, latest int64) *pb.WatchRequest {
	if r.IntN(5) == 0 {
		return &pb.WatchRequest{RequestUnion: &pb.WatchRequest_CancelRequest{
			CancelRequest: &pb.WatchCancelRequest{WatchId: r.Int64N(4)}}}
	}
	return &pb.WatchRequest{RequestUnion: &pb.WatchRequest_CreateRequest{CreateRequest: &pb.WatchCreateRequest{
		Key: etcdKey(r), RangeEnd: etcdEnd(r), PrevKv: r.IntN(2) == 0, StartRevision: max(0, revisionNear(r)(latest)),
		ProgressNotify: r.IntN(2) == 0}}}
}

// contention makes eight clients try to create the same key at the same time. The clients that fail put another key
// whose version counts them.
func contention(fixed func() *rand.Rand) step[*etcdSide] {
	return step[*etcdSide]{"contention", "eight create lock/1 and count in lock0 at once", func(s *etcdSide) string {
		r := fixed()
		s.ask(0, "KV/DeleteRange", &pb.DeleteRangeRequest{Key: []byte("lock/1")}, &pb.DeleteRangeResponse{})
		lease := oneOf[int64](r, 0, 0, 1)
		var all sync.WaitGroup
		outcomes := make([]string, 8)
		for i := range outcomes {
			all.Go(func() {
				response := &pb.TxnResponse{}
				_, err := answer(s.t.Context(), s.conns[i%2], "/etcdserverpb.KV/Txn", &pb.TxnRequest{
					Compare: []*pb.Compare{{Key: []byte("lock/1"), Target: pb.Compare_CREATE}},
					Success: []*pb.RequestOp{{Request: &pb.RequestOp_RequestPut{
						RequestPut: &pb.PutRequest{Key: []byte("lock/1"), Value: []byte("me"), Lease: lease}}}},
					Failure: []*pb.RequestOp{{Request: &pb.RequestOp_RequestPut{
						RequestPut: &pb.PutRequest{Key: []byte("lock0"), Value: []byte("you")}}}}}, response)
				outcomes[i] = fmt.Sprint(response.Succeeded, err)
			})
		}
		all.Wait()
		slices.Sort(outcomes)
		return fmt.Sprint(outcomes) + s.ask(0, "KV/Range", &pb.RangeRequest{Key: []byte("lo"), RangeEnd: []byte("m")},
			&pb.RangeResponse{})
	}}
}

// keepAlives sends several keepalives on one stream before reading the first answer.
func keepAlives(r *rand.Rand, conn int) step[*etcdSide] {
	var ids []int64
	for range 1 + r.IntN(4) {
		ids = append(ids, etcdLease(r))
	}
	return step[*etcdSide]{"keepalives", fmt.Sprint("keepalives of ", ids), func(s *etcdSide) (replies string) {
		ctx, cancel := context.WithTimeout(s.t.Context(), 10*time.Second)
		defer cancel()
		stream, err := pb.NewLeaseClient(s.conns[conn]).LeaseKeepAlive(ctx)
		if err != nil {
			return err.Error()
		}
		for _, id := range ids {
			if err := stream.Send(&pb.LeaseKeepAliveRequest{ID: id}); err != nil {
				return err.Error()
			}
		}
		stream.CloseSend()
		for {
			a, err := stream.Recv()
			if err != nil {
				return replies + err.Error()
			}
			replies += plain(a) + "; "
		}
	}}
}

// expired grants a lease with the shortest possible TTL, attaches a key to it, and waits until the lease has ended.
func expired(s *etcdSide) string {
	granted := s.ask(0, "Lease/LeaseGrant", &pb.LeaseGrantRequest{ID: 9, TTL: 1}, &pb.LeaseGrantResponse{})
	granted += s.ask(1, "KV/Put", &pb.PutRequest{Key: []byte("lock/2"), Lease: 9}, &pb.PutResponse{})
	for left := (&pb.LeaseTimeToLiveResponse{}); left.TTL >= 0; {
		time.Sleep(20 * time.Millisecond)
		s.ask(0, "Lease/LeaseTimeToLive", &pb.LeaseTimeToLiveRequest{ID: 9}, left)
	}
	return granted + s.ask(0, "KV/Range", &pb.RangeRequest{Key: []byte("lock/2")}, &pb.RangeResponse{})
}

// TestSecondEtcd checks the simulated member against Debian's etcd 3.4 over gRPC.
func TestSecondEtcd(t *testing.T) {
	var real, simulated etcdSide
	for side, address := range map[*etcdSide]string{&real: realEtcd(t), &simulated: simulatedEtcd(t)} {
		side.t, side.revision = t, 1
		side.conns = [2]*grpc.ClientConn{connect(t, address), connect(t, address)}
	}
	real.lag = 250 * time.Millisecond
	begin := func(t *testing.T) (a, b *etcdSide) {
		real.watching = watchOn(t, t.Context(), real.conns[0])
		simulated.watching = watchOn(t, t.Context(), simulated.conns[0])
		return &real, &simulated
	}
	compare(t, testkit.Size(5, 5, 200), 60, begin, etcdStep, endEtcd)
}

// endEtcd lets a lease end in some rounds, and compares the events that the watches have shown in each round.
func endEtcd(t *testing.T, round int, real, simulated *etcdSide) {
	if round%5 == 4 {
		var want, got string
		var both sync.WaitGroup
		both.Go(func() { want = expired(real) })
		both.Go(func() { got = expired(simulated) })
		if both.Wait(); want != got {
			t.Errorf("a lease ends\nreal      %s\nsimulated %s", want, got)
		}
	}
	settle([]*watching{real.watching, simulated.watching})
	for id := int64(-1); id < 60; id++ {
		if want, got := real.shown[id], simulated.shown[id]; !slices.Equal(want, got) {
			t.Errorf("watch %d\nreal\n  %s\nsimulated\n  %s", id, strings.Join(want, "\n  "),
				strings.Join(got, "\n  "))
		}
	}
}
