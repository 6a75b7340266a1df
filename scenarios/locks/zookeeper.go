package locks

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/fencepost-sim/fencepost/checker/history"
	"github.com/fencepost-sim/fencepost/scenarios/format"
	"github.com/fencepost-sim/fencepost/sim"
	"github.com/fencepost-sim/fencepost/sim/zookeeper"
)

// ZooKeeper is the lock recipe from ZooKeeper's documentation: clients create ephemeral sequential znodes, and the
// client with the lowest znode holds the lock.
const ZooKeeper Protocol = "zookeeper"

// The smallest and largest session timeouts that an ensemble grants. By default, minSessionTimeout and
// maxSessionTimeout are 2 and 20 ticks of 2 s.
const (
	LeastSession = 4 * time.Second
	MostSession  = 40 * time.Second
)

func init() {
	Register(&Definition{
		Name: ZooKeeper, Place: 7, Service: history.ZooKeeper,
		Text: "an ephemeral sequential znode; the client with the lowest one holds the lock; " +
			"the czxid of the znode is the fencing token",
		Backend: OnZooKeeper, Several: true, Expires: true, Renews: true, Tokens: true,
		Settings: slices.Concat([]Setting{
			ttlKey.With(func(f *format.Form) {
				f.Least, f.Most, f.Step = int64(LeastSession), int64(MostSession), int64(time.Millisecond)
			}),
			retryKey, retryDelay, retryPatience, timeoutKey.Standing(format.Value{N: int64(time.Second)}),
			releaseOnFailure.Standing(format.Value{Word: "on"}),
			format.Only(reentrantKey, CountedReentry, UncountedReentry),
		}, ownSettings(zooKeeperKeys...), []Setting{permitsKey, sharedKey}),
		Without: withoutRedis(ZooKeeper, "session"),
		make:    func(r requester) protocol { return &zooKeeper{requester: r, own: ownOf[zooKeeperConfig](r.config)} },
		Measures: func(c *Config) []history.Measure {
			// Deleting a znode by name is an owner check, because no other client's znode has this name.
			list := []history.Measure{history.ElapsedCheck, history.OwnerCheck}
			own := ownOf[zooKeeperConfig](c)
			if own.names == markedNames {
				list = append(list, history.OwnValue)
			}
			if own.tokenFrom == ownNode {
				list = append(list, history.GrantToken)
			}
			if own.listener == stopsAtOnce {
				list = append(list, history.StopWhenLost)
			}
			return list
		},
		Alike:   map[string]string{"permits": permitsAlike},
		Refused: refusedOfZooKeeper,
		badName: badPath("znode of ZooKeeper"),
		clash: func(a, b history.Lock) string {
			if !strings.HasPrefix(string(b), string(a)+"/") {
				return ""
			}
			return fmt.Sprintf("the requests for lock %s are the children of its znode, "+
				"and lock %s would be among them: rename %[2]s, for example to %[3]s",
				a, b, strings.ReplaceAll(string(b), "/", "-"))
		},
	})
}

// refusedOfZooKeeper returns settings that cannot be combined with several permits.
func refusedOfZooKeeper(c *Config, _ int) (list []Refusal) {
	if c.Permits > 1 {
		if c.Shared {
			list = append(list, Refusal{"shared", "a semaphore with several permits has no readers and writers: " +
				"remove `shared` or `permits`"})
		}
		if ownOf[zooKeeperConfig](c).watch == lowest {
			list = append(list, Refusal{"watch", "a client that waits for one of several permits watches the folder, " +
				"because any holder may leave next: remove `watch`"})
		}
	}
	return list
}

// badPath returns a function that explains why a name is not allowed and suggests another name. object says what kind
// of object is being named. No part of a path may be empty, "." or "..". ZooKeeper rejects such a path
// (PathUtils.validatePath), and a Go HTTP server redirects the client to a different path.
func badPath(object string) func(name history.Lock) (problem, right string) {
	return func(name history.Lock) (problem, right string) { return badPathOf(object, name) }
}

