package front

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/fencepost-sim/fencepost/checker/history"
	"github.com/fencepost-sim/fencepost/sim"
	"github.com/fencepost-sim/fencepost/sim/raft"
	"github.com/fencepost-sim/fencepost/sim/zookeeper"
	"github.com/fencepost-sim/fencepost/sim/zookeeper/jute"
)

// line is a sim.Line that logs what a wire does.
type line struct {
	at    sim.Time
	notes []string
}

func (l *line) Now() sim.Time { return l.at }

func (l *line) Ask(args []string, of history.Attempt, phase string) {
	l.notes = append(l.notes, fmt.Sprintf("%s of %s", phase, of))
}

func (l *line) Deliver(b []byte) { l.notes = append(l.notes, fmt.Sprintf("%d bytes", len(b))) }

func (l *line) HangUp() { l.notes = append(l.notes, "hung up") }

func (l *line) took() string {
	text := strings.Join(l.notes, "; ")
	l.notes = nil
	return text
}

func same(t *testing.T, what, got, want string) {
	t.Helper()
	if got != want {
		t.Errorf("%s: got %q, want %q", what, got, want)
	}
}

var enter = (&jute.ConnectRequest{Timeout: 8000}).Record().Framed()

func create(path string, flags int32) []byte {
	r := jute.Head(1, jute.Create).Text(path).Text("").Int(1).Int(jute.All).Text("world").Text("anyone")
	return r.Int(flags).Framed()
}

// TestFramesAreCutWherever checks that requests have the same effect no matter how their bytes are split into pieces.
func TestFramesAreCutWherever(t *testing.T) {
	stream := slices.Concat(enter, create("/locks/l/lock-", jute.EphemeralSequential),
		jute.Head(-2, jute.Ping).Framed())
	const want = "connect of client-1/1; create of client-1/1; ping of client-1/1"
	for size := 1; size <= len(stream); size++ {
		c := ZooKeeper{}.Begin().Caller("client-1")
		c.Begin("client-1/1", 0)
		w, l := c.Wire("zookeeper-1"), &line{}
		for piece := range slices.Chunk(stream, size) {
			if err := w.Written(l, piece); err != nil {
				t.Fatal(err)
			}
		}
		same(t, fmt.Sprint("pieces of ", size), l.took(), want)
	}
}

// TestWhatIsNoFrame checks that bytes that are not a frame become a request, from which the member can tell what a real
// server would do with these bytes. An incomplete frame must not become a request.
func TestWhatIsNoFrame(t *testing.T) {
	for _, c := range []struct{ what, bytes, want string }{
		{"a word", "ruok", "ruok of "},
		{"a word, and more", "srvrsrvr", "srvr of "},
		{"TLS", "\x16\x03\x01\x00\xa5\x01\x00", "no-frame of "},
		{"HTTP", "GET / HTTP/1.1\r\n\r\n", "no-frame of "},
		{"a length below zero", "\xff\xff\xff\xff", "no-frame of "},
		{"more than jute.maxbuffer", "\x00\x10\x00\x00", "no-frame of "},
		{"half a length", "\x00\x00", ""},
		{"half a frame", "\x00\x00\x00\x05abcd", ""},
		{"a frame without a header", string(enter) + "\x00\x00\x00\x02ab", "connect of ; unknown of "},
		{"a word in the middle", string(enter) + "ruok", "connect of ; no-frame of "},
		{"what follows what is none", "\xff\xff\xff\xff" + string(enter), "no-frame of "},
	} {
		w, l := ZooKeeper{}.Begin().Caller("client-1").Wire("zookeeper-1"), &line{}
		if err := w.Written(l, []byte(c.bytes)); err != nil {
			t.Error(c.what, err)
		}
		same(t, c.what, l.took(), c.want)
	}
}

// TestWhatIsNotSimulatedIsNamed checks that the error names an operation that ZooKeeper has but that members do not
// serve. All other operations are passed on to the member, even operations that ZooKeeper does not have, since members
// refuse those as ZooKeeper does.
func TestWhatIsNotSimulatedIsNamed(t *testing.T) {
	var named []string
	for op := jute.Op(-20); op < 200; op++ {
		w, l := ZooKeeper{}.Begin().Caller("client-1").Wire("zookeeper-1"), &line{}
		err := w.Written(l, append(slices.Clone(enter), jute.Head(1, op).Framed()...))
		if wrong := (*sim.NotSimulatedError)(nil); errors.As(err, &wrong) {
			named = append(named, wrong.Request)
		} else if err != nil || l.took() != "connect of ; "+op.String()+" of " {
			t.Errorf("%d: %v", op, err)
		}
	}
	same(t, "not simulated", strings.Join(named, " "),
		"createSession reconfig deleteContainer multiRead sasl getEphemerals getAllChildrenNumber whoAmI")
}

// TestWhoseRequestsAre checks which attempt a delete request belongs to. If a client deletes its own znode, the request
// belongs to the attempt that created the znode. If it deletes another client's znode, the request belongs to its own
// current attempt.
func TestWhoseRequestsAre(t *testing.T) {
	all := ZooKeeper{}.Begin()
	one, two := all.Caller("client-1"), all.Caller("client-2")
	one.Begin("client-1/1", 3)
	w, l := one.Wire("zookeeper-1"), &line{at: 5}
	w.Written(l, slices.Concat(enter, create("/locks/l/lock-", jute.EphemeralSequential)))
	reply := jute.Record(nil).Int(1).Long(7).Int(0).Text("/locks/l/lock-0000000004").Framed()
	w.Arrived(l, reply, &sim.Incoming{Phase: "create", Attempt: "client-1/1"})
	if since, _ := one.Try(); since != 5 {
		t.Errorf("the try began at %d", since)
	}
	one.Begin("client-1/2", 9)
	two.Begin("client-2/1", 9)
	l.took()
	deletion := jute.Head(2, jute.Delete).Text("/locks/l/lock-0000000004").Int(-1).Framed()
	w.Written(l, deletion)
	same(t, "by itself", l.took(), "delete of client-1/1")
	w = two.Wire("zookeeper-1")
	w.Written(l, append(slices.Clone(enter), deletion...))
	same(t, "by another", l.took(), "connect of client-2/1; delete of client-2/1")
}

func TestClosingsHangUp(t *testing.T) {
	w, l := ZooKeeper{}.Begin().Caller("client-1").Wire("zookeeper-1"), &line{}
	w.Arrived(l, []byte(zookeeper.ClosedReply), nil)
	w.Arrived(l, []byte(raft.Unavailable), &sim.Incoming{})
	w.Arrived(l, []byte("text"), &sim.Incoming{})
	same(t, "closings", l.took(), "hung up; hung up; 4 bytes")
}
