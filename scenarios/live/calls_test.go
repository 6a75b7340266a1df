//go:build linux

package live

import (
	"bytes"
	"fmt"
	"io"
	"net/http"
	"os"
	"strconv"
	"strings"
	"testing"
	"time"

	"google.golang.org/protobuf/encoding/protowire"

	"github.com/fencepost-sim/fencepost/checker/history"
	"github.com/fencepost-sim/fencepost/checker/testkit"
)

// calls is a gRPC client for etcd.
type calls struct {
	http.Client
	at string
}

func newCalls() *calls {
	at, _, _ := strings.Cut(os.Getenv("FENCEPOST_ETCD"), ",")
	t := &http.Transport{Protocols: new(http.Protocols)}
	t.Protocols.SetUnencryptedHTTP2(true)
	return &calls{http.Client{Transport: t}, at}
}

// call makes a call with one message, and returns the answer and the gRPC status.
func (c *calls) call(path string, message []byte) (answer []byte, status string) {
	const head = 5 // length of the compression flag and the message length
	body := append([]byte{0, 0, 0, byte(len(message) >> 8), byte(len(message))}, message...)
	r, err := http.NewRequest(http.MethodPost, c.at+path, bytes.NewReader(body))
	if err == nil {
		r.Header.Set("Content-Type", "application/grpc")
		var w *http.Response
		if w, err = c.Do(r); err == nil {
			answer, err = io.ReadAll(w.Body)
			status = w.Trailer.Get("Grpc-Status") + w.Header.Get("Grpc-Status")
		}
	}
	if err != nil {
		fmt.Println(err)
		os.Exit(1)
	}
	return answer[min(head, len(answer)):], status
}

func number(b []byte, field protowire.Number, n uint64) []byte {
	return protowire.AppendVarint(protowire.AppendTag(b, field, protowire.VarintType), n)
}

func text(b []byte, field protowire.Number, s string) []byte {
	return protowire.AppendString(protowire.AppendTag(b, field, protowire.BytesType), s)
}

// numberOf returns a numeric field of a protobuf message, or 0 if the message does not have the field.
func numberOf(b []byte, field protowire.Number) uint64 {
	for len(b) > 0 {
		at, kind, n := protowire.ConsumeTag(b)
		if at == field && kind == protowire.VarintType {
			value, _ := protowire.ConsumeVarint(b[n:])
			return value
		}
		b = b[n+protowire.ConsumeFieldValue(at, kind, b[n:]):]
	}
	return 0
}

// putsOneKey is a client that uses a single key with a lease (rpc.proto) as its lock. It also sends a request that the
// simulated etcd does not support.
func putsOneKey(resource *wire) {
	lock := os.Getenv("FENCEPOST_LOCK")
	ttl, _ := strconv.ParseUint(os.Getenv("FENCEPOST_TTL_MS"), 10, 64)
	c := newCalls()
	if _, status := c.call("/etcdserverpb.Maintenance/Defragment", nil); status != "12" {
		fmt.Println("Defragment has status", status)
		os.Exit(1)
	}
	resource.ask("FENCEPOST", "ACQUIRING", lock)
	var lease uint64
	for {
		granted, _ := c.call("/etcdserverpb.Lease/LeaseGrant", number(nil, 1, ttl/1000))
		lease = numberOf(granted, 2)
		const isCreate = 1
		isNew := number(text(number(nil, 2, isCreate), 3, lock), 5, 0)
		put := number(text(text(nil, 1, lock), 2, "me"), 3, lease)
		txn := text(text(nil, 1, string(isNew)), 2, string(text(nil, 2, string(put))))
		if done, _ := c.call("/etcdserverpb.KV/Txn", txn); numberOf(done, 2) == 1 {
			break
		}
		c.call("/etcdserverpb.Lease/LeaseRevoke", number(nil, 1, lease))
		time.Sleep(50 * time.Millisecond)
	}
	resource.ask("FENCEPOST", "ACQUIRED", lock, fmt.Sprint(lease))
	resource.ask("READ", lock)
	resource.ask("WRITE", lock, os.Getenv("FENCEPOST_CLIENT"))
	resource.ask("FENCEPOST", "RELEASING", lock, fmt.Sprint(lease))
	report := []string{"FENCEPOST", "RELEASED", lock, fmt.Sprint(lease)}
	if _, status := c.call("/etcdserverpb.Lease/LeaseRevoke", number(nil, 1, lease)); status != "0" {
		report = append(report, "REFUSED")
	}
	resource.ask(report...)
}

// TestAUsersClientOfEtcd checks runs with a client that calls etcd over gRPC. The grant must last as long as the lease
// of the client's key. The key must be recorded as the client's own. Unsupported requests must be refused and reported.
func TestAUsersClientOfEtcd(t *testing.T) {
	t.Parallel()
	for pause, want := range map[string]string{
		"100ms": "holds; holds; holds; holds; holds",
		"7s": "holds; violated by holder outlived its lease (pause); violated by superseded holder took effect; " +
			"holds; holds",
	} {
		t.Run(pause, func(t *testing.T) {
			if testing.Short() && pause != "100ms" {
				t.Skip("it takes ten seconds")
			}
			t.Parallel()
			s := scenario(t, "etcd", "servers: {etcd: 3}", "lock: {protocol: etcd, ttl: 3s}", "work: {writes: 1}",
				"resource: {fencing: off}", "faults: [pause client-1 for "+pause+" after before-write]")
			testkit.Undisturbed(t, func(t testing.TB) {
				r, err := run(t, s, "puts one key")
				if err != nil {
					t.Fatal(err)
				}
				if got := outcomes(r, excluding...); got != want {
					t.Errorf("%s, want %s\n%q", got, want, r.Notes)
				}
				for _, e := range r.History.Events {
					if e.F == history.KeySet && (e.Lock != s.Locks()[0] || e.Of == "" || e.By != e.Of) {
						t.Errorf("the key is nobody's: %+v", e)
					}
				}
				const named = "client-1 sent /etcdserverpb.Maintenance/Defragment, which is not simulated"
				if !strings.Contains(strings.Join(r.Notes, "\n"), named) {
					t.Errorf("%q", r.Notes)
				}
			})
		})
	}
}