func badPathOf(object string, name history.Lock) (problem, right string) {
	parts := strings.Split(string(name), "/")
	good := slices.DeleteFunc(slices.Clone(parts),
		func(part string) bool { return part == "" || part == "." || part == ".." })
	if len(good) == len(parts) {
		return "", ""
	}
	problem = fmt.Sprintf("no %s can have the name %q: each part between slashes must be a name other than . "+
		"and ..", object, name)
	if right = strings.Join(good, "/"); right == "" {
		problem += ": write a name such as lock"
	}
	return problem, right
}

// zooKeeperConfig contains the settings that only this protocol has.
type zooKeeperConfig struct {
	watch     watching   // default predecessor
	tokenFrom tokenFrom  // default own-node
	names     nodeNaming // default marked
	// checkSession makes a client that finds its own znode check whether the session that created it is still alive.
	// Without this check, the znode may vanish along with that session while the client believes that it holds the lock
	// (curator 1121). Default: on.
	checkSession bool
	listener     listening // what a client does when its connection is suspended; default off
}

// watching determines which znode a waiting ZooKeeper client watches.
type watching string

const (
	predecessor watching = "predecessor" // the znode just before its own, so that a release wakes one client
	lowest      watching = "lowest"      // the lowest znode, so that a release wakes all clients (herd effect)
)

// tokenFrom determines what a ZooKeeper client uses as its fencing token.
type tokenFrom string

const (
	ownNode tokenFrom = "own-node" // the czxid of its own znode
	// the token is the folder's czxid, which is the same for all holders (youngju.dev)
	parentNode tokenFrom = "parent-node"
)

// nodeNaming determines how a ZooKeeper client names its znodes.
type nodeNaming string

const (
	markedNames nodeNaming = "marked" // a unique mark and a number, as with Curator's protection
	// names without a unique mark; the last client to release the lock removes the parent znode, and numbers start over
	// (zk-ruby 34)
	bareNames nodeNaming = "bare"
)

// listening determines what a ZooKeeper client does when its connection is suspended.
type listening string

const (
	notListening listening = "off"
	stopsAtOnce  listening = "on" // it treats the lock as lost
	// the client pauses its work, and acquires the lock again after reconnecting (youngju.dev)
	takesAnew listening = "reacquire"
)

var zooKeeperKeys = []format.Key[zooKeeperConfig]{
	format.Choice("watch", func(c *zooKeeperConfig) *watching { return &c.watch },
		"which znode a waiting client watches. `predecessor`: the one before its own; "+
			"`lowest`: the lowest, so that a release wakes all clients (herd effect)",
		format.Options(predecessor, lowest)...),
	format.Choice("token", func(c *zooKeeperConfig) *tokenFrom { return &c.tokenFrom },
		"the fencing token: "+
			"the czxid of the client's own znode, or that of its parent, which is the same for all clients",
		format.Options(ownNode, parentNode)...),
	format.Choice("names", func(c *zooKeeperConfig) *nodeNaming { return &c.names },
		"the names of znodes. "+
			"`marked`: a unique mark and a number; `bare`: only a number. "+
			"With `bare`, the last client to release removes the parent znode and the numbers start over, "+
			"so a release in a later session may delete another client's znode (zk-ruby 34)",
		format.Options(markedNames, bareNames)...),
	format.Switch("check-session", func(c *zooKeeperConfig) *bool { return &c.checkSession }, true,
		"after a broken connection, accept the client's own znode only if the session that created it is alive; "+
			"`off`: also accept a znode of a session that is about to expire (curator 1121)"),
	format.Choice("listener", func(c *zooKeeperConfig) *listening { return &c.listener },
		"what a client does when its connection is suspended. "+
			"`off`: nothing; `on`: it considers the lock lost and stops; "+
			"`reacquire`: it pauses its work, and takes the lock again when it is reconnected",
		format.Options(notListening, stopsAtOnce, takesAnew)...),
}

// zooKeeper is the lock recipe from ZooKeeper's documentation. Each client creates an ephemeral sequential znode in the
// lock's folder, and the lowest znode holds the lock. With Readers, readers wait for the next lower writer, and writers
// wait for the next lower znode of any kind. With n permits, the n lowest znodes hold the lock, and a waiting client
// watches the folder.
type zooKeeper struct {
	requester
	own    zooKeeperConfig
	client *zookeeper.Client // shared by all locks of the Library
}

