//go:build linux

package ensembles

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/encoding/prototext"
	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/proto"

	"go.etcd.io/etcd/api/v3/etcdserverpb"

	"github.com/fencepost-sim/fencepost/checker/testkit"
)

// watching is a watch stream, and the responses received so far.
type watching struct {
	etcdserverpb.Watch_WatchClient
	came  chan *etcdserverpb.WatchResponse
	shown map[int64][]string // by watch id
}

func watchOn(t *testing.T, ctx context.Context, c *grpc.ClientConn) *watching {
	w, err := etcdserverpb.NewWatchClient(c).Watch(ctx)
	if err != nil {
		t.Fatal(err)
	}
	all := &watching{w, make(chan *etcdserverpb.WatchResponse, 10_000), map[int64][]string{}}
	go func() {
		defer close(all.came)
		for {
			r, err := w.Recv()
			if err != nil {
				return
			}
			all.came <- r
		}
	}()
	return all
}

// take waits for a response and records it. It returns false if none arrives within the given time.
func (w *watching) take(patience time.Duration) bool {
	select {
	case r, open := <-w.came:
		if open {
			w.show(r)
		}
		return open
	case <-time.After(patience):
		return false
	}
}

// show records a response. It records events one by one, because etcd may send several in one response.
func (w *watching) show(r *etcdserverpb.WatchResponse) {
	say := func(text string) {
		w.shown[r.WatchId] = append(w.shown[r.WatchId], strings.ReplaceAll(text, "  ", " "))
	}
	for _, e := range r.Events {
		say(prototext.MarshalOptions{}.Format(e))
	}
	if len(r.Events) == 0 {
		say(plain(r))
	}
}

// settle waits until both streams have shown the same events, or until it is clear that they never will. If a watch
// begins in the past, etcd may take 100 ms to send the events that it missed.
func settle(both []*watching) {
	for end := time.Now().Add(2 * time.Second); time.Now().Before(end); {
		more := both[0].take(2 * time.Millisecond)
		more = both[1].take(2*time.Millisecond) || more
		if !more && fmt.Sprint(both[0].shown) == fmt.Sprint(both[1].shown) {
			return
		}
	}
}

// TestWatchesShowWhatEtcdsShow creates random watches while random requests change the keys. The simulated member must
// give the same answers and show the same events as etcd. Some watches begin in the past or at a compacted revision,
// some have filters, some are canceled, and some use an ID that is already in use. With FENCEPOST_FULL=1 it uses 150
// streams.
func TestWatchesShowWhatEtcdsShow(t *testing.T) {
	n := testkit.Size(15, 15, 150)
	real, simulated := connect(t, realEtcd(t)), connect(t, simulatedEtcd(t))
	s := &script{Rand: rand.New(rand.NewPCG(3, 4)), revision: 1}
	events := 0
	for range n {
		ctx, cancel := context.WithCancel(t.Context())
		both := []*watching{watchOn(t, ctx, real), watchOn(t, ctx, simulated)}
		past := false // whether some watches begin in the past; in etcd, a compaction may overtake them
		for range 40 {
			if !s.rarely(3) {
				method, request, response := s.request()
				if past && method == "/etcdserverpb.KV/Compact" || s.rarely(2) {
					method, request, response = "/etcdserverpb.KV/Txn", s.txnRequest(1), &etcdserverpb.TxnResponse{}
				}
				want, comparable := answer(t.Context(), real, method, request, response)
				other := response.ProtoReflect().New().Interface()
				if got, _ := answer(t.Context(), simulated, method, request, other); got != want && comparable {
					t.Fatalf("%s %v\nsimulated  %s\netcd       %s", method, request, got, want)
				}
				if h, has := response.(interface {
					GetHeader() *etcdserverpb.ResponseHeader
				}); has {
					s.revision = max(s.revision, h.GetHeader().GetRevision())
				}
				continue
			}
			settle(both)
			r := s.watchRequest()
			past = past || r.GetCreateRequest().GetStartRevision() != 0
			for _, w := range both {
				if err := w.Send(r); err != nil {
					t.Fatal(err)
				}
			}
			settle(both)
		}
		settle(both)
		same := func() bool { return fmt.Sprint(both[0].shown) == fmt.Sprint(both[1].shown) }
		if !same() {
			for id := int64(-1); id < 20; id++ {
				if real, simulated := both[0].shown[id], both[1].shown[id]; !slices.Equal(real, simulated) {
					t.Fatalf("watch %d\nsimulated\n  %s\netcd\n  %s", id, strings.Join(simulated, "\n  "),
						strings.Join(real, "\n  "))
				}
			}
			t.Fatalf("the watches differ\nsimulated  %v\netcd       %v", both[1].shown, both[0].shown)
		}
		for _, shown := range both[0].shown {
			events += len(shown)
		}
		cancel()
	}
	if events < 10*n {
		t.Errorf("%d streams show only %d events and answers", n, events)
	}
	t.Logf("%d streams, %d events and answers", n, events)
}

func (s *script) watchRequest() *etcdserverpb.WatchRequest {
	r := &etcdserverpb.WatchRequest{}
	switch s.IntN(8) {
	case 0:
		r.RequestUnion = &etcdserverpb.WatchRequest_CancelRequest{
			CancelRequest: &etcdserverpb.WatchCancelRequest{WatchId: s.Int64N(6)}}
	case 1:
		r.RequestUnion = &etcdserverpb.WatchRequest_ProgressRequest{
			ProgressRequest: &etcdserverpb.WatchProgressRequest{}}
	default:
		c := &etcdserverpb.WatchCreateRequest{Key: s.key(), RangeEnd: s.end(), PrevKv: s.rarely(2)}
		if s.rarely(2) {
			c.StartRevision = max(1, s.near())
		}
		if s.rarely(4) {
			c.WatchId = 3 + s.Int64N(4)
		}
		if s.rarely(4) {
			c.Filters = append(c.Filters, etcdserverpb.WatchCreateRequest_FilterType(s.IntN(2)))
		}
		r.RequestUnion = &etcdserverpb.WatchRequest_CreateRequest{CreateRequest: c}
	}
	return r
}

