package locks

import (
	"fmt"
	"slices"
	"time"

	"github.com/fencepost-sim/fencepost/checker/history"
	"github.com/fencepost-sim/fencepost/scenarios/format"
	"github.com/fencepost-sim/fencepost/sim"
)

// Redlock is a lock that requires a majority of independent masters (Sanfilippo, "Distributed locks with Redis"). To
// release it, the client runs a script on every server.
const Redlock Protocol = "redlock"

func init() {
	Register(&Definition{
		Name: Redlock, Place: 5, Service: history.Redlock, Text: "a majority of independent masters", Backend: OnRedis,
		Several: true, Expires: true,
		Settings: slices.Concat(
			[]Setting{ttlKey, retryKey, retryDelay, retryPatience, retryCount, retryClock, patienceEnds, timeoutKey,
				releaseOnFailure.Standing(format.Value{Word: "on"}),
				format.Only(reentrantKey, CountedReentry, UncountedReentry), valueKey, valueInKey, clockKey,
				elapsedCheck,
				driftAllowance.Standing(format.Value{N: 10_000, From: int64(2 * time.Millisecond)}), extensionKey,
				format.Only(extensionMode, ExtendChecked, ExtendAnyAnswer, ExtendIgnoreElapsed, ExtendOrAcquire,
					ExtendExpire,
					ExtendRelease, ExtendUnchecked, ExtendReacquire)}, extensionKeys[1:], []Setting{waitKey}, waitKeys,
			ownSettings(redlockKeys...)),
		Without: map[string]string{
			"release":             "redlock always releases by script, on every server: remove `release`",
			"extension.mode.cas":  "cas is a command of Tair and extends on a single server: use checked",
			"reentrant.overwrite": "overwrite compares the owner, which works on a single server only: use set-nx-px",
		},
		make:   func(r requester) protocol { return &redlock{requester: r, own: ownOf[redlockConfig](r.config)} },
		quorum: func(c *Config) int { return ownOf[redlockConfig](c).quorum },
		complete: func(c *Config, servers int) {
			if o := ownOf[redlockConfig](c); o.quorum == 0 {
				o.quorum = servers/2 + 1
				c.Own = o
			}
		},
		Measures: func(c *Config) []history.Measure {
			if ownOf[redlockConfig](c).contact == parallel {
				return []history.Measure{history.Parallel}
			}
			return nil
		},
		Refused: refusedOfRedlock,
	})
}

// refusedOfRedlock returns refusals for combinations of Redlock settings that contradict each other.
func refusedOfRedlock(c *Config, masters int) (list []Refusal) {
	o := ownOf[redlockConfig](c)
	if masters > 0 && o.quorum > masters {
		list = append(list, Refusal{"quorum",
			fmt.Sprintf("the quorum is %d, but there are only %d servers", o.quorum, masters)})
	}
	if o.asking == askUntilQuorum && o.contact == parallel {
		const why = "with contact: parallel, all servers are asked at once, and none can be skipped: " +
			"remove `ask`, or write contact: sequential"
		list = append(list, Refusal{"ask", why}, Refusal{"contact", why})
	}
	return list
}

// redlockConfig contains the settings that only this protocol has.
type redlockConfig struct {
	contact   contactKind // default sequential
	order     askOrder    // default listed
	quorum    int         // number of servers that form a quorum, from 1 to N; default N/2 + 1
	releaseTo releaseTo   // default all
	asking    asking      // default all
}

// contactKind determines whether a client asks the Redlock servers in sequence or in parallel.
type contactKind string

const (
	sequential contactKind = "sequential" // one after another, as the document lists it
	parallel   contactKind = "parallel"   // all at once, as the document recommends
)

// askOrder determines which server a client asks first if it asks one at a time.
type askOrder string

const (
	listed  askOrder = "listed"  // redis-1 first
	rotated askOrder = "rotated" // client k of n begins after (k-1)/n of the list, to spread the load
)

// releaseTo determines which servers a Redlock client asks when it releases the lock.
type releaseTo string

const (
	// the client asks every server to release the lock, even those that did not grant it, as the document requires
	releaseToAll        releaseTo = "all"
	releaseToGranted    releaseTo = "granted"     // only servers that granted the lock (Grace Collins, step 5)
	releaseToFirstError releaseTo = "first-error" // one after another, until one does not reply (Grace Collins, code)
)