// zooKeeperHold is a Hold with the data that only this protocol needs.
type zooKeeperHold struct {
	Hold
	node  znode
	taken bool // this attempt has found that another client has the lock
}

// znode represents a client's request for the lock.
type znode struct {
	path    string
	session *zookeeper.Session
	token   history.Token
}

// open connects the client to the ensemble, once for all of its locks.
func (l *zooKeeper) open(env sim.Env) {
	if l.library.zooKeeper == nil {
		l.library.zooKeeper = zookeeper.OpenClient(env, zookeeper.ClientConfig{
			Members: l.config.Servers, First: l.config.First, Timeout: l.config.TTL, CallTimeout: l.config.Timeout,
			Backoff: sim.Delay{Lo: 10 * time.Millisecond, Hi: 100 * time.Millisecond}, CountsTimeout: true,
			Prolonged: func(env sim.Env, s *zookeeper.Session) {
				l.library.prolonged(env, s.Deadline(),
					func(h *Hold) bool { return h.own.(*zooKeeperHold).node.session == s })
			},
		})
	}
	l.client = l.library.zooKeeper
}

// Acquire waits in line until no lower znode excludes the client's own.
func (l *zooKeeper) Acquire(env sim.Env) (*Hold, error) {
	l.open(env)
	start := env.Monotonic()
	attempt, mark := l.next(env)
	env.Point(sim.AcquireStart)
	h := &zooKeeperHold{Hold: Hold{Attempt: attempt, value: mark}}
	h.own = h
	h.Grant.Since = env.Mark()
	for {
		left := l.config.left(env, start)
		if left <= 0 || !l.client.Await(env, left) {
			l.withdraw(env, h)
			return nil, ErrPatience
		}
		if !l.own.checkSession && h.node.path != "" {
			h.node.session = l.client.Session() // accept a znode even if its session is ending
		}
		if h.node.session != l.client.Session() || h.node.path == "" {
			if !l.enqueue(env, h) {
				continue
			}
		}
		if first, err := l.isFirst(env, h, left); err != nil && l.mayBeGone(h, err) {
			h.node = znode{}
		} else if err == nil && first && l.client.State() == zookeeper.Connected && l.granted(env, h) {
			return &h.Hold, nil
		}
	}
}

// mayBeGone reports whether a waiting client must create a new znode. This is the case if its session has ended, or if
// its znode is gone although the session is alive. The latter can happen if another client deleted the znode by
// mistake, or if the znode belonged to the previous session.
func (l *zooKeeper) mayBeGone(h *zooKeeperHold, err error) bool {
	if l.own.names == markedNames && l.own.checkSession {
		return h.node.session.Lost().Raised()
	}
	return err == zookeeper.NoNode || l.own.checkSession && h.node.session.Lost().Raised()
}

// granted records the grant in h. If, by the client's own clock, the session may have ended, granted waits for a retry
// delay and returns false.
func (l *zooKeeper) granted(env sim.Env, h *zooKeeperHold) bool {
	env.Point(sim.QuorumReached)
	if d := h.node.session.Deadline(); d.At <= read(env, d.Clock) {
		env.Sleep(Draw(env, l.config.Retry))
		return false
	}
	h.Token = h.node.token
	h.Grant.Granted, h.Grant.Counted = env.Mark(), l.config.Servers
	h.Grant.Until = h.node.session.Deadline()
	h.Ends = []*sim.Signal{h.node.session.Lost()}
	switch l.own.listener {
	case stopsAtOnce:
		h.Ends = append(h.Ends, l.client.Suspended())
	case takesAnew:
		h.Suspended = l.client.Suspended()
	}
	l.library.keep(&h.Hold)
	env.Point(sim.ValidityChecked)
	return true
}

// kind returns the name prefix of the client's znodes.
func (l *zooKeeper) kind() string {
	switch {
	case !l.config.Readers:
		return "lock"
	case l.config.Shared:
		return "read"
	default:
		return "write"
	}
}

func (l *zooKeeper) folder() string { return zookeeper.LocksFolder + string(l.config.Key) }