// TestKeepAlivesAreAnsweredAsByEtcd compares the answers to keepalives for existing and unknown leases, and the end of
// the stream.
func TestKeepAlivesAreAnsweredAsByEtcd(t *testing.T) {
	var said [2][]string
	for i, c := range []*grpc.ClientConn{connect(t, realEtcd(t)), connect(t, simulatedEtcd(t))} {
		leases := etcdserverpb.NewLeaseClient(c)
		if _, err := leases.LeaseGrant(t.Context(), &etcdserverpb.LeaseGrantRequest{ID: 7, TTL: 30}); err != nil {
			t.Fatal(err)
		}
		short, err := leases.LeaseGrant(t.Context(), &etcdserverpb.LeaseGrantRequest{ID: 8, TTL: -1})
		said[i] = append(said[i], fmt.Sprint(short.GetTTL(), err))
		stream, err := leases.LeaseKeepAlive(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		for _, id := range []int64{7, 9, 8, 0} {
			if err := stream.Send(&etcdserverpb.LeaseKeepAliveRequest{ID: id}); err != nil {
				t.Fatal(err)
			}
			r, err := stream.Recv()
			said[i] = append(said[i], plain(r)+fmt.Sprint(err))
		}
		stream.CloseSend()
		_, err = stream.Recv()
		said[i] = append(said[i], fmt.Sprint(err))
	}
	if !slices.Equal(said[0], said[1]) {
		t.Errorf("simulated  %q\netcd       %q", said[1], said[0])
	}
}

// TestTheLockServicesAnswerAsEtcds sends random calls to the lock and election services in a real etcd and a simulated
// one, and compares the answers. It sends only calls that do not have to wait.
func TestTheLockServicesAnswerAsEtcds(t *testing.T) {
	n := testkit.Size(300, 300, 10_000)
	clients := []*grpc.ClientConn{connect(t, realEtcd(t)), connect(t, simulatedEtcd(t))}
	s := &script{Rand: rand.New(rand.NewPCG(5, 6)), revision: 1}
	text := func(number protowire.Number, text string) []byte {
		return protowire.AppendString(protowire.AppendTag(nil, number, protowire.BytesType), text)
	}
	integer := func(number protowire.Number, n int64) []byte {
		return protowire.AppendVarint(protowire.AppendTag(nil, number, protowire.VarintType), uint64(n))
	}
	for _, c := range clients {
		for id := range int64(3) {
			err := c.Invoke(t.Context(), "/etcdserverpb.Lease/LeaseGrant",
				&etcdserverpb.LeaseGrantRequest{ID: id + 1, TTL: 1000}, &etcdserverpb.LeaseGrantResponse{})
			if err != nil {
				t.Fatal(err)
			}
		}
	}
	answers := map[string]bool{}
	for i := range n {
		lease := 1 + s.Int64N(4) // lease 4 does not exist
		name := fmt.Sprint("line-", lease)
		key := fmt.Sprintf("%s/%x", name, lease)
		leader := func() []byte {
			if s.rarely(8) {
				return nil
			}
			return slices.Concat(text(1, name), text(2, key), integer(3, s.near()), integer(4, lease))
		}
		lead := func() (b []byte) {
			if l := leader(); l != nil {
				b = protowire.AppendBytes(protowire.AppendTag(nil, 1, protowire.BytesType), l)
			}
			return b
		}
		const locks, elections = "/v3lockpb.Lock/", "/v3electionpb.Election/"
		method, request := "", []byte(nil)
		switch s.IntN(6) {
		case 0:
			method, request = locks+"Lock", append(text(1, name), integer(2, lease)...)
		case 1:
			method, request = locks+"Unlock", text(1, pick(s, []string{"", key, key}))
		case 2:
			method = elections + "Campaign"
			request = slices.Concat(text(1, name), integer(2, lease), text(3, pick(s, values)))
		case 3:
			method, request = elections+"Proclaim", append(lead(), text(2, pick(s, values))...)
		case 4:
			method, request = elections+"Resign", lead()
		default:
			method, request = elections+"Leader", text(1, name)
		}
		var said [2]string
		for j, c := range clients {
			var response []byte
			if err := c.Invoke(t.Context(), method, &request, &response, grpc.ForceCodec(asBytes{})); err != nil {
				said[j] = fmt.Sprint(status.Code(err), status.Convert(err).Message())
				continue
			}
			// The header is field 1 of each response. The rest must be equal byte for byte.
			h := &etcdserverpb.RangeResponse{}
			_, _, size := protowire.ConsumeField(response)
			if err := proto.Unmarshal(response[:size], h); err != nil {
				t.Fatal(err)
			}
			s.revision = max(s.revision, h.Header.Revision)
			said[j] = fmt.Sprintf("%s %q", plain(h), response[size:])
		}
		answers[said[0][:min(len(said[0]), 20)]] = true
		if said[0] != said[1] {
			t.Fatalf("call %d: %s %q\nsimulated  %s\netcd       %s", i, method, request, said[1], said[0])
		}
	}
	if len(answers) < 5 {
		t.Errorf("%d calls have only the answers %v", n, answers)
	}
	t.Logf("%d calls, %d answers", n, len(answers))
}