// asking determines how many servers a client asks in an attempt.
type asking string

const (
	askEveryone asking = "all"
	// the client asks one server at a time until enough of them have granted the lock (Grace Collins, step 2)
	askUntilQuorum asking = "until-quorum"
)

// redlockKeys are the settings that determine how a client sends requests to multiple servers.
var redlockKeys = []format.Key[redlockConfig]{
	format.Choice("contact", func(c *redlockConfig) *contactKind { return &c.contact },
		"ask the servers one after another, or all at once", format.Options(sequential, parallel)...),
	format.Choice("order", func(c *redlockConfig) *askOrder { return &c.order },
		"which server a client asks first if it asks them one after another. `listed`: redis-1, as in the document; "+
			"`rotated`: each client begins at a different server", format.Options(listed, rotated)...),
	format.Number("quorum", func(c *redlockConfig) *int { return &c.quorum }, 0, 1, maxServers,
		"how many servers must grant the lock; at most the number of servers").Depending("N / 2 + 1"),
	format.Choice("release-to", func(c *redlockConfig) *releaseTo { return &c.releaseTo },
		"which servers a release asks. `all`: every server, even those that seem not to have granted the lock, "+
			"as in the document; `granted`: only the servers that granted the lock; "+
			"`first-error`: the servers one after another, until one does not reply",
		format.Options(releaseToAll, releaseToGranted, releaseToFirstError)...),
	format.Choice("ask", func(c *redlockConfig) *asking { return &c.asking },
		"which servers an attempt asks. "+
			"`all`: every server; `until-quorum`: one after another, until a quorum has granted the lock",
		format.Options(askEveryone, askUntilQuorum)...),
}

// redlock is the Redlock algorithm (Sanfilippo, "Distributed locks with Redis", steps 1 to 5). Each step that released
// libraries are known to omit can be omitted with a setting.
type redlock struct {
	requester
	masters
	own   redlockConfig
	idle  *ballot      // a ballot to reuse in the next round
	spare *redlockHold // the hold of the last attempt, to reuse if it failed
}

// redlockHold is a Hold with this protocol's additional data.
type redlockHold struct {
	Hold
	granted []sim.ProcessID // the servers that granted the acquisition
	taken   bool            // a server replied that another client has the lock
}

// voter is a server that was the master of its group when the client asked it. A server without replicas is a group of
// its own.
type voter struct {
	server sim.ProcessID
	group  int
}

func serversOf(voters []voter) []sim.ProcessID {
	servers := make([]sim.ProcessID, len(voters))
	for i, v := range voters {
		servers[i] = v.server
	}
	return servers
}

// ballot is one request sent to all servers, along with its outcome. A keepalive task may be sending requests at the
// same time as the worker, so each round has its own ballot.
type ballot struct {
	requests []sim.Request
	of       []voter // the server to which each request was sent
	yes      []voter // the servers that granted the request
	taken    bool    // a server replied that another client has the lock
	settled  int     // number of requests that were sent and have an outcome
	silent   int     // number of servers that did not reply
	refused  int     // number of servers that did not accept the request, or did not carry it out
	env      sim.Env
	says     func(*sim.Reply) bool // reports whether a reply grants the request
	// enough reports whether the remaining servers can be skipped. If it is nil, all servers are asked.
	enough func(*ballot) bool
	next   func(int, *sim.Reply) bool // the method value settle, created once
}

func (l *redlock) Acquire(env sim.Env) (*Hold, error) { return l.retry(env, l.try, sleep) }

// try makes one attempt. It returns nil if it did not get the lock.
func (l *redlock) try(env sim.Env) *Hold {
	attempt, value := l.next(env)
	all := l.spare
	if l.spare = nil; all == nil {
		all = new(redlockHold)
	}
	*all = redlockHold{Hold: Hold{Attempt: attempt, value: value}}
	h := &all.Hold
	h.own = all
	env.Point(sim.AcquireStart)
	l.findMasters(env, l.config)
	if l.acquire(env, h, l.config.TTL) {
		return h
	}
	l.library.counted(all.taken)
	if l.config.ReleaseOnFailure {
		l.left = 0
		l.release(env, h)
	}
	l.spare = all
	return nil
}

