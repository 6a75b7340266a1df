package zookeeper_test

import (
	"fmt"
	"strings"
	"time"

	"github.com/fencepost-sim/fencepost/checker/history"
	"github.com/fencepost-sim/fencepost/sim"
	"github.com/fencepost-sim/fencepost/sim/zookeeper"
)

// recipe describes how a client acquires a lock.
type recipe struct {
	name  string // name of the lock
	kind  string // "lock", "read" or "write"
	herd  bool   // watch the lowest blocking node instead of the highest
	wakes *int   // number of times that waiting clients were woken
}

// hold is a place in line for the lock.
type hold struct {
	path    string
	token   history.Token
	session *zookeeper.Session
}

// blocks reports whether this client has to wait because of an earlier node that belongs to another client. Read
// requests do not block each other.
func (r *recipe) blocks(earlier string) bool {
	return r.kind != "read" || !strings.HasPrefix(earlier, "read-")
}

// acquire waits until no other client's node blocks this client's.
func (r *recipe) acquire(env sim.Env, c *zookeeper.Client, attempt history.Attempt) *hold {
	mark := fmt.Sprintf("%s-%08x-", r.kind, uint32(env.Rand()))
	var h *hold
	for {
		c.Await(env, sim.Forever)
		if h == nil || h.session != c.Session() {
			if h = r.enqueue(env, c, attempt, mark); h == nil {
				continue
			}
		}
		first, err := r.holdsLock(env, c, attempt, h)
		switch {
		case err != nil && h.session.Lost().Raised():
			h = nil
		case err == nil && first && c.State() == zookeeper.Connected:
			return h
		}
	}
}

// enqueue creates the client's node. If the reply to an earlier request was lost, it uses the node created by that
// request.
func (r *recipe) enqueue(env sim.Env, c *zookeeper.Client, attempt history.Attempt, mark string) *hold {
	folder, session := zookeeper.LocksFolder+r.name, c.Session()
	path, stat, err := c.Create(env, attempt, folder+"/"+mark, "", zookeeper.EphemeralSequential)
	for err == zookeeper.ConnectionLoss || err == zookeeper.OperationTimeout {
		c.Await(env, sim.Forever)
		if c.Session() != session {
			return nil
		}
		var names []string
		if names, _, err = c.Children(env, attempt, folder, nil); err != nil {
			continue
		}
		err = zookeeper.NoNode
		for _, name := range names {
			if strings.HasPrefix(name, mark) {
				path = folder + "/" + name
				stat, err = c.Exists(env, attempt, path, nil)
			}
		}
	}
	switch {
	case err == zookeeper.NoNode:
		_, _, _ = c.Create(env, attempt, strings.TrimSuffix(zookeeper.LocksFolder, "/"), "", zookeeper.Persistent)
		_, _, _ = c.Create(env, attempt, folder, "", zookeeper.Persistent)
		return nil
	case err != nil:
		return nil
	}
	return &hold{path: path, token: history.Token(stat.Czxid), session: session}
}

// holdsLock reports whether the attempt holds the lock. If it does not, holdsLock waits for an event that may change
// this, and then returns false.
func (r *recipe) holdsLock(env sim.Env, c *zookeeper.Client, attempt history.Attempt, h *hold) (bool, error) {
	var w zookeeper.Watch
	folder := zookeeper.LocksFolder + r.name
	names, _, err := c.Children(env, attempt, folder, nil)
	if err != nil {
		return false, err
	}
	own, _ := zookeeper.Sequence(h.path)
	before, number, there := "", int64(-1), false
	for _, name := range names {
		n, _ := zookeeper.Sequence(name)
		there = there || n == own
		if n < own && r.blocks(name) && (number < 0 || (n < number) == r.herd) {
			before, number = name, n
		}
	}
	switch {
	case !there:
		return false, zookeeper.NoNode
	case before == "":
		return true, nil
	}
	if _, err = c.Exists(env, attempt, folder+"/"+before, &w); err == zookeeper.NoNode {
		c.Unwatch(&w)
		return false, nil
	} else if err != nil {
		return false, err
	}
	env.Sleep(sim.Forever, w.Fired(), h.session.Lost())
	if r.wakes != nil && w.Event().Type != zookeeper.None {
		*r.wakes++
	}
	return false, nil
}

func (r *recipe) release(env sim.Env, c *zookeeper.Client, attempt history.Attempt, h *hold) bool {
	for h.session == c.Session() {
		err := c.Delete(env, attempt, h.path, zookeeper.AnyVersion)
		if err == nil || err == zookeeper.NoNode {
			return err == nil
		}
		if !c.Await(env, 30*time.Second) {
			return false
		}
	}
	return false
}

// worker acquires a lock repeatedly. It records its actions as an outside observer would see them.
type worker struct {
	recipe
	client   zookeeper.ClientConfig
	cycles   int
	hold     time.Duration
	listens  bool // stops working when the client is suspended
	attempts int
	member   *zookeeper.Client
	stay     bool // does not close the session at the end
}

func (k *worker) main(env sim.Env) {
	var held *hold
	var attempt history.Attempt
	k.client.Prolonged = func(env sim.Env, s *zookeeper.Session) {
		if held != nil && held.session == s {
			env.RecordGrant(k.event(history.OK, history.Extend, attempt, held), k.grant(env, env.Mark(), held))
		}
	}
	k.member = zookeeper.OpenClient(env, k.client)
	for range k.cycles {
		k.attempts++
		attempt = history.Attempt(fmt.Sprintf("%s/%d", env.Name(), k.attempts))
		env.Record(k.event(history.Invoke, history.Acquire, "", nil))
		env.Point(sim.AcquireStart)
		since := env.Mark()
		h := k.acquire(env, k.member, attempt)
		env.RecordGrant(k.event(history.OK, history.Acquire, attempt, h), k.grant(env, since, h))
		held = h
		env.Point(sim.Acquired)
		if k.listens {
			if env.Sleep(k.hold, k.member.Suspended(), h.session.Lost()) {
				env.Record(k.event(history.Info, history.Lost, attempt, h))
			}
		} else {
			env.Sleep(k.hold)
		}
		held = nil
		env.Point(sim.BeforeRelease)
		e := k.event(history.Invoke, history.Release, attempt, h)
		env.Record(e)
		if e.Type = history.Fail; k.release(env, k.member, attempt, h) {
			e.Type = history.OK
		}
		env.Record(e)
	}
	if !k.stay {
		k.member.Close(env)
	}
}

func (k *worker) event(t history.Type, f history.F, attempt history.Attempt, h *hold) history.Event {
	e := history.Event{Type: t, F: f, Lock: history.Lock(k.name), Attempt: attempt,
		Shared: f == history.Acquire && k.kind == "read"}
	if h != nil {
		e.Token = h.token
	}
	return e
}

func (k *worker) grant(env sim.Env, since sim.Mark, h *hold) sim.Grant {
	return sim.Grant{Since: since, Granted: env.Mark(), Until: h.session.Deadline(), Counted: k.client.Members}
}
