package redis

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/fencepost-sim/fencepost/sim"
)

// step is an action performed on the node and on a real Redis server: a command on one of the connections, or a wall
// clock change. In a command, #1, #2 … are the connection numbers.
type step struct {
	conn int
	args []string
	move time.Duration
}

func (s step) String() string {
	if s.args == nil {
		return fmt.Sprintf("the clock moves by %v", s.move)
	}
	return fmt.Sprintf("connection %d: %q", s.conn+1, s.args)
}

// rig performs the same steps on a node and on a real Redis server. It compares everything that they send on a
// connection: replies and pushes.
type rig struct {
	t        *testing.T
	server   *realServer
	helper   *realRedis // a separate connection, used to inspect the real Redis
	real     []*realRedis
	ids      []string // the connections' numbers in the real Redis
	cfg      Config
	node     *Node
	strict   bool            // whether pushes must come in the same order
	compared int             // number of commands
	carried  map[string]bool // names of the commands that had at least one reply other than an error
}

func newRig(t *testing.T, connections int) *rig {
	return newRigWith(t, startRealRedis(t), Redis7, connections)
}

// newRigWith returns a rig that compares a node of the given version with a real server.
func newRigWith(t *testing.T, server *realServer, version Version, connections int) *rig {
	cfg := Config{Version: version}
	r := &rig{t: t, server: server, cfg: cfg, node: New(cfg), real: make([]*realRedis, connections),
		ids: make([]string, connections), carried: map[string]bool{}}
	r.helper = r.server.dial()
	r.dial()
	return r
}

func (r *rig) dial() {
	for i := range r.real {
		if r.real[i] != nil {
			_ = r.real[i].conn.Close()
		}
		r.real[i] = r.server.dial()
		r.ids[i] = readable(r.real[i].do("CLIENT", "ID"))
	}
}

// manyClients is the host of a node with several clients. It stores what the node sends to each client.
type manyClients struct {
	*machine
	came []string
}

func (m *manyClients) Push(conn uint64, _ sim.Key, b []byte) { m.came[conn-1] += string(b) }

// waits reports whether the last request on a connection is still unanswered.
func (m *manyClients) waits(conn int) bool {
	c := m.node.conns[uint64(conn+1)]
	return c != nil && c.blocked
}

// waiting returns the number of connections that are waiting.
func (m *manyClients) waiting() (count int) {
	for i := range m.came {
		if m.waits(i) {
			count++
		}
	}
	return count
}

// tied reports whether two waits may end at the same moment. In that case, Redis ends them in memory address order.
func (m *manyClients) tied() bool {
	seen := map[int64]bool{0: true}
	for _, b := range m.node.waiting {
		if b.until > 0 && seen[b.until] {
			return true
		}
		seen[b.until] = true
	}
	return false
}

// ending returns the steps at the end of every test sequence. If there are more than two connections, the last one,
// which never waits, first releases all waiting connections. After that, connections may not receive anything except
// the reply to their final PING.
func (r *rig) ending() (steps []step) {
	last := len(r.real) - 1
	if last > 1 {
		steps = append(steps, step{conn: last, args: []string{"RESET"}}, step{conn: last, args: []string{"FLUSHALL"}})
		for _, name := range []string{"a", "b", "c", "d"} {
			steps = append(steps, step{conn: last, args: strings.Fields("RPUSH " + name + strings.Repeat(" x", 20))})
		}
	}
	for i := range r.real {
		steps = append(steps, step{conn: i, args: []string{"PING", "end"}})
	}
	return steps
}

// play performs the steps on both servers, which are empty at first. It returns the first difference between them, or
// "" if there is none.
func (r *rig) play(steps []step) string {
	for _, c := range r.real {
		c.do("RESET")
	}
	r.helper.do("FLUSHALL")
	r.helper.do("SCRIPT", "FLUSH")
	r.helper.do("FUNCTION", "FLUSH")
	r.helper.do("CONFIG", "SET", "notify-keyspace-events", "")
	r.server.setClock(epoch)
	r.node.Reset(r.cfg)
	m := &manyClients{machine: &machine{wall: epoch, node: r.node, up: true, quiet: true},
		came: make([]string, len(r.real))}
	r.node.Start(m)
	for i, s := range slices.Concat(steps, r.ending()) {
		var trouble string
		if s.args == nil {
			if m.tied() {
				break // the steps that remain cannot be compared
			}
			trouble = r.jump(m, s.move)
		} else {
			trouble = r.sendToBoth(m, s)
		}
		if trouble != "" {
			r.dial() // connect again, since the state of the connections is not known
			return fmt.Sprintf("step %d, %v\n%s", i+1, s, trouble)
		}
	}
	if m.waiting() > 0 { // requests behind waiting ones may be left
		r.dial()
	}
	return ""
}

