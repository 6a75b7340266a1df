package etcdserver

import (
	"context"
	"io"
	"net"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"google.golang.org/protobuf/encoding/protowire"

	"github.com/fencepost-sim/fencepost/checker/history"
	"github.com/fencepost-sim/fencepost/sim"
	"github.com/fencepost-sim/fencepost/sim/etcd"
)

// Bytes is the [sim.Front] for real members whose clients use a library. It passes on the bytes of members and clients
// unchanged, piece by piece as they arrive. To find out which attempt put a key, this package searches the clients'
// bytes for put requests.
type Bytes struct{}

// bytesPassed is the name of the request that carries a client's bytes.
const bytesPassed = "BYTES"

// Port returns etcd's client port.
func (Bytes) Port() int { return 2379 }

// Serial returns false, because a client may send more bytes before the member has answered the previous ones.
func (Bytes) Serial() bool { return false }

// Begin returns the callers for a new run.
func (Bytes) Begin() sim.Callers { return passing{} }

type passing struct{}

// Recorded does nothing, because a cluster's members grant a lock together.
func (passing) Recorded(*history.Event) {}

// Caller returns a value that represents a new client.
func (passing) Caller(sim.ProcessID) sim.Caller { return &passer{} }

// passer represents a client. It also serves as the client's end of each of its connections.
type passer struct {
	passing
	attempt history.Attempt
	since   sim.Time
}

func (p *passer) Wire(sim.ProcessID) sim.Wire                   { return p }
func (p *passer) Begin(a history.Attempt, now sim.Time)         { p.attempt, p.since = a, now }
func (p *passer) Try() (since sim.Time, _ []sim.ProcessID)      { return p.since, nil }
func (p *passer) Arrived(l sim.Line, b []byte, _ *sim.Incoming) { l.Deliver(b) }

func (p *passer) Written(l sim.Line, b []byte) error {
	l.Ask([]string{bytesPassed, string(b)}, p.attempt, "bytes")
	return nil
}

// stream is the connection to a member's process that corresponds to a client's connection. Bytes are passed on in both
// directions.
type stream struct {
	*outbox
	life *life
	id   uint64

	pieces int  // number of pieces pushed; only the world's goroutine uses this and over
	over   bool // whether the client knows that the connection has ended
}

// pass passes bytes from a client on to the process.
func (x *life) pass(r *sim.Incoming) {
	s := x.streams[r.ConnID]
	if s == nil {
		s = &stream{outbox: newOutbox(), life: x, id: r.ConnID}
		x.streams[r.ConnID] = s
		go s.run()
	}
	x.m.cluster.passes.Store(true)
	x.m.cluster.records.pass(r)
	s.add([]byte(r.Args[1]))
	r.Reply([]byte{})
}

// run exchanges bytes with the process until the connection ends.
func (s *stream) run() {
	x := s.life
	defer context.AfterFunc(x.Context, s.close)()
	conn, err := new(net.Dialer).DialContext(x.Context, "unix", filepath.Join(x.m.Daemon.Folder, clients))
	if err == nil {
		go func() {
			_, _ = io.Copy(conn, s) // this ends with the connection, or when there are no more bytes
			conn.Close()
		}()
		s.read(conn)
		conn.Close()
	}
	s.close()
	x.Do(func() {
		if !s.over {
			s.over = true
			delete(x.streams, s.id)
			x.m.Host.HangUp(s.id)
		}
	})
}

// read passes on what the process sends. Before passing on any bytes, it records everything that the process has done
// so far.
func (s *stream) read(conn net.Conn) {
	x, latest := s.life, int64(0)
	buffer := make([]byte, 16<<10)
	for {
		n, err := conn.Read(buffer)
		if err != nil {
			return
		}
		b := append([]byte(nil), buffer[:n]...)
		if status, err := x.m.services.read(x.Context, etcd.AskStatus()); err == nil {
			latest = status.Revision
		}
		revision := latest
		x.Do(func() {
			x.m.cluster.records.whenRecorded(revision, func() {
				if !s.over && !x.IsOver() {
					s.pieces++
					x.m.Host.Push(s.id, sim.Key(s.pieces), b)
				}
			})
		})
	}
}

// piece is a piece of what a client has sent to a member as part of an attempt.
type piece struct {
	conn    uint64
	attempt history.Attempt
	text    string
}

// To find the attempt that put a key, this package searches the last mostPieces pieces that clients have sent. Each
// piece begins with up to overlap bytes of the previous piece on the same connection.
const (
	mostPieces = 256
	overlap    = 4 << 10
)

// pass stores a piece of what a client has sent, so that it can be searched.
func (r *records) pass(in *sim.Incoming) {
	text := in.Args[1]
	for _, p := range slices.Backward(r.passed) {
		if p.conn == in.ConnID {
			text = p.text[max(len(p.text)-overlap, 0):] + text
			break
		}
	}
	r.passed = append(r.passed, piece{in.ConnID, in.Attempt, text})
	r.passed = r.passed[max(len(r.passed)-mostPieces, 0):]
}

// passer returns the attempt that sent the request behind change c. This is the first attempt that sent a request to
// put c's value with c's lease (rpc.proto, PutRequest). If another attempt has sent the same request on another
// connection, passer returns "". It also returns "" if it does not find such a request, for example because it was
// compressed.
func (r *records) passer(c *change) (of history.Attempt) {
	request := string(protowire.AppendString(protowire.AppendTag(nil, 1, protowire.BytesType), c.Key))
	if c.Value != "" {
		request += string(protowire.AppendString(protowire.AppendTag(nil, 2, protowire.BytesType), c.Value))
	}
	if c.Lease != 0 {
		request += string(protowire.AppendVarint(protowire.AppendTag(nil, 3, protowire.VarintType), uint64(c.Lease)))
	}
	var conn uint64
	for i := range r.passed {
		p := &r.passed[i]
		switch {
		case !strings.Contains(p.text, request):
		case of == "":
			of, conn = p.attempt, p.conn
		case p.conn != conn && p.attempt != of:
			return ""
		}
	}
	return of
}

// learn asks for the TTLs with which new keys' leases were granted, and stores them with the keys.
func (g *services) learn(ctx context.Context, revisions map[int64][]change) {
	for _, changes := range revisions {
		for i := range changes {
			c := &changes[i]
			if c.Lease == 0 {
				continue
			}
			if r, err := g.read(ctx, etcd.LeaseTimeToLive(c.Lease)); err == nil {
				c.ttl = time.Duration(r.Granted) * time.Second
			}
		}
	}
}