// acquire performs steps 1 to 4 of the Redlock document with the given TTL. If it succeeds, it stores a new Grant in h.
func (l *redlock) acquire(env sim.Env, h *Hold, ttl time.Duration) bool {
	r := begin(env, l.config)
	r.ttl = ttl
	env.Point(sim.ClockRead)
	yes := l.askAll(env, h, "set", setArgs(l.config.Key, h.value, millis(ttl)), (*sim.Reply).OK)
	all := h.own.(*redlockHold)
	all.granted, all.taken = serversOf(yes), l.idle.taken
	if yes = l.replicated(env, h, yes); len(yes) < l.own.quorum {
		return false
	}
	r.Counted = all.granted
	if len(yes) < len(all.granted) {
		r.Counted = serversOf(yes)
	}
	env.Point(sim.QuorumReached)
	validity := r.decide(env, l.config)
	if validity <= 0 && l.config.ElapsedCheck {
		return false
	}
	env.Point(sim.ValidityChecked)
	h.Grant = r.Grant
	if !l.config.ElapsedCheck {
		h.Grant.Until.At = read(env, l.config.Clock) + ttl
	}
	return true
}

// Extend extends the keys with a script, or in one of the other ways found in released libraries.
func (l *redlock) Extend(env sim.Env, h *Hold) error {
	x := l.config.Extension
	if x.Limit > 0 && h.extended >= x.Limit {
		return ErrLimit
	}
	h.extended++
	if x.Mode == ExtendReacquire {
		if l.acquire(env, h, x.TTL) {
			return nil
		}
		l.release(env, h)
		return ErrLost
	}
	r := begin(env, l.config)
	r.ttl = x.TTL
	env.Point(sim.ClockRead)
	r.Counted = serversOf(l.askAll(env, h, "extend", x.Mode.args(l.config.Key, h.value, millis(x.TTL)),
		x.Mode.isSuccess))
	validity := r.decide(env, l.config)
	if !x.Mode.ObeysElapsed() {
		validity = x.TTL
		r.Until.At = read(env, l.config.Clock) + validity
	}
	err := l.refusal(len(r.Counted), l.idle, validity)
	switch {
	case err == nil || x.Mode == ExtendUnchecked:
		h.Grant = r.Grant
		return nil
	case x.Mode == ExtendOrAcquire && l.acquire(env, h, x.TTL):
		return nil
	}
	return err
}

// refusal returns an error that says why an extension failed, or nil if it succeeded. yes is the number of servers that
// granted the extension.
func (l *redlock) refusal(yes int, b *ballot, validity time.Duration) error {
	switch {
	case yes+b.silent+b.refused < l.own.quorum:
		return ErrLost
	case yes+b.silent < l.own.quorum:
		return ErrRefused
	case yes < l.own.quorum:
		return ErrUnanswered
	case validity <= 0:
		return ErrLate
	}
	return nil
}

// Release asks the servers to release the lock: unless releaseTo says otherwise, also those that did not grant it.
func (l *redlock) Release(env sim.Env, h *Hold) Answer {
	switch yes, silent, refused := l.release(env, h); {
	case yes >= l.own.quorum:
		return Confirmed
	case yes+silent >= l.own.quorum:
		return Unanswered
	case yes+silent+refused >= l.own.quorum:
		return Refused
	}
	return Denied
}

// Close does nothing.
func (l *redlock) Close(sim.Env) {}

// release asks the servers to release the lock; the releaseTo setting says which. It returns how many released it
// (yes), how many did not reply or were not asked because the release stopped early (silent), and how many replied that
// they had not released it (refused).
func (l *redlock) release(env sim.Env, h *Hold) (yes, silent, refused int) {
	gave := l.askAll(env, h, "release", releaseArgs(l.config.Key, h.value), isOne)
	unasked := len(l.idle.requests) - l.idle.settled // unknown, like those of servers that did not reply
	yes, silent, refused = len(gave), l.idle.silent+unasked, l.idle.refused
	if w := l.config.Wait; w != nil && w.Release {
		l.wait(env, h, gave)
	}
	return yes, silent, refused
}