// jump moves both servers' clocks, so that waits may end, and compares what the servers send as a result. It returns a
// description of the difference, or "" if there is none.
func (r *rig) jump(m *manyClients, by time.Duration) string {
	clear(m.came)
	m.jump(by)
	r.server.setClock(m.wall)
	for i := range r.real {
		if trouble := r.compareNext(m, i, nil, values(m.came[i])); trouble != "" {
			return trouble
		}
	}
	return r.sameWaiting(m)
}

// sendToBoth sends a command to both servers and compares what they send as a result. It returns a description of the
// difference, or "" if there is none.
func (r *rig) sendToBoth(m *manyClients, s step) string {
	r.compared++
	clear(m.came)
	ours, theirs := slices.Clone(s.args), slices.Clone(s.args)
	for i, word := range s.args {
		if number, is := strings.CutPrefix(word, "#"); is && len(number) == 1 {
			ours[i], theirs[i] = number, r.ids[number[0]-'1']
		}
	}
	r.node.Serve(sim.NewIncoming("client-1", uint64(s.conn+1), "client-1/1", ours,
		func(b []byte) { m.came[s.conn] += string(b) }))
	r.real[s.conn].send(theirs...)
	least := 1
	if m.waits(s.conn) {
		least = 0
	}
	if trouble := r.compareNext(m, s.conn, s.args, max(values(m.came[s.conn]), least)); trouble != "" {
		return trouble
	}
	if reply := m.came[s.conn]; reply != "" && reply[0] != '-' && reply != "+QUEUED\r\n" {
		for _, name := range commandNames(strings.Join(s.args, " ")) {
			r.carried[name] = true
		}
	}
	for i := range r.real {
		if i == s.conn {
			continue
		}
		if trouble := r.compareNext(m, i, nil, values(m.came[i])); trouble != "" {
			return trouble
		}
	}
	return r.sameWaiting(m)
}

// compareNext compares the next values that the node and Redis have sent on a connection. count is the number of
// values. args is the command that was sent on the connection, if any. It returns a description of the difference, or
// "" if there is none.
func (r *rig) compareNext(m *manyClients, conn int, args []string, count int) string {
	got := m.came[conn]
	want, err := r.real[conn].await(count)
	alike := got == want
	switch {
	case args != nil:
		alike = sameStream(args, got, want)
	case !r.strict:
		alike = sameReply([]string{"PUBLISH"}, got, want)
	}
	if err != nil || !alike {
		return fmt.Sprintf("on connection %d the node says %q\nand Redis          %q (%v)", conn+1, got, want, err)
	}
	return ""
}

// sameWaiting waits until the real Redis server has as many waiting connections as the node. Until then, no other
// connection may send anything.
func (r *rig) sameWaiting(m *manyClients) string {
	want := m.waiting()
	if want == 0 {
		return ""
	}
	for range 1000 {
		if strings.Contains(r.helper.do("INFO", "clients"), fmt.Sprintf("\r\nblocked_clients:%d\r\n", want)) {
			return ""
		}
	}
	return fmt.Sprintf("%d connections of the node wait, of Redis %s", want, r.helper.do("INFO", "clients"))
}

// values returns the number of RESP values in s.
func values(s string) (count int) {
	for ; s != ""; count++ {
		_, s = render(s)
	}
	return count
}

// differ runs the steps on both servers. If the servers differ, the test fails and reports a shortened list of steps
// that still shows the difference.
func (r *rig) differ(steps []step) {
	r.t.Helper()
	first := r.play(steps)
	if first == "" {
		return
	}
	steps = shrink(steps, func(fewer []step) bool { return r.play(fewer) != "" })
	var list []string
	for _, s := range steps {
		list = append(list, s.String())
	}
	r.t.Fatalf("%s\nat first %s\nafter all of\n%s", r.play(steps), first, strings.Join(list, "\n"))
}

// shrink removes as many steps as it can. It tries to remove halves first, and single steps last.
func shrink(steps []step, fails func([]step) bool) []step {
	for smaller := true; smaller; {
		smaller = false
		for size := max(len(steps)/2, 1); size > 0; size /= 2 {
			for i := 0; i+size <= len(steps); {
				if fewer := slices.Delete(slices.Clone(steps), i, i+size); fails(fewer) {
					steps, smaller = fewer, true
				} else {
					i += size
				}
			}
		}
	}
	return steps
}

func TestDifferencesAreShrunkToTheStepsThatShowThem(t *testing.T) {
	var steps []step
	for i := range 100 {
		steps = append(steps, step{conn: i})
	}
	has := func(list []step, conn int) bool {
		return slices.ContainsFunc(list, func(s step) bool { return s.conn == conn })
	}
	got := shrink(steps,
		func(list []step) bool { return has(list, 17) && has(list, 80) || has(list, 3) && len(list) > 90 })
	if len(got) != 2 || got[0].conn != 17 || got[1].conn != 80 {
		t.Errorf("left are %v", got)
	}
}