// name returns the name of an attempt's znode, without its number, and the znode's data. Either the name or the data
// identifies the attempt.
func (l *zooKeeper) name(h *zooKeeperHold) (name, data string) {
	if l.own.names == bareNames {
		return l.kind() + "-", h.value
	}
	return l.kind() + "-" + h.value + "-", ""
}

// enqueue creates the client's znode. If an earlier request by the attempt did not get a reply but created the znode,
// enqueue finds that znode. It returns false if the caller must try again.
func (l *zooKeeper) enqueue(env sim.Env, h *zooKeeperHold) bool {
	session := l.client.Session()
	name, data := l.name(h)
	path, stat, err := l.client.Create(env, h.Attempt, l.folder()+"/"+name, data, zookeeper.EphemeralSequential)
	for unanswered(err) {
		l.client.Await(env, sim.Forever)
		if l.client.Session() != session {
			return false
		}
		path, stat, err = l.find(env, h, session)
	}
	if err == zookeeper.NoNode {
		l.makeFolder(env, h)
		return false
	}
	if err != nil {
		return false
	}
	h.node = znode{path: path, session: session, token: history.Token(stat.Czxid)}
	if l.own.tokenFrom == parentNode {
		parent, err := l.client.Exists(env, h.Attempt, l.folder(), nil)
		h.node.token = history.Token(parent.Czxid)
		return err == nil
	}
	return true
}

// unanswered reports whether the request may have been carried out even though it failed with err.
func unanswered(err error) bool {
	return err == zookeeper.ConnectionLoss || err == zookeeper.OperationTimeout
}

// find looks for the client's own znode by the unique mark in its name or its data. With checkSession, it ignores a
// znode from an earlier session, because that znode is about to vanish (Curator's ProtectedMode.validateFoundNode).
func (l *zooKeeper) find(env sim.Env, h *zooKeeperHold, session *zookeeper.Session) (string, zookeeper.Stat, error) {
	names, _, err := l.client.Children(env, h.Attempt, l.folder(), nil)
	if err != nil {
		return "", zookeeper.Stat{}, err
	}
	own, mark := l.name(h)
	for _, name := range names {
		if !strings.HasPrefix(name, own) {
			continue
		}
		path := l.folder() + "/" + name
		data, stat, err := l.client.GetData(env, h.Attempt, path, nil)
		if err != nil || data == mark && (stat.EphemeralOwner == session.ID || !l.own.checkSession) {
			return path, stat, err
		}
	}
	return "", zookeeper.Stat{}, zookeeper.NoNode
}

func (l *zooKeeper) makeFolder(env sim.Env, h *zooKeeperHold) {
	parts := strings.Split(strings.Trim(l.folder(), "/"), "/")
	for i := range parts {
		l.client.Create(env, h.Attempt, "/"+strings.Join(parts[:i+1], "/"), "", zookeeper.Persistent)
	}
}

// isFirst reports whether the client holds the lock. If it does not, isFirst waits until that may have changed.
func (l *zooKeeper) isFirst(env sim.Env, h *zooKeeperHold, patience time.Duration) (bool, error) {
	if l.config.Permits > 1 {
		return l.admitted(env, h, patience)
	}
	names, _, err := l.client.Children(env, h.Attempt, l.folder(), nil)
	if err != nil {
		return false, err
	}
	before, there := l.ahead(names, h)
	switch {
	case !there:
		return false, zookeeper.NoNode
	case before == "":
		return true, nil
	}
	l.library.counted(!h.taken)
	h.taken = true
	var w zookeeper.Watch
	if _, err = l.client.Exists(env, h.Attempt, l.folder()+"/"+before, &w); err != nil {
		l.client.Unwatch(&w)
		if err == zookeeper.NoNode {
			err = nil
		}
		return false, err
	}
	l.await(env, h, &w, patience)
	return false, nil
}

// await waits until watch w fires, the client's session is lost or patience runs out.
func (l *zooKeeper) await(env sim.Env, h *zooKeeperHold, w *zookeeper.Watch, patience time.Duration) {
	env.Sleep(patience, w.Fired(), h.node.session.Lost())
	if w.Event().Type != zookeeper.None {
		env.Record(history.Event{Type: history.Info, F: history.Woken, Lock: l.config.Key, Attempt: h.Attempt})
	}
}