func isOne(r *sim.Reply) bool {
	n, _ := r.Int()
	return n == 1
}

// replicated returns those of the given masters whose replicas have the lock as well. If the client does not wait for
// replicas, or ignores the reply to WAIT, replicated returns all of the masters.
func (l *redlock) replicated(env sim.Env, h *Hold, set []voter) []voter {
	w := l.config.Wait
	if w == nil {
		return set
	}
	env.Point(sim.BeforeWait)
	if safe := l.wait(env, h, set); w.Obey {
		return safe
	}
	return set
}

// wait asks masters how many of their replicas have received the writes made on the client's connections. It returns
// the masters with enough such replicas.
func (l *redlock) wait(env sim.Env, h *Hold, asked []voter) []voter {
	w := l.config.Wait
	b := &ballot{}
	for _, v := range asked {
		at := v.server
		if !w.SameConnection {
			at = l.current[v.group]
		}
		b.add(v, sim.Request{Conn: sim.Conn{Server: at}, Args: w.args(), Attempt: h.Attempt, Phase: "wait"})
	}
	l.hold(env, b, w.patience(l.config.Timeout), w.isSatisfiedBy, nil)
	return b.yes
}

// askAll sends args to every group's master, unless the client's settings exclude some of them, and returns the masters
// that granted the request. The slice is valid until the next call.
func (l *redlock) askAll(env sim.Env, h *Hold, phase string, args []string, says func(*sim.Reply) bool) []voter {
	b, n := l.idle, len(l.current)
	l.idle = nil
	if b == nil {
		b = &ballot{requests: make([]sim.Request, 0, n), of: make([]voter, 0, n), yes: make([]voter, 0, n)}
	}
	*b = ballot{requests: b.requests[:0], of: b.of[:0], yes: b.yes[:0], next: b.next}
	first := 0
	if l.own.order == rotated {
		first = l.config.First
	}
	for i := range n {
		group := (first + i) % n
		server := l.current[group]
		if phase == "release" && l.own.releaseTo == releaseToGranted &&
			!slices.Contains(h.own.(*redlockHold).granted, server) {
			continue
		}
		b.add(voter{server, group},
			sim.Request{Conn: sim.Conn{Server: server}, Args: args, Attempt: h.Attempt, Phase: phase})
	}
	l.hold(env, b, l.timeout(), says, l.enough(phase))
	l.idle = b
	return b.yes
}

// enough returns a function that reports whether a client that asks one server after another may stop. It returns nil
// if the client must ask all servers.
func (l *redlock) enough(phase string) func(*ballot) bool {
	switch {
	case phase == "release" && l.own.releaseTo == releaseToFirstError:
		return func(b *ballot) bool { return b.silent > 0 }
	case phase == "set" && l.own.asking == askUntilQuorum:
		return func(b *ballot) bool { return len(b.yes) >= l.own.quorum }
	}
	return nil
}

func (b *ballot) add(of voter, r sim.Request) {
	b.requests, b.of = append(b.requests, r), append(b.of, of)
}

// hold sends a ballot's requests, either all at once or one after another. If it sends them one after another and
// enough is not nil, it stops as soon as enough returns true.
func (l *redlock) hold(env sim.Env, b *ballot, timeout time.Duration, says func(*sim.Reply) bool,
	enough func(*ballot) bool) {
	b.env, b.says, b.enough = env, says, enough
	if l.own.contact == parallel {
		replies := env.Call(timeout, nil, b.requests...)
		for i := range replies {
			b.settle(i, &replies[i])
		}
		return
	}
	if b.next == nil {
		b.next = b.settle
	}
	env.CallInTurn(timeout, b.next, b.requests...)
}

// settle records the reply to a request. If there was no reply, it closes the connection. It reports whether to send
// the next request.
func (b *ballot) settle(i int, r *sim.Reply) (proceed bool) {
	if b.says(r) {
		b.yes = append(b.yes, b.of[i])
	}
	b.settled++
	b.taken = b.taken || r.Nil()
	switch answered(r) {
	case Unanswered:
		b.silent++
		b.env.Close(b.requests[i].Conn)
	case Refused:
		b.refused++
	}
	return b.enough == nil || !b.enough(b)
}
