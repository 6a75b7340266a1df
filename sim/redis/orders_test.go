package redis

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/fencepost-sim/fencepost/checker/history"
	"github.com/fencepost-sim/fencepost/sim"
)

// clientPause begins or ends a client pause.
func (m *machine) clientPause(of *history.Fault, begin bool) {
	m.node.Fault(sim.ServerFault{Kind: sim.ClientPause, Begin: begin, Pause: of})
	m.sleep(0)
}

// answers reports whether the node answers a request immediately.
func (m *machine) answers() bool {
	reply := m.send("client-1/1", "PING")
	m.sleep(0)
	return *reply != ""
}

// TestAClientPauseEndsWithItsLastOne checks that requests wait until all active client pauses have ended, and are then
// executed.
func TestAClientPauseEndsWithItsLastOne(t *testing.T) {
	m := newMachine(Config{})
	first, second := new(history.Fault), new(history.Fault)
	m.clientPause(first, true)
	reply := m.send("client-1/1", "SET", "key", "value")
	m.clientPause(second, true)
	m.clientPause(first, false)
	if m.sleep(time.Second); *reply != "" {
		t.Fatalf("during the second pause: %q", *reply)
	}
	m.clientPause(second, false)
	if *reply != "+OK\r\n" || !m.answers() {
		t.Errorf("after both pauses: %q", *reply)
	}
}

// TestACrashEndsAClientPause checks that a client pause (CLIENT PAUSE) ends when the node's process crashes, and that
// its scheduled end does not end another pause that has begun in the meantime.
func TestACrashEndsAClientPause(t *testing.T) {
	for name, end := range map[string]func(m *machine, first, second *history.Fault){
		"the end comes while the node is down": func(m *machine, first, second *history.Fault) {
			m.stop(sim.PowerLoss)
			m.clientPause(first, false)
			m.start()
			m.clientPause(second, true)
		},
		"the end comes after the restart": func(m *machine, first, second *history.Fault) {
			m.stop(sim.PowerLoss)
			m.start()
			m.clientPause(second, true)
			m.clientPause(first, false)
		},
		"the end has come when the node crashes, but the event loop has not run": func(m *machine,
			first, second *history.Fault) {
			m.node.Fault(sim.ServerFault{Kind: sim.ClientPause, Pause: first})
			m.stop(sim.PowerLoss)
			m.start()
			m.clientPause(second, true)
		},
		"the pause begins while the node is down": func(m *machine, first, second *history.Fault) {
			m.stop(sim.PowerLoss)
			m.clientPause(new(history.Fault), true)
			m.start()
			if !m.answers() {
				t.Error("a node that was down is paused")
			}
			m.clientPause(second, true)
		},
	} {
		m := newMachine(Config{})
		first, second := new(history.Fault), new(history.Fault)
		m.clientPause(first, true)
		end(m, first, second)
		if m.answers() {
			t.Errorf("%s: the second pause is not in force", name)
		}
		m.clientPause(second, false)
		if !m.answers() {
			t.Errorf("%s: the node is still paused after the second pause", name)
		}
	}
}

// TestAPostponedRequestEndsWithItsConnection checks that a request that a client pause has delayed is dropped if the
// node closes the connection during the pause.
func TestAPostponedRequestEndsWithItsConnection(t *testing.T) {
	m := newMachine(Config{Replicas: []sim.ProcessID{"redis-2"}})
	m.do("client-1/1", "SET key value")
	waited := m.send("client-1/1", "WAIT", "1", "0")
	m.clientPause(new(history.Fault), true)
	late := "pending"
	m.node.Serve(sim.NewIncoming("client-1", 1, "client-1/2", []string{"GET", "key"},
		func(b []byte) { late = string(b) }))
	m.node.Fault(sim.ServerFault{Kind: sim.FailOver, To: "redis-2"})
	m.sleep(0)
	if !strings.HasPrefix(*waited, "-UNBLOCKED ") || late != "" {
		t.Errorf("the request that waited: %q; the one behind it: %q", *waited, late)
	}
}

// TestRemovedKeysAreRecordedWithTheirReason checks that when a key is evicted, or an operator flushes all keys, the
// record of each removed key contains the reason. If a key to be removed does not exist, there must be no record.
func TestRemovedKeysAreRecordedWithTheirReason(t *testing.T) {
	for why, gone := range map[history.Why][]string{history.Evicted: {"a"}, history.FlushedByOperator: {"a", "b"}} {
		m := newMachine(Config{})
		for _, key := range []string{"a", "b"} {
			m.do("client-1/1", "SET "+key+" value PX 10000")
		}
		m.events = nil
		fault := sim.ServerFault{Kind: sim.RemoveKeys, Why: why}
		if why == history.Evicted {
			m.node.Fault(sim.ServerFault{Kind: sim.RemoveKeys, Key: "none", Why: why})
			fault.Key = "a"
		}
		m.node.Fault(fault)
		m.sleep(0)
		var recorded []string
		for _, e := range m.events {
			if e.F != history.KeyGone || e.Why != why || e.By != "" {
				t.Errorf("%s: %+v", why, e)
			}
			recorded = append(recorded, string(e.Lock))
			if got := m.do("client-1/2", "EXISTS "+string(e.Lock)); got != "0" {
				t.Errorf("%s: EXISTS %s: %s", why, e.Lock, got)
			}
		}
		if !slices.Equal(recorded, gone) {
			t.Errorf("%s: recorded %v, want %v", why, recorded, gone)
		}
	}
}
