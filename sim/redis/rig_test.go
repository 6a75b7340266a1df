package redis

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/fencepost-sim/fencepost/sim"
)

// step is one thing that is done to the node and to a real Redis: a command on one of two connections, or a move of the
// wall clock.
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

// rig does the same to a node and to a real Redis. All that comes on a connection is compared, replies and pushes
// alike.
type rig struct {
	t        *testing.T
	server   *realServer
	real     [2]*realRedis
	node     *Node
	compared int // commands
}

func newRig(t *testing.T) *rig {
	r := &rig{t: t, server: startRealRedis(t), node: New(Config{})}
	r.dial()
	return r
}

func (r *rig) dial() {
	for i := range r.real {
		if r.real[i] != nil {
			_ = r.real[i].conn.Close()
		}
		r.real[i] = r.server.dial()
	}
}

// twoClients is the machine of a node with two clients: what comes to each of them.
type twoClients struct {
	*machine
	came [2]string
}

func (m *twoClients) Push(conn uint64, _ sim.Key, b []byte) { m.came[conn-1] += string(b) }

// play does the steps to both from an empty start, and says in which way they differ first; "" if they do not.
func (r *rig) play(steps []step) string {
	for _, c := range r.real {
		c.do("RESET")
	}
	r.real[0].do("FLUSHALL")
	r.real[0].do("SCRIPT", "FLUSH")
	r.server.setClock(epoch)
	r.node.Reset(Config{})
	m := &twoClients{machine: &machine{wall: epoch, node: r.node, up: true, quiet: true}}
	r.node.Start(m)
	// nothing else is to come
	last := []step{{conn: 0, args: []string{"PING", "end"}}, {conn: 1, args: []string{"PING", "end"}}}
	for i, s := range slices.Concat(steps, last) {
		if s.args == nil {
			m.jump(s.move)
			r.server.setClock(m.wall)
			continue
		}
		if trouble := r.both(m, s); trouble != "" {
			r.dial() // what is left on these is not known
			return fmt.Sprintf("step %d, %v\n%s", i+1, s, trouble)
		}
	}
	return ""
}

// both has both carry out a command.
func (r *rig) both(m *twoClients, s step) string {
	r.compared++
	m.came = [2]string{}
	r.node.Serve(sim.NewIncoming("client-1", uint64(s.conn+1), "client-1/1", s.args,
		func(b []byte) { m.came[s.conn] += string(b) }))
	for _, i := range []int{s.conn, 1 - s.conn} {
		got, want, err := m.came[i], "", error(nil)
		if i == s.conn {
			want, err = r.real[i].ask(max(values(got), 1), s.args...)
		} else {
			want, err = r.real[i].await(values(got))
		}
		if err != nil || !sameStream(s.args, got, want) && (i == s.conn || !sameReply([]string{"PUBLISH"}, got, want)) {
			return fmt.Sprintf("on connection %d the node says %q\nand Redis          %q (%v)", i+1, got, want, err)
		}
	}
	return ""
}

// values counts the values in a row of them.
func values(s string) (count int) {
	for ; s != ""; count++ {
		_, s = render(s)
	}
	return count
}

// differ plays the steps and, if the two differ, fails with as few steps as still show it.
func (r *rig) differ(steps []step) {
	r.t.Helper()
	if r.play(steps) == "" {
		return
	}
	steps = shrink(steps, func(fewer []step) bool { return r.play(fewer) != "" })
	var list []string
	for _, s := range steps {
		list = append(list, s.String())
	}
	r.t.Fatalf("%s\nafter all of\n%s", r.play(steps), strings.Join(list, "\n"))
}

// shrink takes away whatever steps it can, halves first and single ones last, until it can spare none.
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