// admitted is like isFirst, but for a lock with several permits. It reports whether the number of znodes with a lower
// sequence number than the client's own is less than the number of permits.
func (l *zooKeeper) admitted(env sim.Env, h *zooKeeperHold, patience time.Duration) (bool, error) {
	var w zookeeper.Watch
	names, _, err := l.client.Children(env, h.Attempt, l.folder(), &w)
	if err != nil {
		return false, err
	}
	own, _ := zookeeper.Sequence(h.node.path)
	there, lower := false, 0
	for _, name := range names {
		n, _ := zookeeper.Sequence(name)
		if there = there || n == own; n < own {
			lower++
		}
	}
	if !there || lower < l.config.Permits {
		l.client.Unwatch(&w)
		if !there {
			return false, zookeeper.NoNode
		}
		return true, nil
	}
	l.library.counted(!h.taken)
	h.taken = true
	l.await(env, h, &w, patience)
	return false, nil
}

// ahead returns the znode that the client should watch, or "" if there is none. Usually this is the nearest znode
// before the client's own that excludes the client. If the lock is configured so that all waiting clients watch the
// same znode (a herd), it is the lowest one. The result there says whether the client's own znode still exists.
func (l *zooKeeper) ahead(names []string, h *zooKeeperHold) (before string, there bool) {
	own, _ := zookeeper.Sequence(h.node.path)
	number := int64(-1)
	for _, name := range names {
		n, _ := zookeeper.Sequence(name)
		there = there || n == own
		blocks := !(l.config.Readers && l.config.Shared && strings.HasPrefix(name, "read-"))
		if n < own && blocks && (number < 0 || (n < number) == (l.own.watch == lowest)) {
			before, number = name, n
		}
	}
	return before, there
}

// withdraw removes the client's znode from the line, if the client is configured to do so. If there is no reply, it
// keeps trying in the background while the session is alive, because otherwise all other clients would have to wait
// behind this znode (Curator's guaranteed deletion).
func (l *zooKeeper) withdraw(env sim.Env, h *zooKeeperHold) {
	if !l.config.ReleaseOnFailure {
		return
	}
	c, node := l.client, h.node
	remove := func(env sim.Env) (done bool) {
		return node.session != c.Session() || !unanswered(c.Delete(env, h.Attempt, node.path, zookeeper.AnyVersion))
	}
	if node.path == "" || remove(env) {
		return
	}
	env.Go("withdrawal", func(env sim.Env) {
		for c.Await(env, sim.Forever) && !remove(env) {
		}
	})
}

// Extend does nothing, because the session keeps the znode alive.
func (l *zooKeeper) Extend(sim.Env, *Hold) error { return nil }

// Release deletes the client's znode if the session may still be alive. If a request did not get a reply and the znode
// is gone afterwards, that request deleted it. If znode names are bare (without a unique mark), Release deletes the
// znode no matter which session created it, and also deletes the folder if it is empty.
func (l *zooKeeper) Release(env sim.Env, hold *Hold) Answer {
	l.library.drop(hold)
	h := hold.own.(*zooKeeperHold)
	bare, tried := l.own.names == bareNames, false
	for bare || h.node.session == l.client.Session() {
		err := l.client.Delete(env, h.Attempt, h.node.path, zookeeper.AnyVersion)
		if bare && err == nil {
			l.client.Delete(env, h.Attempt, l.folder(), zookeeper.AnyVersion)
		}
		switch err {
		case nil:
			return Confirmed
		case zookeeper.NoNode:
			if tried {
				return Confirmed
			}
			return Denied
		}
		tried = tried || unanswered(err)
		if !l.client.Await(env, l.config.TTL) {
			break
		}
	}
	if tried {
		return Unanswered
	}
	return Denied
}

// Close ends the session.
func (l *zooKeeper) Close(env sim.Env) {
	if c := l.library.zooKeeper; c != nil {
		l.library.zooKeeper = nil
		c.Close(env)
	}
}
